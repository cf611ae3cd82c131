"""Leaderboards over the small suite of conftest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evalsite.reports.services.boards.leaderboards import NO_NUMBERS, compute_comparison, compute_leaderboard
from evalsite.review.models import Provenance, Queue, Referral, ReviewItem
from evalsite.review.questions.scales import JUDGEMENT, labels_from_words, labels_to_json
from evalsite.review.sampling import draw_sample, draw_strata
from evalsite.review.services.items.final_labels import keep_final_label
from evalsite.review.services.referrals.run_referrals import open_items_for_run
from judging.models import Case, EvaluatorKind, Response, RunEvaluator, Score, Suite, System
from tests import factories
from tests.audited_boards import drawn_cases, noisy_judge, store_board
from tests.evalsite.reports.conftest import Scored
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def means(content: dict[str, Any], mode: str = "raw") -> dict[str, float | None]:
    return {row["system"]: row["figures"][mode]["value"] for row in content["rows"]}


def counts(content: dict[str, Any]) -> dict[str, tuple[int, int, int, int]]:
    names = ("scored", "unscored", "missing", "human")
    return {row["system"]: tuple(row[name] for name in names) for row in content["rows"]}


def test_compute_leaderboard_averages_cases_and_gives_the_null_score_without_a_response(scored: Scored) -> None:
    content = compute_leaderboard(scored.rules.pk, {})

    # cy: 1, 0 and the null score 0 of case 4; case 3 is undecided and left out: 1 / 3
    assert means(content) == {"ada": 0.875, "cy": pytest.approx(1 / 3), "bob": 0.25}
    assert counts(content) == {"ada": (4, 0, 0, 0), "cy": (2, 1, 1, 0), "bob": (4, 0, 0, 0)}


def test_compute_leaderboard_leaves_out_what_has_no_response_when_asked(scored: Scored) -> None:
    content = compute_leaderboard(scored.rules.pk, {"missing": "skip"})

    assert means(content) == {"ada": 0.875, "cy": 0.5, "bob": 0.25}
    assert counts(content)["cy"] == (2, 1, 1, 0)


def test_compute_leaderboard_filters_cases(scored: Scored) -> None:
    easy_sql = compute_leaderboard(scored.rules.pk, {"scenario": "easy", "lang": "sql"})  # case 2 alone

    assert means(easy_sql) == {"ada": 1.0, "bob": 1.0, "cy": 0.0}
    assert easy_sql["n_cases"] == 1
    assert easy_sql["filters"] == {"scenario": ["easy", "hard"], "lang": ["python", "sql"], "type": []}


def test_compute_leaderboard_counts_wins_over_all_others_with_ties_half(scored: Scored) -> None:
    content = compute_leaderboard(scored.rules.pk, {})

    # ada by case: beats bob, ties cy (0.75); ties bob, beats cy (0.75); beats bob (1); beats both (1)
    # bob: loses both (0); ties ada, beats cy (0.75); loses (0); loses to ada, ties cy's null score (0.25)
    # cy: ties ada, beats bob (0.75); loses both (0); undecided; loses to ada, ties bob (0.25)
    wins = {row["system"]: row["wins"]["raw"]["value"] for row in content["rows"]}
    assert wins == {"ada": 0.875, "bob": 0.25, "cy": pytest.approx(1 / 3)}


def test_compute_leaderboard_ties_what_four_cases_cannot_separate(scored: Scored) -> None:
    content = compute_leaderboard(scored.rules.pk, {})

    assert {row["system"]: row["ranks"]["raw"] for row in content["rows"]} == {
        "ada": [1, 3],
        "bob": [1, 3],
        "cy": [1, 3],
    }
    ada_bob = next(p for p in content["pairs"]["raw"] if {p["first"], p["second"]} == {scored.ada.pk, scored.bob.pk})
    assert ada_bob == {
        "first": scored.ada.pk,
        "second": scored.bob.pk,
        "difference": {
            "value": 0.625,
            "low": None,
            "high": None,
            "n": 4,
            "reason": "Too few cases to compare two systems: 4 of 30.",
        },
        "p_value": None,
        "adjusted_p": None,
        "is_separated": False,
    }


def test_compute_leaderboard_shows_no_interval_of_four_cases(scored: Scored) -> None:
    ada = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    reason = "Too few cases for an interval: 4 of 20."
    assert ada["figures"]["raw"] == {"value": 0.875, "low": None, "high": None, "n": 4, "reason": reason}


def test_compute_leaderboard_shows_means_by_scenario(scored: Scored) -> None:
    matrix = compute_leaderboard(scored.rules.pk, {})["matrix"]

    assert (matrix["dimension"], matrix["columns"]) == ("scenario", ["easy", "hard"])
    cells = {name: [(cell["mean"], cell["n"]) for cell in row] for name, row in matrix["cells"]["raw"].items()}
    assert cells[str(scored.ada.pk)] == [(1.0, 2), (0.75, 2)]
    assert cells[str(scored.cy.pk)] == [(0.5, 2), (0.0, 1)]
    assert [cell["reason"] for cell in matrix["cells"]["corrected"][str(scored.ada.pk)]] == [
        "Too few: 0 of 20 audited cases.",
        "Too few: 0 of 20 audited cases.",
    ]


def test_compute_leaderboard_reduces_attempts_by_the_suites_rule(scored: Scored) -> None:
    second = factories.response(prompt=scored.cases[0].prompt, system=scored.bob, attempt=1)
    factories.score(evaluator=scored.rules, response=second, share=1.0)

    # bob's case 1 has the attempts 0 and 1
    assert means(compute_leaderboard(scored.rules.pk, {}))["bob"] == 0.375  # avg: (0.5 + 1 + 0 + 0) / 4
    scored.suite.attempt_reduce_mode = "max"
    scored.suite.save()
    assert means(compute_leaderboard(scored.rules.pk, {}))["bob"] == 0.5  # max: (1 + 1 + 0 + 0) / 4


def test_compute_leaderboard_leaves_out_a_case_with_an_attempt_that_still_waits(scored: Scored) -> None:
    second = factories.response(prompt=scored.cases[0].prompt, system=scored.bob, attempt=1)
    factories.task(evaluator=scored.rules, response=second, status="waiting")

    content = compute_leaderboard(scored.rules.pk, {})

    assert means(content)["bob"] == pytest.approx(1 / 3)  # 1, 0, 0 remain
    assert counts(content)["bob"] == (3, 1, 0, 0)


def human_item(scored: Scored, place: int, label: str, *, labels: Any = JUDGEMENT, **fields: Any) -> ReviewItem:
    score = Score.objects.get(
        evaluator=scored.rules, response__system=scored.ada, response__prompt=scored.cases[place].prompt
    )
    queue = getattr(scored.run, "queue", None) or factories.queue(run=scored.run, labels=labels_to_json(labels))
    defaults = {"arm": "audit", "inclusion_probability": 0.5, "status": "settled"}
    return factories.review_item(queue=queue, score=score, label=label, **defaults | fields)


def test_compute_leaderboard_says_how_many_audited_cases_are_wanted(scored: Scored) -> None:
    human_item(scored, 0, "wrong")
    human_item(scored, 3, "partly")

    row = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    reason = "Too few: 2 of 20 audited cases."
    assert row["figures"]["corrected"] == {"value": None, "low": None, "high": None, "n": 2, "reason": reason}
    assert (row["ranks"]["corrected"], row["decided"], row["drawn"], row["human"]) == (None, 2, 2, 2)


def test_compute_leaderboard_counts_routed_labels_but_does_not_average_them(scored: Scored) -> None:
    human_item(scored, 0, "wrong", arm="routed", inclusion_probability=None)

    row = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    assert (row["human"], row["decided"], row["drawn"]) == (1, 0, 0)


def test_compute_leaderboard_cannot_average_names(scored: Scored) -> None:
    human_item(scored, 0, "formal", labels=labels_from_words(["formal", "casual"]))

    assert compute_leaderboard(scored.rules.pk, {})["rows"][0]["figures"]["human"]["reason"] == NO_NUMBERS


def row_of(judge: Any, labels: Any, drawn: Any, *, missing: Any = None, **options: str) -> dict[str, Any]:
    """Return the only row of a board of one system."""
    scores, given = (np.atleast_2d(np.array(values, dtype=np.float64)) for values in (judge, labels))
    absent = None if missing is None else np.atleast_2d(np.array(missing))
    evaluator = store_board(scores, given, np.array(drawn), missing=absent)
    row: dict[str, Any] = compute_leaderboard(evaluator.pk, options)["rows"][0]
    return row


def test_twenty_right_answers_of_twenty_are_not_certainly_all_right() -> None:
    row = row_of([1.0] * 100, [1.0] * 100, [True] * 20 + [False] * 80)

    # B2: once 100.0% [100.0, 100.0]. estimators.md: 20 of 20 right of 100 gives about [.85, 1].
    for mode in ("human", "corrected"):
        assert (row["figures"][mode]["value"], row["figures"][mode]["high"]) == (1.0, 1.0)
        assert 0.8 < row["figures"][mode]["low"] < 0.9
    assert (row["decided"], row["drawn"]) == (20, 20)


def test_a_corrected_mean_ends_where_the_scale_ends() -> None:
    # People say .5 where the judge says 0, and 1 where it says .5; of what nobody labelled it says 1. The slope is 1,
    # so the point before it is cut is .75 + (30 * .25 + 192) / 222 - .25 = 1.399.
    judge = [0.0] * 15 + [0.5] * 15 + [1.0] * 192
    row = row_of(judge, [0.5] * 15 + [1.0] * 207, [True] * 30 + [False] * 192)

    # D4: once 1.128 [1.007, 1.250]
    assert (row["figures"]["corrected"]["value"], row["figures"]["corrected"]["high"]) == (1.0, 1.0)


def test_a_raw_mean_near_the_end_of_the_scale_stays_within_it() -> None:
    # A6: 27 of 28 answers right were drawn to 104.1%.
    raw = row_of([1.0] * 27 + [0.0], [1.0] * 28, [False] * 28)["figures"]["raw"]

    assert (raw["value"], raw["high"]) == (pytest.approx(27 / 28), 1.0)
    assert 0.8 < raw["low"] < 0.9


def test_a_system_that_answered_half_gets_the_null_score_in_every_mean() -> None:
    # M5: right in 80% of what it answered, which is half: .4 raw, .8 "corrected" once.
    labels = [1.0] * 32 + [0.0] * 8 + [0.0] * 40
    row = row_of(labels, labels, [True] * 80, missing=[False] * 40 + [True] * 40)

    assert {mode: figure["value"] for mode, figure in row["figures"].items()} == {
        "raw": 0.4,
        "human": 0.4,
        "corrected": 0.4,
    }
    assert (row["decided"], row["drawn"], row["missing"]) == (40, 40, 40)


def test_undecided_audits_are_counted_and_bounded() -> None:
    # M6: 30 drawn, the 8 hard ones wait.
    labels = [1.0] * 22 + [np.nan] * 78
    row = row_of([1.0] * 100, labels, [True] * 30 + [False] * 70)

    assert (row["decided"], row["drawn"], row["figures"]["corrected"]["value"]) == (22, 30, 1.0)
    assert row["bounds"]["raw"] is None
    # 22 of 30 right at worst: .733, and the interval around it
    assert 0.5 < row["bounds"]["corrected"]["low"] < 0.7
    assert row["bounds"]["corrected"]["high"] == 1.0


def test_responses_without_a_score_count_what_people_said_of_them() -> None:
    # 60 scored right, all of them audited right; 20 that the judge could not read, people found half of them right.
    judge = [1.0] * 60 + [np.nan] * 20
    row = row_of(judge, [1.0] * 60 + [1.0, 0.0] * 10, [True] * 80)

    assert (row["unscored"], row["figures"]["raw"]["value"]) == (20, 1.0)
    assert row["figures"]["corrected"]["value"] == pytest.approx(70 / 80)


def test_a_corrected_mean_removes_a_lenient_judges_bias() -> None:
    # Half are right; the judge also passes 3 of 10 wrong ones, so its own mean is .65.
    labels = ([1.0] * 5 + [0.0] * 5) * 40
    judge = ([1.0] * 5 + [0.0, 0.0, 0.0, 1.0, 1.0]) * 20 + ([1.0] * 5 + [0.0, 0.0, 0.0, 0.0, 1.0]) * 20
    # The drawn cases have the mix of all: five blocks of ten of each half.
    row = row_of(judge, labels, ([True] * 50 + [False] * 150) * 2)

    assert row["figures"]["raw"]["value"] == pytest.approx(0.65)
    assert row["figures"]["corrected"]["value"] == pytest.approx(0.5)


def test_intervals_valid_at_every_look_are_wider() -> None:
    labels = [1.0, 0.0] * 50
    arrays = (labels, labels, [True] * 50 + [False] * 50)
    once, always = row_of(*arrays)["figures"]["human"], row_of(*arrays, looks="every")["figures"]["human"]

    # estimators.md, section 7: about 1.6 times as wide with 50 labels
    assert 1.5 < (always["high"] - always["low"]) / (once["high"] - once["low"]) < 1.8


def test_equal_systems_are_told_apart_on_few_boards() -> None:
    # B2: ten equal systems of 60 cases, 30 audited, judge 90% right; once told apart on 99 of 100 boards.
    random = np.random.default_rng(5)
    apart = 0
    for _ in range(10):
        labels = (random.random((10, 60)) < 0.8).astype(np.float64)
        evaluator = store_board(noisy_judge(labels, random, error=0.1), labels, drawn_cases(60, 30, random))
        content = compute_leaderboard(evaluator.pk, {})
        apart += any(row["ranks"]["corrected"] != [1, 10] for row in content["rows"])

    assert apart <= 1


def test_unequal_systems_are_told_apart_with_ranks_that_hold() -> None:
    random = np.random.default_rng(6)
    labels = (random.random((3, 400)) < [[0.95], [0.6], [0.3]]).astype(np.float64)
    evaluator = store_board(noisy_judge(labels, random, error=0.1), labels, drawn_cases(400, 100, random))

    content = compute_leaderboard(evaluator.pk, {})

    assert [row["ranks"]["corrected"] for row in content["rows"]] == [[1, 1], [2, 2], [3, 3]]
    assert [pair["is_separated"] for pair in content["pairs"]["corrected"]] == [True, True, True]
    assert [row["wins"]["corrected"]["n"] for row in content["rows"]] == [100, 100, 100]


def test_compute_comparison_lists_the_cases_that_differ_most(scored: Scored) -> None:
    content = compute_comparison(scored.rules.pk, {"systems": [scored.bob.pk, scored.ada.pk]})

    assert [(row["key"], row["first"], row["second"], row["difference"]) for row in content["cases"]] == [
        ("case-1", 0.0, 1.0, -1.0),
        ("case-3", 0.0, 1.0, -1.0),
        ("case-4", 0.0, 0.5, -0.5),
        ("case-2", 1.0, 1.0, 0.0),
    ]
    assert content["wins"] == {"first": 0, "ties": 1, "second": 3}
    assert [system["name"] for system in content["systems"]] == ["bob", "ada"]


def test_compute_leaderboard_clips_the_mean_where_the_rubric_says_so_and_never_one_case() -> None:
    suite = factories.suite(cases=2)
    rubric = factories.rubric(benchmark_aggregate={"type": "mean", "clip": [0, 1]})
    evaluator = factories.evaluator(run=factories.run(suite=suite), rubric=rubric)
    low, mixed = factories.system("low"), factories.system("mixed")
    evaluator.run.systems.set([low, mixed])
    for system, shares in ((low, (-4.0, -4.0)), (mixed, (-0.5, 1.0))):
        for case, share in zip(suite.cases.order_by("pk"), shares, strict=True):
            response = factories.response(system=system, prompt=case.prompt)
            factories.score(evaluator=evaluator, response=response, share=share)

    content = compute_leaderboard(evaluator.pk, {"missing": "skip"})

    assert means(content) == {"mixed": 0.25, "low": 0.0}


def judge_of(suite: Suite, *systems: System) -> RunEvaluator:
    """Return a judge of a new run that passes each fourth of the first 40 cases of a suite and all later ones."""
    run = factories.run(suite=suite, status="finished", finished_at=NOON)
    run.systems.set(systems)
    judge = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name="Strict", done=1, total=1)
    for system in systems:
        judge_cases(judge, system, list(suite.cases.order_by("links__position")))
    return judge


def judge_cases(judge: RunEvaluator, system: System, cases: list[Case], *, first: int = 0) -> None:
    for place, case in enumerate(cases, start=first):
        response = Response.objects.filter(prompt=case.prompt, system=system).first()
        response = response or factories.response(prompt=case.prompt, system=system)
        factories.verdict(evaluator=judge, response=response, share=float(place >= 40 or place % 4 == 0))


def decide_all(judge: RunEvaluator) -> None:
    """People call partly right what the judge passes, and wrong what it does not."""
    for item in ReviewItem.objects.filter(queue__run=judge.run, status="open").select_related("subject"):
        passed = Score.objects.filter(response=item.response_a, share=1.0).exists()
        label = "partly" if passed else "wrong"
        ReviewItem.objects.filter(pk=item.pk).update(status="settled", label=label, decided_at=NOON)
        keep_final_label(item=item, label=label, provenance=Provenance.MAJORITY, at=NOON)


def drawn_of(judge: RunEvaluator) -> tuple[frozenset[str], set[int], set[float]]:
    """Return cases and systems of what the audit of a run drew, and the chances stored with it."""
    rows = Referral.objects.filter(run=judge.run, arm="audit")
    fields = ("response__prompt__key", "response__system", "inclusion_probability")
    cases, systems, chances = zip(*rows.values_list(*fields), strict=True)
    return frozenset(cases), set(systems), set(chances)


@pytest.fixture
def half_audited(settings: Any) -> tuple[list[Case], System]:
    """Return 40 cases of a benchmark and a system; runs audit half of their cases."""
    settings.REVIEW_AUDIT_SHARE, settings.REVIEW_AUDIT_MINIMUM = 0.5, 0
    return list(factories.suite(cases=40).cases.order_by("pk")), factories.system()


def test_a_system_and_cases_of_a_later_run_are_drawn_with_their_own_chance(
    half_audited: tuple[list[Case], System],
) -> None:
    old, ada = half_audited
    first = judge_of(factories.suite(cases=old), ada)
    open_items_for_run(run=first.run, at=NOON)
    decide_all(first)
    before = drawn_of(first)

    owner, bob = old[0].prompt.benchmark, factories.system()
    later = judge_of(factories.suite(cases=[*old, *(factories.case(benchmark=owner) for _ in range(20))]), ada, bob)
    asked = open_items_for_run(run=later.run, at=NOON)
    decide_all(later)
    board = compute_leaderboard(later.pk, {})

    strata = [[case.key for case in old], [case.key for case in later.run.suite.cases.order_by("pk")[40:]]]
    chosen = draw_strata(
        strata, seed=owner.pk, share=0.5
    ).chosen  # 20 of the old cases as before, 10 of the 20 new ones
    assert before[0] < chosen
    assert (
        before
        == drawn_of(first)
        == (draw_sample([case.key for case in old], seed=owner.pk, size=20).chosen, {ada.pk}, {0.5})
    )
    assert drawn_of(later) == (chosen, {ada.pk, bob.pk}, {0.5})
    assert asked == 60 - 20  # what is labelled is not asked again
    # The judge passes 10 of the 40 cases and all 20 later ones; people give half a point for each pass. The slope of
    # labels on verdicts is 1/2 in any sample, so the corrected mean is half of 30 / 60; people alone see their sample.
    seen = [key in {case.key for case in old[::4]} or key not in {case.key for case in old} for key in sorted(chosen)]
    assert means(board) == {ada.name: 0.5, bob.name: 0.5}
    assert means(board, "corrected") == {ada.name: pytest.approx(0.25), bob.name: pytest.approx(0.25)}
    assert means(board, "human") == {name: pytest.approx(sum(seen) / 60) for name in (ada.name, bob.name)}


def test_cases_that_a_retry_brings_into_a_run_are_a_stratum_of_their_own(
    half_audited: tuple[list[Case], System],
) -> None:
    old, ada = half_audited
    owner = old[0].prompt.benchmark
    new = [factories.case(benchmark=owner) for _ in range(20)]
    judge = judge_of(factories.suite(cases=old), ada)
    open_items_for_run(run=judge.run, at=NOON)
    decide_all(judge)

    judge.run.suite = factories.suite(cases=[*old, *new])
    judge.run.save()
    judge_cases(judge, ada, new, first=40)
    open_items_for_run(run=judge.run, at=NOON)
    decide_all(judge)
    (row,) = compute_leaderboard(judge.pk, {})["rows"]

    chosen = draw_strata([[case.key for case in part] for part in (old, new)], seed=owner.pk, share=0.5).chosen
    assert drawn_of(judge) == (chosen, {ada.pk}, {0.5})
    assert (row["decided"], row["drawn"], Queue.objects.count()) == (30, 30, 1)
    assert row["figures"]["corrected"]["value"] == pytest.approx(0.25)  # half of 30 passed of 60
