"""Questions with responses for people: what a file says that nobody will see is told."""

from __future__ import annotations

import json

from evalsite.review.tables.materials import read_materials

PAIRS = b"question,response_a,response_b,response_c,my_meta,contxt\nWhy?,a,b,c,d,e\n"


def test_read_materials_warns_of_columns_that_are_not_read() -> None:
    parsed = read_materials(PAIRS, "pairs.csv")

    assert parsed.value is not None
    assert [str(problem) for problem in parsed.warnings] == [
        "pairs.csv: The column 'response_c' is not read. Ignore this if it is intended.",
        "pairs.csv: The column 'my_meta' is not read. Ignore this if it is intended.",
        "pairs.csv: The column 'contxt' is not read. Did you mean 'context'?",
    ]


def test_read_materials_warns_of_labels_that_pairs_do_not_use() -> None:
    pairs = b"question,response_a,response_b\nWhy?,a,b\n"

    assert [problem.code for problem in read_materials(pairs, "p.csv", has_scale=True).problems] == ["unused-labels"]
    assert read_materials(pairs, "p.csv").problems == ()
    assert read_materials(b"question,response\nWhy?,a\n", "p.csv", has_scale=True).problems == ()


def test_read_materials_shows_chats_as_messages_and_objects_as_json() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    row = {"question": chat, "response": {"text": "Because.", "parts": [1]}}

    parsed = read_materials(json.dumps(row).encode(), "chats.jsonl")

    assert parsed.value is not None
    (item,) = parsed.value.rows
    assert item.question == "system: Be brief.\n\nuser: Why?"
    assert json.loads(item.response_a) == row["response"]
    assert [(problem.place, problem.code) for problem in parsed.warnings] == [("line 1", "nested-value")] * 2
