"""Judges shipped as files of the form that `add_judge FILE` reads: what a new judge of a kind starts as."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from evalsite.base.json_types import JsonObject
from judging.specs.files.yaml_reading import read_yaml


@dataclass(frozen=True, slots=True)
class ShippedJudge:
    """What a file beside this module says. Its prompt stands in `prompts`, and its arithmetic is its kind's code."""

    name: str = ""
    description: str = ""
    options: JsonObject | None = None


@cache
def shipped_judge(kind: str) -> ShippedJudge:
    """Return the judge shipped for a kind; an empty one where there is none.

    Raises:
        ValueError: the file is no YAML; the message names the line.
    """
    path = files("judging.judges.definitions").joinpath(f"{kind}.yaml")
    if not path.is_file():
        return ShippedJudge()
    parsed = read_yaml(path.read_bytes(), path.name)
    if parsed.value is None:
        raise ValueError(f"{path.name}, {parsed.errors[0].place}: {parsed.errors[0].message}")
    fields: Any = parsed.value.plain()
    return ShippedJudge(fields["name"], fields["description"], fields["options"])
