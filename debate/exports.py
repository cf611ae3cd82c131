"""Debates as files to take away: one table, or everything that a replication needs in one ZIP archive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from debate.models import Debate, DebateSet, OutsideLabel, Speaker, Statement
from debate.protocol.options import options_from_json
from debate.selectors.criteria import criteria_by_case
from debate.selectors.setups import criterion_of, question_of, reference_of
from evalsite.base.tables import Row, Table, table_bytes, write_zip
from judging.models import Call

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
    "round": "0: asked before hearing the others; from 1: discussion (without discussion, the sample)",
    "seat": "number of the agent, by which the others know it",
    "agent": "name of the agent's endpoint",
}
_VOTE = {
    **_TURN,
    "position_verdict": "1 or 2: the response shown first or second is better; 0: neither; empty: no verdict",
    "verdict": "what it counts for: 1 A is better, -1 B is better, 0 neither, empty no verdict",
    "status": "how the verdict was read: final_line, phrase, out_of_range_phrase, refused, none, empty, failed",
    "was_reasked": "the agent was asked again for want of a verdict",
    "error_kind": "why there was no reply at all",
    "mirrored_position_verdict": "the vote with the responses swapped, by place, where it was asked",
    "recorded_verdict": "imported records: the score as it was filed, as JSON",
    "asked_cost": "US dollars of the question as first asked; empty: not known",
}
_CALL = {
    **_TURN,
    "call_id": "id of the call in the ledger; a call that two debates share has one id",
    "purpose": "question, asked again, mirrored question, or mirrored question again",
}
COLUMNS: dict[str, dict[str, str]] = {
    "debates": {
        **_DEBATE,
        "set": "name of the set",
        "source": "run: held here; import: an imported record",
        "method": "debate, single, self-consistency or multi-judge",
        "source_id": "imported records: the item's id in its file",
        "scenario": "scenario of the case",
        "criterion": "name of the criterion",
        "system_a": "system whose response is called A",
        "system_b": "system whose response is called B",
        "response_a_id": "id of A's response",
        "response_b_id": "id of B's response",
        "seed": "seed that the orders were drawn from",
        "shown_first": "A or B: which response was shown as Submission 1",
        "status": "waiting, running, agreed, unresolved, failed or cancelled",
        "verdict": "1 A is better, -1 B is better, 0 neither; only when agreed",
        "outcome": "the verdict in letters: A, B or tie",
        "agreed_round": "round since which all agreed",
        "round_count": "discussion rounds held",
        "opening_verdict": "majority of the votes of round 0; never applied",
        "flags": "what a reader should know about how the verdicts came about, as a JSON list",
        "call_count": "calls that the outcome rests on, reused ones too",
        "cost": "US dollars of these calls; empty: not known",
        "finished_at": "when the outcome was stored",
    },
    "votes": _VOTE,
    "statements": {
        **_VOTE,
        "text": "the reply as it came back",
        "first_text": "the reply that was asked again",
        "mirrored_text": "the reply with the responses swapped",
        "call_ids": "calls of the statement in the order asked; empty: not recorded",
    },
    "orders": {
        **_DEBATE,
        "seed": "seed that the orders were drawn from",
        "shown_first": "A or B: which response was shown as Submission 1",
        "seat": "number of the agent, by which the others know it",
        "agent": "name of the agent's endpoint",
        "model": "model that the endpoint asks for; empty in imported records",
    },
    "costs": {
        **_CALL,
        "model": "model that answered, as the server named it, else as asked for",
        "status": "finished, truncated, refused or failed",
        "prompt_tokens": "tokens read, as the server counted",
        "completion_tokens": "tokens written, as the server counted",
        "cost": "US dollars; empty: the price is not known",
        "prices": "prices that the cost was computed with, in US dollars per million tokens, as JSON",
        "seconds": "time of the call",
        "attempts": "HTTP requests that it took",
        "is_reused": "the call was made for another run before, and was not paid for again",
        "finished_at": "when it was answered",
    },
    "calls": {
        **_CALL,
        "request": "the body as it was sent, with every message; the key is never in it",
        "text": "the raw reply",
        "finish_reason": "why the model stopped",
        "reply_head": "who answered: model, fingerprint, request id",
        "error_kind": "why there was no reply",
        "error_text": "the same in words",
    },
    "pairs": {
        **_DEBATE,
        "question": "what the systems were asked",
        "reference": "reference answer, where there is one",
        "response_a": "response of system A",
        "response_b": "response of system B",
    },
    "labels": {
        **_DEBATE,
        "rater": "person who gave the label elsewhere",
        "verdict": "1 A is better, -1 B is better, 0 neither",
        "source": "file that it was imported from",
        "is_blind": "whether the rater had seen neither the debates nor other labels, as the importer said",
    },
}
TABLES = tuple(COLUMNS)


@dataclass(frozen=True, slots=True)
class _StatementCall:
    """A call of a statement: what the call was for, and the columns that say whose statement it is."""

    turn: dict[str, Any]
    call_id: int
    purpose: str
    run_id: int | None


def debate_table(name: str, sets: Sequence[DebateSet]) -> Table:
    """Return one table about these sets, read as it is written. Raises: KeyError for an unknown name."""
    rows = {
        "debates": _debate_rows, "votes": _vote_rows, "statements": _statement_rows, "orders": _order_rows,
        "costs": _cost_rows, "calls": _call_rows, "pairs": _pair_rows, "labels": _label_rows,
    }[name]  # fmt: skip
    return Table(name, tuple(COLUMNS[name]), rows([one.pk for one in sets]))


def replication_archive(sets: Sequence[DebateSet], *, watch: Callable[[Table], Table] | None = None) -> Iterator[bytes]:
    """Yield a ZIP archive with all tables, the sets' options and criteria, the prompts, and what the columns mean.

    `watch` may wrap each table, for example to show how far it has been written.
    """
    return write_zip(_members(sets, watch or (lambda table: table)))


def _members(sets: Sequence[DebateSet], watch: Callable[[Table], Table]) -> Iterator[tuple[str, Iterable[bytes]]]:
    yield "README.md", [_read_me().encode()]
    yield "sets.json", [_json([_set_facts(one) for one in sets])]
    yield "criteria.json", [_json([fact for one in sets for fact in _criteria_facts(one)])]
    prompts = files("debate.protocol").joinpath("prompts")
    for name in sorted(one.name for one in prompts.iterdir() if one.name.endswith(".md")):
        yield f"prompts/{name}", [prompts.joinpath(name).read_bytes()]
    for name, format_name in REPLICATION_FORMATS.items():
        yield f"{name}.{format_name}", table_bytes(watch(debate_table(name, sets)), format_name)


def _read_me() -> str:
    """Return what the files and their columns are."""
    lines = [
        "# Debates for replication\n",
        "CSV files are UTF-8 with a header; an apostrophe before =, +, -, @ keeps spreadsheets from running a text.",
        "JSONL files hold one JSON object per line, texts as they were.\n",
        "- sets.json: the sets of debates, with systems, agents and every option of the protocol",
        "- criteria.json: the criteria as the agents read them, with the cases that each applies to",
        "- prompts/: the templates of the messages, as this version has them; calls.jsonl holds what was sent",
        *(f"- {name}.{ending}" for name, ending in REPLICATION_FORMATS.items()),
        "\nImported records, and debates held before calls were noted by statement, have no rows in costs and calls.",
    ]
    for name, ending in REPLICATION_FORMATS.items():
        lines += [f"\n## {name}.{ending}\n", *(f"- {column}: {words}" for column, words in COLUMNS[name].items())]
    return "\n".join(lines) + "\n"


def _set_facts(one: DebateSet) -> dict[str, Any]:
    run = one.run
    return {
        "set_id": one.pk,
        "name": one.name,
        "source": one.source,
        "method": one.method,
        "experiment": one.experiment.name if one.experiment else None,
        "systems": {
            letter: {"name": system.name, "model": system.model, "prompt_version": system.prompt_version}
            for letter, system in (("A", one.system_a), ("B", one.system_b))
        },
        "rubric": f"{one.rubric.slug}@{one.rubric.version}" if one.rubric else None,
        "criterion": one.criterion,
        "setup": one.setup,
        "run": None if run is None else {
            "id": run.pk, "suite": str(run.suite), "status": run.status, "calls_made": run.calls_made,
            "calls_reused": run.calls_reused, "unpriced_calls": run.unpriced_calls, "spent": run.spent,
        },
        "created_at": one.created_at,
    }  # fmt: skip


def _criteria_facts(one: DebateSet) -> list[dict[str, Any]]:
    """Return each text of the criterion as agents read it, with the cases that it is for."""
    keys = list(one.debates.order_by("case__key").values_list("case__key", flat=True).distinct())
    options = options_from_json(one.setup)
    found: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    for key, stored in criteria_by_case(rubric=one.rubric, name=one.criterion, case_keys=keys).items():
        read = criterion_of(stored, options)
        text = json.dumps([read.title, dict(read.levels)])
        if text not in places:
            places[text] = len(found)
            found.append({"set_id": one.pk, "name": read.title, "levels": dict(read.levels), "cases": []})
        found[places[text]]["cases"].append(key)
    return found


def _debate_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    renamed = {
        "set": "debate_set__name", "source": "debate_set__source", "method": "debate_set__method",
        "set_id": "debate_set_id", "debate_id": "pk", "case": "case__key", "criterion": "debate_set__criterion",
        "system_a": "debate_set__system_a__name", "system_b": "debate_set__system_b__name",
        "shown_first": "submission_order", "outcome": "verdict",
    }  # fmt: skip
    columns = tuple(COLUMNS["debates"])
    rows = _debates(set_ids).values_list(*(renamed.get(column, column) for column in columns))
    for values in rows.iterator(chunk_size=CHUNK):
        row = dict(zip(columns, values, strict=True))
        yield row | {"shown_first": "BA"[row["shown_first"] == 0], "outcome": LETTERS[row["outcome"]]}


def _vote_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    return _turn_rows(set_ids, tuple(COLUMNS["votes"]))


def _statement_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    columns = tuple(COLUMNS["statements"])
    for row in _turn_rows(set_ids, (*columns, "mirrored_call_ids")):
        yield {**row, "call_ids": [*row["call_ids"], *row["mirrored_call_ids"]]}


def _turn_rows(set_ids: Sequence[int], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    renamed = {
        "set_id": "speaker__debate__debate_set_id", "debate_id": "speaker__debate_id",
        "case": "speaker__debate__case__key", "seat": "speaker__seat", "agent": "speaker__name",
        "run_id": "speaker__debate__debate_set__run_id",
    }  # fmt: skip
    statements = Statement.objects.filter(speaker__debate__debate_set__in=set_ids)
    ordered = statements.order_by("speaker__debate__debate_set_id", "speaker__debate_id", "round", "speaker__seat")
    for values in ordered.values_list(*(renamed.get(name, name) for name in columns)).iterator(chunk_size=CHUNK):
        yield dict(zip(columns, values, strict=True))


def _order_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    speakers = Speaker.objects.filter(debate__debate_set__in=set_ids)
    ordered = speakers.order_by("debate__debate_set_id", "debate_id", "seat").values_list(
        *("debate__debate_set_id", "debate_id", "debate__case__key", "debate__seed", "debate__submission_order"),
        *("seat", "name", "endpoint__model"),
    )
    for values in ordered.iterator(chunk_size=CHUNK):
        row = dict(zip(COLUMNS["orders"], values, strict=True))
        yield row | {"shown_first": "BA"[row["shown_first"] == 0], "model": row["model"] or ""}


def _cost_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    same = ("status", "prompt_tokens", "completion_tokens", "cost", "prices", "seconds", "attempts", "finished_at")
    for asked, call in _asked_calls(set_ids, without=("request", "text", "label_logprobs")):
        yield {
            **asked.turn,
            "call_id": call.pk,
            "purpose": asked.purpose,
            "model": call.reply_head.get("model") or call.endpoint.model,
            "is_reused": call.run_id != asked.run_id,
            **{name: getattr(call, name) for name in same},
        }


def _call_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    same = ("text", "finish_reason", "reply_head", "error_kind", "error_text")
    for asked, call in _asked_calls(set_ids, with_=("prompt",), without=("label_logprobs",)):
        values = {"request": call.body, **{name: getattr(call, name) for name in same}}
        yield {**asked.turn, "call_id": call.pk, "purpose": asked.purpose, **values}


def _asked_calls(
    set_ids: Sequence[int], *, with_: Sequence[str] = (), without: Sequence[str]
) -> Iterator[tuple[_StatementCall, Call]]:
    """Yield the calls of each statement in the order asked. One query for every 500 calls."""
    asked = _asked(set_ids)
    while chunk := list(islice(asked, CHUNK)):
        calls = Call.objects.select_related("endpoint", *with_).defer(*without).in_bulk({one.call_id for one in chunk})
        yield from ((one, calls[one.call_id]) for one in chunk if one.call_id in calls)


def _asked(set_ids: Sequence[int]) -> Iterator[_StatementCall]:
    columns = (*_TURN, "run_id", "call_ids", "mirrored_call_ids")
    for row in _turn_rows(set_ids, columns):
        turn = {name: row[name] for name in _TURN}
        for kind, own in (("question", row["call_ids"]), ("mirrored question", row["mirrored_call_ids"])):
            for place, call_id in enumerate(own):
                again = "asked again" if kind == "question" else f"{kind} again"
                yield _StatementCall(turn, call_id, again if place else kind, row["run_id"])


def _pair_rows(set_ids: Sequence[int]) -> Iterator[Row]:
    debates = _debates(set_ids).select_related("case__prompt", "response_a", "response_b")
    for one in debates.iterator(chunk_size=CHUNK):
        yield {
            "set_id": one.debate_set_id,
            "debate_id": one.pk,
            "case": one.case.key,
            "question": question_of(one.case),
            "reference": reference_of(one.case),
            "response_a": one.response_a.text,
            "response_b": one.response_b.text,
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
