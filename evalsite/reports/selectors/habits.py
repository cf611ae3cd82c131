"""How people answered in a queue: when, how fast, whether they repeat themselves, and what the reveal did to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evalsite.reports.selectors.annotations import answers_of, of_groups
from evalsite.reports.selectors.options import Options
from evalsite.review.blinding import QueueMode
from evalsite.review.models import Annotation, Assignment, Queue
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.labels.machine_labels import machine_labels
from evalsite.review.states import AssignmentStatus


@dataclass(slots=True)
class Repeats:
    """The answers of one person to items that they were given a second time."""

    name: str
    pairs: list[tuple[str, str, int, int]] = field(default_factory=list)  # (first, second, item, retest)


@dataclass(frozen=True, slots=True)
class RevealedAnswer:
    """One annotation by somebody who saw the verdicts afterwards, with the verdict of the machines."""

    item_id: int
    name: str
    blind: str
    final: str
    machine: str | None


def skips_of(queue: Queue, options: Options) -> list[tuple[int, str]]:
    """Return (item, person) of every skip under the chosen groups."""
    skipped = Assignment.objects.filter(queue=queue, status=AssignmentStatus.SKIPPED, **of_groups(options))
    return list(skipped.order_by("item_id", "pk").values_list("item_id", "annotator__username"))


def labels_in_order(queue: Queue, options: Options) -> dict[str, list[tuple[int, str]]]:
    """Return by person the (item, label) of each blind annotation under the chosen groups, the first first."""
    rows = answers_of(queue, options).order_by("created_at", "pk")
    given: dict[str, list[tuple[int, str]]] = {}
    for name, item, label in rows.values_list("annotator__username", "item_id", "label").iterator():
        given.setdefault(name, []).append((item, label))
    return given


def repeats(queue: Queue, options: Options) -> list[Repeats]:
    """Return the pairs of answers that each person gave to the same item, by person, under the chosen groups."""
    labelled = Annotation.objects.filter(queue=queue, left_out_at=None).exclude(label="")
    labelled = labelled.exclude(mode=QueueMode.PREFILLED)
    second = labelled.filter(item__arm=ItemArm.RETEST, **of_groups(options)).order_by("annotator_id", "pk")
    rows: list[Any] = list(
        second.values_list("annotator_id", "annotator__username", "label", "item__retest_of", "item")
    )
    first = labelled.filter(item__in={row[3] for row in rows})
    first_labels = {
        (item, person): label for item, person, label in first.values_list("item_id", "annotator_id", "label")
    }
    by_person: dict[int, Repeats] = {}
    for person, name, label, item, retest in rows:
        if (item, person) in first_labels:
            by_person.setdefault(person, Repeats(name)).pairs.append((first_labels[item, person], label, item, retest))
    return list(by_person.values())


def revealed_answers(queue: Queue, options: Options) -> list[RevealedAnswer]:
    """Return every answer whose author saw the verdicts."""
    rows: list[Any] = list(
        answers_of(queue, options)
        .filter(revealed_at__isnull=False)
        .values_list("item_id", "annotator__username", "label", "revised_label")
    )
    machine = machine_labels(queue=queue, item_ids={row[0] for row in rows})
    return [
        RevealedAnswer(item, name, blind, revised or blind, machine.get(item)) for item, name, blind, revised in rows
    ]
