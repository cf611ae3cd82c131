"""Webhooks: what is announced to other services, signed as standardwebhooks.com describes, and tried for three days.

An event leaves a row for each webhook in the transaction in which it happens; workers send what is due. Secrets are
derived from that of the site and stored nowhere: a new generation has another one, and for a day both sign.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import time
import uuid
from datetime import datetime, timedelta
from enum import StrEnum

import requests
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django_rq import job
from urllib3.exceptions import HTTPError

from evalsite.accounts.audit import NamedSubject, record
from evalsite.api.models import Webhook, WebhookDelivery
from evalsite.base.rows import assign
from evalsite.base.types import JsonDict, JsonObject, Refused
from judging.llm.client import GuardedAdapter, network_trouble, proxy_of
from judging.llm.endpoints import EndpointRefused, check_address
from judging.selectors.endpoints import address_policy
from judging.services.long_jobs import enqueue_once

PAUSES = [
    *(timedelta(seconds=5), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2), timedelta(hours=5)),
    *(timedelta(hours=10), timedelta(hours=14), timedelta(hours=18), timedelta(hours=22)),
]  # between tries: three days in all
BOTH_SIGN_FOR = timedelta(days=1)  # after a rotation
SECONDS = (5.0, 15.0)  # to connect, and to answer
AT_ONCE = 100  # deliveries that one job sends

logger = logging.getLogger(__name__)


class Event(StrEnum):
    """What may be announced."""

    RUN_FINISHED = "run.finished"
    RUN_PAUSED = "run.paused"
    BUDGET_REACHED = "run.budget_reached"
    DEBATE_UNRESOLVED = "debate.unresolved"
    ITEM_DECIDED = "item.decided"
    QUEUE_DONE = "queue.done"
    GATE_FELL = "gate.fell"
    CERTIFICATE_LAPSED = "certificate.lapsed"


def secret_of(webhook: Webhook, *, generation: int | None = None) -> bytes:
    """Return the 32 bytes that sign for a webhook, of the newest generation unless told."""
    value = f"{webhook.pk}:{webhook.generation if generation is None else generation}"
    return salted_hmac("evalsite.webhook", value, algorithm="sha256").digest()


def secret_text(webhook: Webhook) -> str:
    """Return the secret as receivers enter it."""
    return "whsec_" + base64.b64encode(secret_of(webhook)).decode()


def checked_url(url: str) -> str:
    """Return the address of a webhook. Raises: Refused: the site may not call it."""
    try:
        return check_address(url, address_policy())
    except EndpointRefused as refusal:
        raise Refused(str(refusal), field="url") from None


@transaction.atomic
def make_webhook(*, name: str, url: str, events: list[str], actor: User | None, at: datetime) -> Webhook:
    """Store a webhook. Raises: Refused: the site may not call its address."""
    webhook = Webhook.objects.create(name=name, url=checked_url(url), events=events, created_at=at)
    record(actor, "webhook.made", webhook, url=webhook.url, events=events)
    return webhook


@transaction.atomic
def change_webhook(
    *, webhook: Webhook, name: str, url: str, events: list[str], is_active: bool, actor: User | None
) -> Webhook:
    """Change a webhook; what waits goes to the new address. Raises: Refused: the site may not call it."""
    values = {"name": name, "url": checked_url(url), "events": events, "is_active": is_active}
    if changes := assign(webhook, values):
        webhook.save(update_fields=list(changes))
        record(actor, "webhook.changed", webhook, **changes)
    return webhook


@transaction.atomic
def rotate_secret(*, webhook: Webhook, actor: User | None, at: datetime) -> Webhook:
    """Give a webhook a new secret; the former one signs as well for a day."""
    webhook.generation, webhook.rotated_at = webhook.generation + 1, at
    webhook.save(update_fields=["generation", "rotated_at"])
    record(actor, "webhook.secret_rotated", webhook)
    return webhook


@transaction.atomic
def delete_webhook(*, webhook: Webhook, actor: User | None) -> Webhook:
    """Delete a webhook with its log."""
    record(actor, "webhook.deleted", NamedSubject(str(webhook), webhook.pk))
    webhook.delete()
    return webhook


@transaction.atomic
def send_again(*, delivery: WebhookDelivery, actor: User | None, at: datetime) -> WebhookDelivery:
    """Have a delivery sent once more, with the same number, and with all its tries. Raises: Refused: it would wait."""
    if not delivery.webhook.is_active:
        raise Refused(f"{delivery.webhook} is inactive, so nothing is sent to it. Activate it first.")
    delivery.due_at, delivery.tries, delivery.delivered_at = at, 0, None
    delivery.save(update_fields=["due_at", "tries", "delivered_at"])
    record(actor, "webhook.sent_again", delivery.webhook, delivery=delivery.pk)
    transaction.on_commit(launch_deliveries)
    return delivery


def announce(event: Event, *, data: JsonObject, at: datetime) -> int:
    """Leave a delivery for each webhook that wants the event, in the transaction of what happened; return how many.

    Where the data names a page, its address is told with that of the site: who hears of it may be anywhere.
    """
    webhooks = [webhook for webhook in Webhook.objects.filter(is_active=True) if event in webhook.events]
    if not webhooks:
        return 0
    page = {"address": f"{settings.SITE_URL}{data['address']}"} if "address" in data else {}
    told = {"type": event, "timestamp": at.isoformat(), "data": {**data, **page}}
    body = json.dumps(told, ensure_ascii=False)
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            webhook=webhook, event=event, message_id=f"msg_{uuid.uuid4().hex}", body=body, created_at=at, due_at=at
        )
        for webhook in webhooks
    )
    transaction.on_commit(launch_deliveries)
    return len(webhooks)


@job("default")
def deliver() -> None:
    """Send what is due. Safe to repeat: what has arrived is not sent again."""
    logger.info("api.webhooks_delivered arrived=%s", deliver_due(at=timezone.now()))


def launch_deliveries() -> int:
    """Queue the job above where something is due, and return how much; without a broker a worker finds it later."""
    waiting = due_deliveries(at=timezone.now()).count()
    if waiting:
        enqueue_once(deliver, job_id="webhooks", beside_running=True)
    return waiting


def due_deliveries(*, at: datetime) -> QuerySet[WebhookDelivery]:
    """Return what is to be sent now, what waits longest first."""
    waiting = WebhookDelivery.objects.filter(due_at__lte=at, webhook__is_active=True)
    return waiting.select_related("webhook").order_by("due_at", "pk")


def deliver_due(*, at: datetime) -> int:
    """Send what is due and return how much arrived; each is claimed before, so that one worker sends it.

    Receivers may answer slowly: each delivery is signed and dated when its turn comes, goes where its webhook points
    then, and what else waits for a receiver that has not answered is left to the next job, so that others get theirs.
    """
    arrived, began, silent = 0, time.monotonic(), set[int]()
    for _ in range(AT_ONCE):
        delivery = due_deliveries(at=at).exclude(webhook__in=silent).first()
        if delivery is None:
            break
        now = at + timedelta(seconds=int(time.monotonic() - began))
        is_last = delivery.tries >= len(PAUSES)
        next_at = None if is_last else now + PAUSES[delivery.tries]
        claim = WebhookDelivery.objects.filter(pk=delivery.pk, due_at=delivery.due_at)
        if not claim.update(due_at=next_at, tries=F("tries") + 1):
            continue
        status, trouble = _post(delivery, at=now)
        outcome: JsonDict = {"answered": status, "trouble": trouble}
        if status is None:
            silent.add(delivery.webhook_id)
        elif 200 <= status < 300:
            outcome |= {"delivered_at": now, "due_at": None}
            arrived += 1
        WebhookDelivery.objects.filter(pk=delivery.pk).update(**outcome)
        logger.info("api.webhook_sent delivery_id=%s status=%s", delivery.pk, status)
    return arrived


def headers_of(delivery: WebhookDelivery, *, at: datetime) -> dict[str, str]:
    """Return the headers by which a receiver verifies a delivery that is sent now."""
    webhook, seconds = delivery.webhook, int(at.timestamp())
    generations = [webhook.generation]
    if webhook.rotated_at is not None and at - webhook.rotated_at < BOTH_SIGN_FOR:
        generations.append(webhook.generation - 1)
    signed = f"{delivery.message_id}.{seconds}.{delivery.body}".encode()
    secrets = [secret_of(webhook, generation=generation) for generation in generations]
    signatures = [base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode() for secret in secrets]
    return {
        "Content-Type": "application/json",
        "webhook-id": delivery.message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def _post(delivery: WebhookDelivery, *, at: datetime) -> tuple[int | None, str]:
    """Return the status of the answer, and what went wrong before there was one; redirects are not followed."""
    adapter = GuardedAdapter(policy=address_policy(), connections=1, proxy=proxy_of(settings.PROXY))
    try:
        request = requests.Request(
            "POST", delivery.webhook.url, data=delivery.body.encode(), headers=headers_of(delivery, at=at)
        )
        verify = str(settings.CA_BUNDLE or "") or True
        response = adapter.send(request.prepare(), timeout=SECONDS, stream=True, verify=verify)
        response.raw.close()
    except EndpointRefused as refusal:
        return None, str(refusal)
    except (requests.RequestException, HTTPError, OSError, UnicodeError) as trouble:
        return None, network_trouble(trouble).error_text
    finally:
        adapter.close()
    return response.status_code, ""
