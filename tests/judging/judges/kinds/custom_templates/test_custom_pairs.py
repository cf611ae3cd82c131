"""A prompt of one's own that compares: what is sent in each order, how labels are turned around, hostile replies."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from judging.judges.injection_probes import HOSTILE
from judging.judges.judge_kinds import BadJudgeOption
from judging.judges.kinds.custom import KIND
from judging.judges.kinds.custom_templates import combine_orders
from judging.judges.kinds.lexical import lexical_reply
from judging.judges.subjects import JudgeSubject, JudgeVerdict, VerdictStatus
from tests.judging.services.comparison_rows import PAIRWISE, READ

SUBJECT = JudgeSubject("What is X?", "X is Y.", other_response="X is Z.", reference="X is Y.")
SCORES = {"A": Fraction(1), "C": Fraction(1, 2), "B": Fraction(0)}


def judge(**options: Any) -> Any:
    return KIND.build({**KIND.new_options(), **READ, "prompt_text": PAIRWISE, **options})


def framed(subject: JudgeSubject) -> str:
    """Return what is sent with the text between each pair of marker lines left out."""
    hole = re.compile(r"\[BEGIN DATA ([0-9a-f]{12})\]$.*?^\[END DATA \1\]$", re.MULTILINE | re.DOTALL)
    return hole.sub("[DATA]", judge().build_messages(subject)[0].content)


def said(label: str) -> JudgeVerdict:
    return JudgeVerdict(VerdictStatus.OK, value={"label": label}, rationale=f"Said {label}.")


def test_a_prompt_with_response_b_needs_a_second_response() -> None:
    options = {**KIND.new_options(), **READ}

    assert KIND.needs_with(options | {"prompt_text": PAIRWISE}) == {"pair"}
    assert KIND.needs_with(options | {"prompt_text": "{{ response }}"}) == frozenset()


def test_both_orders_show_the_responses_in_each_others_place() -> None:
    requests = next(judge().converse(SUBJECT))

    texts = [request.messages[0].content for request in requests]
    assert texts[1] == judge().build_messages(replace(SUBJECT, response="X is Z.", other_response="X is Y."))[0].content
    assert [text.index("X is Y.") < text.index("X is Z.") for text in texts] == [True, False]
    assert len(next(judge(both_orders=False).converse(SUBJECT))) == 1


@pytest.mark.parametrize(
    ("first", "second", "share", "confidence", "is_flipped"),
    [
        ("A", "B", Fraction(1), 1.0, False),  # it wins wherever it stands
        ("B", "A", Fraction(0), 1.0, False),
        ("C", "C", Fraction(1, 2), 1.0, False),
        ("A", "A", Fraction(1, 2), 0.0, True),  # whatever stands first wins
        ("A", "C", Fraction(3, 4), 0.5, True),  # a win, and a tie
        ("C", "A", Fraction(1, 4), 0.5, True),  # a tie, and a loss
    ],
)
def test_labels_of_the_second_order_are_turned_around(
    first: str, second: str, share: Fraction, confidence: float, is_flipped: bool
) -> None:
    verdict = combine_orders(said(first), said(second), SCORES)

    assert verdict.value == {"shown_first": first, "shown_second": second}
    assert (verdict.confidence, verdict.flags) == (confidence, ("position_flip",) if is_flipped else ())
    score = judge().score(verdict.value, SUBJECT)
    assert (score.value, score.full) == (share, 1)


def test_a_lead_of_another_size_is_no_flip() -> None:
    grades = {
        "A>>B": Fraction(1),
        "A>B": Fraction(3, 4),
        "A=B": Fraction(1, 2),
        "B>A": Fraction(1, 4),
        "B>>A": Fraction(0),
    }
    said_in_both = [("A>>B", "B>A"), ("B>A", "A>>B"), ("A=B", "A=B"), ("A>B", "A=B"), ("A>B", "A>>B")]

    verdicts = [combine_orders(said(first), said(second), grades) for first, second in said_in_both]

    assert [verdict.confidence for verdict in verdicts] == [0.75, 0.75, 1.0, 0.75, 0.25]
    assert ["position_flip" in verdict.flags for verdict in verdicts] == [False, False, False, True, True]


def test_an_order_that_cannot_be_read_leaves_no_score() -> None:
    unread = JudgeVerdict(VerdictStatus.UNPARSED, reason="No label.", flags=("no_match",))

    for pair in ((unread, said("B")), (said("A"), unread)):
        verdict = combine_orders(*pair, SCORES)
        assert (verdict.status, verdict.value, verdict.reason) == (VerdictStatus.UNPARSED, None, "No label.")


@pytest.mark.parametrize(
    ("labels", "words"),
    [("", "needs labels"), ("A = 1\nB = 0\nC = 0.25", "'C' has no opposite"), ("A = 1", "'A' has no opposite")],
)
def test_labels_that_cannot_be_turned_around_are_refused(labels: str, words: str) -> None:
    with pytest.raises(BadJudgeOption, match=words):
        judge(labels_text=labels)


@pytest.mark.parametrize("answer", HOSTILE)
def test_a_hostile_response_stays_in_its_place_and_wins_nothing_by_quotation(answer: str) -> None:
    hostile = replace(SUBJECT, response=answer)

    assert framed(hostile) == framed(SUBJECT)
    assert framed(hostile.swapped()) == framed(SUBJECT)
    verdict = judge().parse_reply(f"B is better. A says: {answer}\n[[B]]", hostile)
    assert verdict.value in ({"label": "B"}, None)
    assert judge().parse_reply("Fine.\n[[B]]", hostile).value in ({"label": "B"}, None)


def test_a_lexical_baseline_prefers_the_response_with_the_terms_of_the_reference_in_both_orders() -> None:
    better = JudgeSubject("Capital?", "Paris on the Seine.", other_response="Rome.", reference="Paris on the Seine")
    requests = next(judge(reply="last_line", reply_key="score").converse(better))

    labels = [lexical_reply(request, "reference").splitlines()[-1] for request in requests]

    assert labels == ["A", "B"]
