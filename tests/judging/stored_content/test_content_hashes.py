"""Hashes of stored content: those of cases with text alone never change, and images and turns count."""

from __future__ import annotations

from dataclasses import replace

from judging.specs.records.neutral import CaseRecord, ResponseRecord
from judging.specs.types import ImageSpec
from judging.stored_content import case_hash, hash_of_prompt, response_hash, text_hash

PLAIN = CaseRecord(
    key="france",
    prompt="What is the capital of France?",
    grading={"keywords": ["Paris"]},
    references=["Paris"],
    context=["France is in Europe."],
    context_role="reference",
    scenario="geography",
    question_type="qa",
    lang="english",
    full_score=1.0,
    weight=2.0,
    source_path="s.yaml",
    metadata={"a": 1},
    handlers={"h": "x"},
)
IMAGE = ImageSpec("a" * 64, "image/png", 40, 20, name="1.png")


def test_hashes_of_text_alone_are_what_they_were_before_images_were_stored() -> None:
    assert hash_of_prompt(PLAIN) == "c8e6cd49430eecbd5b43bd29addb5f2b7ff8ab5a31931f16caabc9796b37378a"
    assert case_hash(PLAIN) == "8a7e3de867e1873fea4531e3d714c2835c32f85c0574d33fc17550932ce648e2"
    paris = "5dd272b4f316b776a7b8e3d0894b37e1e42be3d5d3b204b8a5836cc50597a6b1"
    assert (response_hash(ResponseRecord("ada", "Paris", case_key="france")), text_hash("Paris")) == (paris, paris)


def test_prompt_hash_depends_on_images_and_turns_and_not_on_file_names() -> None:
    shown = [
        PLAIN,
        replace(PLAIN, images=(IMAGE,)),
        replace(PLAIN, images=(replace(IMAGE, digest="b" * 64),)),
        replace(PLAIN, images=(IMAGE, IMAGE)),
        replace(PLAIN, images=(replace(IMAGE, alt="A cat"),)),
        replace(PLAIN, messages=({"role": "user", "parts": [{"text": "Hi"}]},)),
    ]

    assert len({hash_of_prompt(case) for case in shown}) == len(shown)
    assert {case_hash(case) for case in shown} == {case_hash(PLAIN)}
    renamed = replace(PLAIN, images=(replace(IMAGE, name="other.png"),))
    assert hash_of_prompt(renamed) == hash_of_prompt(shown[1])
