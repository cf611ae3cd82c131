"""The rules by which every judge's reply is read.

Only what stands behind the last end of thinking is read. A verdict in the very form that was asked for is `ok`; one in
another form is read only where nothing but a courtesy follows it, and never where it quotes the material that was
judged. A value that the rubric does not allow is a failure on the spot. Nothing here ever makes up a value.

All expressions are bounded: no reply of MAX_REPLY characters takes longer than a fraction of a second.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.base.types import JsonDict, JsonObject
from judging.judges.subjects import JudgeVerdict, VerdictStatus
from judging.llm.chat import after_thinking
from judging.specs.files.encodings import opens_too_deep
from judging.specs.types import ScaleSpec

MOST_KEYS = 100  # of a schema; providers refuse large ones, and a refusal would count against the endpoint
JSON_OBJECT = {"type": "json_object"}
TRUE_OR_FALSE = {"type": "boolean"}


def reply_form(name: str, part: str, values: Mapping[str, JsonObject]) -> JsonDict:
    """Return the schema of {"reasoning": text, `part`: {key: value}}; any JSON object where there are too many keys.

    All keys are required and no others allowed, without bounds and references, which all providers take.
    """
    if len(values) > MOST_KEYS:
        return JSON_OBJECT
    return reply_schema(name, {"reasoning": {"type": "string"}, part: _closed(values)})


def reply_schema(name: str, properties: Mapping[str, JsonObject]) -> JsonDict:
    """Return the schema of an object with just these properties, all of them required."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": _closed(properties)}}


def scale_schema(scale: ScaleSpec | None) -> JsonDict:
    """Return the schema of a value on this scale; its bounds are in the prompt and checked when the reply is read."""
    if scale is None or scale.kind == "boolean":
        return TRUE_OR_FALSE
    if scale.kind == "nominal":
        return {"type": "string", "enum": list(scale.labels)}
    whole = scale.step is not None and float(scale.step).is_integer() and float(scale.minimum or 0).is_integer()
    return {"type": "integer" if whole else "number"}


def _closed(properties: Mapping[str, JsonObject]) -> JsonDict:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


MAX_REPLY = 200_000  # characters; a longer reply is no verdict
MAX_FAILURES = 1000  # braces that open no JSON, after which a reply is not searched further
MAX_REPAIR = 20_000  # characters; longer broken JSON is not repaired
QUOTED_BEFORE = 12  # characters before a last line by which a quotation is told from the judge's own verdict
MAX_OBJECTS = 50  # objects with the wanted key; a reply with more is no verdict
_COURTESY = re.compile(
    r"(?:let me know|i hope|hope this|thanks|thank you|feel free|please (?:let|feel|note that i)|"
    r"if you (?:need|have|want|would)|is there anything)[^\n]{0,120}",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:[{,]|^)\s{0,40}[\"']([^\"'\\\n]{1,100})[\"']\s{0,4}:", re.MULTILINE)  # a key of broken JSON
_QUOTING = str.maketrans("", "", ">*_`|\\")  # marks that quoting adds to a text or takes away


class _Repeated(dict[str, Any]):
    """An object of a reply that gives one key two different values, the last of which it holds."""


def _object_of(pairs: list[tuple[str, Any]]) -> JsonDict:
    """Return the object of these pairs, marked where a key stands in them with two different values."""
    value = dict(pairs)
    is_agreed = all(repr(value[key]) == repr(item) for key, item in pairs)
    return value if is_agreed else _Repeated(value)


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_object_of)  # raw newlines inside strings are allowed


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A JSON object found in a reply and how: strict | balanced | inline | repaired. The last two need a flag."""

    value: JsonObject
    rung: str
    start: int = 0
    end: int = 0

    @property
    def is_lenient(self) -> bool:
        return self.rung in ("inline", "repaired")


def unparsed(reason: str, *flags: str) -> JudgeVerdict:
    """Return the verdict of a reply without a readable value; `reason` is a sentence that a re-ask can quote."""
    return JudgeVerdict(VerdictStatus.UNPARSED, flags=tuple(flags), reason=reason)


def read(
    value: JsonObject, *, rationale: str = "", flags: tuple[str, ...] = (), repaired: bool = False
) -> JudgeVerdict:
    """Return the verdict of a reply that was read."""
    status = VerdictStatus.REPAIRED if repaired else VerdictStatus.OK
    return JudgeVerdict(status, value=value, rationale=rationale, flags=flags)


def body_of(text: str) -> str | JudgeVerdict:
    """Return the part of a reply that is read, or the failure: empty, far too long, or thinking that never ends."""
    if not text.strip():
        return unparsed("The reply is empty.", "empty")
    if len(text) > MAX_REPLY:
        return unparsed("The reply is far too long.", "too_long")
    body = after_thinking(text)
    if body is None:
        return unparsed("The reply never ends its thinking.", "thinking_unclosed")
    return body or unparsed("The reply holds nothing but thinking.", "empty")


def without_fence(text: str) -> str:
    """Return what stands inside one code fence around the whole reply, or the reply."""
    body = text.strip()
    if not (body.startswith("```") and body.endswith("```") and "\n" in body):
        return text
    return body[body.index("\n") + 1 : -3].strip()


def stripped_text(text: str) -> str:
    """Return the text without spacing, case and quotation marks; so stripped, quotations of the judged material are
    found in replies."""
    return "".join(text.split()).translate(_QUOTING).casefold()


def ends_quoted(lines: Sequence[str], judged: str) -> bool:
    """Return whether the last of some lines stands with what precedes it in the judged text, which is stripped."""
    return len(lines) > 1 and stripped_text(lines[-2])[-QUOTED_BEFORE:] + stripped_text(lines[-1]) in judged


def only_courtesy(text: str) -> bool:
    """Return whether what follows a verdict is nothing but closing marks, or one line such as "Let me know if ..."."""
    rest = text.strip("`*_.)]\"' \n\t\r")
    return not rest or _COURTESY.fullmatch(rest) is not None


def balanced_objects(text: str, key: str) -> list[FoundObject]:
    """Return every outermost JSON object that has `key`, in order, whatever stands around them."""
    objects: list[FoundObject] = []
    position, failures = text.find("{"), 0
    while position >= 0 and failures < MAX_FAILURES:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except ValueError:
            end, failures = position + 1, failures + 1
        else:
            if key in value:
                line = text[max(text.rfind("\n", 0, position) + 1, position - 100) : position].strip()
                objects.append(FoundObject(value, "inline" if line else "balanced", position, end))
        position = text.find("{", end)
    return objects


def _whole(text: str) -> JsonObject | None:
    try:
        value = _DECODER.decode(without_fence(text).strip())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _repaired(text: str, key: str) -> FoundObject | None:
    """Return the broken object with `key` that ends the text, repaired."""
    start = text.rfind("{", 0, max(text.rfind(f'"{key}"'), text.rfind(f"'{key}'")) + 1)
    part = text[start:].strip().removesuffix("```").strip()
    if start < 0 or len(part) > MAX_REPAIR or not part.endswith("}"):
        return None
    try:
        import json_repair  # a parser that few replies need

        value = json_repair.loads(part)
    except (ValueError, IndexError):
        return None
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), None)
    if not isinstance(value, dict) or key not in value:
        return None
    is_whole = Counter(_NAME.findall(part)) <= Counter(_keys_of(value))  # a repair keeps one of two equal keys
    return FoundObject(value if is_whole else _Repeated(value), "repaired", start, len(text))


def _keys_of(value: object) -> Iterator[str]:
    """Yield every key in a value, as often as it stands in it."""
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys_of(part)


def agreed_object(text: str, key: str, *, repair: bool, material: str = "") -> FoundObject | JudgeVerdict:
    """Return the object with `key` that ends the reply, or the failure.

    The whole reply may be the object. Objects among other text must agree on the key, must not be quoted from
    `material`, and the last of them must end the reply but for a courtesy. No key may stand twice with two values.
    """
    reply = _ending_object(text, key, repair=repair, material=material)
    if isinstance(reply, FoundObject) and _repeats_a_key(reply.value):
        return unparsed("The JSON object in the reply gives one key two different values.", "conflict")
    return reply


def _repeats_a_key(value: object) -> bool:
    """Return whether an object anywhere in a value is marked; brackets were counted before."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, _Repeated) or any(_repeats_a_key(part) for part in parts)


def _ending_object(text: str, key: str, *, repair: bool, material: str) -> FoundObject | JudgeVerdict:
    if len(text) <= MAX_REPLY and opens_too_deep(text):
        return unparsed("The reply's brackets nest too deeply.", "too_deep")
    whole = _whole(text) if len(text) <= MAX_REPLY else None
    body = text if whole is not None else body_of(text)
    if isinstance(body, JudgeVerdict):
        return body
    whole = _whole(body) if whole is None else whole
    if whole is not None:
        return FoundObject(whole, "strict") if key in whole else _no_object(key)
    return _object_among_text(body, key, repair=repair, material=material)


def _no_object(key: str) -> JudgeVerdict:
    return unparsed(f'The reply holds no valid JSON object with "{key}".', "no_json")


def _object_among_text(body: str, key: str, *, repair: bool, material: str) -> FoundObject | JudgeVerdict:
    objects = balanced_objects(body, key)
    repaired = _repaired(body, key) if repair and not objects else None
    objects = [repaired] if repaired is not None else objects
    if not objects:
        return _no_object(key)
    if len(objects) > MAX_OBJECTS:
        return unparsed("The reply holds far too many JSON objects.", "too_many")
    judged = stripped_text(material)
    objects = [item for item in objects if stripped_text(body[item.start : item.end]) not in judged]
    if not objects:
        return unparsed("The JSON object in the reply is quoted from what was judged.", "quoted")
    if len({json.dumps(item.value[key], sort_keys=True) for item in objects}) > 1:
        return unparsed(f'The reply holds several objects that disagree on "{key}".', "conflict")
    last = objects[-1]
    if not only_courtesy(body[last.end :]):
        return unparsed("The JSON object must be the last thing in the reply.", "not_last")
    return last


def read_menu(
    reply: JsonObject, readers: Mapping[str, Callable[[Any], Any]], *, key: str
) -> tuple[JsonDict, list[str]] | JudgeVerdict:
    """Return {name: value} for exactly the wanted names and the names whose value was repaired, or the failure.

    A reader returns the value on its menu, or a `RepairedValue`, or raises LookupError to refuse.
    """
    answers = reply.get(key)
    if not isinstance(answers, Mapping):
        return unparsed(f'"{key}" must be an object.', "not_an_object")
    missing = [name for name in readers if name not in answers]
    if missing:
        return unparsed(f"These keys are missing: {', '.join(missing[:10])}.", "missing_keys")
    values: JsonDict = {}
    repaired_names: list[str] = []
    for name, reader in readers.items():
        try:
            value = reader(answers[name])
        except LookupError:
            return unparsed(
                f"{json.dumps(answers[name])[:80]} is not a value that {name!r} allows.", f"off_menu:{name}"
            )
        if isinstance(value, RepairedValue):
            repaired_names.append(name)
            value = value.value
        values[name] = value
    return values, repaired_names


@dataclass(frozen=True, slots=True)
class RepairedValue:
    """A value that had to be read leniently, such as a quoted number."""

    value: Any


def read_boolean(value: object) -> Any:
    """Return true or false; quoted ones are repaired; anything else is refused."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return RepairedValue(value.strip().lower() == "true")
    raise LookupError(value)


def reasons_text(value: object) -> str:
    """Return reasons that a judge gave as JSON instead of text; empty for none."""
    return "" if value is None else json.dumps(value, ensure_ascii=False)
