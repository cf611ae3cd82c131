"""The forms that people answer criteria by, and the scores that the judges' own code makes of them."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256
from typing import Any

import pytest

from evalsite.base.formats import rating
from evalsite.review.questions.answer_forms import (
    ScoredForm,
    form_of,
    label_form,
    majority_parts,
    scale_of,
    scale_of_evaluator,
    words_of_parts,
)
from evalsite.review.questions.forms import FormQuestion, Kind, PartsMissing, letters_seen, part_texts_in, value_text
from evalsite.review.questions.scales import JUDGEMENT, PREFERENCE, Label, points_scale, scale_from_words
from judging.judges.kinds.generic import GenericJudge
from judging.judges.kinds.level_cascade import LevelCascadeJudge
from judging.judges.kinds.relevance import RelevanceJudge
from judging.judges.registry import KINDS, ImportedGrader
from judging.judges.subjects import JudgeSubject
from judging.specs.types import AnchorSpec, NodeSpec, ScaleSpec

pytestmark = pytest.mark.backend_free
FIVE = ScaleSpec("ordinal", 1, 5, 1)
LONG = "neither a cat nor a dog"  # more than the 20 characters that an annotation holds
LONG_HASH = sha256(LONG.encode()).hexdigest()[:8]


def check(key: str, points: float | None = None, **fields: Any) -> NodeSpec:
    return NodeSpec(key, "check", text=f"Item {key}.", scale=ScaleSpec("boolean"), points=points, **fields)


LEVELS = NodeSpec(
    "root",
    "group",
    aggregator={"type": "cascade", "clip": [0, 100]},
    children=(
        NodeSpec("100", "level", children=(check("100.1"),)),
        NodeSpec("50", "level", children=(check("50.1"), check("50.2"))),
        NodeSpec("25", "level", children=(check("25.1"),)),
    ),
)
CHECKS = NodeSpec(
    "root",
    "group",
    aggregator={"type": "points_over_positive"},
    children=(check("cites", 5), check("short", 3), check("wrong", -2)),
)
DIMENSIONS = NodeSpec(
    "root",
    "group",
    aggregator={"type": "mean"},
    children=tuple(NodeSpec(key, "dimension", scale=FIVE) for key in ("clear", "right", "kind")),
)


def form(tree: NodeSpec | None, *, judge: str = "", criterion: str = "", **about: str) -> ScoredForm:
    subject = JudgeSubject("", about.get("response", ""), context=about.get("context", ""), rubric=tree)
    found = form_of(subject, scale_of(tree, criterion=criterion, judge=judge), judge=judge)
    assert found is not None
    return found


def test_form_of_a_level_rubric_asks_for_its_items() -> None:
    parts = form(LEVELS).parts

    assert [(part.key, part.head) for part in parts] == [
        ("100.1", "Level 100"), ("50.1", "Level 50"), ("50.2", "Level 50"), ("25.1", "Level 25"),
    ]  # fmt: skip
    assert parts[1].choices == (Label("met", "Met", 1.0), Label("not met", "Not met", 0.0))
    assert form_of(JudgeSubject("", "", rubric=LEVELS), JUDGEMENT) is None  # asked in an earlier version
    assert form_of(JudgeSubject("", ""), JUDGEMENT) is None


@pytest.mark.parametrize(
    ("met", "label"),
    [
        ((), "0"),
        (("25.1",), "25"),
        (("50.1", "25.1"), "50"),  # a lower level adds nothing
        (("50.1", "50.2"), "100"),  # 2 x 50
        (("100.1",), "100"),
    ],
)
def test_label_of_levels_is_the_score_of_the_highest_level_met(met: tuple[str, ...], label: str) -> None:
    levels = form(LEVELS)
    values = levels.read({part.key: "met" if part.key in met else "not met" for part in levels.parts})

    assert levels.label(values) == label
    judged = LevelCascadeJudge(mode="itemised").score({"nodes": values}, JudgeSubject("", "", rubric=LEVELS))
    assert levels.score(values).value == judged.value


def test_score_of_levels_follows_a_judges_own_options() -> None:
    values = {"100.1": False, "50.1": False, "50.2": False, "25.1": True}

    assert form(LEVELS).score(values).value == 25
    assert form(LEVELS).score(values, {"level_25_value": 20}).value == 20


def test_checks_with_points_come_to_the_judges_score() -> None:
    checks = form(CHECKS)
    values = checks.read({"cites": "met", "short": "not met", "wrong": "met"})

    # (5 - 2) of 5 + 3 positive points; the scale has eight steps
    assert len(checks.labels) == 9
    judged = GenericJudge().score({"nodes": values}, JudgeSubject("", "", rubric=CHECKS))
    assert checks.score(values).value == judged.value == Fraction(3, 8)
    assert checks.label(values) == "38"
    assert checks.labels[3] == Label("38", "37.5%", 3 / 8)


def test_dimensions_are_rated_on_one_scale_each() -> None:
    dimensions = form(DIMENSIONS)

    assert [[choice.value for choice in part.choices] for part in dimensions.parts] == [["1", "2", "3", "4", "5"]] * 3
    assert dimensions.label(dimensions.read({"clear": "4", "right": "5", "kind": "3"})) == "80"  # 12 of 15
    with pytest.raises(PartsMissing, match=r"Choose a value for: right, kind\."):
        dimensions.read({"clear": "4", "right": "6", "kind": "x"})


def test_relevance_is_rated_on_three_scales_with_the_judges_caps() -> None:
    relevance = form(None, judge="relevance", context="A page.")
    values = relevance.read({"accuracy": "2", "comprehensiveness": "9", "context_precision": "10"})

    # accuracy of at most 2 caps the others at 4: (2 + 4 + 4) / 30
    assert relevance.label(values) == "33"
    assert relevance.limits(values) == ("Comprehensiveness", "Context Precision")
    subject = JudgeSubject("", "", context="A page.")
    assert relevance.score(values) == RelevanceJudge().score({"nodes": values}, subject)


def test_relevance_without_context_asks_for_two_scales() -> None:
    relevance = form(None, judge="relevance")

    assert [part.key for part in relevance.parts] == ["accuracy", "comprehensiveness"]
    assert relevance.label({"accuracy": 10, "comprehensiveness": 10}) == "67"  # 20 of 30
    assert relevance.score({"accuracy": 10, "comprehensiveness": 10}, {"without_context": "drop"}).value == 1


def test_a_long_scale_is_answered_by_a_number() -> None:
    one = form(NodeSpec("quality", "dimension", scale=ScaleSpec("numeric", 0, 100)))

    assert one.parts[0].choices == ()
    assert one.label(one.read({"quality": "73"})) == "73"
    with pytest.raises(PartsMissing):
        one.read({"quality": "nan"})
    with pytest.raises(PartsMissing):
        one.read({"quality": "101"})


def test_computed_checks_of_a_rubric_count_in_peoples_scores_too() -> None:
    typed = NodeSpec("has", "check", text="kW", source="computed", tags=("type:contains",), scale=ScaleSpec("boolean"))
    tree = NodeSpec("root", "group", aggregator={"type": "mean"}, children=(typed, check("cites")))

    assert [part.key for part in form(tree, response="5 kW").parts] == ["cites"]
    assert form(tree, response="5 kW").label({"cites": True}) == "100"
    assert form(tree, response="none").label({"cites": True}) == "50"


def test_scale_of_a_numeric_criterion_names_its_anchors() -> None:
    scale = ScaleSpec("ordinal", minimum=1, maximum=3, step=1)
    anchors = (AnchorSpec(1, 1, "Useless. Says nothing."), AnchorSpec(3, 3, "Complete"))
    tree = NodeSpec("root", "group", children=(NodeSpec("help", "dimension", scale=scale, anchors=anchors),))
    alone = (Label("1", "1: Useless", 1 / 3), Label("2", "2", 2 / 3), Label("3", "3: Complete", 1.0))

    assert scale_of(tree, criterion="help") == alone  # worth what the judge's score of it is
    assert scale_of(tree) == alone
    assert scale_of(tree, criterion="unknown") == JUDGEMENT


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (ScaleSpec("boolean"), (Label("met", "Met", 1.0), Label("not met", "Not met", 0.0))),
        (ScaleSpec("nominal", labels=("cat", "dog")), (Label("cat", "cat"), Label("dog", "dog"))),
        (ScaleSpec("nominal", labels=(LONG, "dog")), (Label(f"{LONG[:11]}#{LONG_HASH}", LONG), Label("dog", "dog"))),
        (ScaleSpec("numeric", minimum=0, maximum=100), points_scale(100, rating(0, 100))),
        (ScaleSpec("numeric"), JUDGEMENT),
    ],
)
def test_scale_of_other_scales(scale: ScaleSpec, expected: tuple[Label, ...]) -> None:
    assert scale_of(NodeSpec("root", "dimension", scale=scale)) == expected


@pytest.mark.parametrize("said", [{}, {"100.1": "met", "50.1": "perhaps", "50.2": "met", "25.1": "met"}])
def test_read_wants_a_word_on_each_check(said: dict[str, str]) -> None:
    with pytest.raises(PartsMissing, match=r"Choose met or not met for: .*50\.1"):
        form(LEVELS).read(said)


def test_values_are_read_back_as_they_are_said() -> None:
    part = FormQuestion("x", "x", Kind.NUMBER, scale=ScaleSpec("numeric", 0, 10, 0.5))

    assert part.read(value_text(7.5)) == 7.5
    assert part.read(value_text(7)) == 7
    assert part.read("7.3") is None
    assert FormQuestion("c", "c").read(value_text(False)) is False


def test_words_of_parts_name_what_is_met_and_the_values_of_scales() -> None:
    assert words_of_parts({"100.1": False, "50.1": True, "50.2": True}) == "Met: 50.1, 50.2; Not met: 100.1"
    assert words_of_parts({"kind": 3, "clear": 4, "cites": True}) == "Met: cites; kind: 3; clear: 4"
    assert words_of_parts({}) == ""


def test_majority_parts_needs_more_than_half_for_each() -> None:
    assert majority_parts([{"a": 1, "b": True}, {"a": 1, "b": False}, {"a": 2, "b": True}]) == {"a": 1, "b": True}
    assert majority_parts([{"a": 1}, {"a": 2}]) == {}
    assert majority_parts([{}, {"a": 1}]) == {}
    assert majority_parts([]) == {}


def own_prompt(**options: Any) -> dict[str, Any]:
    return {"judge_kind": "custom", "judge_options": KINDS["custom"].new_options() | options}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"lowest": 1, "highest": 10}, {str(n): n / 10 for n in range(1, 11)}),
        ({"lowest": 1, "highest": 5}, {str(n): n / 5 for n in range(1, 6)}),
        ({"lowest": 0, "highest": 10}, {str(n): n / 10 for n in range(11)}),
        ({"lowest": 0, "highest": 100}, {str(n): n / 100 for n in range(0, 101, 10)}),  # as many as have a key
        ({"labels_text": "C = 1\nI = 0\nP = 0.5"}, {"I": 0.0, "P": 0.5, "C": 1.0}),
        ({"labels_text": "yes = 1\nno = 0"}, {"no": 0.0, "yes": 1.0}),
        ({"labels_text": "1 = 1\n0 = 0"}, {"0.0": 0.0, "1.0": 1.0}),  # 1 and 0 themselves are a preference
        ({"labels_text": "\n".join(f"{n} = {n}" for n in range(20))}, {str(n): n / 19 for n in range(20)}),
        (  # an annotation holds 20 characters: the first eleven and eight of sha256("Neither right nor wrong")
            {"labels_text": "right = 1\nNeither right nor wrong = 0"},
            {f"Neither rig#{sha256(b'Neither right nor wrong').hexdigest()[:8]}": 0.0, "right": 1.0},
        ),
    ],
)
def test_people_answer_beside_an_own_prompt_on_its_numbers_or_labels(
    options: dict[str, Any], expected: dict[str, float]
) -> None:
    frozen = own_prompt(**{"labels_text": "", **options})
    panel = {"judge_kind": "panel", "judge_options": {"members": [frozen | {"judge": "a"}, frozen | {"judge": "b"}]}}

    scale = scale_of_evaluator(frozen)

    assert {label.value: label.share for label in scale} == expected
    assert scale_of_evaluator(panel) == scale


def test_rules_and_judges_by_a_rubric_have_no_scale_of_their_own() -> None:
    kinds = ("level_cascade", "generic", "relevance")

    assert [scale_of_evaluator({"judge_kind": kind, "judge_options": {}}) for kind in kinds] == [()] * len(kinds)
    assert scale_of_evaluator({}) == ()


def test_people_answer_beside_judges_without_a_rubric_in_their_words_or_numbers() -> None:
    scales = {kind: scale_of_evaluator({"judge_kind": kind, "judge_options": {}}) for kind in ("accuracy", "integrity")}

    assert scales["accuracy"] == (Label("correct", "Correct", 1.0), Label("incorrect", "Not correct", 0.0))
    assert {label.value: label.share for label in scales["integrity"]} == {str(n): n / 100 for n in range(0, 101, 10)}


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (("C", "P", "I", "N"), {"N": 0.0, "I": 0.0, "P": 0.5, "C": 1.0}),  # of Inspect
        (("A", "B", "C"), {"C": 0.0, "B": 0.5, "A": 1.0}),
        ((1, 5), {str(n): n / 5 for n in range(1, 6)}),
        ((0, 1), {f"{n / 10:g}": n / 10 for n in range(11)}),
        (
            (-1, 1),
            {f"{n / 10 - 1:g}": pytest.approx(n / 20) for n in range(0, 21, 2)},
        ),  # -1, 0 and 1 alone are a preference
        ((None, None), {"right": 1.0, "partly": 0.5, "wrong": 0.0}),
    ],
)
def test_people_answer_beside_a_judge_of_another_tool_on_its_letters_or_numbers(
    scale: tuple[Any, ...], expected: dict[str, float]
) -> None:
    frozen = ImportedGrader("grader", "tool", scale=scale).to_json() | {"judge_kind": "imported", "judge_options": {}}

    assert {label.value: label.share for label in scale_of_evaluator(frozen)} == expected


def test_people_answer_beside_rules_of_another_tool_in_words() -> None:
    assert scale_of_evaluator(ImportedGrader("exact_match", "tool", scale=(0, 1)).to_json()) == JUDGEMENT


def test_an_own_prompt_is_answered_with_one_label_whatever_rubric_it_reads() -> None:
    scale = scale_of_evaluator(own_prompt(labels_text="", lowest=0, highest=100))

    assert form_of(JudgeSubject("", "", rubric=LEVELS), scale, judge="custom") is None


def test_a_label_is_the_answer_to_the_one_question_and_nothing_is_stored_beside_it() -> None:
    form = label_form(JUDGEMENT)

    values = form.read({"label": "partly", "note": "hm"})

    assert values == {"label": "partly"}
    assert (form.label(values), form.stored(values)) == ("partly", {})
    assert form.answers("partly", {}) == values
    assert form.answers("", {}) == {}
    assert form.texts(values) == {"label": "partly"}
    assert [part.digit(index) for part in form.parts for index in range(3)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("said", "refusal"),
    [({}, "Choose a label first."), ({"label": "9"}, "“9” is not on this item's scale: right, partly, wrong.")],
)
def test_what_is_no_label_of_the_scale_is_refused(said: dict[str, str], refusal: str) -> None:
    with pytest.raises(PartsMissing) as refused:
        label_form(JUDGEMENT).read(said)

    assert str(refused.value) == refusal


@pytest.mark.parametrize(
    ("labels", "order", "stored", "seen"),
    [
        (PREFERENCE, "ba", "1", "-1"),
        (PREFERENCE, "ba", "0", "0"),
        (PREFERENCE, "", "1", "1"),
        ((Label("0", "0"), Label("1", "1")), "bac", "1", "1"),  # only a pair has sides that turn
        (JUDGEMENT, "ba", "right", "right"),
    ],
)
def test_a_preference_turns_with_the_sides(labels: tuple[Label, ...], order: str, stored: str, seen: str) -> None:
    form = label_form(labels)

    assert form.turned({"label": stored}, letters_seen(order)) == {"label": seen}
    assert form.turned({"label": seen}, letters_seen(order)) == {"label": stored}


def test_what_numbers_mean_stands_beside_them() -> None:
    (question,) = label_form(scale_from_words(["1 = useless", "2", "3", "4 = complete"])).parts

    assert [choice.text for choice in question.choices] == ["1", "2", "3", "4"]
    assert question.anchors == (("1", "useless"), ("4", "complete"))
    assert not question.is_words


def test_words_of_an_earlier_form_are_still_told() -> None:
    assert label_form(JUDGEMENT).words({"label": "right", "50.1": True}) == "Met: 50.1"


def test_drafts_of_a_label_and_of_parts_are_read_by_one_reader() -> None:
    draft = {"label": "1", "note": "so", "page": "ab", "part-why": "style"}

    assert part_texts_in(draft) == {"label": "1", "why": "style"}
