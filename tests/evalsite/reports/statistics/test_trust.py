"""Corrected means, thresholds with a guarantee, stand-ins and judge quality."""

from __future__ import annotations

import numpy as np
import pytest

from evalsite.reports.statistics.estimates import Estimate
from evalsite.reports.statistics.estimators.rogan_gladen import rogan_gladen
from evalsite.reports.statistics.intervals import clustered_mean, of_share, wilson
from evalsite.reports.statistics.judge_quality import (
    ExampleAgreement,
    Sway,
    effective_judges,
    example_agreement,
    grouped_agreement,
    leave_one_out_agreement,
    modal_preference,
    position_report,
    reply_rates,
    sway,
    system_agreement,
)
from evalsite.reports.statistics.ratings import from_rows
from evalsite.reports.statistics.selective import Step, choose_threshold, error_bound, labels_needed
from evalsite.reports.statistics.stand_in import (
    Annotators,
    Closeness,
    alternative_annotator_test,
    benjamini_yekutieli,
    certificate_key,
)


def test_rogan_gladen_of_a_useless_judge_is_undefined() -> None:
    found = rogan_gladen([True, False], [True, True], [True])

    assert found.estimate == Estimate(None, None, None, 2, "The judge is no better than chance here.")


@pytest.mark.parametrize(("rate", "labels"), [(0.0, 22), (0.02, 38), (0.05, 78), (0.08, 424)])
def test_labels_needed_reproduces_the_published_numbers(rate: float, labels: int) -> None:
    assert labels_needed(rate) == labels


def test_labels_needed_refuses_a_rate_that_cannot_be_shown() -> None:
    with pytest.raises(ValueError, match=r"10\.0% cannot be shown"):
        labels_needed(0.1, limit=2000)


def test_error_bound_without_errors_has_a_closed_form() -> None:
    # 1 - delta^(1/n)
    assert error_bound(0, 22) == pytest.approx(1 - 0.1 ** (1 / 22))
    assert error_bound(5, 5) == 1.0


def test_choose_threshold_takes_the_smallest_that_passes_all_the_way() -> None:
    # 30 verdicts at .9 without error pass (bound .0739); 40 more at .8 with 1 error pass (70, 1: .0544); 10 at .7 that
    # are all wrong end the walk (80, 11), and what lies below is never looked at.
    confidences = [0.9] * 30 + [0.8] * 40 + [0.7] * 10 + [0.6] * 500
    correct = [True] * 30 + [True] * 39 + [False] + [False] * 10 + [True] * 500

    found = choose_threshold(confidences, correct)

    assert found.threshold == 0.8
    assert found.steps == (
        Step(0.9, 30, 0, error_bound(0, 30)),
        Step(0.8, 70, 1, error_bound(1, 70)),
        Step(0.7, 80, 11, error_bound(11, 80)),
    )
    assert found.reason == "Among 70 verdicts at least this confident 1 were wrong; at most 5.4% with 90% certainty."


def test_choose_threshold_returns_none_when_the_strictest_fails() -> None:
    found = choose_threshold([0.9] * 30 + [0.5] * 100, [False] * 5 + [True] * 125)

    assert found.threshold is None
    assert found.reason == "Even the most confident verdicts err too often: every verdict goes to people."


def test_choose_threshold_needs_enough_labels() -> None:
    found = choose_threshold([0.9] * 21, [True] * 21)

    assert (found.threshold, found.reason) == (
        None,
        "21 audited verdicts; at least 22 are needed, so every verdict goes to people.",
    )


def test_choose_threshold_keeps_its_promise() -> None:
    # A judge that errs with probability (1 - confidence) / 2. The accepted error rate of a calibrated threshold may
    # exceed .1 in at most a tenth of the trials (here 300; 4 standard errors are .07).
    random = np.random.default_rng(3)
    broken = 0
    for _ in range(300):
        confidences = np.round(random.random(300), 2)
        correct = random.random(300) > (1 - confidences) / 2
        threshold = choose_threshold(confidences.tolist(), correct.tolist()).threshold
        if threshold is not None:
            broken += (1 - threshold) / 4 > 0.1  # mean error of confidences uniform on [threshold, 1]

    assert broken / 300 <= 0.17


def people_and_judge(judge_accuracy: float, *, n: int = 200) -> tuple[list[list[str]], list[str]]:
    random = np.random.default_rng(2)
    truth = random.integers(0, 3, size=n)

    def answers(accuracy: float) -> list[str]:
        right = random.random(n) < accuracy
        return [str(label) for label in np.where(right, truth, (truth + 1) % 3)]

    return [list(row) for row in zip(*(answers(0.8) for _ in range(3)), strict=True)], answers(judge_accuracy)


def test_alternative_annotator_test_passes_a_judge_as_good_as_people() -> None:
    rows, judge = people_and_judge(0.85)

    found = alternative_annotator_test(from_rows(rows, "012"), list(judge), Annotators.SKILLED)

    assert (found.passed, found.winning_rate) == (True, 1.0)
    assert found.reason == "The judge may stand in for skilled: it may replace 3 of 3 people."
    assert found.advantage is not None
    assert found.advantage > 0.8


def test_alternative_annotator_test_fails_a_poor_judge() -> None:
    rows, judge = people_and_judge(0.3)

    found = alternative_annotator_test(from_rows(rows, "012"), list(judge), Annotators.EXPERTS)

    assert (found.passed, found.winning_rate) == (False, 0.0)


def test_alternative_annotator_test_compares_with_the_remaining_people() -> None:
    # Against person 1 the judge ("a") is closer to {a, a} than "b" on every item: W_f = 1, W_h = 0, p = 0.
    # Against persons 2 and 3 judge and person both match half of the rest: W_f = W_h = 1, difference 0 < .1, p = 0.
    table = from_rows([["b", "a", "a"]] * 30, "ab", raters=["p1", "p2", "p3"])

    found = alternative_annotator_test(table, ["a"] * 30, Annotators.CROWD)

    assert [(p.person, p.n, p.judge_wins, p.person_wins, p.p_value) for p in found.people] == [
        ("p1", 30, 1.0, 0.0, 0.0),
        ("p2", 30, 1.0, 1.0, 0.0),
        ("p3", 30, 1.0, 1.0, 0.0),
    ]


def test_alternative_annotator_test_measures_distance_between_values() -> None:
    # The others say 4; the judge says 3 (distance 1), person 1 says 1 (distance 3); no labels are equal.
    table = from_rows([["1", "4", "4"]] * 30, ["1", "2", "3", "4"], raters=["p1", "p2", "p3"])

    found = alternative_annotator_test(table, ["3"] * 30, Annotators.CROWD, Closeness.NEAR_VALUES)

    assert (found.people[0].judge_wins, found.people[0].person_wins) == (1.0, 0.0)


def test_alternative_annotator_test_needs_three_people_with_thirty_items() -> None:
    table = from_rows([["a", "a", "a"]] * 29, "ab")

    assert alternative_annotator_test(table, ["a"] * 29, Annotators.CROWD).reason == (
        "The test needs 3 people who each share 30 items with the judge and someone else; so far 0 do."
    )


def test_benjamini_yekutieli_reproduces_a_hand_computed_example() -> None:
    # m = 3: sum 1/i = 11/6, allowed k * .05 / 5.5 = .009091, .018182, .027273; .02 > .018182 but .027 <= .027273,
    # so all three fall; with .028 instead only the first does.
    assert benjamini_yekutieli([0.02, 0.001, 0.027], rate=0.05) == (True, True, True)
    assert benjamini_yekutieli([0.02, 0.001, 0.028], rate=0.05) == (False, True, False)


def test_certificate_key_lapses_with_any_change() -> None:
    keys = {
        certificate_key(model=model, prompt=prompt, rubric=rubric)
        for model, prompt, rubric in [
            ("m", "p", "r"),
            ("m2", "p", "r"),
            ("m", "p2", "r"),
            ("m", "p", "r2"),
            ("mp", "", "r"),
        ]
    }

    assert len(keys) == 5
    assert certificate_key(model="m", prompt="p", rubric="r") in keys


def test_example_agreement_leaves_open_items_out() -> None:
    found = example_agreement([1, 0, None, -1], [1, 1, 1, None], ["a", "b", "c", "d"])

    assert found == ExampleAgreement(wilson(1, 2), ("a",), ("b",), 2)


def test_grouped_agreement_splits_by_scenario() -> None:
    found = grouped_agreement([1, 1, 0], [1, 0, 0], ["a", "b", "c"], ["math", "code", "math"])

    assert {group: row.estimate for group, row in found.items()} == {"math": wilson(2, 2), "code": wilson(0, 1)}


@pytest.mark.parametrize(
    ("preferences", "mode"), [([1, 1, 0, None], 1), ([1, -1], None), ([0, 0, 1, 1, -1], None), ([None], None), ([0], 0)]
)
def test_modal_preference_is_none_when_tied(preferences: list[int | None], mode: int | None) -> None:
    assert modal_preference(preferences) == mode


def test_system_agreement_reports_mode_and_direction_apart() -> None:
    # Modes: tie and A: they differ. Win rates of A: (1 + .5 * 3) / 4 = .625 and (1 * 3 + 0) / 4 = .75: same direction.
    found = system_agreement([1, 0, 0, 0], [1, 1, 1, -1])

    assert (found.same_mode, found.same_direction, found.reason) == (False, True, "")
    assert (found.first_win_rate.value, found.second_win_rate.value) == (0.625, 0.75)


def test_system_agreement_is_undefined_when_a_mode_is_tied() -> None:
    found = system_agreement([1, -1], [1, 1])

    assert (found.same_mode, found.same_direction) == (None, False)
    assert found.reason == "One side's most frequent label is tied or missing, so eq. 5 is undefined."


def test_position_report_counts_flips_and_pull_of_the_first_place() -> None:
    # Pairs: (A, A) consistent, (A, B) flipped, (tie, tie) consistent, the last unreadable.
    # Decided verdicts: in order A A A(last) -> first place 3 of 3; swapped A B -> B is shown first: 1 of 2.
    found = position_report([1, 1, 0, 1], [1, -1, 0, None])

    # the first pair votes for the first place once of twice, the second twice of twice, the fourth once of once
    rate = of_share(clustered_mean([1.0, 0.0, 1.0, 1.0, 1.0], [0, 0, 1, 1, 3]))
    assert (found.consistency, found.first_position_rate) == (wilson(2, 3), rate)
    assert (rate.value, rate.n) == (0.8, 3)


def test_reply_rates_share_one_denominator() -> None:
    found = reply_rates(["ok", "repaired", "refused", "unparsed", "failed", "ok"])

    assert (found.parsed, found.refused, found.unparsed, found.failed) == (wilson(3, 6), *[wilson(1, 6)] * 3)


def test_leave_one_out_agreement_asks_the_other_jurors() -> None:
    # Item 1: others agree on 1, juror 1: equal. Item 2: others agree on 0, juror 1: differs. Item 3: others differ.
    stances: dict[str, list[int | None]] = {"j": [1, 1, 1, 1], "k": [1, 0, 1, None], "l": [1, 0, 0, 1]}

    assert leave_one_out_agreement(stances, "j") == wilson(1, 2)


def test_effective_judges_of_copies_is_one() -> None:
    row = [True, False, False, True]

    assert effective_judges({"a": row, "b": row, "c": row}).value == pytest.approx(1.0)


def test_effective_judges_of_independent_errors_is_their_number() -> None:
    # Errors 1100 and 1010 are uncorrelated: covariance .25 - .5 * .5 = 0.
    assert effective_judges({"a": [True, True, False, False], "b": [True, False, True, False]}).value == 2.0


def test_effective_judges_needs_errors_to_compare() -> None:
    found = effective_judges({"a": [False, False], "b": [True, False]})

    assert found.reason.startswith("No two judges both err")


def test_sway_counts_moves_toward_and_away_from_the_judge() -> None:
    # Moved to the judge; stayed off the judge; left the judge; no verdict but changed.
    found = sway(["a", "a", "b", "a"], ["b", "a", "a", "b"], ["b", "b", "b", None])

    assert found == Sway(revised=wilson(3, 4), toward=wilson(1, 2), away=wilson(1, 1))


# (blind, final, judge): every way in which an answer, its revision and a verdict can stand to each other
MOVES: dict[str, tuple[str, str, str | None]] = {
    "differed, followed the judge": ("a", "b", "b"),
    "differed, stayed": ("a", "a", "b"),
    "differed, went to a third label": ("a", "c", "b"),
    "agreed, stayed": ("b", "b", "b"),
    "agreed, left": ("b", "a", "b"),
    "no verdict, stayed": ("a", "a", None),
    "no verdict, changed": ("a", "b", None),
}


@pytest.mark.parametrize(
    ("move", "revised", "toward", "away"),
    [
        ("differed, followed the judge", (1, 1), (1, 1), (0, 0)),
        ("differed, stayed", (0, 1), (0, 1), (0, 0)),
        ("differed, went to a third label", (1, 1), (0, 1), (0, 0)),
        ("agreed, stayed", (0, 1), (0, 0), (0, 1)),
        ("agreed, left", (1, 1), (0, 0), (1, 1)),
        ("no verdict, stayed", (0, 1), (0, 0), (0, 0)),
        ("no verdict, changed", (1, 1), (0, 0), (0, 0)),
    ],
)
def test_sway_tells_every_move_apart(
    move: str, revised: tuple[int, int], toward: tuple[int, int], away: tuple[int, int]
) -> None:
    blind, final, judge = MOVES[move]

    assert sway([blind], [final], [judge]) == Sway(wilson(*revised), wilson(*toward), wilson(*away))


def test_sway_of_all_moves_adds_them_up() -> None:
    blind, final, judge = zip(*MOVES.values(), strict=True)

    found = sway(blind, final, judge)

    # 4 of 7 changed; of the 3 that differed 1 followed; of the 2 that agreed 1 left
    assert (found.revised.value, found.toward.value, found.away.value) == (4 / 7, 1 / 3, 1 / 2)
    # Wilson for 1 of 3, z = 1.959964, z² = 3.841459: centre (1/3 + z²/6) / (1 + z²/3) = 0.4269,
    # half width z sqrt((1/3)(2/3)/3 + z²/36) / (1 + z²/3) = 0.3654
    assert (found.toward.low, found.toward.high) == pytest.approx((0.0615, 0.7923), abs=1e-4)


def test_sway_of_nobody_is_undefined() -> None:
    assert sway([], [], []).toward.value is None
