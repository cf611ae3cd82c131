"""Depth of JSON, counted before it is parsed."""

from __future__ import annotations

import pytest

from judging.specs.files.json_depth import nests_too_deep, opens_too_deep


@pytest.mark.parametrize(
    ("text", "in_json", "in_prose"),
    [
        ("[" * 200 + "]" * 200, False, False),
        ("[" * 201 + "]" * 201, True, True),
        ("[{}]" * 500, False, False),
        ('["' + "[" * 500 + '"]', False, True),
        ('{"a\\"b": ' + "[" * 300, True, True),
        ("]" * 300 + "[" * 201, False, True),
    ],
)
def test_depth_is_counted_outside_strings_in_json_and_everywhere_in_prose(
    text: str, in_json: bool, in_prose: bool
) -> None:
    assert (nests_too_deep(text), opens_too_deep(text)) == (in_json, in_prose)
