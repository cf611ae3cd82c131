"""The form that a judge asks its JSON replies in: a schema of its own criteria, or any JSON object."""

from __future__ import annotations

from collections.abc import Mapping

from evalsite.base.json_types import JsonDict, JsonObject
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
