"""Texts of old calls go; what current results rest on, and what was paid, stays."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from judging.llm.chat import ChatReply, ReplyStatus
from judging.models import Call, CallPrompt, PastVerdict, RunKind
from judging.models.runs import RunStatus
from judging.services.ledger import CallRecord, find_finished, prune_calls, store_calls
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(days=100)


def call(key: str, **fields: Any) -> Call:
    defaults = {"status": "finished", "request": {"model": "m"}, "text": "A reply.", "finished_at": NOON}
    if "endpoint" not in fields:
        fields["endpoint"] = factories.endpoint()
    prompt, _ = CallPrompt.objects.get_or_create(digest=f"{key[:5]:0>64}", messages=[{"role": "user", "content": key}])
    return Call.objects.create(key=key, cost=Decimal("0.01"), prompt=prompt, **defaults | fields)


def test_prune_calls_removes_texts_that_no_current_result_rests_on() -> None:
    ended = factories.run(status=RunStatus.FINISHED)
    kept, superseded, failed = call("kept", run=ended), call("superseded", run=ended), call("failed", status="failed")
    call("alone")
    call("new", finished_at=LATER)
    call("running", run=factories.run(status=RunStatus.RUNNING))
    call("debate", run=factories.run(kind=RunKind.DEBATE, status=RunStatus.FINISHED))
    verdict = factories.verdict(call_ids=[failed.pk, kept.pk])
    PastVerdict.objects.create(verdict=verdict, call_ids=[superseded.pk], created_at=NOON, superseded_at=NOON)
    border = NOON + timedelta(days=1)

    planned = prune_calls(older_than=border, at=LATER, dry_run=True)
    untouched = Call.objects.filter(pruned_at=None).count()
    done = prune_calls(older_than=border, at=LATER, dry_run=False)
    again = prune_calls(older_than=border, at=LATER, dry_run=False)

    assert (planned, done, untouched) == ((3, 1, 4), planned, 7)
    assert again == (0, 0, 1)
    pruned = Call.objects.filter(pruned_at=LATER).order_by("key")
    assert [(row.key, row.text, row.request, row.cost) for row in pruned] == [
        (key, "", {}, Decimal("0.01")) for key in ("alone", "failed", "superseded")
    ]
    assert sorted(CallPrompt.objects.values_list("messages__0__content", flat=True)) == [
        *("debate", "kept", "new", "running"),
    ]
    assert set(Call.objects.filter(pruned_at=None).values_list("text", flat=True)) == {"A reply."}


def test_a_pruned_call_is_not_reused_and_may_be_paid_for_again() -> None:
    old = call("k" * 64)
    prune_calls(older_than=LATER, at=LATER, dry_run=False)

    by_key = find_finished([old.key], at=LATER)
    record = CallRecord(
        old.key, old.endpoint_id, {"messages": []}, ChatReply(ReplyStatus.FINISHED, "New."), Decimal("0.02")
    )
    store_calls(run_id=None, records=[record], at=LATER)

    assert (by_key, find_finished([old.key], at=LATER)[old.key].text) == ({}, "New.")
    assert record.pk != old.pk


def test_prune_calls_command_says_what_it_would_remove() -> None:
    call("old", finished_at=timezone.now() - timedelta(days=31))
    call("young", finished_at=timezone.now() - timedelta(days=29))
    out = StringIO()

    call_command("prune_calls", "--older-than", "30", "--dry-run", "--json", stdout=out)

    assert json.loads(out.getvalue()) == {
        "calls": 1,
        "errors": 0,
        "looked_at": 1,
        "dry_run": True,
        "older_than_days": 30,
    }
