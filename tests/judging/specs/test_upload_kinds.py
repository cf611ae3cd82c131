"""Files with readers of their own are told by what they hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.specs.files.bundles import Bundle
from judging.specs.upload_kinds import UploadKind, is_rubric, own_kinds, own_paths


@pytest.mark.parametrize(
    ("path", "data", "kinds"),
    [
        ("s.yaml", b"cases: [a.yaml]", [UploadKind.SUITE]),
        ("eval_1.yaml", b"prompt_path: p.txt\ngrading: {}", [UploadKind.SUITE]),
        ("gpt/params.yaml", b"answer_paths: {}", [UploadKind.RESPONSES_FOLDER]),
        ("responses/m/math.jsonl", b'{"prompt": "p", "response": "x"}', [UploadKind.SCALEEVAL_RESPONSES]),
        ("june/gpt-4.jsonl", b'{"prompt": "p", "response": "x"}', []),
        ("responses/m/math.jsonl", b'{"prompt": "p", "response": "x", "model": "oak", "id": "7"}', []),
        ("c.yaml", b"criteria: {a: {1: x}}", [UploadKind.CRITERIA]),
        ("r.jsonl", b'{"case_id": "a", "system": "m", "response": "x"}', []),
        ("QA.jsonl", b'{"id": 1, "question": "q", "answer": "a"}', []),
        ("x.yaml", b"a: [", []),
    ],
)
def test_own_kinds_tells_what_has_a_reader_of_its_own(path: str, data: bytes, kinds: list[UploadKind]) -> None:
    assert own_kinds(Bundle({path: data})) == kinds


def test_own_kinds_lists_what_others_build_on_first() -> None:
    files = {
        "QA.jsonl": b'{"id": 1, "question": "q", "answer": "a"}',
        "data/rows.jsonl": b'{"id": 1}',
        "responses/gpt/params.yaml": b"answer_paths: {}",
        "suite.yaml": b"cases: [a.yaml]",
    }

    kinds = own_kinds(Bundle(files))

    assert kinds == [UploadKind.SUITE, UploadKind.RESPONSES_FOLDER]
    assert own_paths(Bundle(files), kinds) == {"data/rows.jsonl", "responses/gpt/params.yaml", "suite.yaml"}


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("r.csv", b"criterion,points\r\nnames it,2", True),
        ("r.csv", b"query id,25,50,100\r\nq1,a,b,c", True),
        ("levels.csv", b"name,1,2\r\ntone,rude,kind", True),
        ("people.csv", b'name,score 1,score 2\r\nAnn,4,\r\nBen,"3,5",2', False),
        ("systems.csv", b"name,1,2\r\ngpt-4o,Paris.,Eight.\r\nllama-3,Lyon.,Six.", False),
        ("r.json", b'{"rubrics": [{"criterion": "a", "points": 1}]}', True),
        ("r.json", b'{"tone": {"1": "rude", "2": "kind"}}', True),
        ("r.json", b'{"gpt-4o": {"1": "Dear diary, ...", "2": "They came."}}', False),
        ("r.json", b'{"tale": {"1": "' + b"Once. " * 200 + b'", "2": "The end."}}', False),
        ("r.jsonl", b'{"prompt_id": "a", "rubrics": []}', True),
        ("r.yaml", b"root: {key: a}", True),
        ("r.json", b'{"nodes": [{"id": "a"}, {"id": "b", "parent": "a"}]}', True),
        ("flow.json", b'{"nodes": [{"id": "a"}, {"id": "b"}], "links": []}', False),
        ("labels.csv", b"item,rater,criterion,label\r\na,ann,tone,2", False),
        ("scores.csv", b"case_id,model,metric,score\r\na,elk,exact_match,1", False),
        ("queue.csv", b"question,response,criterion\r\nq,r,tone", False),
        ("r.csv", b"id,criterion\r\n1,names it", True),
        ("r.csv", b"id,criterion,question,points\r\n1,names it,q,2", True),
        ("set.csv", b"id,dimension,prompt_de,option_1\r\n1,tone,q,a", False),
        ("set.csv", b"id,dimension,category,question,answer\r\n1,tone,news,q,a", False),
        ("tasks.jsonl", b'{"prompt": "p", "checklist": ["a"]}', False),
        ("QA.jsonl", b'{"id": 1, "question": "q", "answer": "a"}', False),
        ("notes.csv", b"a,b", False),
        ("rows.jsonl", b'{"asked": "q", "wrote": "r", "criteria": "tone"}', False),
        ("x.jsonl", b"{", False),
    ],
)
def test_is_rubric_sees_the_structure_of_one(path: str, data: bytes, expected: bool) -> None:
    assert is_rubric(Bundle({path: data}), path) is expected


@given(st.binary(max_size=100), st.sampled_from(["a.yaml", "params.yaml", "a.jsonl", "a.csv", "responses/a/b.jsonl"]))
def test_own_kinds_never_raises(data: bytes, path: str) -> None:
    bundle = Bundle({path: data})

    assert set(own_kinds(bundle)) <= set(UploadKind)
    assert isinstance(is_rubric(bundle, path), bool)
