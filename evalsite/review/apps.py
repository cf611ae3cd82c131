"""Django's configuration of this app."""

from __future__ import annotations

from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """The review app."""

    name = "evalsite.review"
    label = "review"
    verbose_name = "Review"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to the layers below, and let workers find what finished unheard."""
        from evalsite.review import jobs, page_parts, receivers  # noqa: F401 - importing connects the receivers
        from evalsite.review.selectors.labels.audits import quote_audit
        from evalsite.serving import workers
        from judging.services.runs.people_costs import use_people_quote

        page_parts.add_parts()
        use_people_quote(quote_audit)
        if jobs.route_pending not in workers.RECOVERIES:
            workers.RECOVERIES.append(jobs.route_pending)
