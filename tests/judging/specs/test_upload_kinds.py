"""Uploads are told by what they hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.specs.files.bundles import Bundle
from judging.specs.replies.response_formats import JSON_LINES, RESPONSE_FORMATS, TABLES
from judging.specs.upload_kinds import UploadKind, sniff_all


@pytest.mark.parametrize(
    ("path", "data", "kind"),
    [
        ("s.yaml", b"cases: [a.yaml]", UploadKind.SUITE),
        ("eval_1.yaml", b"prompt_path: p.txt\ngrading: {}", UploadKind.SUITE),
        ("gpt/params.yaml", b"answer_paths: {}", UploadKind.RESPONSES_FOLDER),
        ("r.jsonl", b'{"case_id": "a", "system": "m", "response": "x"}', JSON_LINES.kind),
        ("r.jsonl", b'{"id": 1, "question": "q", "gt_answer": "a", "model_answer": "m"}', JSON_LINES.kind),
        ("math.jsonl", b'{"prompt": "p", "category": "math", "response": "x"}', JSON_LINES.kind),
        ("r.json", b'[{"id": "a", "answer": "x"}]', JSON_LINES.kind),
        ("r.csv", b"filename,completion\r\na,b", TABLES.kind),
        ("responses/m/math.jsonl", b'{"prompt": "p", "response": "x"}', UploadKind.SCALEEVAL_RESPONSES),
        ("m/math.jsonl", b'{"prompt": "p", "response": "x"}', UploadKind.SCALEEVAL_RESPONSES),
        ("c.yaml", b"criteria: {a: {1: x}}", UploadKind.CRITERIA),
        ("rubric.xlsx", b"PK", UploadKind.LEVEL_RUBRIC),
        ("QA.jsonl", b'{"id": 1, "question": "q", "answer": "a"}', UploadKind.QUESTIONS),
        ("QA.jsonl", b'\n\n{"id": 1, "instruction": "i", "question": "q"}', UploadKind.QUESTIONS),
        ("x.csv", b"a,b", None),
        ("x.txt", b"hello", None),
        ("x.jsonl", b"{", None),
        ("x.yaml", b"a: [", None),
    ],
)
def test_sniff_all_tells_the_kind(path: str, data: bytes, kind: str | None) -> None:
    assert sniff_all(Bundle({path: data}))[:1] == ((kind,) if kind else ())


def test_sniff_all_lists_what_others_build_on_first() -> None:
    files = {
        "QA.jsonl": b'{"id": 1, "question": "q", "answer": "a"}',
        "responses/gpt/params.yaml": b"answer_paths: {}",
        "suite.yaml": b"cases: [a.yaml]",
    }

    kinds = sniff_all(Bundle(files))

    assert kinds == (UploadKind.SUITE, UploadKind.RESPONSES_FOLDER, UploadKind.QUESTIONS)


@given(st.binary(max_size=100), st.sampled_from(["a.yaml", "params.yaml", "a.jsonl", "a.csv", "responses/a/b.jsonl"]))
def test_sniff_all_never_raises(data: bytes, path: str) -> None:
    assert set(sniff_all(Bundle({path: data}))) <= {*UploadKind, *RESPONSE_FORMATS}
