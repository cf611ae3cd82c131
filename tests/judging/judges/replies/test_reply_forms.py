"""The form of JSON replies: a schema of the judge's own criteria."""

from __future__ import annotations

from judging.judges.registry import judge_kind
from judging.judges.replies.reply_forms import JSON_OBJECT, reply_form, scale_schema
from judging.judges.subjects import JudgeSubject
from judging.specs.types import NodeSpec, ScaleSpec

LEVELS = NodeSpec(
    "root",
    "group",
    children=(NodeSpec("100", "level", children=(NodeSpec("100.1", "check"), NodeSpec("100.2", "check"))),),
)
TREE = NodeSpec(
    "root",
    "group",
    children=(
        NodeSpec("named", "check", text="It names a file."),
        NodeSpec("tone", "check", scale=ScaleSpec("nominal", labels=("kind", "cold"))),
        NodeSpec("depth", "check", scale=ScaleSpec("ordinal", 1, 5, 1)),
        NodeSpec("share", "check", scale=ScaleSpec("numeric", 0, 1)),
    ),
)


def schema_of(name: str, part: str, values: dict[str, object]) -> dict[str, object]:
    inner = {"type": "object", "properties": values, "required": list(values), "additionalProperties": False}
    return {
        "type": "json_schema",
        "json_schema": {
            "name": name,
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {"reasoning": {"type": "string"}, part: inner},
                "required": ["reasoning", part],
                "additionalProperties": False,
            },
        },
    }


def test_generic_judge_asks_for_a_schema_of_its_criteria() -> None:
    subject = JudgeSubject("q", "a", rubric=TREE)

    response_format = judge_kind("generic").build({"json_schema": True}).request(subject).response_format

    assert response_format == schema_of(
        "rubric_verdicts",
        "verdicts",
        {
            "named": {"type": "boolean"},
            "tone": {"type": "string", "enum": ["kind", "cold"]},
            "depth": {"type": "integer"},
            "share": {"type": "number"},
        },
    )


def test_itemised_cascade_asks_for_a_schema_of_its_checks() -> None:
    subject = JudgeSubject("q", "a", rubric=LEVELS)
    cascade = judge_kind("level_cascade")

    response_format = cascade.build({"mode": "itemised", "json_schema": True}).request(subject).response_format

    assert response_format == schema_of(
        "criteria_met", "met", {"100.1": {"type": "boolean"}, "100.2": {"type": "boolean"}}
    )
    assert cascade.build({"json_schema": True}).request(subject).response_format is None  # holistic: tags, no JSON


def test_judges_stored_without_the_option_ask_as_before() -> None:
    requests = [
        judge_kind("generic").build().request(JudgeSubject("q", "a", rubric=TREE)),
        judge_kind("level_cascade").build({"mode": "itemised"}).request(JudgeSubject("q", "a", rubric=LEVELS)),
    ]

    assert [(request.response_format, request.seed) for request in requests] == [(JSON_OBJECT, None)] * 2


def test_reply_form_of_very_many_criteria_is_any_object() -> None:
    keys = {f"c{number}": {"type": "boolean"} for number in range(101)}

    assert reply_form("rubric_verdicts", "verdicts", keys) == JSON_OBJECT


def test_scale_schema_takes_fractions_where_steps_or_ends_have_them() -> None:
    scales = [
        ScaleSpec("numeric", 0, 10, 0.5),
        ScaleSpec("ordinal", 0.5, 4.5, 1),
        ScaleSpec("numeric", 0, 10, 1),
        None,
    ]

    types = [scale_schema(scale)["type"] for scale in scales]

    assert types == ["number", "number", "integer", "boolean"]
