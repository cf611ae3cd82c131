"""Verdicts of judges beside people's labels of the same responses, as columns: 100,000 take milliseconds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models.fields.json import KeyTextTransform
from numpy.typing import NDArray

from evalsite.reports.selectors.judges.audited_verdicts import BlindAnnotation, blind_annotations
from evalsite.reports.selectors.judges.judge_rows import ComparedVerdict
from evalsite.review.questions.scales import Label, is_preference, joined_scale, nearest_label
from evalsite.review.selectors.labels.final_labels import LabelReader, SubjectLabel, criterion_of, scoring_options
from judging.grading.rubric_tree import Value
from judging.judges.replies.reply_rows import ReplyRows
from judging.models import RunEvaluator, SuiteCase, Verdict
from judging.statistics.estimates import Floats, Ints
from judging.statistics.estimators.agreement_columns import NONE, ComparedColumns

CHUNK = 5_000
NOT_READ = -2  # in place of a label, where nobody was asked, so that it is not needed
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PartComparison:
    """The values that a judge and people gave the parts of one response's form."""

    case_id: int
    is_routed: bool
    judge: Mapping[str, Value]
    people: Mapping[str, Value]  # where they agreed


@dataclass(frozen=True, slots=True, eq=False)
class PeopleComparison:
    """Everything a judge gave a verdict on, by response; nothing where people have labelled nothing."""

    scale: tuple[Label, ...]  # of people
    responses: Ints  # keys; all of shape (responses,)
    cases: Ints  # keys of prompts
    items: Ints  # on which people were asked; 0: none
    judge: Ints  # places on the scale; NONE: no usable verdict, NOT_READ
    people: Ints  # NONE: not asked, or not decided
    routed: Flags
    audited: Flags
    scenarios: tuple[str, ...]
    parts: tuple[PartComparison, ...]  # of responses that people answered by parts
    looks: bool  # whether intervals are to hold at every look while labels arrive

    @property
    def planned(self) -> int:
        """The cases that the audit drew; 0 where intervals are for one look."""
        return len(np.unique(self.cases[self.audited])) if self.looks else 0

    @property
    def columns(self) -> ComparedColumns:
        """What estimators take; where the label is not needed it only counts that there is one."""
        return ComparedColumns(self.cases, np.where(self.judge == NOT_READ, 0, self.judge), self.people, self.routed)

    @property
    def compared(self) -> list[ComparedVerdict]:
        """The responses that people have labelled."""
        names = [label.value for label in self.scale]
        return [
            ComparedVerdict(
                int(self.items[row]),
                int(self.cases[row]),
                names[self.judge[row]] if self.judge[row] >= 0 else "",
                names[self.people[row]],
                self.scenarios[row],
            )
            for row in np.flatnonzero(self.people != NONE).tolist()
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _LabelColumns:
    """What a run asked people under one criterion, by response; all columns have the shape (responses,)."""

    responses: Ints
    items: Ints  # 0: the label was imported
    people: Ints  # places in `words`; NONE: not decided
    routed: Flags
    audited: Flags
    scale: Ints  # places in `scales`
    words: tuple[str, ...]
    scales: tuple[tuple[Label, ...], ...]
    parts: Mapping[int, Mapping[str, Value]]  # on which people agreed, where there are any
    has_labels: bool  # of anything that was judged, asked or not

    @classmethod
    def of(cls, rows: Sequence[SubjectLabel], *, has_labels: bool) -> _LabelColumns:
        """Return the columns. Scales are told apart as objects first: hashing one for each row takes longest."""
        words = {row.label: 0 for row in rows if row.label is not None}
        words = {word: code for code, word in enumerate(words)}
        objects = {id(row.labels): row.labels for row in rows}
        scales = {labels: code for code, labels in enumerate(dict.fromkeys(objects.values()))}
        scale_codes = {key: scales[labels] for key, labels in objects.items()}
        return cls(
            np.array([row.response_ids[0] for row in rows], dtype=np.int64),
            np.array([row.item_id or 0 for row in rows], dtype=np.int64),
            np.array([NONE if row.label is None else words[row.label] for row in rows], dtype=np.int64),
            np.array([row.is_routed for row in rows], dtype=np.bool_),
            np.array([row.is_drawn for row in rows], dtype=np.bool_),
            np.array([scale_codes[id(row.labels)] for row in rows], dtype=np.int64),
            tuple(words),
            tuple(scales),
            {row.response_ids[0]: row.parts for row in rows if row.parts},
            has_labels,
        )


class PeopleReader:
    """Reads what runs asked people; judges of one run by one rubric share it, so it is read once for all of them."""

    def __init__(self, *, looks: bool = False) -> None:
        self.looks = looks
        self._labels = LabelReader()
        self._columns: dict[tuple[object, ...], _LabelColumns] = {}
        self._annotations: dict[bytes, list[BlindAnnotation]] = {}  # by the items, which judges of a run share

    def asked_of(self, evaluator: RunEvaluator) -> _LabelColumns:
        """Return what the evaluator's run asked under its criterion. `run` is loaded."""
        key = evaluator.run_id, criterion_of(evaluator), *scoring_options(evaluator).items()
        if key not in self._columns:
            rows = self._labels.asked_of(evaluator)
            is_labelled = any(row.label for row in rows) or any(row.label for row in self._labels.labels_of(evaluator))
            self._columns[key] = _LabelColumns.of(rows, has_labels=is_labelled)
        return self._columns[key]

    def annotations_of(self, items: Ints) -> list[BlindAnnotation]:
        """Return people's first blind labels of the subjects of these items."""
        key = items.tobytes()
        if key not in self._annotations:
            self._annotations[key] = blind_annotations(items.tolist())
        return self._annotations[key]


def compared_with_people(
    evaluators: Sequence[RunEvaluator], replies: Mapping[int, ReplyRows], reader: PeopleReader
) -> PeopleComparison:
    """Return what these evaluators of one version judged, with people's labels on the scale of people.

    `replies` are what they did, by evaluator. Of several runs with one response, one counts: an audited one where there
    is one. Labels that neither a rule nor the audit of the evaluator's own run asked for are left out. `evaluator.run`
    is loaded.
    """
    asked_columns = {evaluator.pk: reader.asked_of(evaluator) for evaluator in evaluators}
    labelled = [evaluator for evaluator in evaluators if asked_columns[evaluator.pk].has_labels]
    scale = (
        joined_scale(labels for evaluator in labelled for labels in asked_columns[evaluator.pk].scales)
        if labelled
        else ()
    )
    blocks = [
        np.empty(0, PEOPLE_ROW),
        *(
            _with_people(evaluator.pk, replies[evaluator.pk], asked_columns[evaluator.pk], scale)
            for evaluator in labelled
        ),
    ]
    rows = np.concatenate(blocks)
    rows = rows[rows["is_read"]]
    order = np.lexsort((np.arange(len(rows)), ~rows["audited"], rows["response"]))
    rows = rows[order[np.unique(rows["response"][order], return_index=True)[1]]]
    return PeopleComparison(
        scale,
        responses=rows["response"],
        cases=rows["case"],
        items=rows["item"],
        judge=rows["judge"],
        people=rows["people"],
        routed=rows["routed"],
        audited=rows["audited"],
        scenarios=_scenarios_of(labelled, rows["case"]),
        parts=tuple(
            part for evaluator in labelled for part in _parts_of(evaluator.pk, rows, asked_columns[evaluator.pk].parts)
        ),
        looks=reader.looks,
    )


PEOPLE_ROW = np.dtype(
    [(name, "i8") for name in ("evaluator", "response", "case", "item", "judge", "people")]
    + [(name, "?") for name in ("routed", "audited", "is_read")]
)


def _with_people(
    evaluator_id: int, replies: ReplyRows, asked_columns: _LabelColumns, scale: Sequence[Label]
) -> np.ndarray:
    """Return every verdict of an evaluator as a PEOPLE_ROW; `is_read`: it can be read, or people were asked."""
    newest = len(replies.responses) - 1 - np.unique(replies.responses[::-1], return_index=True)[1]
    rows = np.zeros(len(newest), PEOPLE_ROW)
    rows["evaluator"] = evaluator_id
    rows["response"], rows["case"] = replies.responses[newest], replies.prompts[newest]
    rows["people"], rows["is_read"], rows["judge"] = NONE, replies.has_value[newest], NOT_READ
    if _is_right_or_wrong(scale):
        codes = _places_of(replies, newest, scale, scale)
        rows["judge"] = np.where(codes == NONE, NOT_READ, codes)
    _, verdict_rows, asked_rows = np.intersect1d(
        rows["response"], asked_columns.responses, assume_unique=True, return_indices=True
    )
    words = {label.value: code for code, label in enumerate(scale)}
    codes = np.array([*(words.get(word, NONE) for word in asked_columns.words), NONE])
    rows["is_read"][verdict_rows] = True
    rows["item"][verdict_rows], rows["people"][verdict_rows] = (
        asked_columns.items[asked_rows],
        codes[asked_columns.people[asked_rows]],
    )
    rows["routed"][verdict_rows], rows["audited"][verdict_rows] = (
        asked_columns.routed[asked_rows],
        asked_columns.audited[asked_rows],
    )
    for number, labels in enumerate(asked_columns.scales):
        of_scale = verdict_rows[asked_columns.scale[asked_rows] == number]
        rows["judge"][of_scale] = _places_of(replies, newest[of_scale], labels, scale)
    return rows


def _parts_of(
    evaluator_id: int, rows: np.ndarray, parts: Mapping[int, Mapping[str, Value]]
) -> Iterator[PartComparison]:
    """Yield the values of parts in the rows of an evaluator that people annotated by parts."""
    rows_by_response = {int(row["response"]): row for row in rows[rows["evaluator"] == evaluator_id]} if parts else {}
    response_ids = [pk for pk in rows_by_response if pk in parts]
    for start in range(0, len(response_ids), CHUNK):
        verdicts = Verdict.objects.filter(evaluator=evaluator_id, response__in=response_ids[start : start + CHUNK])
        with_nodes = verdicts.order_by("response_id").annotate(nodes=KeyTextTransform("nodes", "value"))
        for pk, nodes in with_nodes.values_list("response_id", "nodes"):
            if nodes is not None:
                yield PartComparison(
                    int(rows_by_response[pk]["case"]),
                    bool(rows_by_response[pk]["routed"]),
                    json.loads(nodes),
                    parts[pk],
                )


def _is_right_or_wrong(labels: Sequence[Label]) -> bool:
    return sorted(label.share if label.share is not None else -1.0 for label in labels) == [0.0, 1.0]


def _places_of(replies: ReplyRows, rows: Ints, labels: Sequence[Label], scale: Sequence[Label]) -> Ints:
    """Return the code on a scale of the label, among a subject's own labels, that corresponds to each verdict."""
    codes = {label.value: code for code, label in enumerate(scale)}
    replied: Ints | Floats
    code_of: dict[float, int]
    if is_preference(labels):
        replied = replies.preferences[rows]
        code_of = {value: codes.get(str(value), NONE) for value in np.unique(replied).tolist()}
    else:
        replied = replies.shares[rows]
        shares = np.unique(replied[~np.isnan(replied)]).tolist()
        code_of = {share: codes.get(nearest_label(share, labels), NONE) for share in shares}
    values = np.full(len(rows), NONE, dtype=np.int64)
    for value, code in code_of.items():
        values[replied == value] = code
    values[~replies.has_value[rows]] = NONE
    return values


def _scenarios_of(evaluators: Sequence[RunEvaluator], prompts: Ints) -> tuple[str, ...]:
    """Return the scenario of each prompt, in the suites of these evaluators."""
    scenarios: dict[int, str] = {}
    for suite_id in dict.fromkeys(evaluator.run.suite_id for evaluator in reversed(evaluators)):
        links = SuiteCase.objects.filter(suite=suite_id).order_by("-position")
        scenarios |= dict(links.values_list("case__prompt_id", "case__scenario"))
    return tuple(scenarios.get(prompt, "") for prompt in prompts.tolist())
