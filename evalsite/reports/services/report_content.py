"""Results of reports, and figures in them, as the JSON that snapshots store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from evalsite.base.actions.reports import BASELINE, FigureColumn, Read, ReportColumn
from evalsite.base.json_types import JsonDict
from evalsite.base.score_scales import SHARE, ScoreScale, scale_of_figure
from judging.statistics.estimates import Estimate, undefined

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Result = TypeVar("Result")
ReportContent = JsonDict
EVERY_END = {end: end for end in ("value", "low", "high", "n", "share", "scale")}  # each in a column of its own


@cache
def schema_version(result: type, revision: int) -> str:
    """Return eight hex digits that differ once a field of a result, or of what it holds, has another name or type."""
    schema = json.dumps([_schema(result), revision])
    return hashlib.sha256(schema.encode()).hexdigest()[:8]


def _schema(kind: Any) -> object:
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return {field.name: _schema(hints[field.name]) for field in fields(kind)}
    return [str(get_origin(kind)), *map(_schema, get_args(kind))] if get_args(kind) else str(kind)


@cache
def _adapter(result: type[Result]) -> TypeAdapter[Result]:
    from pydantic import TypeAdapter  # takes long to load

    return TypeAdapter(result)


def result_to_json(result: type[Result] | None, content: Result) -> Any:
    """Return a result as JSON holds it; one without a type is stored as it is."""
    if result is None:
        return content
    adapter: TypeAdapter[Result] = _adapter(result)  # type: ignore[arg-type]  # a class is hashable
    return adapter.dump_python(content, mode="json", warnings=False)


def read_result(result: type[Result] | None, stored: Any) -> Result:
    """Return the result that `result_to_json` wrote."""
    if result is None:
        content: Result = stored
        return content
    adapter: TypeAdapter[Result] = _adapter(result)  # type: ignore[arg-type]  # a class is hashable
    return adapter.validate_python(stored)


def figure(estimate: Estimate, scale: ScoreScale = SHARE) -> ReportContent:
    """Return a figure with its interval, or None with the reason; one of scores carries their scale unless percent."""
    return asdict(estimate) | ({} if scale == SHARE else {"scale": scale.to_json()})


def estimate_of(stored: ReportContent) -> Estimate:
    """Return the figure that `figure` wrote, as shares."""
    return Estimate(stored["value"], stored["low"], stored["high"], stored["n"], stored["reason"])


@dataclass(frozen=True, slots=True)
class CountedShare(Estimate):
    """The share of matches among the pairs with an outcome, of which `n` is the number; `pairs` are all of them."""

    matches: int | None = None  # None: an average, of which nothing was counted
    pairs: int | None = None


def counted_of(stored: ReportContent | None) -> CountedShare | None:
    """Return the figure with its counts that `figure` and these wrote."""
    return None if stored is None else CountedShare(**stored)


def plain_column(name: str, *, as_key: str = "", **options: Any) -> ReportColumn[ReportContent]:
    """Return the column of what a line of a stored report holds under a name."""
    return ReportColumn(as_key or name, lambda line: line[name], **options)


def stored_figure_column(
    key: str, figure_of: Callable[[Read], ReportContent | None], **options: Any
) -> FigureColumn[Read]:
    """Return the column of a figure that `figure` wrote, on the scale that it carries."""

    def estimate(line: Read) -> Estimate | None:
        stored = figure_of(line)
        return None if stored is None else estimate_of(stored)

    return FigureColumn(key, estimate, scale=lambda line: scale_of_figure(figure_of(line) or {}), **options)


def baseline_figure() -> ReportContent:
    """Return what stands where the figure of a comparison's own baseline would."""
    return figure(undefined(BASELINE))
