"""The ladder by which every judge's reply is read: strict, balanced JSON, repaired JSON, labelled verdict.

A rung that finds nothing hands on to the next; a value off the rubric's own menu is a failure on the spot. Nothing here
ever makes up a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import json_repair

from judging.judges.verdicts import JudgeVerdict, VerdictStatus
from judging.specs.json_depth import opens_too_deep

MAX_REPLY = 200_000  # characters; a longer reply is no verdict
MAX_FAILURES = 1000  # braces that open no JSON, after which a reply is not searched further
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)  # raw newlines inside strings are allowed


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A JSON object found in a reply and the rung that found it: strict | balanced | repaired."""

    value: Mapping[str, Any]
    rung: str


def unread(reason: str, *flags: str) -> JudgeVerdict:
    """Return the verdict of a reply without a readable value; `reason` is a sentence that a re-ask can quote."""
    return JudgeVerdict(VerdictStatus.UNPARSED, flags=tuple(flags), reason=reason)


def read(
    value: Mapping[str, Any], *, rationale: str = "", flags: tuple[str, ...] = (), repaired: bool = False
) -> JudgeVerdict:
    """Return the verdict of a reply that was read."""
    status = VerdictStatus.REPAIRED if repaired else VerdictStatus.OK
    return JudgeVerdict(status, value=value, rationale=rationale, flags=flags)


def visible_text(text: str) -> str:
    """Return the reply without a leading block of thinking."""
    return _THINKING.sub("", text, count=1).strip()


def without_fence(text: str) -> str:
    """Return what stands inside one code fence around the whole reply, or the reply."""
    body = text.strip()
    if not (body.startswith("```") and body.endswith("```") and "\n" in body):
        return text
    return body[body.index("\n") + 1 : -3].strip()


def balanced_objects(text: str) -> list[Mapping[str, Any]]:
    """Return every outermost JSON object in the text, in order, whatever stands around them."""
    found: list[Mapping[str, Any]] = []
    position, failures = text.find("{"), 0
    while position >= 0 and failures < MAX_FAILURES:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except ValueError:
            end, failures = position + 1, failures + 1
        else:
            found.append(value)
        position = text.find("{", end)
    return found


def objects_with(text: str, key: str, *, repair: bool) -> list[FoundObject]:
    """Return the objects that have `key`: the whole reply, else balanced parts, else a mended part."""
    whole = without_fence(text).strip()
    try:
        value = json.loads(whole, strict=False)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return [FoundObject(value, "strict")] if key in value else []
    balanced = [item for item in balanced_objects(text) if key in item]
    if balanced:
        return [FoundObject(item, "balanced") for item in balanced]
    repaired = _repaired(text, key) if repair else None
    return [FoundObject(repaired, "repaired")] if repaired is not None else []


def _repaired(text: str, key: str) -> Mapping[str, Any] | None:
    start = text.rfind("{", 0, max(text.rfind(f'"{key}"'), text.rfind(f"'{key}'")) + 1)
    if start < 0:
        return None
    try:
        value = json_repair.loads(text[start:])
    except (ValueError, IndexError):
        return None
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), None)
    return value if isinstance(value, dict) and key in value else None


def agreed_object(text: str, key: str, *, repair: bool) -> FoundObject | JudgeVerdict:
    """Return the last object with `key`, or the failure: none there, or several that disagree on it."""
    if not text.strip():
        return unread("The reply is empty.", "empty")
    if len(text) > MAX_REPLY:
        return unread("The reply is far too long.", "too_long")
    if opens_too_deep(text):
        return unread("The reply's brackets nest too deeply.", "too_deep")
    found = objects_with(visible_text(text), key, repair=repair)
    if not found:
        return unread(f'The reply holds no valid JSON object with "{key}".', "no_json")
    if len({json.dumps(item.value[key], sort_keys=True) for item in found}) > 1:
        return unread(f'The reply holds several objects that disagree on "{key}".', "conflict")
    return found[-1]


def menu_of(
    found: Mapping[str, Any], wanted: Mapping[str, Callable[[Any], Any]], *, key: str
) -> tuple[dict[str, Any], list[str]] | JudgeVerdict:
    """Return {name: value} for exactly the wanted names and the names that needed mending, or the failure.

    A reader returns the value on its menu, or a `Mended` one, or raises LookupError to refuse.
    """
    given = found.get(key)
    if not isinstance(given, Mapping):
        return unread(f'"{key}" must be an object.', "not_an_object")
    missing = [name for name in wanted if name not in given]
    if missing:
        return unread(f"These keys are missing: {', '.join(missing[:10])}.", "missing_keys")
    values: dict[str, Any] = {}
    mended: list[str] = []
    for name, reader in wanted.items():
        try:
            value = reader(given[name])
        except LookupError:
            return unread(f"{json.dumps(given[name])[:80]} is not a value that {name!r} allows.", f"off_menu:{name}")
        if isinstance(value, Mended):
            mended.append(name)
            value = value.value
        values[name] = value
    return values, mended


@dataclass(frozen=True, slots=True)
class Mended:
    """A value that had to be read leniently, such as a quoted number."""

    value: Any


def truth(value: Any) -> Any:
    """Return true or false; quoted ones are mended; anything else is refused."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return Mended(value.strip().lower() == "true")
    raise LookupError(value)


def compact(value: Any) -> str:
    """Return reasons that a judge gave as JSON instead of text; empty for none."""
    return "" if value is None else json.dumps(value, ensure_ascii=False)
