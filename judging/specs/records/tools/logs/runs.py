"""What evaluation frameworks say of each response: a row with its scores, stored the same way for every framework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from judging.specs.records.collector import Collector
from judging.specs.records.names import SHARE
from judging.specs.records.neutral import (
    UNKNOWN_SCALE,
    Giver,
    LabelRecord,
    LogRecord,
    Place,
    Scale,
    ScoreRecord,
    VerdictRecord,
    as_value,
)
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.tool_rows import Label, Said, judged, keep
from judging.specs.records.tools.people.items import Item, ItemSubject, Registrar
from judging.specs.records.values import as_text


def mark(
    name: str, value: object, reason: str = "", giver: Giver | None = None, person: str = "", scale: Scale = SHARE
) -> Said:
    """Return what a rule or metric (no giver), a judge or a person gave; the scale holds where all values of the name
    are on it. `True` and `False` of a table are what they say."""
    if giver is Giver.PERSON:
        return Label(person, as_text(value) if as_value(value) is not None else "", None, name, reason)
    word = value.strip().lower() if isinstance(value, str) else ""
    given = word == "true" if word in ("true", "false") else value
    return judged(giver is Giver.JUDGE, name, as_value(given), scale, reason, {})


@dataclass(slots=True)
class LoggedRun:
    """A row: what was asked and responded, and what was said of it."""

    at: str
    id: str
    item: Item
    marks: list[Said] = field(default_factory=list)
    failure: str = ""  # why there is no response
    is_empty: bool = False  # there is none, and the file does not say why


class Scales:
    """The scale of each grader and judge of a file, known once all values were seen."""

    def __init__(self, marks: Iterable[Said]) -> None:
        self._fits: dict[str, bool] = {}
        for said in marks:
            if not isinstance(said, LabelRecord) and said.value is not None:
                (low, high), value, name = said.scale, said.value, _name(said)
                fits = isinstance(value, float) and float(low or 0) <= value <= float(high or 0)
                self._fits[name] = self._fits.get(name, True) and fits

    def keep(self, collector: Collector, place: Place, subject: ItemSubject, marks: Iterable[Said]) -> None:
        """Store what was said of a response, with a warning where a scale is unknown."""
        for said in marks:
            if not isinstance(said, LabelRecord) and not self._fits.get(_name(said), False):
                said.scale = UNKNOWN_SCALE
                if _name(said) in self._fits:
                    collector.warn_once("scale-unknown", Place(place.file), _name(said))
            if not isinstance(said, LabelRecord) or said.label:
                keep(collector, place, subject.case, subject.response or 0, said)


def _name(said: ScoreRecord | VerdictRecord) -> str:
    return said.grader if isinstance(said, ScoreRecord) else said.judge


def read_runs(
    part: Part, collector: Collector, upload: UploadParts, log: LogRecord, runs: Callable[[], Iterator[LoggedRun]]
) -> None:
    """Store the rows of a file, which are gone through twice."""
    registrar = Registrar(part, collector, upload.system)
    registrar.names_texts = False
    for run in runs():
        registrar.look_at(run.item, run.id)
    scales = Scales(said for run in runs() for said in run.marks)
    for run in runs():
        place = part.place(run.at)
        subject = _registered(collector, place, registrar, run)
        if subject is not None and subject.response is not None:
            scales.keep(collector, place, subject, run.marks)
        elif any((said.label if isinstance(said, LabelRecord) else said.value) not in (None, "") for said in run.marks):
            collector.leave_out("score", "it is about a row without a response", place)
    collector.log(log)


def _registered(collector: Collector, place: Place, registrar: Registrar, run: LoggedRun) -> ItemSubject | None:
    if run.failure or run.is_empty:
        run.item.responses = []
    subject = registrar.register(place, run.item, run.id)
    if run.failure:
        collector.failed(place, run.id, run.failure)
    elif run.is_empty:
        collector.leave_out("response", "the row has no response", place)
        collector.warn("null-response", place)
    return subject
