"""JUDGE-BENCH: texts with what people said of each by metric, in one form for all its sets."""

from __future__ import annotations

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import Shape
from judging.specs.records.tools.people.annotations import ForeignAnnotation, store
from judging.specs.records.tools.people.items import Item, Registrar, item_of
from judging.specs.records.values import as_id, as_text, details, is_missing

_EACH, _ALL = "individual_human_scores", ("majority_human", "mean_human")


def _is_said(annotations: object) -> bool:
    """Return whether an object has what people said, by metric."""
    said = list(annotations.values()) if isinstance(annotations, dict) else []
    return bool(said) and all(isinstance(entry, dict) and not entry.keys().isdisjoint((_EACH, *_ALL)) for entry in said)


@Shape(
    "judge-bench",
    "JUDGE-BENCH: texts with the labels of people",
    lambda part: part.has("instance", "annotations") and all(map(_is_said, part.values("annotations"))),
    "instances with annotations by metric, each with individual_human_scores or majority_human",
    export="Take the JSON file of a set.",
    comes="Each instance is a case, with the responses that it has; each score of a person is a label by place in the "
    "list, else the majority or mean is a label without a rater.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    registrar = Registrar(part, collector, upload.system)
    for place, fields in part.placed():
        shown, id_ = fields.get("instance"), as_id(fields.get("id"))
        item = item_of(shown) if isinstance(shown, dict) else Item(prompt=as_text(shown))
        item.details |= details(fields, ("id", "instance", "annotations"))
        subject = registrar.register(place, item, id_)
        for annotation in _annotations(id_, fields["annotations"]):
            if annotation.rater:
                collector.warn_once("raters-by-place", part.place(), annotation.rater)
            if subject is not None:
                store(collector, place, subject, annotation)


def _annotations(id_: str, annotations: JsonObject) -> list[ForeignAnnotation]:
    """Return what each person said, by metric; of a metric that has no persons, what they said together."""
    by_person: dict[int, ForeignAnnotation] = {}
    for metric, said in annotations.items():
        each = said.get(_EACH)
        scores = list(enumerate(each, start=1)) if isinstance(each, list) and each else [(0, _together(said))]
        for number, score in scores:
            if not is_missing(score):
                rater = f"human {number}" if number else ""
                person = by_person.setdefault(number, ForeignAnnotation(f"instance {id_}", rater))
                person.labels[metric] = as_id(score)
    return list(by_person.values())


def _together(said: JsonDict) -> object:
    return next((said[name] for name in _ALL if not is_missing(said.get(name))), None)
