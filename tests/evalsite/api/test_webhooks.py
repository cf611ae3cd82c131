"""Webhooks: what happens is announced in its transaction, signed, and tried until it arrives or three days are over."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import sleep
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from evalsite.accounts.roles import Role
from evalsite.api.models import Webhook, WebhookDelivery
from evalsite.api.webhooks import (
    PAUSES,
    Event,
    announce,
    deliver_due,
    make_webhook,
    rotate_secret,
    secret_text,
    send_again,
)
from evalsite.base.types import JsonDict, Refused
from evalsite.review.services.decisions import move_item
from evalsite.review.states import ItemStatus
from judging.services import run_lifecycle
from tests import factories
from tests.factories import NOON
from tests.judging.services.run_rows import judged_run, work

pytestmark = pytest.mark.django_db


class Receiver:
    """A service that keeps what it is sent, and answers with the statuses that it is told."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/silent":
                    sleep(1.2)
                    self.connection.close()
                    return
                receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def verified(self, secrets: list[str]) -> list[tuple[str, JsonDict]]:
        """Return the id and text of all that these secrets signed, as the specification verifies it."""
        found = []
        for headers, body in self.got:
            signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
            keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
            expected = {f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}" for key in keys}
            if expected <= set(headers["webhook-signature"].split()):
                found.append((headers["webhook-id"], json.loads(body)))
        return found


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    receiver = Receiver()
    Thread(target=receiver.server.serve_forever, args=(0.01,), daemon=True).start()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


def webhook_of(receiver: Receiver, *events: Event) -> Webhook:
    names = [event.value for event in events or Event]
    return Webhook.objects.create(name="Chat", url=receiver.url, events=names, created_at=NOON)


def test_an_event_arrives_signed_so_that_its_receiver_can_verify_it(receiver: Receiver) -> None:
    webhook = webhook_of(receiver, Event.QUEUE_DONE)

    counts = [announce(event, data={"n": 1}, at=NOON) for event in (Event.QUEUE_DONE, Event.RUN_PAUSED)]
    arrived = deliver_due(at=NOON)

    delivery = WebhookDelivery.objects.get()
    body = {"type": "queue.done", "timestamp": NOON.isoformat(), "data": {"n": 1}}
    assert (counts, arrived, delivery.status, delivery.answered, delivery.tries) == ([1, 0], 1, "delivered", 204, 1)
    assert receiver.verified([secret_text(webhook)]) == [(delivery.message_id, body)]
    assert receiver.got[0][0]["webhook-timestamp"] == str(int(NOON.timestamp()))
    assert deliver_due(at=NOON + timedelta(days=9)) == 0  # it is sent once


@pytest.mark.parametrize("path", ["/hook/", "/messages?key=a&token=b", "/chat/completions"])
def test_an_address_is_called_as_it_is_written(receiver: Receiver, path: str) -> None:
    url = receiver.url.replace("/hook", path)
    webhook = make_webhook(name="Chat", url=url, events=["queue.done"], actor=None, at=NOON)

    announce(Event.QUEUE_DONE, data={"n": 1}, at=NOON)

    assert (webhook.url, deliver_due(at=NOON)) == (url, 1)
    with pytest.raises(Refused, match=r"^Remove the user name and password from the address\.$"):
        make_webhook(name="Chat", url="https://a:b@example.org/", events=[], actor=None, at=NOON)


def test_what_is_rolled_back_announces_nothing(receiver: Receiver) -> None:
    webhook_of(receiver)

    with transaction.atomic():
        announce(Event.QUEUE_DONE, data={}, at=NOON)
        transaction.set_rollback(True)

    assert not WebhookDelivery.objects.exists()


def test_refusals_and_redirects_are_tried_again_for_three_days_then_on_demand(receiver: Receiver) -> None:
    webhook_of(receiver)
    announce(Event.QUEUE_DONE, data={}, at=NOON)
    receiver.statuses = [500, 302, *[503] * (len(PAUSES) - 1)]
    tried_at = [NOON]

    while (due_at := WebhookDelivery.objects.get().due_at) is not None:
        tried_at.append(due_at)
        assert deliver_due(at=due_at) == 0
    failed = WebhookDelivery.objects.get()
    send_again(delivery=WebhookDelivery.objects.get(), actor=None, at=tried_at[-1])
    arrived = deliver_due(at=tried_at[-1])

    assert (failed.status, failed.answered, failed.tries) == ("failed", 503, len(PAUSES) + 1)
    assert timedelta(days=2.9) < tried_at[-1] - NOON < timedelta(days=3.1)
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert (arrived, len(receiver.got)) == (1, len(PAUSES) + 2)


def test_who_does_not_answer_keeps_nothing_from_others(receiver: Receiver) -> None:
    silent, heard = webhook_of(receiver), webhook_of(receiver)
    Webhook.objects.filter(pk=silent.pk).update(url=receiver.url.replace("/hook", "/silent"))
    for number in range(2):
        announce(Event.QUEUE_DONE, data={"n": number}, at=NOON)

    arrived = deliver_due(at=NOON)

    tried = list(WebhookDelivery.objects.order_by("webhook", "pk").values_list("webhook", "tries"))
    # the one whose turn was after the silent one is signed when it is sent, as receivers check
    signed = [int(headers["webhook-timestamp"]) - int(NOON.timestamp()) for headers, _ in receiver.got]
    assert arrived == 2
    assert tried == [
        (silent.pk, 1),
        (silent.pk, 0),
        (heard.pk, 1),
        (heard.pk, 1),
    ]
    assert max(signed) >= 1


def test_nothing_is_sent_again_to_an_inactive_webhook(receiver: Receiver) -> None:
    webhook = webhook_of(receiver)
    announce(Event.QUEUE_DONE, data={}, at=NOON)
    Webhook.objects.update(is_active=False)
    webhook.refresh_from_db()

    with pytest.raises(Refused, match=r"^Chat is inactive, so nothing is sent to it\. Activate it first\.$"):
        send_again(delivery=webhook.deliveries.get(), actor=None, at=NOON)


def test_the_page_of_a_webhook_has_all_of_its_log(receiver: Receiver, client: Client) -> None:
    webhook = webhook_of(receiver)
    client.force_login(factories.user("root", Role.ADMIN))
    for number in range(51):
        announce(Event.QUEUE_DONE, data={"n": number}, at=NOON)
    first = webhook.deliveries.order_by("pk")[0]

    pages = [client.get(f"{webhook.get_absolute_url()}?page={number}").content.decode() for number in (1, 2)]

    assert [first.message_id in page for page in pages] == [False, True]


def test_a_private_address_is_refused_when_it_is_sent_to(receiver: Receiver, settings: Any) -> None:
    webhook_of(receiver)
    announce(Event.QUEUE_DONE, data={}, at=NOON)
    settings.ALLOW_PRIVATE_ENDPOINTS = False

    deliver_due(at=NOON)

    delivery = WebhookDelivery.objects.get()
    assert (receiver.got, delivery.status, delivery.answered) == ([], "waiting", None)
    assert delivery.trouble == "127.0.0.1 is this machine, which the settings of the site forbid."


def test_after_a_new_secret_both_sign_for_a_day(receiver: Receiver) -> None:
    webhook = webhook_of(receiver)
    before = secret_text(webhook)
    rotate_secret(webhook=webhook, actor=None, at=NOON)
    after = secret_text(webhook)

    for at in (NOON + timedelta(hours=23), NOON + timedelta(hours=25)):
        announce(Event.QUEUE_DONE, data={}, at=at)
        deliver_due(at=at)

    assert (before == after, len(receiver.verified([before, after])), len(receiver.verified([after]))) == (False, 1, 2)
    assert len(receiver.verified([before])) == 1


def test_an_inactive_webhook_is_told_nothing(receiver: Receiver) -> None:
    webhook_of(receiver)
    announce(Event.QUEUE_DONE, data={}, at=NOON)
    Webhook.objects.update(is_active=False)

    assert (announce(Event.QUEUE_DONE, data={}, at=NOON), deliver_due(at=NOON)) == (0, 0)
    Webhook.objects.update(is_active=True)
    assert deliver_due(at=NOON) == 1


def told() -> list[tuple[str, JsonDict]]:
    bodies = WebhookDelivery.objects.order_by("pk").values_list("event", "body")
    return [(event, json.loads(body)["data"]) for event, body in bodies]


def test_runs_that_finish_and_that_pause_at_their_budget_are_announced(receiver: Receiver) -> None:
    webhook_of(receiver)
    run = judged_run(cases=1)
    work(run)
    other = factories.run(name="Dear", status="running", failed=0)

    run_lifecycle.pause_run(run_id=other.pk, actor=None, reason="$1 of the budget is left.", at_budget=True)
    third = factories.run(status="running", failed=0)
    run_lifecycle.pause_run(run_id=third.pk, actor=factories.user("ada"))  # by a person: nobody needs to be told

    assert [(event, data["run"], data["status"]) for event, data in told()] == [
        ("run.finished", run.pk, "finished"),
        ("run.paused", other.pk, "paused"),
        ("run.budget_reached", other.pk, "paused"),
    ]


def test_a_decided_item_and_the_end_of_its_queue_are_announced(receiver: Receiver, settings: Any) -> None:
    site = settings.SITE_URL = "https://evals.example.org"
    webhook_of(receiver)
    item = factories.review_item()
    queue = item.queue
    queue.open_count = 1
    queue.save()

    move_item(item=item, status=ItemStatus.DECIDED, label="right", at=timezone.now())

    decided = {"item": item.pk, "queue": queue.slug, "status": "settled", "label": "right"}
    assert told() == [
        ("queue.done", {"queue": queue.slug, "items": queue.total_count, "address": site + queue.get_absolute_url()}),
        ("item.decided", decided | {"address": site + item.get_absolute_url()}),
    ]
