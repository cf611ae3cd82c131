"""Exports of debates, as one table or as a ZIP archive for a replication, and the labels that people bring."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from debate.models import Agent, Debate, DebateSet, OutsideLabel, Statement
from debate.protocol.outside_labels import LabelRow, read_outside_labels, verdict_of
from debate.protocol.setups import options_from_json
from debate.selectors import criteria_by_case, criterion_of, question_of, reference_of
from evalsite.accounts.audit import record
from evalsite.base.rows import batches
from evalsite.base.signals import labels_changed
from evalsite.base.tables import Row, Table, table_bytes, write_zip
from evalsite.base.types import JsonDict
from judging.models import Call, Case, Response
from judging.selectors.benchmarks import picture_files
from judging.services.file_imports.suites import case_spec
from judging.specs.files.findings import Findings
from judging.specs.records.file_records import ParsedFile
from judging.specs.records.neutral import ResponseRecord
from judging.specs.records.parts import RecordOptions
from judging.specs.suites.cases_yaml import image_file, question_row, response_row

CHUNK = 500
TABLE_FORMATS = ("csv", "jsonl")
REPLICATION_FORMATS = {  # how each table stands in the archive: long texts as JSON Lines
    "debates": "csv", "votes": "csv", "orders": "csv", "costs": "csv", "labels": "csv",
    "pairs": "jsonl", "statements": "jsonl", "calls": "jsonl",
}  # fmt: skip
LETTERS = {1: "A", 0: "tie", -1: "B", None: ""}

_DEBATE = {
    "set_id": "id of the set of debates",
    "debate_id": "id of the debate; the same in every table",
    "case": "key of the case",
}
_TURN = {
    **_DEBATE,
    "round": "0: independent round; from 1: discussion rounds (without discussion: the sample)",
    "agent_number": "number of the agent, by which the other agents refer to it",
    "agent": "name of the agent's endpoint",
}
_VOTE = {
    **_TURN,
    "position_verdict": "1: the response shown first is better; 2: the one shown second; 0: neither; empty: no verdict",
    "verdict": "the same by system: 1: A is better; -1: B is better; 0: neither; empty: no verdict",
    "status": "how the verdict was read: final_line, phrase, out_of_range_phrase, refused, none, empty, failed",
    "was_reasked": "the agent was asked again because it stated no verdict",
    "error_kind": "kind of error if there was no reply",
    "mirrored_position_verdict": "the vote with the responses swapped, by position, if it was asked for",
    "recorded_verdict": "imported records: the recorded score, as JSON",
    "asked_cost": "cost of the first request in US dollars; empty: unknown",
}
_CALL = {
    **_TURN,
    "call_id": "id of the call; a call that two debates share has one id",
    "purpose": "question, asked again, mirrored question, or mirrored question again",
}
COLUMNS: dict[str, dict[str, str]] = {
    "debates": {
        **_DEBATE,
        "set": "name of the set",
        "source": "run: run on this site; import: an imported record",
        "method": "debate, single, self-consistency or multi-judge",
        "source_id": "imported records: id of the item in its file",
        "scenario": "scenario of the case",
        "criterion": "name of the criterion",
        "system_a": "system of response A",
        "system_b": "system of response B",
        "response_a_id": "id of response A",
        "response_b_id": "id of response B",
        "seed": "random seed of the orders",
        "shown_first": "A or B: the response that was shown first",
        "status": "waiting, running, agreed, unresolved, failed or cancelled",
        "verdict": "1: A is better; -1: B is better; 0: neither; only if agreed",
        "outcome": "the verdict in letters: A, B or tie",
        "agreed_round": "round since which all agents agreed",
        "round_count": "number of discussion rounds",
        "independent_verdict": "majority of the votes of the independent round; never used as the outcome",
        "flags": "notes on how the verdicts were reached, as a JSON list",
        "call_count": "number of calls behind the outcome, including reused ones",
        "cost": "cost of these calls in US dollars; empty: unknown",
        "finished_at": "when the outcome was stored",
    },
    "votes": _VOTE,
    "statements": {
        **_VOTE,
        "text": "the unparsed reply",
        "first_text": "the first reply, if the agent was asked again",
        "mirrored_text": "the reply with the responses swapped",
        "call_ids": "calls of the statement in the order of the requests; empty: not recorded",
    },
    "orders": {
        **_DEBATE,
        "seed": "random seed of the orders",
        "shown_first": "A or B: the response that was shown first",
        "agent_number": "number of the agent, by which the other agents refer to it",
        "agent": "name of the agent's endpoint",
        "model": "model of the endpoint; empty for imported records",
    },
    "costs": {
        **_CALL,
        "model": "model that replied, as named by the server, or else as requested",
        "status": "finished, truncated, refused or failed",
        "prompt_tokens": "input tokens, as counted by the server",
        "completion_tokens": "output tokens, as counted by the server, thinking included",
        "cached_tokens": "input tokens read from the provider's cache; empty: not reported",
        "reasoning_tokens": "output tokens of thinking; empty: not reported",
        "cost": "cost in US dollars; empty: the price is unknown",
        "prices": "prices that the cost was computed with, in US dollars per million tokens, as JSON",
        "seconds": "duration of the call",
        "attempts": "number of HTTP requests",
        "is_reused": "the call was made for an earlier run and not paid for again",
        "finished_at": "when the reply arrived",
    },
    "calls": {
        **_CALL,
        "request": "the body of the request with every message, without the key",
        "text": "the unparsed reply",
        "finish_reason": "why the model stopped",
        "reply_head": "identity of the reply: model, fingerprint, request id",
        "error_kind": "kind of error if there was no reply",
        "error_text": "the error in words",
    },
    "pairs": {
        **_DEBATE,
        "question": "the prompt of the case",
        "reference": "reference answer, if the case has one",
        "response_a": "response of system A",
        "response_b": "response of system B",
        "images": "hashes of the images of the question and of both responses, which lie in images/",
    },
    "labels": {
        **_DEBATE,
        "rater": "name of the rater",
        "verdict": "1: A is better; -1: B is better; 0: neither",
        "source": "file from which the label was imported",
        "is_blind": "whether the rater saw neither the debates nor other labels, as stated at the import",
    },
}
TABLES = tuple(COLUMNS)


def debate_table(name: str, sets: Sequence[DebateSet]) -> Table:
    """Return one table about these sets, read as it is written. Raises: KeyError for an unknown name."""
    rows = {
        "debates": _debate_rows, "votes": _turn_rows, "statements": _statement_rows, "orders": _order_rows,
        "costs": _cost_rows, "calls": _call_rows, "pairs": _pair_rows, "labels": _label_rows,
    }[name]  # fmt: skip
    return Table(name, tuple(COLUMNS[name]), rows([debate_set.pk for debate_set in sets]))


def replication_archive(sets: Sequence[DebateSet]) -> Iterator[bytes]:
    """Yield a ZIP archive with all tables, the sets' options and criteria, the prompts, and what the columns mean."""
    return write_zip(_members(sets))


def _members(sets: Sequence[DebateSet]) -> Iterator[tuple[str, Iterable[bytes]]]:
    yield "README.md", [_read_me().encode()]
    yield "sets.json", [_json([_set_facts(debate_set) for debate_set in sets])]
    yield "criteria.json", [_json([fact for debate_set in sets for fact in _criteria_facts(debate_set)])]
    prompts = files("debate.protocol").joinpath("prompts")
    for name in sorted(path.name for path in prompts.iterdir() if path.name.endswith(".md")):
        yield f"prompts/{name}", [prompts.joinpath(name).read_bytes()]
    paths: dict[str, str] = {}
    yield "cases.jsonl", _lines(_case_rows(sets, paths))
    yield "responses.jsonl", _lines(_response_rows(sets, paths))
    yield from picture_files(paths)
    for name, format_name in REPLICATION_FORMATS.items():
        yield f"{name}.{format_name}", table_bytes(debate_table(name, sets), format_name)


def _lines(rows: Iterable[JsonDict]) -> Iterator[bytes]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _case_rows(sets: Sequence[DebateSet], paths: dict[str, str]) -> Iterator[JsonDict]:
    """Yield the cases as rows that can be imported, and note where their images are."""
    cases = Case.objects.filter(debates__debate_set__in=sets).select_related("prompt").distinct().order_by("pk")
    written: set[str] = set()
    for case in cases.iterator(chunk_size=CHUNK):
        if case.key not in written:  # ids are unique in a file
            written.add(case.key)
            paths |= {image["digest"]: image_file(image) for image in case.prompt.images}
            yield question_row(case_spec(case), case.prompt.images)


def _response_rows(sets: Sequence[DebateSet], paths: dict[str, str]) -> Iterator[JsonDict]:
    debated = Debate.objects.filter(debate_set__in=sets)
    ids = {pk for pair in debated.values_list("response_a", "response_b") for pk in pair}
    rows = Response.objects.filter(pk__in=ids).select_related("prompt", "system").order_by("pk")
    for row in rows.iterator(chunk_size=CHUNK):
        paths |= {image["digest"]: image_file(image) for image in row.images}
        spec = ResponseRecord(row.system.name, row.text, row.messages, row.attempt, case_key=row.prompt.key)
        yield response_row(spec, row.images)


def _read_me() -> str:
    """Return what the files and their columns are."""
    lines = [
        "# Debates for replication\n",
        "CSV files are UTF-8 with a header. An apostrophe before =, +, - or @ stops spreadsheets from evaluating it.",
        "JSONL files contain one JSON object per line, with texts unchanged.\n",
        "- sets.json: the sets of debates with their systems, agents and protocol options",
        "- criteria.json: the criteria as the agents read them, and the cases of each",
        "- prompts/: the message templates of this version; calls.jsonl contains the messages that were sent",
        "- cases.jsonl, responses.jsonl, images/: what was asked and answered, with conversations and images, to be "
        "imported as a suite; images are named after the SHA-256 of the file that was uploaded",
        *(f"- {name}.{ending}" for name, ending in REPLICATION_FORMATS.items()),
        "\nImported records, and debates of early versions, have no rows in costs and calls.",
    ]
    for name, ending in REPLICATION_FORMATS.items():
        lines += [f"\n## {name}.{ending}\n", *(f"- {column}: {words}" for column, words in COLUMNS[name].items())]
    return "\n".join(lines) + "\n"


def _set_facts(debate_set: DebateSet) -> JsonDict:
    run = debate_set.run
    return {
        "set_id": debate_set.pk,
        "name": debate_set.name,
        "source": debate_set.source,
        "method": debate_set.method,
        "experiment": debate_set.experiment.name if debate_set.experiment else None,
        "systems": {
            letter: {"name": system.name, "model": system.model, "prompt_version": system.prompt_version}
            for letter, system in (("A", debate_set.system_a), ("B", debate_set.system_b))
        },
        "rubric": f"{debate_set.rubric.slug}@{debate_set.rubric.version}" if debate_set.rubric else None,
        "criterion": debate_set.criterion,
        "setup": debate_set.setup,
        "run": None if run is None else {
            "id": run.pk, "suite": str(run.suite), "status": run.status, "calls_made": run.calls_made,
            "calls_reused": run.calls_reused, "unpriced_calls": run.unpriced_calls, "spent": run.spent,
        },
        "created_at": debate_set.created_at,
    }  # fmt: skip


def _criteria_facts(debate_set: DebateSet) -> list[JsonDict]:
    """Return each text of the criterion as agents read it, with the cases that it is for."""
    keys = list(debate_set.debates.order_by("case__key").values_list("case__key", flat=True).distinct())
    options = options_from_json(debate_set.setup)
    facts: list[JsonDict] = []
    places: dict[str, int] = {}
    for key, stored in criteria_by_case(rubric=debate_set.rubric, name=debate_set.criterion, case_keys=keys).items():
        read = criterion_of(stored, options)
        text = json.dumps([read.title, dict(read.levels)])
        if text not in places:
            places[text] = len(facts)
            facts.append({"set_id": debate_set.pk, "name": read.title, "levels": dict(read.levels), "cases": []})
        facts[places[text]]["cases"].append(key)
    return facts


def _debate_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    renamed = {
        "set": "debate_set__name", "source": "debate_set__source", "method": "debate_set__method",
        "set_id": "debate_set_id", "debate_id": "pk", "case": "case__key", "criterion": "debate_set__criterion",
        "system_a": "debate_set__system_a__name", "system_b": "debate_set__system_b__name",
        "shown_first": "response_order", "outcome": "verdict",
    }  # fmt: skip
    columns = tuple(COLUMNS["debates"])
    rows = _debates(set_ids).values_list(*(renamed.get(column, column) for column in columns))
    for values in rows.iterator(chunk_size=CHUNK):
        row = dict(zip(columns, values, strict=True))
        yield row | {"shown_first": "BA"[row["shown_first"] == 0], "outcome": LETTERS[row["outcome"]]}


def _statement_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    columns = tuple(COLUMNS["statements"])
    for row in _turn_rows(set_ids, (*columns, "mirrored_call_ids")):
        yield {**row, "call_ids": [*row["call_ids"], *row["mirrored_call_ids"]]}


def _turn_rows(set_ids: Sequence[int], columns: Sequence[str] = tuple(_VOTE)) -> Iterator[JsonDict]:
    renamed = {
        "set_id": "agent__debate__debate_set_id", "debate_id": "agent__debate_id",
        "case": "agent__debate__case__key", "agent_number": "agent__number", "agent": "agent__name",
        "run_id": "agent__debate__debate_set__run_id",
    }  # fmt: skip
    statements = Statement.objects.filter(agent__debate__debate_set__in=set_ids)
    ordered = statements.order_by("agent__debate__debate_set_id", "agent__debate_id", "round", "agent__number")
    for values in ordered.values_list(*(renamed.get(name, name) for name in columns)).iterator(chunk_size=CHUNK):
        yield dict(zip(columns, values, strict=True))


def _order_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    agents = Agent.objects.filter(debate__debate_set__in=set_ids)
    ordered = agents.order_by("debate__debate_set_id", "debate_id", "number").values_list(
        *("debate__debate_set_id", "debate_id", "debate__case__key", "debate__seed", "debate__response_order"),
        *("number", "name", "endpoint__model"),
    )
    for values in ordered.iterator(chunk_size=CHUNK):
        row = dict(zip(COLUMNS["orders"], values, strict=True))
        yield row | {"shown_first": "BA"[row["shown_first"] == 0], "model": row["model"] or ""}


def _cost_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    tokens = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    same = ("status", *tokens, "cost", "prices", "seconds", "attempts", "finished_at")
    for turn, purpose, run_id, call in _asked_calls(set_ids, without=("request", "text", "label_logprobs")):
        yield {
            **turn,
            "call_id": call.pk,
            "purpose": purpose,
            "model": call.reply_head.get("model") or call.endpoint.model,
            "is_reused": call.run_id != run_id,
            **{name: getattr(call, name) for name in same},
        }


def _call_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    same = ("text", "finish_reason", "reply_head", "error_kind", "error_text")
    for turn, purpose, _, call in _asked_calls(set_ids, with_=("prompt",), without=("label_logprobs",)):
        values = {"request": call.body, **{name: getattr(call, name) for name in same}}
        yield {**turn, "call_id": call.pk, "purpose": purpose, **values}


def _asked_calls(
    set_ids: Sequence[int], *, with_: Sequence[str] = (), without: Sequence[str]
) -> Iterator[tuple[JsonDict, str, int | None, Call]]:
    """Yield the calls of each statement in the order asked: the columns that say whose statement it is, what the call
    was for, the run of the debate, the call. One query for every 500 calls."""
    for chunk in batches(_asked(set_ids), CHUNK):
        calls = Call.objects.select_related("endpoint", *with_).defer(*without).in_bulk({pk for *_, pk in chunk})
        yield from ((turn, purpose, run_id, calls[pk]) for turn, purpose, run_id, pk in chunk if pk in calls)


def _asked(set_ids: Sequence[int]) -> Iterator[tuple[JsonDict, str, int | None, int]]:
    columns = (*_TURN, "run_id", "call_ids", "mirrored_call_ids")
    for row in _turn_rows(set_ids, columns):
        turn = {name: row[name] for name in _TURN}
        for kind, call_ids in (("question", row["call_ids"]), ("mirrored question", row["mirrored_call_ids"])):
            for index, call_id in enumerate(call_ids):
                again = "asked again" if kind == "question" else f"{kind} again"
                yield turn, again if index else kind, row["run_id"], call_id


def _pair_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    debates = _debates(set_ids).select_related("case__prompt", "response_a", "response_b")
    for debate in debates.iterator(chunk_size=CHUNK):
        yield {
            "set_id": debate.debate_set_id,
            "debate_id": debate.pk,
            "case": debate.case.key,
            "question": question_of(debate.case),
            "reference": reference_of(debate.case),
            "response_a": debate.response_a.text,
            "response_b": debate.response_b.text,
            "images": {
                owner: [image["digest"] for image in row.images]
                for owner, row in (
                    ("question", debate.case.prompt),
                    ("response_a", debate.response_a),
                    ("response_b", debate.response_b),
                )
            },
        }


def _label_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    labels = OutsideLabel.objects.filter(debate__debate_set__in=set_ids)
    ordered = labels.order_by("debate__debate_set_id", "debate_id", "rater").values_list(
        *("debate__debate_set_id", "debate_id", "debate__case__key", "rater", "verdict", "source", "is_blind")
    )
    for values in ordered.iterator(chunk_size=CHUNK):
        yield dict(zip(COLUMNS["labels"], values, strict=True))


def _debates(set_ids: Sequence[int]) -> QuerySet[Debate]:
    return Debate.objects.filter(debate_set__in=set_ids).order_by("debate_set_id", "pk")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str).encode("utf-8", "replace") + b"\n"


# Imports and deletes labels of debates that people gave elsewhere.
#
# A file names items by debate ids or as its set has them.

BATCH = 500
LABEL_HINT = "Write A, B or tie, the name of a system, or 1 (A), 2 or -1 (B), 0 (tie); or say what each value means."


@dataclass(frozen=True, slots=True)
class StoredLabels:
    """What an import of labels did."""

    new: int
    changed: int
    unchanged: int
    raters: tuple[str, ...]
    debates: int


@dataclass(frozen=True, slots=True)
class DebateLabelUpload:
    """A file of labels with what the person said of it."""

    data: bytes
    file: str
    is_blind: bool  # the raters had seen neither the debates nor each other's labels; only such labels enter figures
    options: RecordOptions = field(default_factory=RecordOptions)


def import_labels(
    *, upload: DebateLabelUpload, sets: Sequence[DebateSet], actor: User | None, at: datetime
) -> ParsedFile[StoredLabels]:
    """Store a file of labels for debates of these sets; the same file twice changes nothing.

    An item is named by its debate's number in the original's file, by its case's key, or by the debate's id here; with
    several sets the column `set` (id or name) says which one is meant where the item alone does not. A rater's new
    answer replaces the one before it. Nothing is stored where any row cannot be placed.
    """
    labels = read_outside_labels(upload.data, upload.file, upload.options)
    if labels.value is None:
        return ParsedFile(None, labels.problems, labels.columns)
    places, findings = _Places(sets), Findings(upload.file)
    verdicts: dict[int, dict[str, int]] = defaultdict(dict)
    for row in labels.value:
        debate_id = places.find(row)
        if isinstance(debate_id, str):
            findings.error(row.place, "unknown-item", debate_id, offending=row.item)
            continue
        verdict = verdict_of(row.label, places.systems[debate_id], upload.options.meanings)
        if verdict is None:
            findings.error(row.place, "unknown-label", "The label is unknown.", offending=row.label, hint=LABEL_HINT)
        else:
            verdicts[debate_id][row.rater[:120]] = verdict
    is_placed = not findings.has_errors
    stored = _store(verdicts, upload=upload, sets=sets, actor=actor, at=at) if is_placed else None
    return ParsedFile(stored, (*labels.problems, *findings.as_tuple()), labels.columns)


class _Places:
    """Finds the debate that a row means. Two queries for all rows."""

    def __init__(self, sets: Sequence[DebateSet]) -> None:
        self.sets = {name: owner.pk for owner in sets for name in (str(owner.pk), owner.name)}
        self.named: dict[tuple[int, str], int] = {}
        self.anywhere: dict[str, set[int]] = {}
        self.systems: dict[int, tuple[str, str]] = {}  # of each debate
        rows = Debate.objects.filter(debate_set__in=[owner.pk for owner in sets]).order_by("pk")
        systems = ("debate_set__system_a__name", "debate_set__system_b__name")
        fields = rows.values_list("pk", "debate_set_id", "source_id", "case__key", *systems)
        for pk, set_id, source_id, key, system_a, system_b in fields:
            self.systems[pk] = (system_a, system_b)
            for name in {key, str(source_id)} if source_id is not None else {key}:
                self.named[set_id, name] = pk
                self.anywhere.setdefault(name, set()).add(pk)

    def find(self, row: LabelRow) -> int | str:
        """Return the debate's id, or the sentence that says why there is none."""
        if row.set_name:
            set_id = self.sets.get(row.set_name)
            if set_id is None:
                return f"{row.set_name!r} is not one of the chosen sets."
            debate_id = self.named.get((set_id, row.item))
            return debate_id if debate_id is not None else f"The set {row.set_name} has no item {row.item!r}."
        meant = self.anywhere.get(row.item, set())
        if len(meant) == 1:
            return next(iter(meant))
        if not meant and row.item.isdigit() and int(row.item) in self.systems:
            return int(row.item)
        if meant:
            return f"{len(meant)} sets have an item {row.item!r}. Add a column `set`, or import into one set at a time."
        return f"No chosen set has an item {row.item!r}."


def _store(
    verdicts: Mapping[int, Mapping[str, int]],
    *,
    upload: DebateLabelUpload,
    sets: Sequence[DebateSet],
    actor: User | None,
    at: datetime,
) -> StoredLabels:
    """Store the labels of some hundred debates at a time, so that no transaction is long."""
    new = changed = 0
    for some in batches(sorted(verdicts.items()), BATCH):
        counts = _store_some(dict(some), upload=upload, at=at)
        new, changed = new + counts[0], changed + counts[1]
    raters = tuple(sorted({rater for by_rater in verdicts.values() for rater in by_rater}))
    if new or changed:
        detail = {"file": upload.file, "blind": upload.is_blind, "new": new, "changed": changed, "raters": len(raters)}
        record(actor, "labels.imported", sets[0], **detail)
    return StoredLabels(
        new=new,
        changed=changed,
        unchanged=sum(map(len, verdicts.values())) - new - changed,
        raters=raters,
        debates=len(verdicts),
    )


@transaction.atomic
def _store_some(
    verdicts: Mapping[int, Mapping[str, int]], *, upload: DebateLabelUpload, at: datetime
) -> tuple[int, int]:
    """Return how many labels were new and how many changed; whoever hears of them does so in the same transaction."""
    stored = {(row.debate_id, row.rater): row for row in OutsideLabel.objects.filter(debate__in=verdicts)}
    source, is_blind, new, changed = upload.file[:200], upload.is_blind, [], []
    for debate_id, by_rater in verdicts.items():
        for rater, verdict in by_rater.items():
            label = stored.get((debate_id, rater))
            if label is None:
                label = OutsideLabel(debate_id=debate_id, rater=rater)
                new.append(label)
            elif (label.verdict, label.is_blind) != (verdict, is_blind):
                changed.append(label)
            else:
                continue
            label.verdict, label.source, label.is_blind, label.created_at = verdict, source, is_blind, at
    OutsideLabel.objects.bulk_create(new, batch_size=BATCH)
    OutsideLabel.objects.bulk_update(changed, ["verdict", "source", "is_blind", "created_at"], batch_size=BATCH)
    if new or changed:
        labels_changed.send(sender=OutsideLabel, debate_ids=sorted({row.debate_id for row in (*new, *changed)}))
    return len(new), len(changed)


def delete_labels(*, debate_set: DebateSet, file: str, actor: User | None) -> int:
    """Delete a set's labels that came with a file; return how many.

    A label that it had replaced does not come back. Final labels follow, some hundred debates at a time.
    """
    labels = OutsideLabel.objects.filter(debate__debate_set=debate_set, source=file)
    ids, deleted = sorted(set(labels.values_list("debate_id", flat=True))), 0
    for some in batches(ids, BATCH):
        with transaction.atomic():
            deleted += labels.filter(debate__in=some).delete()[0]
            labels_changed.send(sender=OutsideLabel, debate_ids=some)
    if deleted:
        record(actor, "labels.deleted", debate_set, file=file, labels=deleted)
    return deleted
