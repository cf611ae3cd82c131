"""Judges shipped as files that `judge create --yaml-file FILE` reads: what a new judge of a kind starts as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
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
    fields = _content(path)
    return ShippedJudge(fields["name"], fields["description"], fields["options"])


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """A prompt that an own one can start from, with the form of reply that it asks for."""

    name: str  # as commands and addresses know it
    title: str
    description: str
    example: str  # a reply in its form
    options: JsonObject  # in which it differs from a new own prompt


@cache
def starting_points() -> Mapping[str, StartingPoint]:
    """Return the starting points of own prompts by name, in the order in which pages list them."""
    rows = _content(files("judging.judges.definitions").joinpath("starting_points.yaml"))
    return {row["name"]: StartingPoint(**row) for row in rows}


def _content(path: Traversable) -> Any:
    parsed = read_yaml(path.read_bytes(), path.name)
    if parsed.value is None:
        raise ValueError(f"{path.name}, {parsed.errors[0].place}: {parsed.errors[0].message}")
    return parsed.value.plain()
