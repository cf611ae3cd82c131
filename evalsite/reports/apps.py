"""Django's configuration of this app."""

from __future__ import annotations

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    """The reports app."""

    name = "evalsite.reports"
    nouns = {
        "actions.agreement": ("labels",),
        "actions.boards": ("gate",),
        "actions.golden": ("golden", "golden_response", "proposal"),
        "actions.publications": ("board", "share", "view"),
    }

    def ready(self) -> None:
        """Start listening to the apps below, and let workers load what computes reports."""
        from evalsite.reports import receivers  # noqa: F401 - receivers connect themselves
        from evalsite.serving.apps import add_recovery

        add_recovery("load_reports", _load_reports)
        add_recovery("check_old_gates", _check_old_gates)


def _load_reports() -> int:
    """Load what computes reports, once for all jobs that a worker forks."""
    from evalsite.reports.services import kinds  # noqa: F401

    return 0


def _check_old_gates() -> int:
    from evalsite.reports.jobs import launch_gate_checks

    return launch_gate_checks()
