"""The alternative annotator test, by hand."""

from __future__ import annotations

import numpy as np

from judging.statistics.judge_quality import Annotators, AnnotatorTest, Closeness, alternative_annotator_test
from judging.statistics.ratings import from_rows


def people_and_judge(judge_accuracy: float, *, n: int = 200) -> tuple[list[list[str]], list[str]]:
    random = np.random.default_rng(2)
    truth = random.integers(0, 3, size=n)

    def labels(accuracy: float) -> list[str]:
        right = random.random(n) < accuracy
        return [str(label) for label in np.where(right, truth, (truth + 1) % 3)]

    return [list(row) for row in zip(*(labels(0.8) for _ in range(3)), strict=True)], labels(judge_accuracy)


def test_alternative_annotator_test_passes_a_judge_as_good_as_people() -> None:
    rows, judge = people_and_judge(0.85)

    result = alternative_annotator_test(from_rows(rows, "012"), list(judge), Annotators.SKILLED, cases=range(200))

    assert (result.passed, result.winning_rate) == (True, 1.0)
    assert result.reason == (
        "The judge agrees with the others at least as well as 3 of 3 annotators (skilled: margin 0.15)."
    )
    assert result.advantage is not None
    assert result.advantage > 0.8


def test_alternative_annotator_test_fails_a_poor_judge() -> None:
    rows, judge = people_and_judge(0.3)

    result = alternative_annotator_test(from_rows(rows, "012"), list(judge), Annotators.EXPERTS, cases=range(200))

    assert (result.passed, result.winning_rate) == (False, 0.0)


def test_alternative_annotator_test_compares_with_the_remaining_people() -> None:
    # Against person 1 the judge ("a") is closer to {a, a} than "b" on every item: W_f = 1, W_h = 0, p = 0.
    # Against persons 2 and 3 judge and person both match half of the rest: W_f = W_h = 1, difference 0 < .1, p = 0.
    table = from_rows([["b", "a", "a"]] * 30, "ab", raters=["p1", "p2", "p3"])

    result = alternative_annotator_test(table, ["a"] * 30, Annotators.CROWD, cases=range(30))

    assert [(p.person, p.n, p.judge_wins, p.person_wins, p.p_value) for p in result.people] == [
        ("p1", 30, 1.0, 0.0, 0.0),
        ("p2", 30, 1.0, 1.0, 0.0),
        ("p3", 30, 1.0, 1.0, 0.0),
    ]


def test_alternative_annotator_test_measures_distance_between_values() -> None:
    # The others say 4; the judge says 3 (distance 1), person 1 says 1 (distance 3); no labels are equal.
    table = from_rows([["1", "4", "4"]] * 30, ["1", "2", "3", "4"], raters=["p1", "p2", "p3"])

    result = alternative_annotator_test(
        table, ["3"] * 30, Annotators.CROWD, cases=range(30), closeness=Closeness.NEAR_VALUES
    )

    assert (result.people[0].judge_wins, result.people[0].person_wins) == (1.0, 0.0)


def test_alternative_annotator_test_averages_the_items_of_a_case() -> None:
    # Two items a case. Person 1 is worse on the first (W_h - W_f = -1) and as good on the second (0): -1/2 by case.
    table = from_rows([["b", "a", "a"], ["a", "a", "a"]] * 30, "ab", raters=["p1", "p2", "p3"])

    result = alternative_annotator_test(table, ["a"] * 60, Annotators.CROWD, cases=[item // 2 for item in range(60)])

    assert [(p.n, p.judge_wins, p.person_wins) for p in result.people] == [
        (30, 1.0, 0.5),
        (30, 1.0, 1.0),
        (30, 1.0, 1.0),
    ]


def test_alternative_annotator_test_needs_three_people_with_thirty_cases() -> None:
    table = from_rows([["a", "a", "a"]] * 60, "ab", raters=["p1", "p2", "p3"])

    result = alternative_annotator_test(
        table, ["a"] * 60, Annotators.CROWD, cases=[item // 2 for item in range(58)] + [0, 0]
    )

    assert result == AnnotatorTest(
        None,
        None,
        None,
        (),
        "0 of 3 people needed share 30 cases with the judge and somebody else (p1 29, p2 29, p3 29).",
    )


def test_alternative_annotator_test_corrects_p_values_by_benjamini_and_yekutieli() -> None:
    # Reject the k smallest for the largest k with p_(k) <= k .05 / (m sum 1/i); m = 3: sum 1/i = 11/6.
    allowed = [k * 0.05 / (3 * 11 / 6) for k in (1, 2, 3)]
    counts_matched = set()
    for accuracy in (0.6, 0.66, 0.68, 0.7, 0.72, 0.74, 0.8):
        rows, judge = people_and_judge(accuracy)
        people = alternative_annotator_test(
            from_rows(rows, "012"), list(judge), Annotators.SKILLED, cases=range(200)
        ).people

        ranked = sorted(people, key=lambda person: person.p_value)
        last = max((k for k in (1, 2, 3) if ranked[k - 1].p_value <= allowed[k - 1]), default=0)
        assert [person.is_matched for person in ranked] == [k <= last for k in (1, 2, 3)]
        counts_matched.add(last)
    assert len(counts_matched) > 2
