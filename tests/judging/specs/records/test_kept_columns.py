"""No column vanishes: whatever its name, its values are stored, or asked about, or said to be left out."""

from __future__ import annotations

import re

import pytest

from judging.specs.records.names import TABLE
from tests.judging.specs.records.tools.uploads import Fields, read
from tests.sizes import sized

pytestmark = [pytest.mark.backend_free, pytest.mark.sized]
ASKED = [{"question": "Who am I?"}, {"question": "What is it?"}]
ANSWERED = [ASKED[0] | {"response": "A man"}, ASKED[1] | {"response": "A pen"}]
SAID = [{"rater": "ann", "label": "good"}, {"rater": "ann", "label": "bad"}]
TABLES: dict[str, list[Fields]] = {
    "cases": ASKED,
    "responses": ANSWERED,
    "scores": [ANSWERED[0] | {"score": 1}, ANSWERED[1] | {"score": 0}],
    "verdicts": [ANSWERED[0] | {"judge": "gpt", "verdict": 1}, ANSWERED[1] | {"judge": "gpt", "verdict": 0}],
    "labels": [ANSWERED[0] | SAID[0], ANSWERED[1] | SAID[1]],
    "labels of items": [{"item": "1"} | SAID[0], {"item": "2"} | SAID[1]],
    "pairs": [
        ASKED[0] | {"response_a": "A man", "response_b": "A dog", "winner": "A"},
        ASKED[1] | {"response_a": "A pen", "response_b": "A pin", "winner": "B"},
    ],
    "systems side by side": [
        ASKED[0] | {"gpt-4": "A man", "claude": "A dog"},
        ASKED[1] | {"gpt-4": "A pen", "claude": "A pin"},
    ],
    "systems": [
        {"id": str(number)} | row | {"model": model} for model in ("oak", "elm") for number, row in enumerate(ANSWERED)
    ],
}
NAMES = sorted({name.strip() for line in TABLE.values() for name in re.split(r"[|,]", line)} - {""})
PARTS = ("cases", "responses", "scores", "verdicts", "preferences", "labels", "rubrics", "unknown_cases")


def kept(rows: list[Fields], name: str) -> bool:
    """Return whether the values of a column are stored or left out in words, or the file is asked about."""
    reading = read({"file.json": rows})
    if reading.collected is None:
        return bool(reading.findings.as_tuple())
    records = repr([list(getattr(reading.collected, part)) for part in (*PARTS, "unknown_responses")])
    told = repr([*reading.collected.warning_rows(), *reading.collected.left_out()])
    return name in told or all(str(row[name]) in records + told for row in rows)


@pytest.mark.parametrize("values", [("zork", "quux"), (71.25, 83.5)], ids=["words", "numbers"])
@pytest.mark.parametrize("table", TABLES)
def test_the_values_of_any_column_are_kept_or_asked_about(table: str, values: tuple[object, object]) -> None:
    rows = TABLES[table]
    names = [name for name in NAMES if name not in rows[0] and not name.endswith("_ms")]  # these are kept as seconds

    lost = [
        name
        for name in names[:: sized(8, whole=1)]
        if not kept([row | {name: values[number % 2]} for number, row in enumerate(rows)], name)
    ]

    assert lost == []
