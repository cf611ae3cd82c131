"""A benchmark with a level workbook: what two systems answered, what that is worth, and what judges say of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import yaml

CASES = 44
SYSTEMS = {"alder": (100, 50, 100, 25), "birch": (50, 25, 0, 100)}  # the scores that its answers come to, in turn
LEVELS = (25, 50, 100)
DISPUTED = "A05"  # its three annotators see three different scores in it
MODELS = ("strict", "lenient", "late")


@dataclass(frozen=True)
class Draft:
    """One answer of a system to a case."""

    mark: str  # in its text, so that whoever reads it knows which it is
    system: str
    case: int
    score: int

    @property
    def text(self) -> str:
        return f"Draft {self.mark}: close the valve, then loosen both nuts by hand."

    def met(self, *, person: int) -> dict[str, bool]:
        """Return by item whether the first, second or third person finds it met."""
        score = self.score
        if self.mark == DISPUTED:
            score = (100, 50, 0)[person]
        elif person == 2 and self.case % 11 == 0:
            score = next((level for level in reversed(LEVELS) if level < score), 0)
        return {f"{level}.1": level <= score for level in LEVELS}

    def judged(self, model: str) -> int:
        """Return the score that a judge gives: the strict and the late one err once each, the lenient one often."""
        if model == "lenient":
            return 100 if self.score == 50 else self.score
        return 25 if self.mark == ("A08" if model == "strict" else "A12") else self.score


def drafts() -> list[Draft]:
    """Return every answer."""
    return [
        Draft(f"{system[0].upper()}{case:02d}", system, case, scores[case % len(scores)])
        for system, scores in SYSTEMS.items()
        for case in range(1, CASES + 1)
    ]


def write_files(folder: Path) -> None:
    """Write suite.yaml, responses.jsonl and levels.xlsx."""
    cases = [{"id": str(case), "prompt": f"How is part {case} replaced?"} for case in range(1, CASES + 1)]
    (folder / "suite.yaml").write_text(yaml.safe_dump({"name": "Repairs", "version": "1", "cases": cases}))
    rows = [{"case_id": str(draft.case), "system": draft.system, "response": draft.text} for draft in drafts()]
    (folder / "responses.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["query id", *LEVELS])
    for case in range(1, CASES + 1):
        sheet.append([case, f"(1) mention valve {case}", "(1) name both nuts", "(1) say by hand"])
    book.save(folder / "levels.xlsx")


def replies() -> list[dict[str, Any]]:
    """Return the script of the model server: what each judge's model says of each answer."""
    return [
        {
            "model": f"^{model}$",
            "match": f"Draft {draft.mark}:",
            "reply": f"<analysis>Read with care.</analysis><score>{draft.judged(model)}</score>",
        }
        for model in MODELS
        for draft in drafts()
    ]
