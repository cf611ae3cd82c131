"""Commands for what pages do to verdicts and label tables."""

from __future__ import annotations

import pytest

from evalsite.accounts.roles import Role
from evalsite.review.models import LabelTable, ReviewItem
from evalsite.review.services.label_tables import store_labels
from evalsite.review.tables.labels import LabelColumns, read_labels
from judging.models import Verdict
from tests import factories
from tests.evalsite.review.services.test_opening import judged_run
from tests.judging.management.test_run_commands import refusal, run_command

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_audit")]


def test_send_verdict_sends_in_a_researchers_name_once() -> None:
    judged_run({"status": "ok", "confidence": 0.9})
    ada, _ = factories.user("ada", Role.RESEARCHER), factories.user("bo", Role.ANNOTATOR)
    verdict = Verdict.objects.get()

    told = refusal("send_verdict", "--verdict", verdict.pk, "--by", "bo")
    sent = [run_command("send_verdict", "--verdict", verdict.pk, "--by", "ada") for _ in range(2)]

    item = ReviewItem.objects.get()
    assert told == "'bo' is no active person who may send verdicts to people."
    assert sent == [{"verdict": verdict.pk, "queue": item.queue.slug, "items": count} for count in (1, 0)]
    assert (item.verdict, item.sent_by) == (verdict, ada)


def test_delete_label_table_removes_one_table() -> None:
    parsed = read_labels(b"item,rater,label\n1,ada,yes\n1,bo,no\n", "a.csv", columns=LabelColumns(), labels=())
    assert parsed.value is not None
    kept, gone = (
        store_labels(name=name, file_name="a.csv", found=parsed.value, actor=None, at=factories.NOON)
        for name in ("kept", "gone")
    )

    result = run_command("delete_label_table", "--table", gone.slug)

    assert result == {"table": "gone", "name": "gone", "labels": 2, "deleted": True}
    assert list(LabelTable.objects.all()) == [kept]
    assert refusal("delete_label_table", "--table", "gone") == "There is no label table 'gone'. There are: kept."
