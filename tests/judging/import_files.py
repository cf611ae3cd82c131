"""Small files that tests import. Written here, so that a reader sees what is in them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from openpyxl import Workbook

from judging.services.file_imports.imports import ImportPart

SUITE = b"""\
name: Capitals
cases:
- id: france
  prompt: What is the capital of France?
  reference: Paris
  scenario: west
  type: knowledge question-answering
  lang: english
  grading: {keywords: [Paris, {content: Lyon, neg: true}]}
- id: poland
  prompt: What is the capital of Poland?
  reference: Warsaw
  scenario: east
  type: knowledge question-answering
  lang: english
  grading: {keywords: [Warsaw]}
"""
CRITERIA = b"""\
criteria:
  helpfulness:
    "1": useless
    "2": useful
"""

File = tuple[str, bytes]


def suite(data: bytes = SUITE) -> File:
    """Return the suite as a file."""
    return "capitals.yaml", data


def responses(system: str = "ada", texts: dict[str, str] | None = None) -> File:
    """Return one response per case as JSON Lines."""
    texts = {"france": "Paris, not Lyon.", "poland": "Warsaw."} if texts is None else texts
    rows = [{"case_id": key, "system": system, "response": text} for key, text in texts.items()]
    return f"responses_{system}.jsonl", "\n".join(map(json.dumps, rows)).encode()


def workbook(keys: tuple[str, ...] = ("france", "poland"), name: str = "levels.xlsx") -> File:
    """Return a level workbook with one row per case."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["query id", 25, 50, 100])
    for key in keys:
        sheet.append([key, "(1) Mentions a city.", "(1) Names the country.", f"(1) Names the capital of {key}."])
    buffer = io.BytesIO()
    book.save(buffer)
    return name, buffer.getvalue()


def zipped(*files: File, name: str = "all.zip") -> File:
    """Return files as one ZIP archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files:
            archive.writestr(path, data)
    return name, buffer.getvalue()


def folder(path: Path) -> list[File]:
    """Return every file below a folder."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return [(file.relative_to(path).as_posix(), file.read_bytes()) for file in files]


def facts(part: ImportPart) -> dict[Any, Any]:
    """Return a preview part's facts by label."""
    return {fact["label"]: fact["value"] for fact in part["facts"]}
