"""What the pages of one's own tokens and of webhooks show."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from evalsite.api.actions.tokens import TokenForm
from evalsite.api.actions.webhooks import WebhookChangeForm
from evalsite.api.models import Webhook
from evalsite.api.tokens import MadeToken, tokens_of
from evalsite.api.webhooks import secret_text
from evalsite.base.http import PageRequest
from evalsite.base.json_types import JsonDict

PAGE = "evalsite/token_list.html"
WEBHOOKS_PAGE, WEBHOOK_PAGE = "evalsite/webhook_list.html", "evalsite/webhook_detail.html"
SHOWN = 100  # deliveries of the log on a page


def token_context(request: PageRequest, _subject: None) -> JsonDict:
    """Return what the page shows beside its form."""
    return {"tokens": tokens_of(request.user), "now": timezone.now()}


def token_made(request: PageRequest, made: MadeToken) -> HttpResponse:
    """Show the text of a new token, once."""
    context = token_context(request, None) | {"form": TokenForm(), "made": made.text}
    return render(request, PAGE, context)


def webhooks_context(_request: PageRequest, _subject: None) -> JsonDict:
    """Return what the list of webhooks shows beside its form."""
    return {"webhooks": Webhook.objects.order_by("-pk")}


def webhook_context(_request: PageRequest, webhook: Webhook) -> JsonDict:
    """Return what the page of a webhook shows beside its form: the newest of its log."""
    return {"deliveries": webhook.deliveries.order_by("-pk")[:SHOWN]}


def webhook_secret(request: PageRequest, webhook: Webhook) -> HttpResponse:
    """Show the secret of a webhook, once."""
    form = WebhookChangeForm(initial=vars(webhook))
    context = webhook_context(request, webhook) | {"webhook": webhook, "form": form, "secret": secret_text(webhook)}
    return render(request, WEBHOOK_PAGE, context)
