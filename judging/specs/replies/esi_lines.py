"""Data sets of the ESI, read as its program reads them: a bad line is counted, not fatal.

One JSON object per line with id, scenario_code, instruction, question and answer. The importer of this site refuses a
file with bad lines; this reader keeps going and says which lines hold no item, so that a run's files list every line.
Source: Lunar-Bench.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from evalsite.base.json_types import JsonDict
from judging.specs.files.json_depth import opens_too_deep
from judging.specs.types import CaseSpec, SuiteSpec

NOT_JSON = "ERROR_INPUT_JSON_DECODE"
INCOMPLETE = "SKIPPED_DATA_INCOMPLETE"
SHOWN = 200  # characters of a bad line that are kept


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A line without an item. `status` is the word of Lunar-Bench's program."""

    line: int
    status: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class EsiLines:
    """The items as a suite, and the lines that hold none."""

    suite: SuiteSpec
    problems: tuple[LineProblem, ...]


def read_esi_lines(text: str, *, name: str) -> EsiLines:
    """Return every item of a data set and every line without one. Lines are numbered from 1."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    cases: list[CaseSpec] = []
    problems: list[LineProblem] = []
    keys: set[str] = set()
    for number, line in enumerate(lines, 1):
        reading = _read(line.rstrip("\r"), number)
        if isinstance(reading, LineProblem):
            problems.append(reading)
            continue
        key = _key(reading, number, keys)
        keys.add(key)
        cases.append(_case(reading, number, key))
    return EsiLines(SuiteSpec(name=name, version="", cases=tuple(cases)), tuple(problems))


def _read(line: str, number: int) -> JsonDict | LineProblem:
    if opens_too_deep(line):
        return LineProblem(number, NOT_JSON, "The brackets of the line are nested too deeply.", line[:SHOWN])
    try:
        row = json.loads(line)
    except ValueError:
        return LineProblem(number, NOT_JSON, "The line is not JSON.", line[:SHOWN])
    if not isinstance(row, dict):
        return LineProblem(number, NOT_JSON, "The line is not a JSON object.", line[:SHOWN])
    missing_fields = [field for field in ("instruction", "question") if not isinstance(row.get(field), str)]
    if missing_fields:
        return LineProblem(number, INCOMPLETE, f"The line has no {' and no '.join(missing_fields)}.", line[:SHOWN])
    if not f"{row['instruction']}{row['question']}".strip():
        return LineProblem(number, INCOMPLETE, "Instruction and question are empty.", line[:SHOWN])
    return row


def _key(row: JsonDict, number: int, used_keys: set[str]) -> str:
    row_id = row.get("id")
    key = str(row_id).strip() if isinstance(row_id, str | int) and not isinstance(row_id, bool) else ""
    if key and len(key) <= 150 and key not in used_keys:
        return key
    return next(name for name in _line_names(number) if name not in used_keys)


def _line_names(number: int) -> Iterator[str]:
    yield f"line-{number}"
    suffix = 2
    while True:
        yield f"line-{number}-{suffix}"
        suffix += 1


def _case(row: JsonDict, number: int, key: str) -> CaseSpec:
    instruction, question = row["instruction"], row["question"]
    answer, scenario = row.get("answer"), row.get("scenario_code")
    return CaseSpec(
        key=key,
        prompt="\n\n".join(part for part in (instruction, question) if part.strip()),
        reference=answer if isinstance(answer, str) else "",
        scenario=str(scenario)[:100] if isinstance(scenario, str | int | float) else "",
        source_path=f"line {number}",
        metadata={"instruction": instruction, "question": question, "line": number},
    )
