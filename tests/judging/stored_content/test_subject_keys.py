"""Keys of subjects are the same by every way that leads to them."""

from __future__ import annotations

import pytest

from judging.stored_content import key_frame, part_json, subject_key

TREE = {"key": "root", "kind": "group", "children": [{"key": "tone", "kind": "item", "text": "Größe “ä” \u2028 \\"}]}
SCALE = [("0", 0.0), ("50", 0.5), ("good", None)]


@pytest.mark.parametrize("criterion", ["", "tone", "größe “q”"])
@pytest.mark.parametrize("reference", ["", 'Say "no".\nTwice — ünd \u2029', "e\u0301"])
@pytest.mark.parametrize("text_hash", ["0" * 64, "f3" * 32, 'not "hex"'])
def test_key_frame_gives_one_response_the_key_of_its_subject(criterion: str, reference: str, text_hash: str) -> None:
    part = part_json(TREE, criterion)
    frame = key_frame(prompt_hash="ab" * 32, part=part, criterion=criterion, reference=reference, scale=SCALE)

    assert frame.key(text_hash) == subject_key(
        prompt_hash="ab" * 32,
        text_hashes=[text_hash],
        part=part,
        criterion=criterion,
        reference=reference,
        scale=SCALE,
    )
