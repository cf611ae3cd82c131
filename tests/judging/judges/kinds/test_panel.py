"""The panel: members asked side by side, votes that are left out, scores of stored votes, hostile replies."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from evalsite.base.formats import SHARE, rating
from judging.judges.injection_probes import HOSTILE, RUBRIC
from judging.judges.judge_kinds import BadJudgeOption
from judging.judges.kinds.panel import PanelRule, combine_votes, majority_of, votes_in_words, votes_range
from judging.judges.registry import KINDS
from judging.judges.subjects import JudgeProgram, JudgeScore, JudgeSubject, JudgeVerdict
from judging.llm.chat import ChatReply, ReplyStatus

SUBJECT = JudgeSubject("What is X?", "Y", reference="X is Y.", rubric=RUBRIC)
MEMBERS = ("ada", "bea", "cyd")


def accuracy_panel(**options: Any) -> JudgeProgram:
    members = [
        {"judge": name, "weight": weight, "judge_kind": "accuracy", "judge_options": {}, "endpoint": f"{name}'s"}
        for name, weight in zip(MEMBERS, (3, 1, 1), strict=True)
    ]
    return KINDS["panel"].build({"members": members} | options)


def said(*replies: str | None) -> JudgeVerdict:
    """Return the verdict where each member replies so, every time it is asked; None: its endpoint fails."""
    talk = accuracy_panel().converse(SUBJECT)
    by_endpoint = dict(zip((f"{name}'s" for name in MEMBERS), replies, strict=True))
    requests = next(talk)
    while True:
        answers = tuple(_reply(by_endpoint[request.endpoint]) for request in requests)
        try:
            requests = talk.send(answers)
        except StopIteration as end:
            verdict: JudgeVerdict = end.value
            return verdict


def _reply(text: str | None) -> ChatReply:
    if text is None:
        return ChatReply(ReplyStatus.FAILED, "", error_kind="timeout", error_text="No answer.")
    return ChatReply(ReplyStatus.FINISHED, text)


def judged(is_correct: bool, reasoning: str = "So.") -> str:
    return json.dumps({"is_judged_correct": is_correct, "reasoning": reasoning})


def test_all_members_are_asked_in_one_batch_at_their_own_endpoints() -> None:
    requests = next(accuracy_panel().converse(SUBJECT))

    assert [request.endpoint for request in requests] == ["ada's", "bea's", "cyd's"]


def test_votes_keep_what_each_member_said() -> None:
    verdict = said(judged(True), judged(False), None)

    assert (verdict.status, verdict.flags, verdict.confidence) == ("ok", ("no_vote:cyd",), None)
    assert verdict.value == {"votes": {"ada": {"is_correct": True}, "bea": {"is_correct": False}}}
    assert [(vote["judge"], vote["status"], vote["reason"]) for vote in verdict.votes] == [
        ("ada", "ok", ""),
        ("bea", "ok", ""),
        ("cyd", "failed", "No answer."),
    ]


def test_too_few_votes_are_no_verdict_with_the_worst_reason_first() -> None:
    verdict = said(judged(True), "Who knows.", None)

    assert (verdict.status, verdict.value) == ("failed", None)
    assert verdict.flags == ("timeout",)
    assert verdict.reason.startswith("1 of 3 members gave a vote, 2 are needed. bea: ")


@pytest.mark.parametrize("answer", HOSTILE)
def test_a_hostile_reply_of_one_member_changes_nothing_for_the_others(answer: str) -> None:
    verdict = said(judged(False), answer, judged(False))

    votes = {vote["judge"]: (vote["status"], vote["value"]) for vote in verdict.votes}
    assert (votes["ada"], votes["cyd"]) == (("ok", {"is_correct": False}),) * 2
    assert verdict.value is not None
    assert set(verdict.value["votes"]) >= {"ada", "cyd"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # ada (weight 3) says right, which is 100, bea and cyd say wrong, which is 0
        ({"rule": "mean"}, (Fraction(100, 3), ())),
        ({"rule": "majority"}, (Fraction(0), ())),
        ({"rule": "weighted"}, (Fraction(60), ())),
        ({"rule": "max", "margin": 0.5}, (Fraction(100), ("panel_disagreement",))),
        ({"rule": "min", "margin": 1}, (Fraction(0), ())),
    ],
)
def test_scores_follow_the_rule_from_stored_votes(
    options: dict[str, Any], expected: tuple[Fraction, tuple[str, ...]]
) -> None:
    value = {"votes": {name: {"is_correct": name == "ada"} for name in MEMBERS}}

    score = accuracy_panel(**options).score(value, SUBJECT)

    assert (score.value, score.flags) == expected
    assert score.detail == {
        "rule": options["rule"], "votes": {"ada": 1.0, "bea": 0.0, "cyd": 0.0}, "range": 1.0
    }  # fmt: skip


def test_a_tie_and_too_few_votes_have_no_score() -> None:
    two = {"votes": {"ada": {"is_correct": True}, "bea": {"is_correct": False}}}
    single = {"votes": {"ada": {"is_correct": True}}}
    panel = accuracy_panel(rule="majority")

    tied = panel.score(two, SUBJECT)

    assert (tied.value, tied.flags) == (None, ("panel_tied",))
    assert panel.score(single, SUBJECT) == JudgeScore(None, Fraction(100), flags=("panel_too_few",))


def test_votes_in_words_name_members_without_one() -> None:
    votes = [{"judge": "ada"}, {"judge": "bea"}]

    assert votes_in_words(votes, {"votes": {"ada": 1 / 3}}, SHARE) == "ada: 0.333333; bea: no vote"
    assert votes_in_words(votes, {"votes": {"ada": 0.7, "bea": 0.1}}, rating(1, 10)) == "ada: 7; bea: 1"
    assert votes_in_words([], {}, SHARE) == ""


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ("ada", "a list of entries"),
        ([{"weight": 1}], "names its judge"),
        ([{"judge": "ada", "weight": True}], "The weight of ada"),
        ([{"judge": "ada", "weight": -1}], "The weight of ada"),
        ([{"judge": "ada", "colour": "red"}], "has no field 'colour'"),
        ([{"judge": str(number)} for number in range(16)], "at most 15 members, not 16"),
    ],
)
def test_members_that_cannot_be_read_are_refused(members: Any, says: str) -> None:
    with pytest.raises(BadJudgeOption, match=says):
        KINDS["panel"].complete_options({"members": members})


def combined(*values: int, rule: PanelRule, weights: tuple[int, ...] = ()) -> Fraction | None:
    return combine_votes([*map(Fraction, values)], [*map(Fraction, weights or (1,) * len(values))], rule)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("mean", Fraction(9, 4)),  # (1 + 1 + 2 + 5) / 4
        ("median", Fraction(3, 2)),  # of 1 1 2 5 the mean of the middle ones, 1 and 2
        ("majority", Fraction(1)),  # twice, the others once
        ("weighted", Fraction(3)),  # (1*1 + 1*1 + 2*2 + 3*5) / (1 + 1 + 2 + 3) = 21/7
        ("min", Fraction(1)),
        ("max", Fraction(5)),
    ],
)
def test_combine_votes_by_each_rule(rule: str, expected: Fraction) -> None:
    assert combined(5, 1, 2, 1, rule=PanelRule(rule), weights=(3, 1, 2, 1)) == expected


def test_median_of_an_odd_number_is_the_middle_vote() -> None:
    assert combined(0, 10, 4, rule=PanelRule.MEDIAN) == 4


@pytest.mark.parametrize("tied", [(0, 1), (2, 2, 5, 5), (1, 2, 3)])
def test_a_tie_has_no_majority(tied: tuple[int, ...]) -> None:
    assert combined(*tied, rule=PanelRule.MAJORITY) is None


def test_majority_counts_each_vote_once_whatever_its_weight() -> None:
    assert combined(1, 0, 0, rule=PanelRule.MAJORITY, weights=(9, 1, 1)) == 0


def test_nothing_is_combined_without_votes() -> None:
    with pytest.raises(ValueError, match="no votes"):
        combine_votes([], [], PanelRule.MEAN)


def test_range_is_a_part_of_a_full_score() -> None:
    assert votes_range([Fraction(2), Fraction(9), Fraction(5)], Fraction(10)) == Fraction(7, 10)
    assert votes_range([Fraction(2)], Fraction(0)) == 0


def test_majority_of_members_is_more_than_half() -> None:
    assert [majority_of(members) for members in (1, 2, 3, 4, 5)] == [1, 2, 2, 3, 3]
