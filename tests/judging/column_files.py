"""Small tables in the shapes that other programs write. Their texts are our own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from openpyxl import Workbook

File = tuple[str, bytes]

FRANCE, POLAND = "What is the capital of France?", "What is the capital of Poland?"


def table(rows: Sequence[Sequence[Any]], *, separator: str = ",", encoding: str = "utf-8", name: str = "t.csv") -> File:
    """Return rows as CSV, quoted where a cell needs it."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(rows)
    return name, text.getvalue().encode(encoding)


def book(rows: Sequence[Sequence[Any]], *, merged: Sequence[str] = (), hidden: str = "", name: str = "t.xlsx") -> File:
    """Return rows as a workbook of one sheet, with merged cells and a hidden column."""
    workbook, buffer = Workbook(), io.BytesIO()
    sheet = workbook.active
    assert sheet is not None
    for row in rows:
        sheet.append(list(row))
    for cells in merged:
        sheet.merge_cells(cells)
    if hidden:
        sheet.column_dimensions[hidden].hidden = True
    workbook.save(buffer)
    return name, buffer.getvalue()


def lines(rows: Sequence[object], name: str = "t.jsonl") -> File:
    """Return objects as JSON Lines."""
    return name, "\n".join(map(json.dumps, rows)).encode()


def document(data: object, name: str = "t.json") -> File:
    """Return an object as a JSON document that goes over several lines."""
    return name, json.dumps(data, indent=2).encode()


def lm_eval_samples() -> File:
    """Return two samples as lm-evaluation-harness logs them for a task of generated texts."""
    rows = [
        {
            "doc_id": number,
            "doc": {"question": question, "answer": answer},
            "target": answer,
            "arguments": {"gen_args_0": {"arg_0": f"Q: {question}\nA:", "arg_1": {"until": ["Q:"], "max_gen_toks": 9}}},
            "resps": [[said]],
            "filtered_resps": [said],
            "exact_match": float(answer in said),
            "doc_hash": f"{number}f",
        }
        for number, question, answer, said in ((0, FRANCE, "Paris", "Paris."), (1, POLAND, "Warsaw", "Krakow."))
    ]
    return lines(rows, "samples_capitals.jsonl")


def promptfoo_csv() -> File:
    """Return two tests of two providers as promptfoo's CSV has them: the same columns once more for each provider."""
    about = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]
    prompt = "Answer: {{question}}"
    return table(
        [
            ["question", f"[openai:ada] {prompt}", *about, f"[local:eve] {prompt}", *about],
            [FRANCE, "Paris", "PASS", "1.00", "", "", "", "Lyon", "FAIL", "0.00", "", "Not Paris", ""],
            [POLAND, "Warsaw", "PASS", "1.00", "", "", "", "Warsaw", "PASS", "1.00", "", "", ""],
        ],
        name="promptfoo.csv",
    )


def promptfoo_json() -> File:
    """Return the results of two tests as promptfoo's JSON has them, inside of a document about the whole evaluation."""
    results = [
        {
            "provider": {"id": "openai:ada", "label": ""},
            "prompt": {"raw": f"Answer: {question}", "label": "Answer: {{question}}"},
            "vars": {"question": question},
            "response": {"output": said, "tokenUsage": {"total": 12}},
            "success": True,
            "testIdx": number,
        }
        for number, question, said in ((0, FRANCE, "Paris"), (1, POLAND, "Warsaw"))
    ]
    prompts = [{"raw": "Answer: {{question}}", "provider": "openai:ada"}]
    return document({"evalId": "eval-1", "results": {"version": 3, "results": results, "prompts": prompts}}, "out.json")


def inspect_log() -> File:
    """Return two samples as an Inspect log in JSON has them."""
    samples = [
        {
            "id": key,
            "epoch": 1,
            "input": question,
            "target": answer,
            "messages": [{"role": "user", "content": question}, {"role": "assistant", "content": said}],
            "output": {"model": "local/ada", "choices": [{"message": {"role": "assistant", "content": said}}]},
            "scores": {"includes": {"value": "C"}},
        }
        for key, question, answer, said in (
            ("france", FRANCE, "Paris", "Paris"),
            ("poland", POLAND, "Warsaw", "Krakow"),
        )
    ]
    head = {"version": 2, "status": "success", "eval": {"model": "local/ada", "task": "capitals"}}
    return document({**head, "samples": samples}, "log.json")
