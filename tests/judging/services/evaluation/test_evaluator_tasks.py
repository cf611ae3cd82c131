"""What a judge is shown of a response, and its score as it is stored."""

from __future__ import annotations

from fractions import Fraction

import pytest

from judging.judges.verdicts import JudgeScore
from judging.models import RunEvaluator
from judging.services.evaluation.evaluator_tasks import judge_score_fields, subject_of
from tests import factories

pytestmark = pytest.mark.django_db


def test_subject_of_brings_the_description_of_the_benchmark() -> None:
    evaluator, response, case = factories.evaluator(), factories.response(), factories.case()
    benchmark = evaluator.run.suite.benchmark
    benchmark.description = "Questions about tides."

    in_run = subject_of(case=case, response=response, tree=None, evaluator=evaluator)
    estimated = subject_of(case=case, response=response, tree=None, evaluator=RunEvaluator())

    assert (in_run.about, estimated.about) == ("Questions about tides.", "")


@pytest.mark.parametrize(
    ("value", "full", "exact"),
    [(Fraction(4, 5), Fraction(1), "4/5 of 1"), (Fraction(75), Fraction(100), "75 of 100")],
)
def test_judge_score_fields_say_the_exact_score_and_its_most(value: Fraction, full: Fraction, exact: str) -> None:
    assert judge_score_fields(JudgeScore(value, full))["detail"] == {"exact": exact}
