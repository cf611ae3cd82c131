"""Options of an ESI run, as they are frozen in the run and read back."""

from __future__ import annotations

from dataclasses import asdict, fields

from evalsite.base.json_types import JsonDict, JsonObject
from judging.grading.esi import BadEsiOption, EsiOptions
from judging.models import Run

ORIGINAL: JsonObject = {"length_rule": "original", "unknown_as_zero": True}  # what the published program does


def options_to_json(options: EsiOptions) -> JsonDict:
    """Return the options as a run freezes them."""
    return {**asdict(options), "weights": dict(options.weights), "unsafe_keywords": list(options.unsafe_keywords)}


def options_from_json(data: JsonObject) -> EsiOptions:
    """Return options as they were frozen; those left out have their defaults.

    Raises:
        BadEsiOption: there is no such option, or it cannot have this value.
    """
    unknown = set(data) - {field.name for field in fields(EsiOptions)}
    if unknown:
        raise BadEsiOption(f"The ESI has no option {min(unknown)!r}.")
    values = dict(data)
    if "unsafe_keywords" in values:
        values["unsafe_keywords"] = tuple(values["unsafe_keywords"])
    return EsiOptions(**values)


def options_of(run: Run) -> EsiOptions:
    """Return the options by which a run's index is computed at present."""
    return options_from_json(run.options["esi"])
