"""A verdict and a score are superseded in their own rows, and what they were is kept."""

from __future__ import annotations

from datetime import timedelta

import pytest

from judging.models import PastScore, PastVerdict, Score, Verdict
from judging.services.evaluation.verdict_store import SCORE_FIELDS, VERDICT_FIELDS, store_scores, store_verdicts
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(hours=1)


def test_store_verdicts_keeps_the_row_and_what_it_was() -> None:
    old = factories.verdict(status="unparsed", value=None, reason="No number.", flags=["reasked"], call_ids=[1, 2])
    as_it_was = Verdict.objects.filter(pk=old.pk).values_list(*VERDICT_FIELDS).get()
    new = [
        Verdict(
            run=old.run,
            evaluator=old.evaluator,
            response=response,
            task=old.task if number == 0 else None,
            status="refused",
            value=None,
            call_ids=[3],
            created_at=LATER,
        )
        for number, response in enumerate((old.response, factories.response()))
    ]

    superseded = store_verdicts(rows=new, at=LATER)

    assert ([row.pk for row in superseded], new[0].pk, new[1].pk != old.pk) == ([old.pk], old.pk, True)
    assert list(PastVerdict.objects.values_list("verdict", *VERDICT_FIELDS)) == [(old.pk, *as_it_was)]
    assert PastVerdict.objects.get().superseded_at == LATER
    past_verdicts = (
        Verdict.objects.filter(value__isnull=True).order_by("pk").values_list("pk", "status", "reason", "call_ids")
    )
    assert list(past_verdicts) == [(old.pk, "refused", "", [3]), (new[1].pk, "refused", "", [3])]
    assert PastVerdict.objects.filter(value__isnull=True).count() == 1


def test_store_scores_keeps_the_row_and_what_it_was() -> None:
    old = factories.score(share=None, detail={"reason": "not run"}, flags=["not-run"], full=None)
    as_it_was = Score.objects.filter(pk=old.pk).values_list(*SCORE_FIELDS).get()
    new = Score(
        run=old.run,
        evaluator=old.evaluator,
        response=old.response,
        status="complete",
        value=1.0,
        full=2.0,
        share=0.5,
        created_at=LATER,
    )

    store_scores(rows=[new], at=LATER)

    assert list(PastScore.objects.values_list("score", *SCORE_FIELDS)) == [(old.pk, *as_it_was)]
    assert list(Score.objects.values_list("pk", "status", "share", "detail")) == [(old.pk, "complete", 0.5, {})]
