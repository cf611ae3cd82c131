"""Staged rubrics: one reading, the same hashes as before, and a comparison without the trees."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judging.models import Rubric, RubricItem
from judging.services.file_imports.rubrics import RubricOrigin, plan_rubric
from judging.services.file_imports.staged_rubrics import Keys, StagedRubric, stage_reading, stage_rubric
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.rubrics.rubric_tables import open_rubric
from judging.specs.types import AnchorSpec, NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec
from judging.stored_content import tree_digest, tree_from_json, tree_text, tree_to_json
from tests import factories
from tests.content import store_rubric, store_staged

CONTENT_HASH = "683df51d633023ca49a6026bb1716eeb9e4f3a3e382869215f0ae1acc5600e78"
NODES = (
    NodeSpec("a", "check", 'text \u00e9 "q"', scale=ScaleSpec("boolean")),
    NodeSpec("b", "check"),
    NodeSpec("c", "dimension", "t", weight=2.0, tags=("x",), scale=ScaleSpec("ordinal", 1, 5, 1)),
    NodeSpec("d", "dimension", anchors=(AnchorSpec(1, 2, "low"),), scale=ScaleSpec("nominal", labels=("n", "y"))),
    NodeSpec("e", "check", points=-1.5, value_map={"n": 0.0}, rules=({"cond": "x"},)),
    NodeSpec("f", "level", aggregator={"type": "any", "value": 100.0}, children=(NodeSpec("g", "check", "z"),)),
    NodeSpec("h", "group", "named", children=(NodeSpec("i", "check", role="guidance", source="computed"),)),
)


def rubric(*texts: str, name: str = "R") -> RubricSpec:
    """Return a rubric with one tree for each text, under the keys k0, k1..."""
    items = tuple(
        RubricItemSpec(f"k{n}", NodeSpec("root", "group", children=(NodeSpec("a", "check", text),)), f"S!A{n + 2}")
        for n, text in enumerate(texts)
    )
    return RubricSpec(name, "levels", "item", items)


DIGESTS = (  # of NODES, and of a group of them all, as a database of the first release holds them
    "14aa03bd080278fcc5efd8d09132996da45748abbcd920a37e7b96c164500d52",
    "318457d2e570eab1732a12f652f69523877aa7e99315c4e36c0370debbaa37d6",
    "605a27150c8d01a4355e57475744b63e520baf76c0cd3cdad091ba89356f9356",
    "0fec61a5ef24db2380eec2ed0360787c64e31f60e0f9a9a767980342890d9c81",
    "7450b44461e38cb76334be852d091f5cccaab5837ab7bbd7035ac52bb037a71d",
    "29b2da4c6d79e3fd1b74392062c84c00489c1e108f13376c14f19c3919da5e5a",
    "0f42a67d8400c7b51ef04e85e1a6bbe769092dd5905d6e656cc27119e1b98a89",
    "5d995f94b995db7a3a10edc26f9bb0761bdcca0a2cead10005c8ee01e1316604",
)


@pytest.mark.parametrize(
    ("node", "digest"), list(zip([*NODES, NodeSpec("root", "group", children=NODES)], DIGESTS, strict=True))
)
def test_tree_digest_is_the_one_that_stored_items_carry(node: NodeSpec, digest: str) -> None:
    assert tree_digest('k\u00e9\x01"', tree_text(node)) == digest


@pytest.mark.parametrize("node", [*NODES, NodeSpec("root", "group", children=NODES)])
def test_tree_text_is_the_canonical_json_of_the_tree(node: NodeSpec) -> None:
    data = tree_to_json(node)

    assert tree_text(node) == json.dumps(data, sort_keys=True, separators=(",", ":"))
    assert tree_text(tree_from_json(data)) == tree_text(node)


def test_tree_text_refuses_a_number_that_is_none() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        tree_text(NodeSpec("a", "check", points=float("nan")))


def test_content_hash_is_the_one_that_stored_rubrics_carry() -> None:
    # Computed by the release before digests were kept: an import of the same file must go on changing nothing.
    assert stage_rubric(rubric("one", "two")).content_hash == CONTENT_HASH


def test_stage_reading_finds_the_second_of_two_ids_in_whatever_batch() -> None:
    rows = [f"{n},(1) a" for n in range(1500)] + ["3,(1) b", "1499,(1) b"]
    findings = Findings("r.csv")
    reading = open_rubric(Bundle({"r.csv": "\n".join(["query id,25", *rows]).encode()}), "r.csv", findings)
    assert reading is not None

    staged = stage_reading(reading, findings)

    assert staged is None
    assert [(problem.place, problem.message) for problem in findings.listed] == [
        ("line 1502, column A", "The id '3' already occurs at line 5, column A."),
        ("line 1503, column A", "The id '1499' already occurs at line 1501, column A."),
    ]


def test_stage_reading_tells_how_far_it_is() -> None:
    steps: list[tuple[str, int, int]] = []
    data = "\n".join(["query id,25", *(f"{n},(1) a" for n in range(2500))]).encode()
    findings = Findings("r.csv")
    reading = open_rubric(Bundle({"r.csv": data}), "r.csv", findings)
    assert reading is not None

    stage_reading(reading, findings, lambda *step: steps.append(step))

    # Every thousand items; the header is a row, too.
    assert steps == [("reading", 2, 2501), ("reading", 1002, 2501), ("reading", 2002, 2501)]


@pytest.mark.django_db
def test_plan_rubric_compares_by_digest() -> None:
    store_rubric(spec=rubric("a", "b", "c"), benchmark=None, source_name="", actor=None, at=factories.NOON)
    staged = stage_rubric(rubric("a", "B"))
    staged.add(RubricItemSpec("new", NodeSpec("root", "group")))
    staged.flush()

    plan = plan_rubric(staged=staged, benchmark=None)

    assert (plan.added, plan.changed, plan.removed) == (Keys(1, ("new",)), Keys(1, ("k1",)), Keys(1, ("k2",)))
    assert (plan.rubric, plan.latest) == (None, Rubric.objects.get())


@pytest.mark.django_db
def test_store_staged_keeps_every_tree_with_its_digest_and_tells_how_far_it_is() -> None:
    staged: StagedRubric = stage_rubric(rubric(*(f"t{n}" for n in range(1001))))
    steps: list[tuple[str, int, int]] = []

    stored = store_staged(
        staged=staged,
        benchmark=None,
        origin=RubricOrigin("r.xlsx", None, factories.NOON),
        watch=lambda *step: steps.append(step),
    )

    items = list(RubricItem.objects.filter(rubric=stored).order_by("position"))
    assert [item.case_key for item in items] == [f"k{n}" for n in range(1001)]
    assert {item.digest == factories.item_digest(item.case_key, item.tree) for item in items} == {True}
    assert items[7].tree == tree_to_json(rubric(*(f"t{n}" for n in range(8))).items[7].root)
    assert (items[7].metadata, items[7].source) == ({}, "S!A9")
    assert steps == [("storing", 0, 1001), ("storing", 1000, 1001)]


@pytest.mark.django_db
def test_store_rubric_stores_nothing_when_it_breaks_off(monkeypatch: Any) -> None:
    staged = stage_rubric(rubric(*(f"t{n}" for n in range(1500))))

    def stop(stage: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store_staged(staged=staged, benchmark=None, origin=RubricOrigin("", None, factories.NOON), watch=stop)

    assert (Rubric.objects.count(), RubricItem.objects.count()) == (0, 0)
