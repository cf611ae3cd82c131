"""Meta-evaluation: figures that once were wrong, from stored debates and what people said of them."""

from __future__ import annotations

from typing import Any

import pytest

from debate.models import DebateSet, OutsideLabel
from evalsite.base.tables import table_bytes
from evalsite.reports.actions.debates import DEBATES_REPORT, DebatesShown
from evalsite.reports.services.debate_reports import ABSTAINS, DECIDED_BY_PEOPLE, UNREAD, compute_debates
from evalsite.review.states import QueueMode
from judging.models import Response
from tests import factories
from tests.debate import rows
from tests.debated_sets import Part, store_debates
from tests.evalsite.reports.test_debate_pages import evaluator, four_debates
from tests.factories import NOON

pytestmark = pytest.mark.django_db
FOR_A, FOR_B = ((1, 1), (1, 1)), ((-1, -1), (-1, -1))
OPEN_A, OPEN_B = ((1, -1), (1, -1)), ((-1, 1), (-1, 1))  # judge-1 is for A, for B


def row_of(content: dict[str, Any], name: str) -> dict[str, Any]:
    row: dict[str, Any] = next(row for row in content["evaluators"] if row["name"] == name)
    return row


def value_of(figure: dict[str, Any]) -> tuple[Any, int]:
    return pytest.approx(figure["value"]), figure["n"]


@pytest.fixture
def third_unresolved() -> DebateSet:
    """Return 320 debates: 108 unresolved, all of them labelled, and 212 agreed, of which the audit drew 24.

    People prefer A in 79 of the 108 and in 12 of the 24; judge-1 says what they say in 43 and in 14. Of the 132 labels
    as they are that is 68.9% for A and 43.2% with judge-1.
    """
    owner = rows.debate_set()
    store_debates(
        owner,
        [
            Part(37, OPEN_A, people=1),
            Part(42, OPEN_B, people=1),
            Part(6, OPEN_B, people=-1),
            Part(23, OPEN_A, people=-1),
            Part(7, FOR_A, people=1),
            Part(5, FOR_B, people=1),
            Part(7, FOR_B, people=-1),
            Part(5, FOR_A, people=-1),
            Part(94, FOR_A),
            Part(94, FOR_B),
        ],
    )
    return owner


@pytest.mark.usefixtures("third_unresolved")
def test_labels_of_all_open_and_of_some_agreed_debates_are_weighted() -> None:
    """Figures with people came from labels that outcomes had chosen: A won 68.9% where the truth was 58%."""
    content = compute_debates(0, {}).content

    # Each label of an open debate stands for itself, each audited one for 212 / 24. Half of the agreed debates are for
    # A, audited or not, so that the debates' own outcomes correct nothing.
    people, judge = content["wins"][0]["people"], row_of(content, "judge-1")["people"]
    assert value_of(people) == ((79 + 212 * 12 / 24) / 320, 132)  # 57.8%
    assert value_of(judge) == ((43 + 212 * 14 / 24) / 320, 132)  # 52.1%
    assert people["low"] < 0.580 < people["high"]
    assert judge["low"] < 0.537 < judge["high"]


@pytest.mark.usefixtures("third_unresolved")
def test_a_debate_without_agreement_abstains_beside_the_share_that_agreed() -> None:
    """Unresolved debates counted as wrong, so that judges on their own seemed to agree more with people."""
    content = compute_debates(0, {}).content

    debate, judge = row_of(content, "Debate"), row_of(content, "judge-1")
    assert (debate["people"]["value"], debate["people"]["reason"]) == (None, ABSTAINS)
    assert value_of(content["people"]["agreed_share"]) == (212 / 320, 320)
    assert [value_of(row["people_decided"]) for row in (debate, judge)] == [(14 / 24, 24)] * 2
    (pair,) = (pair for pair in content["pairs"] if {pair["first"], pair["second"]} == {"judge-1", "Debate"})
    assert (pair["difference"]["reason"], pair["separated"]) == ("Too few: 24 of 30.", False)


def test_people_who_confirm_all_agreed_debates_do_not_make_a_judge_look_wrong() -> None:
    """Of 100 debates people confirmed the 90 that agreed; the page said that judge-1 was right in 23%."""
    owner = rows.debate_set()
    store_debates(owner, [Part(30, FOR_A, people=1), Part(60, FOR_A), Part(10, OPEN_A, people=-1)])

    content = compute_debates(0, {}).content

    judge, debate = row_of(content, "judge-1"), row_of(content, "Debate")
    assert value_of(judge["people"]) == (0.9, 40)
    assert [value_of(row["people_decided"]) for row in (judge, debate)] == [(1.0, 30)] * 2
    assert [pair["separated"] for pair in content["pairs"] if "Debate" in (pair["first"], pair["second"])] == [
        False
    ] * 2


def test_three_audited_debates_are_too_few_for_a_figure() -> None:
    """Three audited debates and ten open ones gave a significant difference."""
    owner = rows.debate_set()
    store_debates(owner, [Part(3, FOR_A, people=1), Part(87, FOR_A), Part(10, OPEN_A, people=-1)])

    content = compute_debates(0, {}).content

    figures = [row_of(content, "judge-1")[name] for name in ("people", "people_decided")]
    assert [(figure["value"], figure["reason"]) for figure in figures] == [
        (None, "Too few: 3 of 20."),
        (None, "Too few: 3 of 20."),
    ]
    assert {pair["separated"] for pair in content["pairs"]} == {False}


def test_sets_audited_at_different_rates_are_weighted_by_them() -> None:
    """Audits of 30 debates from a set of 40 and from one of 320 counted the same, so that 20% was shown as 55%."""
    small = rows.debate_set()
    large = rows.debate_set(system_a=small.system_a, system_b=small.system_b)
    store_debates(small, [Part(30, FOR_A, people=1), Part(10, FOR_A)])
    store_debates(large, [Part(27, FOR_A, people=-1), Part(3, FOR_A, people=1), Part(290, FOR_A)])

    content = compute_debates(0, {}).content

    judge, (cell,) = row_of(content, "judge-1"), content["cells"]
    figures = [
        judge["people"],
        judge["people_decided"],
        content["people"]["agreed_debates"],
        content["wins"][0]["people"],
    ]
    assert [value_of(figure) for figure in figures] == [((40 + 320 / 10) / 360, 60)] * 4
    # people prefer B in 288 of 360 debates, by weight, and in 27 of 60 labels
    assert cell["people"]["independent:judge-1"]["system"] is False


@pytest.mark.parametrize("rule", ["adjudicated", "human"])
def test_people_are_not_compared_with_the_outcomes_that_they_decided(rule: str) -> None:
    """Under a rule by which people decide, 0% agreement of debates with people became 100%."""
    owner = rows.debate_set()
    store_debates(owner, [Part(30, FOR_A, people=-1), Part(10, OPEN_A, people=-1)])

    debate = row_of(compute_debates(0, {"rule": rule}).content, "Debate")

    assert (debate["example"]["value"], debate["example"]["reason"]) == (None, DECIDED_BY_PEOPLE)
    assert value_of(debate["people_decided"]) == (0.0, 30)


def test_figures_of_nearly_equal_verdicts_stay_within_their_scale() -> None:
    """Intervals of the meta-evaluation went from -101.9% and to 104.9%."""
    owner = rows.debate_set()
    late_a = ((-1, 1), (1, 1))  # judge-1 was for B first
    store_debates(owner, [Part(38, late_a, people=1), Part(2, FOR_A, people=1), Part(2, OPEN_A, people=1)])

    content = compute_debates(0, {}).content

    names = ("example", "of_all", "people", "people_decided", "leave_one_out", "first")
    shares = [row[name] for row in content["evaluators"] for name in names]
    differences = [pair["difference"] for pair in content["pairs"]]
    assert min(figure["low"] for figure in shares if figure["low"] is not None) >= 0.0
    assert max(figure["high"] for figure in shares if figure["high"] is not None) <= 1.0
    # judge-1 is right in 4 of 42, judge-2 in 40; of the 40 that agreed in 2, where judge-2 and the debate are right
    assert [value_of(figure) for figure in differences] == [(-36 / 42, 42), (-38 / 40, 40), (0.0, 40)]
    assert min(figure["low"] for figure in differences) >= -1.0
    assert max(figure["high"] for figure in differences) <= 1.0


def test_an_agent_without_verdicts_is_not_said_to_lack_labels_of_people() -> None:
    """The page said that no debate had a label of people, beside the figures of others with them."""
    owner = rows.debate_set()
    store_debates(owner, [Part(30, ((None, 1), (None, 1)), people=1)])

    silent = row_of(compute_debates(0, {"rule": "human"}).content, "judge-1")

    assert (silent["system"]["value"], silent["system"]["reason"]) == (None, UNREAD)


def test_agreement_among_people_is_that_of_blind_annotations() -> None:
    """Labels said not to be blind, and annotations given beside verdicts, were counted as blind: .75 became .15."""
    owner = rows.debate_set()
    debates = store_debates(owner, [Part(6, FOR_A), Part(6, OPEN_A)])
    ann, ben, cleo = (factories.user(name) for name in ("ann", "ben", "cleo"))
    for place, debate in enumerate(debates):
        item = factories.review_item(debate=debate)
        for person in (ann, ben):
            factories.annotation(item=item, label=str(place % 3 - 1), annotator=person)
        factories.annotation(item=item, label="1", annotator=cleo, seen_before=True)
        factories.annotation(item=item, label="1", mode=QueueMode.DEBATE)
        OutsideLabel.objects.create(debate=debate, rater="nora", verdict=1, source="x", is_blind=False, created_at=NOON)
        OutsideLabel.objects.create(
            debate=debate, rater="olaf", verdict=place % 3 - 1, source="x", is_blind=True, created_at=NOON
        )

    people = compute_debates(0, {}).content["people"]

    assert (people["raters"], people["answers"]) == (3, 36)
    assert [people[name]["value"] for name in ("alpha", "fleiss")] == [1.0, 1.0]


@pytest.mark.usefixtures("third_unresolved")
def test_papers_do_not_print_a_weighted_share_as_that_of_the_matches() -> None:
    """ "57/132 = 52.1%" stood in the table of agreement with people, which is 43.2%."""
    shown, table = DebatesShown(compute_debates(0, {}).content, []), DEBATES_REPORT.table("people")

    printed = b"".join(table_bytes(table.in_format(shown, "md"), "md")).decode()

    assert "| 57/132, weighted 52.1% [" in printed
    assert (
        "Matches of labelled pairs; the share of all pairs, by inclusion probability, and its 95% interval." in printed
    )


def test_scores_of_two_versions_of_a_judge_are_not_compared() -> None:
    """A judge's new prompt scored one of two systems; debates were compared with its score beside one of the old."""
    first, second, third, _ = four_debates()
    suite = factories.suite()

    def scored(prompt: str, *scores: tuple[Response, float]) -> None:
        run, options = factories.run(suite=suite, status="finished"), {"prompt_hash": prompt * 64}
        by = factories.evaluator(run=run, kind="judge", name="Strict", options=options)
        for response, share in scores:
            factories.score(evaluator=by, response=response, share=share)

    scored("a", (first.response_a, 0.5), (first.response_b, 0.4), (second.response_a, 0.5), (third.response_a, 0.5))
    scored("a", (second.response_b, 0.1))  # the same version in another run
    scored("b", (first.response_b, 0.9), (third.response_a, 0.2), (third.response_b, 0.8))

    strict = evaluator(compute_debates(0, {}).content, "scores:Strict")

    # By the old version the first and the second response A is better, by the new one the third B.
    assert [strict[name] for name in ("asked", "a", "tie", "b", "matches")] == [3, 2, 0, 1, 3]
    assert strict["first"]["reason"] == "It scored each response on its own, so none came first."
