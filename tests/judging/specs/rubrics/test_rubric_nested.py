"""What a nested rubric may ask for, and what it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Parsed
from judging.specs.rubrics.rubric_nested import find_criteria, parse_criteria
from judging.specs.types import AnchorSpec, NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec
from tests.judging.specs.whole_rubrics import parse_rubric

POINTS = [{"criterion": "names the cause", "points": 7}, {"criterion": "wrong unit", "points": -6}]
RATED = {"key": "root", "kind": "group", "children": [{"key": "a", "kind": "dimension", "text": "Clear?"}]}


def parse(data: Any) -> Parsed[RubricSpec]:
    return parse_rubric(Bundle({"r.json": json.dumps(data).encode()}), "r.json")


@pytest.mark.parametrize(
    ("data", "aggregate"),
    [
        ({"rubrics": POINTS}, {"type": "mean", "clip": [0, 1]}),
        ({"root": RATED}, {}),
        ({"root": RATED, "benchmark_aggregate": "mean"}, {"type": "mean"}),
        ({"root": RATED, "benchmark_aggregate": {"clip": [0, 1]}}, {"clip": [0, 1]}),
    ],
)
def test_parse_rubric_says_how_the_benchmark_is_summed(data: Any, aggregate: dict[str, Any]) -> None:
    rubric = parse(data).value

    assert rubric is not None
    assert dict(rubric.benchmark_aggregate) == aggregate


@pytest.mark.parametrize("aggregate", ["median", {"type": "sum"}, {"clip": [0, 5]}, {"rounding": 1}, [1]])
def test_parse_rubric_refuses_an_aggregate_that_is_not_carried_out(aggregate: Any) -> None:
    (problem,) = parse({"root": RATED, "benchmark_aggregate": aggregate}).errors

    assert problem.message.startswith("The aggregate of a benchmark is a mean of its items")


def test_parse_rubric_refuses_a_rule_on_a_fact_that_nobody_knows() -> None:
    rule = {"if": {"fact": "is_long", "is": True}, "do": "set", "targets": ["a"], "to": 0}

    (problem,) = parse({"root": {**RATED, "rules": [rule]}}).errors

    assert problem.message == "A rule can ask for has_context only; nothing else is known about a response."


def test_parse_nested_rubric_says_that_a_contract_has_no_effect() -> None:
    parsed = parse({"root": RATED, "contract": "pairwise"})

    assert parsed.value is not None
    assert [(problem.severity, problem.code, problem.offending) for problem in parsed.problems] == [
        ("warning", "contract-ignored", "pairwise")
    ]


GOOD = 'criteria:\n  help:\n    "1": "Bad -  € \\\\ x "\n    "2": Fine\ninput_outputs:\n  input: completion\n'


def test_parse_criteria_keeps_texts_to_the_character() -> None:
    parsed = parse_criteria(Bundle({"c/meta.yaml": GOOD.encode()}))

    dimension = NodeSpec(
        key="help",
        kind="dimension",
        text="help",
        scale=ScaleSpec("ordinal", 1.0, 2.0, 1.0),
        anchors=(AnchorSpec(1.0, 1.0, "Bad -  € \\ x "), AnchorSpec(2.0, 2.0, "Fine")),
    )
    root = NodeSpec(key="root", kind="group", aggregator={"type": "mean"}, children=(dimension,))
    assert parsed.value == RubricSpec(
        name="meta",
        shape="scaleeval",
        scope="benchmark",
        items=(RubricItemSpec("", root, "c/meta.yaml"),),
        options={"stray": {"input_outputs": {"input": "completion"}}},
    )
    assert [(problem.code, problem.place) for problem in parsed.problems] == [("stray-key", "line 6, input_outputs")]


def test_parse_criteria_takes_other_consecutive_levels() -> None:
    parsed = parse_criteria(Bundle({"c.yaml": b"criteria: {a: {2: two, 0: zero, 1: one}}"}), "c.yaml")

    assert parsed.value is not None
    [dimension] = parsed.value.items[0].root.children
    assert parsed.value.name == "c"
    assert dimension.scale == ScaleSpec("ordinal", 0.0, 2.0, 1.0)
    assert [(anchor.low, anchor.text) for anchor in dimension.anchors] == [(0.0, "zero"), (1.0, "one"), (2.0, "two")]


@pytest.mark.parametrize(
    ("text", "code", "location"),
    [
        ("criteria:\n  a:\n    1: x\n    2: y\n    5: z\n", "missing-level", "line 3, criteria.a"),
        ("criteria:\n  a:\n    1: x\n", "missing-level", "line 3, criteria.a"),
        ("criteria:\n  a:\n    1: x\n    2: y\n    best: z\n", "bad-level", "line 5, criteria.a.best"),
        ("criteria:\n  a:\n    1: x\n    2: y\n    1.5: z\n", "bad-level", "line 5, criteria.a.1.5"),
        ("criteria:\n  a:\n    1: x\n    2: y\n    3:\n", "empty-level", "line 5, criteria.a.3"),
        ("criteria:\n  a:\n    1: x\n    2: y\n    3: ' '\n", "empty-level", "line 5, criteria.a.3"),
        ("criteria:\n  a:\n    1: x\n    2: y\n    3: 7\n", "not-text", "line 5, criteria.a.3"),
        ("criteria:\n  a: text\n", "not-a-mapping", "line 2, criteria.a"),
        ("criteria:\n  a: {}\n", "criterion-without-levels", "line 2, criteria.a"),
        ("criteria: {}\n", "no-criteria", "line 1, criteria"),
        ("other: 1\n", "no-criteria", "line 1, criteria"),
        ("criteria: [\n", "bad-yaml", "line 1, column 12"),
    ],
)
def test_parse_criteria_refuses_with_a_location(text: str, code: str, location: str) -> None:
    parsed = parse_criteria(Bundle({"c.yaml": text.encode()}), "c.yaml")

    assert parsed.value is None
    assert [(problem.code, problem.place) for problem in parsed.errors] == [(code, location)]


def test_parse_criteria_says_that_there_is_no_file() -> None:
    assert [problem.code for problem in parse_criteria(Bundle({"a.txt": b""})).errors] == ["no-criteria"]


@given(st.binary(max_size=150))
def test_parse_criteria_never_raises(data: bytes) -> None:
    for sample in (data, b"criteria:\n  a:\n    1: " + data):
        parsed = parse_criteria(Bundle({"c.yaml": sample}), "c.yaml")
        assert (parsed.value is None) == bool(parsed.errors)


@pytest.mark.shared_data
def test_parse_criteria_reads_the_shared_files(shared_data: Path) -> None:
    top = shared_data / "debate" / "original"
    files = Bundle({p.relative_to(top).as_posix(): p.read_bytes() for p in top.rglob("*.yaml")})

    for path in find_criteria(files):
        parsed = parse_criteria(files, path)
        assert [problem.code for problem in parsed.problems] == ["stray-key"]
        assert parsed.value is not None
        read = {
            node.key: {str(int(anchor.low)): anchor.text for anchor in node.anchors}
            for node in parsed.value.items[0].root.children
        }
        assert read == yaml.safe_load(files.read(path))["criteria"]
    assert len(find_criteria(files)) == 4
