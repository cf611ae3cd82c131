"""Rows of judges by run, of which those of a run that is over are stored, and their tests on golden sets."""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import nan
from zlib import crc32

import numpy as np
from django.db import transaction
from django.db.models import Q, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Now
from numpy.typing import NDArray

from debate.models import Debate, DebateStatus
from debate.protocol.setups import Method
from evalsite.base.rows import batches, grouped
from evalsite.base.types import JsonObject, Refused
from evalsite.reports.models import Snapshot
from evalsite.reports.selectors.debate_votes import BlindAnnotation, blind_annotations, sets_by_id
from evalsite.reports.selectors.leaderboards import results_version
from evalsite.review.models import GoldenItem, GoldenRun
from evalsite.review.questions.scales import Label, is_preference, joined_scale, nearest_label
from evalsite.review.routing import GoldenPart
from evalsite.review.selectors.final_labels import LabelReader, SubjectLabel, criterion_of, scoring_options
from evalsite.review.selectors.golden import ComparedResponse, golden_answers
from evalsite.review.selectors.subjects import chunks
from judging.grading.rubric_tree import Value
from judging.judges.kinds.custom_templates import FIRST, SECOND
from judging.judges.registry import label_preferences
from judging.judges.reply_rows import CALL, MICRO, NOT_ASKED, STATUSES, UNPRICED, VERDICT, ReplyRows
from judging.models import (
    SCORED_KINDS,
    Call,
    EvaluatorKind,
    Judge,
    PastVerdict,
    RunEvaluator,
    RunKind,
    Score,
    SuiteCase,
    Verdict,
)
from judging.models.runs import RunStatus
from judging.selectors.judges import versions_of
from judging.statistics.estimates import Floats, Ints
from judging.statistics.estimators.agreement import NONE, ComparedColumns

KIND = "judge-rows"
OVER = (RunStatus.FINISHED, RunStatus.CANCELLED)
LAYOUT = f"5.{sys.version_info.major}.{sys.version_info.minor}"  # of the stored rows, whose hashes are Python's
CHUNK = 5000
CLOSE = 4  # calls are read by a range where no more than so many lie in it for each that is wanted
SHARE = np.dtype([("verdict", "i8"), ("share", "f8")])
STATUS_CODES = {status.value: code for code, status in enumerate(STATUSES)}


@dataclass(frozen=True, slots=True)
class ComparedVerdict:
    """One item on which a judge and somebody else both gave a label."""

    item_id: int  # a review item or a debate
    case_id: int
    judge: str  # empty: no usable verdict
    other: str
    scenario: str
    cell: tuple[str, str] = ("", "")  # of a debate: the two systems and the criterion


def names_in_runs(judge: Judge) -> list[str]:
    """Return what runs call a judge, the name of the newest run first."""
    rows = RunEvaluator.objects.filter(judge=judge, run__kind__in=SCORED_KINDS).order_by("-run_id", "position")
    return list(dict.fromkeys(rows.values_list("name", flat=True)))


def judge_ids_by_name(judge_ids: Sequence[int]) -> dict[str, int]:
    """Return what runs call these judges; of a name that several have had, the judge of the newest run."""
    rows = RunEvaluator.objects.filter(judge__in=judge_ids, run__kind__in=SCORED_KINDS).order_by("run_id")
    return {name: judge_id for name, judge_id in rows.values_list("name", "judge_id") if judge_id is not None}


def judge_evaluators(name: str = "") -> list[RunEvaluator]:
    """Return the judges of all grading runs (those called `name`), the newest run first."""
    rows = RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE, run__kind__in=SCORED_KINDS).select_related(
        "run__suite"
    )
    if name:
        rows = rows.filter(name=name)
    return list(rows.order_by("-run__created_at", "-run_id", "position"))


def by_version(evaluators: Sequence[RunEvaluator]) -> dict[tuple[str, str], list[RunEvaluator]]:
    """Return evaluators by name and version, in the order given: another prompt, model or rubric is another judge."""
    versions = versions_of(evaluators)
    return grouped(((evaluator.name, versions[evaluator.pk].key), evaluator) for evaluator in evaluators)


def judge_exists(name: str) -> bool:
    """Whether a grading run has a judge of this name."""
    return RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE, run__kind__in=SCORED_KINDS, name=name).exists()


def judge_named(name: str) -> Judge | None:
    """Return the judge as it is set up that runs have under a name, that of the newest run."""
    rows = RunEvaluator.objects.filter(run__kind__in=SCORED_KINDS, name=name, judge__isnull=False)
    newest = rows.select_related("judge").order_by("-run_id").first()
    return newest.judge if newest is not None else None


def read_rows(evaluator: RunEvaluator) -> ReplyRows:
    """Return an evaluator's verdicts, and every call ever made for them.

    Read in columns, and scores apart from verdicts: joined, PostgreSQL goes through the scores of all runs.
    """
    called = array("q")
    verdicts = joined(_verdict_facts(evaluator, called), VERDICT)
    scores = Score.objects.filter(evaluator=evaluator, verdict__isnull=False, share__isnull=False).order_by()
    shares = np.fromiter(scores.values_list("verdict_id", "share").iterator(chunk_size=CHUNK), SHARE)
    verdicts = verdicts[np.argsort(verdicts["verdicts"])]
    shares = shares[np.isin(shares["verdict"], verdicts["verdicts"])]  # others came in between
    verdicts["shares"][np.searchsorted(verdicts["verdicts"], shares["verdict"])] = shares["share"]
    return ReplyRows.of(verdicts, joined(call_facts(called), CALL))


def joined(parts: Iterable[np.ndarray], kind: np.dtype[np.void]) -> np.ndarray:
    """Return the parts as one array of this kind."""
    return np.concatenate([np.empty(0, kind), *parts])


def _verdict_facts(evaluator: RunEvaluator, called: array[int]) -> Iterator[np.ndarray]:
    """Yield an evaluator's verdicts in any order, without scores, and add their calls to `called`.

    JSON is read as text, many rows at once: the conversion of each by itself takes longer than all else.
    """
    question, labels = question_key(evaluator), label_preferences(evaluator.options)
    first = _first_tries(evaluator, called)
    stored = Verdict.objects.filter(evaluator=evaluator).order_by()
    rows = stored.annotate(
        calls=Cast("call_ids", TextField()),
        orders=Cast("value", TextField()) if labels else KeyTextTransform("orders", "value"),
        preference=KeyTextTransform("preference", "value"),
        has_value=Q(value__isnull=False),
    ).values_list(*("pk", "response_id", "response__prompt_id", "calls", "status", "orders", "preference", "has_value"))
    for chunk in batches(rows.iterator(chunk_size=CHUNK), CHUNK):
        keys, response_ids, prompt_ids, calls, statuses, orders, preferences, has_value = zip(*chunk, strict=True)
        call_lists: list[list[int]] = json.loads(f"[{','.join(calls)}]")
        called.extend(chain.from_iterable(call_lists))
        facts = np.empty(len(chunk), VERDICT)
        facts["verdicts"], facts["responses"], facts["prompts"] = keys, response_ids, prompt_ids
        facts["has_value"] = has_value
        facts["preferences"] = [NOT_ASKED if preference is None else int(preference) for preference in preferences]
        asked_for = zip(response_ids, call_lists, strict=True)
        facts["replies"] = [reply_key(response_id, call_ids, question) for response_id, call_ids in asked_for]
        facts["statuses"] = [STATUS_CODES[status] for status in statuses]
        facts["first_replies"], facts["first_statuses"], facts["shares"] = facts["replies"], facts["statuses"], nan
        for row, key in enumerate(keys if first else ()):
            if key in first:
                tried_calls, tried = first[key]
                facts["first_replies"][row] = reply_key(response_ids[row], tried_calls, question)
                facts["first_statuses"][row] = STATUS_CODES[tried]
        facts["first_order"] = facts["second_order"] = NOT_ASKED
        for row, text in enumerate(orders):
            if text is not None:
                facts["first_order"][row], facts["second_order"][row] = _preferences(json.loads(text), labels)
        yield facts


def _preferences(orders: object, labels: Mapping[str, int]) -> tuple[int, int]:
    """Return the preferences of a verdict asked in both orders, in system space; `labels` as own prompts have them."""
    if isinstance(orders, list) and len(orders) == 2:
        return int(orders[0]), int(orders[1])
    said = [labels.get(orders.get(place, "")) for place in (FIRST, SECOND)] if isinstance(orders, dict) else [None]
    if None in said:
        return NOT_ASKED, NOT_ASKED
    return said[0] or 0, -(said[1] or 0)


def question_key(evaluator: RunEvaluator) -> int:
    """Return a number for what an evaluator asks, the same in every process."""
    return crc32(f"{evaluator.rubric_id}:{evaluator.criterion}".encode())


def reply_key(response_id: int, call_ids: Sequence[int], question: int) -> int:
    """Return a number that is the same for verdicts read from the same reply; without calls, for the same question.

    Hashes of whole numbers are the same in every process. No call has the key 0.
    """
    return hash((response_id, *sorted(set(call_ids)))) if call_ids else hash((response_id, 0, question))


def _first_tries(evaluator: RunEvaluator, called: array[int]) -> dict[int, tuple[list[int], str]]:
    """Return calls and status of the first try of verdicts that were tried again; add all past calls to `called`."""
    first: dict[int, tuple[list[int], str]] = {}
    rows = PastVerdict.objects.filter(verdict__evaluator=evaluator).order_by("pk")
    for verdict_id, call_ids, status in rows.values_list("verdict_id", "call_ids", "status").iterator(chunk_size=CHUNK):
        called.extend(call_ids)
        first.setdefault(verdict_id, (call_ids, status))
    return first


def call_facts(called: array[int]) -> Iterator[np.ndarray]:
    """Yield each call once. Those of a run lie close together, and a range is read sooner than thousands of keys."""
    fields = ("pk", "prompt_tokens", "completion_tokens", "cost", "seconds")
    call_ids = np.unique(np.asarray(called))
    for start in range(0, len(call_ids), CHUNK):
        chunk = call_ids[start : start + CHUNK]
        first, last = int(chunk[0]), int(chunk[-1])
        is_close = last - first < CLOSE * len(chunk)
        calls = Call.objects.filter(pk__range=(first, last)) if is_close else Call.objects.filter(pk__in=chunk.tolist())
        rows = list(calls.values_list(*fields))
        if not rows:
            continue
        keys, prompts, completions, costs, seconds = zip(*rows, strict=True)
        facts = np.empty(len(rows), CALL)
        facts["calls"], facts["seconds"] = keys, seconds
        facts["prompt_tokens"] = [count or 0 for count in prompts]
        facts["completion_tokens"] = [count or 0 for count in completions]
        facts["costs"] = [UNPRICED if cost is None else int(cost.scaleb(MICRO)) for cost in costs]
        yield facts[np.isin(facts["calls"], chunk)] if is_close else facts


def compared_with_debates(evaluators: Sequence[RunEvaluator]) -> list[ComparedVerdict]:
    """Return the agreed debates over two responses that the judge scored, as preferences in system space.

    A judge of one criterion is compared with debates of that criterion. The judge's preference is the sign of the
    difference of its two shares; of several scores the newest run's counts.
    """
    debates = Debate.objects.filter(status=DebateStatus.AGREED, debate_set__method=Method.DEBATE).order_by("pk")
    sets = sets_by_id(method=Method.DEBATE)
    fields = ("pk", "debate_set_id", "case_id", "verdict", "response_a_id", "response_b_id", "scenario")
    criterion = evaluators[0].criterion if evaluators else ""
    rows = [row for row in debates.values_list(*fields) if criterion in ("", sets[row[1]].criterion_key)]
    shares: dict[int, float] = {}
    for chunk in chunks(sorted({pk for row in rows for pk in row[4:6]})):
        scores = Score.objects.filter(evaluator__in=evaluators, response__in=chunk, share__isnull=False)
        shares.update(
            (response, share)
            for response, share in scores.order_by("pk").values_list("response_id", "share")
            if share is not None
        )
    return [
        ComparedVerdict(
            pk,
            case_id,
            str(int(np.sign(shares[a] - shares[b]))),
            str(verdict),
            scenario,
            (sets[set_id].pair, sets[set_id].criterion_key),
        )
        for pk, set_id, case_id, verdict, a, b, scenario in rows
        if verdict is not None and a in shares and b in shares
    ]


def rows_of_members(evaluator: RunEvaluator, members: int) -> list[ReplyRows]:
    """Return the votes of an evaluator's members, in their order, each with every call ever made for it."""
    vote_rows: list[list[tuple[object, ...]]] = [[] for _ in range(members)]
    called = [array("q") for _ in range(members)]
    question = question_key(evaluator)
    rows = Verdict.objects.filter(evaluator=evaluator).order_by("pk")
    fields = ("pk", "response_id", "response__prompt_id", "votes", "call_ids", "score__detail")
    for pk, response_id, prompt_id, votes, call_ids, detail in rows.values_list(*fields).iterator(chunk_size=CHUNK):
        shares = (detail or {}).get("votes") or {}
        for member, vote in enumerate(votes[:members]):
            vote_calls = _calls_of_vote(vote, call_ids)
            called[member].extend(vote_calls)
            vote_rows[member].append(
                _vote_row(pk, response_id, prompt_id, vote, shares, reply_key(response_id, vote_calls, question))
            )
    past = PastVerdict.objects.filter(verdict__evaluator=evaluator).order_by("pk").values_list("votes", "call_ids")
    for votes, call_ids in past.iterator(chunk_size=CHUNK):
        for member, vote in enumerate(votes[:members]):
            called[member].extend(_calls_of_vote(vote, call_ids))
    return [
        ReplyRows.of(np.array(member_rows, VERDICT), joined(call_facts(calls), CALL))
        for member_rows, calls in zip(vote_rows, called, strict=True)
    ]


def _calls_of_vote(vote: JsonObject, call_ids: Sequence[int]) -> list[int]:
    """Return the calls of one member; a verdict's are in the order in which its members asked."""
    return [call_ids[index] for index in vote["calls"] if index < len(call_ids)]


def _vote_row(
    pk: int, response_id: int, prompt_id: int, vote: JsonObject, shares: JsonObject, reply: int
) -> tuple[object, ...]:
    """Return a vote as a row of VERDICT."""
    status, share = STATUS_CODES[vote["status"]], shares.get(vote["judge"])
    return (
        *(pk, reply, reply, response_id, prompt_id),
        *(status, status, vote["value"] is not None, NOT_ASKED, nan if share is None else share),
        *(NOT_ASKED, NOT_ASKED),
    )


PEOPLE_COLUMNS_CHUNK = 5_000
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
    if sorted(label.share if label.share is not None else -1.0 for label in scale) == [0.0, 1.0]:
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
    for start in range(0, len(response_ids), PEOPLE_COLUMNS_CHUNK):
        verdicts = Verdict.objects.filter(
            evaluator=evaluator_id, response__in=response_ids[start : start + PEOPLE_COLUMNS_CHUNK]
        )
        with_nodes = verdicts.order_by("response_id").annotate(nodes=KeyTextTransform("nodes", "value"))
        for pk, nodes in with_nodes.values_list("response_id", "nodes"):
            if nodes is not None:
                yield PartComparison(
                    int(rows_by_response[pk]["case"]),
                    bool(rows_by_response[pk]["routed"]),
                    json.loads(nodes),
                    parts[pk],
                )


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


def tested_evaluators(name: str) -> list[RunEvaluator]:
    """Return the judges of a name that an opened test was finished with, the newest first."""
    rows = RunEvaluator.objects.filter(
        kind=EvaluatorKind.JUDGE,
        name=name,
        run__golden_run__part=GoldenPart.TEST,
        run__status=RunStatus.FINISHED,
    )
    return list(rows.select_related("run__suite", "run__golden_run__golden_set").order_by("-run_id", "position"))


def trusted_evaluators(name: str) -> list[RunEvaluator]:
    """Return what figures about the trust in a judge may rest on: its grading runs, then opened tests."""
    return [*judge_evaluators(name), *tested_evaluators(name)]


def version_key_of(name: str, beginning: str) -> str:
    """Return the key of a judge's version that begins so; of the newest where nothing is given.

    Raises:
        Refused: no run has had this judge, or no or several versions begin so.
    """
    evaluators = trusted_evaluators(name)
    keys = list(dict.fromkeys(version.key for version in versions_of(evaluators).values()))
    matching = [key for key in keys if key.startswith(beginning)] if beginning else keys[:1]
    if not keys:
        raise Refused(f"No run has had a judge “{name}”.", field="name")
    if len(matching) != 1:
        shown = ", ".join(key[:12] for key in keys)
        raise Refused(
            f"“{beginning}” matches {len(matching)} versions of “{name}”. Versions: {shown}.", field="version"
        )
    return matching[0]


def golden_prompts(name: str, version_key: str) -> frozenset[int]:
    """Return the prompts of all golden sets that a version was compared on.

    It was chosen by its figures on development, and its test may still be shut: an audit's labels of these cases say
    too much of it.
    """
    rows = RunEvaluator.objects.filter(run__kind=RunKind.GOLDEN, kind=EvaluatorKind.JUDGE, name=name)
    evaluators = list(rows)
    versions = versions_of(evaluators)
    runs = [evaluator.run_id for evaluator in evaluators if versions[evaluator.pk].key == version_key]
    sets = GoldenRun.objects.filter(run__in=runs).values("golden_set")
    prompts = GoldenItem.objects.filter(golden_set__in=sets) if runs else GoldenItem.objects.none()
    return frozenset(prompts.values_list("response__prompt_id", flat=True))


def tested_responses(evaluators: Sequence[RunEvaluator], *, chance: float) -> list[ComparedResponse]:
    """Return the verdicts of `tested_evaluators` on opened tests, each response once, all drawn with one chance."""
    responses: dict[int, ComparedResponse] = {}
    for evaluator in evaluators:
        answers = golden_answers(evaluator.run.golden_run.golden_set, GoldenPart.TEST, [evaluator])[evaluator.pk]
        for row in answers:
            responses.setdefault(row.response_id, replace(row, chance=chance))
    return list(responses.values())


def rows_of_judge(evaluators: Sequence[RunEvaluator]) -> dict[int, ReplyRows]:
    """Return what a judge did in each of its runs, by evaluator. `run` is loaded."""
    over = {row.pk: _fingerprint(row) for row in evaluators if row.run.status in OVER}
    stored = Snapshot.objects.filter(kind=KIND, subject_id__in=over, fingerprint__in=over.values(), rows__isnull=False)
    packed = stored.order_by().values_list("subject_id", "rows").iterator(chunk_size=1)  # one at a time: they are large
    rows_by_evaluator = {pk: ReplyRows.unpack(bytes(rows)) for pk, rows in packed if rows is not None}
    for evaluator in evaluators:
        if evaluator.pk not in rows_by_evaluator:
            rows_by_evaluator[evaluator.pk] = read_rows(evaluator)
            if evaluator.pk in over:
                _store(evaluator.pk, over[evaluator.pk], rows_by_evaluator[evaluator.pk])
    return rows_by_evaluator


def _fingerprint(evaluator: RunEvaluator) -> str:
    """Return what stored rows are found by: their state was read before them, so changed rows look old, never new."""
    return hashlib.sha256(f"{LAYOUT}.{results_version(evaluator)}".encode()).hexdigest()


@transaction.atomic
def _store(evaluator_id: int, fingerprint: str, rows: ReplyRows) -> None:
    """Store an evaluator's rows in place of older ones."""
    Snapshot.objects.update_or_create(
        kind=KIND,
        subject_id=evaluator_id,
        fingerprint=fingerprint,
        defaults={"content": {}, "rows": rows.pack(), "computed_at": Now()},
    )
    Snapshot.objects.filter(kind=KIND, subject_id=evaluator_id).exclude(fingerprint=fingerprint).delete()
