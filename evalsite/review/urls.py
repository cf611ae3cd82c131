"""Addresses of this app."""

from __future__ import annotations

from functools import partial

from django.shortcuts import redirect
from django.urls import URLPattern, path, register_converter

from evalsite.base.actions.pages import act_context, button_page, file_page, form_page
from evalsite.review.actions import assignments as acts
from evalsite.review.actions import items as item_actions
from evalsite.review.actions import queues as queue_actions
from evalsite.review.actions import references
from evalsite.review.models import Queue, ReviewItem, Team
from evalsite.review.models.items import ADDRESS_LENGTH, address_of, number_at
from evalsite.review.views import items, queues


class ItemConverter:
    """Turns the addresses in paths into items' numbers and back."""

    regex = f"[a-z2-7]{{{ADDRESS_LENGTH}}}"

    def to_python(self, value: str) -> int:
        """Return the item's number."""
        return number_at(value)

    def to_url(self, value: int) -> str:
        """Return the item's address."""
        return address_of(int(value))


register_converter(ItemConverter, "item")

app_name = "review"
urlpatterns: list[URLPattern] = [
    path("", queues.queue_list, name="queue-list"),
    path("queues/new/", queues.queue_create, name="queue-create"),
    path("queues/new/form/", queues.form_preview, name="form-preview"),
    path(
        Team.PAGE, form_page(references.create, "review/team_list.html", context=queues.listed_teams), name="team-list"
    ),
    path("mine/", queues.my_work, name="my-work"),
    path("notices/", queues.notice_list, name="notice-list"),
    path("notices/read/", queues.notice_read, name="notice-read"),
    path("notices/mail/", queues.notice_mail, name="notice-mail"),
    path(Queue.PAGE, queues.queue_detail, name="queue-detail"),
    path(
        "queues/<slug:slug>/settings/",
        form_page(queue_actions.change_settings, "review/queue_update.html", answer=queues.queue_saved),
        name="queue-update",
    ),
    path("queues/<slug:slug>/annotations.<str:format>", file_page(queue_actions.export), name="queue-export"),
    path("queues/<slug:slug>/annotations/import/", queues.annotation_import, name="annotation-import"),
    path("queues/<slug:slug>/next/", items.item_next, name="item-next"),
    path("queues/<slug:slug>/training/", items.training, name="training"),
    path("queues/<slug:slug>/guidelines/", items.guidelines, name="guidelines"),
    path("audits/runs/<int:key>/", queues.audit_run, name="audit-run"),
    path("audits/debates/<int:key>/", queues.audit_debates, name="audit-debates"),
    path("audits/debates/<int:key>/send/", queues.debates_send, name="debates-send"),
    *(
        path(
            f"queues/<slug:slug>/{action.verb}/",
            form_page(action, "act.html", context=partial(act_context, action), answer=queues.items_done),
            name=f"queue-{action.verb}",
        )
        for action in (*item_actions.OF_ITEMS, queue_actions.keep_view)
    ),
    path(
        "queues/<slug:slug>/release/",
        form_page(item_actions.release, "review/queue_person.html", context=items.held_by_person),
        name="queue-release",
    ),
    path("adjudications/", items.adjudication_list, name="adjudication-list"),
    path(ReviewItem.PAGE, items.item_detail, name="item-detail"),
    path(
        "items/<item:item_id>/annotate/",
        items.item_page(acts.annotate, goes_on=True, is_fenced=True, form_name="form"),
        name="item-annotate",
    ),
    path(
        "items/<item:item_id>/cannot-judge/",
        items.item_page(acts.cannot_judge, goes_on=True, is_fenced=True),
        name="item-cannot-judge",
    ),
    path("items/<item:item_id>/skip/", items.item_page(acts.skip, goes_on=True), name="item-skip"),
    path("items/<item:item_id>/flag/", items.item_page(acts.flag), name="item-flag"),
    path("items/<item:item_id>/comment/", items.item_page(acts.comment), name="item-comment"),
    path("items/<item:item_id>/score/", items.item_score, name="item-score"),
    path("items/<item:item_id>/draft/", items.item_draft, name="item-draft"),
    path("items/<item:item_id>/heartbeat/", items.item_heartbeat, name="item-heartbeat"),
    path("items/<item:item_id>/undo/", items.item_page(acts.undo), name="item-undo"),
    path("items/<item:item_id>/reveal/", items.item_page(acts.reveal), name="item-reveal"),
    path("items/<item:item_id>/revise/", items.item_page(acts.revise, form_name="revision_form"), name="item-revise"),
    path(
        "items/<item:key>/people/",
        form_page(
            item_actions.give,
            "review/item_assign.html",
            context=items.claims_on_item,
            answer=lambda _request, claim: redirect("review:item-give", claim.item_id),
        ),
        name="item-give",
    ),
    path(
        "items/<item:key>/withdraw/",
        button_page(item_actions.withdraw, back="review:item-give"),
        name="item-withdraw",
    ),
    path("items/<item:key>/adjudicate/", items.item_adjudicate, name="item-adjudicate"),
    path(
        "items/<item:key>/adjudicate/reveal/",
        button_page(item_actions.reveal, back="review:item-adjudicate"),
        name="item-adjudication-reveal",
    ),
    path(
        "items/<item:key>/adjudicate/revise/",
        button_page(item_actions.revise, back="review:item-adjudicate"),
        name="item-adjudication-revise",
    ),
    path("items/<item:key>/exclude/", button_page(item_actions.exclude), name="item-exclude"),
    path(
        "items/<item:key>/reopen/", button_page(item_actions.reopen, back="review:item-adjudicate"), name="item-reopen"
    ),
    path(
        "items/<item:key>/ask-more/",
        button_page(
            item_actions.ask_more, back="review:item-adjudicate", answer=lambda *_: redirect("review:adjudication-list")
        ),
        name="item-ask-more",
    ),
    path("items/<item:key>/take-back/", queues.item_take_back, name="item-take-back"),
    path("runs/<int:run_id>/people/", queues.run_people, name="run-people"),
    path("runs/<int:key>/send/", queues.run_send, name="run-send"),
    path("runs/<int:key>/take-back/", queues.run_take_back, name="run-take-back"),
]
