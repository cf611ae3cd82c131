"""What can be done with webhooks and with their deliveries."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.db.models import QuerySet

from evalsite.api.models import Webhook, WebhookDelivery
from evalsite.api.webhooks import (
    Event,
    change_webhook,
    delete_webhook,
    make_webhook,
    rotate_secret,
    secret_text,
    send_again,
)
from evalsite.base.actions.declarations import (
    CHANGE,
    CREATE,
    DELETE,
    ActionCall,
    NoInput,
    Noun,
    Reference,
    columns,
)
from evalsite.base.actions.entries import RowField
from evalsite.base.form_fields import NameField

ADDS_WEBHOOKS = "api.add_webhook"


class WebhookForm(forms.Form):
    """A webhook."""

    name = NameField(max_length=100, label="Name")
    url = forms.URLField(
        max_length=500, assume_scheme="https", label="Address", help_text="What receives the events, by POST."
    )
    events = forms.MultipleChoiceField(
        choices=[(event.value, event.value) for event in Event],
        widget=forms.CheckboxSelectMultiple,
        label="Events",
    )


class WebhookChangeForm(WebhookForm):
    """A webhook that is there."""

    is_active = forms.BooleanField(required=False, label="Active", help_text="Nothing is sent while it is not.")


class DeliveryFilterForm(forms.Form):
    """Which deliveries are listed."""

    webhook = RowField(Webhook.objects.all(), what="webhook", fields=("name",), help_text="A webhook.")


FACTS = ("id", "name", "url", "events", "is_active")
_webhook_facts, _with_secret = columns(*FACTS), columns(*FACTS, secret=secret_text)


WEBHOOKS: Noun[Webhook] = Noun(
    name="webhook",
    plural="webhooks",
    help="Make, change or delete webhooks, give new secrets, list them, or show one.",
    reference=Reference("webhook"),
    rows=lambda _person: Webhook.objects.order_by("-pk"),
    view_permission=ADDS_WEBHOOKS,
    shown=_webhook_facts,
)
of_webhook = partial(WEBHOOKS.one, permission=ADDS_WEBHOOKS)


@WEBHOOKS.new(CREATE, permission=ADDS_WEBHOOKS, form=WebhookForm, shown=_with_secret, is_secret=True)
def add_webhook(act: ActionCall[None, WebhookForm]) -> Webhook:
    """Make a webhook. The secret that signs what it sends is shown once."""
    return make_webhook(**act.data, actor=act.actor, at=act.at)


@of_webhook(
    CHANGE,
    form=WebhookChangeForm,
    makes_form=lambda webhook, _first, data: WebhookChangeForm(data, initial=_webhook_facts(webhook)),
    said=lambda webhook: f"{webhook.name} saved.",
)
def set_webhook(act: ActionCall[Webhook, WebhookChangeForm]) -> Webhook:
    """Change a webhook. What waits goes to the new address."""
    return change_webhook(webhook=act.subject, **act.data, actor=act.actor)


@of_webhook("new-secret", shown=_with_secret, is_secret=True)
def new_secret(act: ActionCall[Webhook, NoInput]) -> Webhook:
    """Give a webhook a new secret, shown once. For a day the former one signs as well."""
    return rotate_secret(webhook=act.subject, actor=act.actor, at=act.at)


@of_webhook(DELETE, said=lambda webhook: f"{webhook.name} deleted.", leads_to="webhook-list")
def remove_webhook(act: ActionCall[Webhook, NoInput]) -> Webhook:
    """Delete a webhook with its log."""
    return delete_webhook(webhook=act.subject, actor=act.actor)


_delivery_facts = columns(
    *("id", "webhook.name as webhook", "event", "message_id as message", "status", "tries", "answered", "trouble"),
    *("created_at", "due_at", "delivered_at"),
)


def _deliveries(_person: Any = None) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.select_related("webhook")


DELIVERIES: Noun[WebhookDelivery] = Noun(
    name="delivery",
    plural="deliveries",
    help="Send an event of a webhook again, list deliveries, or show one.",
    reference=Reference("delivery", ("message_id",)),
    rows=_deliveries,
    view_permission=ADDS_WEBHOOKS,
    shown=_delivery_facts,
    detail=lambda delivery: _delivery_facts(delivery) | {"body": delivery.body},
    filter_form=DeliveryFilterForm,
    listed=lambda webhook: _deliveries() if webhook is None else _deliveries().filter(webhook=webhook),
)


@DELIVERIES.one("send", permission=ADDS_WEBHOOKS, said=lambda delivery: f"{delivery.event} is sent again.")
def send(act: ActionCall[WebhookDelivery, NoInput]) -> WebhookDelivery:
    """Send an event again, with the number and the text that it had."""
    return send_again(delivery=act.subject, actor=act.actor, at=act.at)
