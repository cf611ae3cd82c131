"""What the trust in a version rests on once it was compared on a golden set: opened tests, and no other case of it."""

from __future__ import annotations

import pytest

from evalsite.reports.services.judge_reports import compute_judges
from evalsite.reports.services.judge_trust import compute_golden, compute_judge_trust, lacks_of
from evalsite.review.models import GoldenItem, GoldenRun, GoldenSet
from evalsite.review.questions.scales import labels_to_json
from evalsite.review.routing import GoldenPart
from evalsite.review.selectors.golden import golden_material
from evalsite.review.services.golden import make_golden_set
from judging.judges.subjects import PARSER_VERSION
from judging.models import EvaluatorKind, RunEvaluator, RunKind
from tests import factories
from tests.evalsite.reports.audited import MET, Audited, audited_judge
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def made_set(evaluator: RunEvaluator) -> GoldenSet:
    return make_golden_set(
        name="Desk", seed=0, evaluator=evaluator, material=golden_material(evaluator), actor=None, at=NOON
    )


def run_on(golden: GoldenSet, judge: RunEvaluator, part: GoldenPart) -> GoldenRun:
    """Store that the same version of a judge was run on a part, and said met of each of its responses."""
    run = factories.run(suite=golden.suite, kind=RunKind.GOLDEN, status="finished", finished_at=NOON)
    again = factories.evaluator(
        run=run, kind=EvaluatorKind.JUDGE, name=judge.name, judge=judge.judge, options=judge.options
    )
    for item in golden.items.filter(part=part):
        factories.verdict(evaluator=again, response=item.response, share=1.0, parser_version=PARSER_VERSION)
    return GoldenRun.objects.create(golden_set=golden, run=run, part=part, started_at=NOON)


def test_cases_of_a_golden_set_count_once_its_test_is_opened() -> None:
    judge = audited_judge([Audited(judge=True, people=index % 4 > 0) for index in range(60)])
    golden = made_set(judge)
    assert golden.labels == labels_to_json(MET)
    before = compute_judge_trust(0, {"name": "Strict"})

    run_on(golden, judge, GoldenPart.DEVELOPMENT)
    compared = compute_judge_trust(0, {"name": "Strict"})
    run_on(golden, judge, GoldenPart.TEST)
    opened = compute_judge_trust(0, {"name": "Strict"})

    agreeing = golden.items.filter(part=GoldenPart.TEST, subject__final_labels__label="met").count()
    assert [row["items"] for row in (before, compared, opened)] == [60, 0, 24]
    assert [row["tested"] for row in (before, compared, opened)] == [0, 0, 1]
    assert before["agreement"]["value"] == 0.75
    assert opened["agreement"]["value"] == pytest.approx(agreeing / 24)
    assert GoldenItem.objects.filter(part=GoldenPart.TEST).count() == 24


def test_a_version_differs_from_the_one_before_of_the_same_judge() -> None:
    """Of two judges that ran together the page said that the model of one was once that of the other."""
    golden = made_set(audited_judge([Audited(judge=True, people=index % 4 > 0) for index in range(60)]))
    for prompts in ({"Mild": "a", "Strict": "b"}, {"Mild": "c"}):
        run = factories.run(suite=golden.suite, kind=RunKind.GOLDEN, status="finished")
        for name, prompt in prompts.items():
            options = {"model": f"{name}-1", "prompt_hash": prompt * 64}
            factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name=name, options=options)
        GoldenRun.objects.create(golden_set=golden, run=run, part=GoldenPart.DEVELOPMENT, started_at=NOON)

    versions = [(row["name"], row["changes"]) for row in compute_golden(golden.pk, {})["development"]]

    assert versions == [("Mild", ["The prompt changed, from aaaaaaaa to cccccccc."]), ("Mild", []), ("Strict", [])]


def test_the_list_of_judges_and_a_judge_say_the_same_of_its_test() -> None:
    """The list said that there were enough labels, the page that nobody had one, and nothing of golden cases."""
    people = [factories.user(name) for name in ("ann", "ben", "cleo")]
    judge = audited_judge([Audited(judge=True, people=index % 4 > 0) for index in range(60)], people=people)
    before = [row.test_lacks for row in compute_judges(0, {}).judges]
    run_on(made_set(judge), judge, GoldenPart.DEVELOPMENT)

    content = compute_judge_trust(0, {"name": judge.name})

    lacks = "0 of 3 people needed share 30 cases with the judge and somebody else (nobody has one)."
    assert (before, lacks_of(content)) == ([""], lacks)
    assert [row.test_lacks for row in compute_judges(0, {}).judges] == [lacks]
    assert content["left_out"].startswith("Left out: 60 cases of golden sets that it was compared on;")
