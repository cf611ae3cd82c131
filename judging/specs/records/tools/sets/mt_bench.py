"""FastChat's LLM judge, which MT-Bench and Arena-Hard 0.1 use: questions, answers, references and judgments."""

from __future__ import annotations

import re
from functools import partial

from evalsite.base.json_types import JsonDict
from judging.specs.records.neutral import CaseInput, Choice, ResponseRow
from judging.specs.records.parts import Part
from judging.specs.records.shapes import CASES, JUDGMENTS, Shape
from judging.specs.records.tool_rows import BadRow, Reply, Stands, Told, ToolRow, Verdict
from judging.specs.records.tools.sets.comparisons import both_orders, several_turns, winner
from judging.specs.records.values import as_count, as_number, as_text, details, references, user_turns

ID = ("question_id", "uid", "id")
_RATED = re.compile(r"\[\[(\d+(?:\.\d+)?)\]\]")  # how FastChat has judges write a score
_FAILED = "$ERROR$"  # what FastChat writes as the text of a call that failed
_TOOL = "FastChat (MT-Bench, Arena-Hard 0.1)"
_shape = partial(Shape, tool_name=_TOOL)


def turn_texts(value: object) -> list[str]:
    """Return the texts of turns: texts as MT-Bench has them, or objects with `content` as Arena-Hard 0.1 has."""
    turns = value if isinstance(value, list) else [value]
    return [as_text(turn.get("content") if isinstance(turn, dict) else turn) for turn in turns]


def judge_name(value: object) -> str:
    """Return a judge's name: FastChat gives the model and the name of the prompt."""
    return " ".join(map(as_text, value)) if isinstance(value, list) else as_text(value)


def named(row: ToolRow, *names: str) -> list[Reply]:
    """Return responses of other files, by the systems under these names."""
    return [Reply(ResponseRow(row.text(name)), stands=Stands.ELSEWHERE) for name in names]


def _is_turns(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(turn, str) or (isinstance(turn, dict) and "content" in turn) for turn in value)
        and not any(isinstance(turn, dict) and "role" in turn for turn in value)
    )


@_shape(
    "mt-bench-questions",
    "MT-Bench: questions",
    lambda part: part.has("question_id", "turns") and all(map(_is_turns, part.values("turns"))),
    "rows with question_id and a list of turns",
    CASES,
    export="Take question.jsonl from the folder of the benchmark (data/mt_bench).",
    comes="Each question is a case; its turns are turns of one conversation. References are kept.",
).rows
def questions(row: ToolRow) -> Told:
    """Return a question with its turns."""
    turns, found = turn_texts(row.get("turns")), row.references("reference")
    case = CaseInput(row.id(*ID), references=found, metadata=row.rest())
    case.prompt, case.messages = (turns[0], None) if len(turns) == 1 else ("", user_turns(turns))
    return Told(case)


def _are_answers(part: Part) -> bool:
    return part.has("question_id", "choices") and all(
        isinstance(choices, list) and all(isinstance(choice, dict) and "turns" in choice for choice in choices)
        for choices in part.values("choices")
    )


@_shape(
    "mt-bench-answers",
    "MT-Bench: answers of a model",
    _are_answers,
    "rows with question_id and choices, each a list of turns",
    belongs_to="question.jsonl of the same set",
    export="Take the files of model_answer, with question.jsonl; files below reference_answer are references.",
    comes="Each choice is an attempt; an answer of several turns is stored as the whole conversation.",
    stays="Answers that FastChat marks as failed calls are counted and not stored.",
).rows
def answers(row: ToolRow) -> Told | None:
    """Return the choices of an answer, or take them for the references that FastChat's folder says they are."""
    case, choices = CaseInput(row.id(*ID)), row.objects("choices")
    if "reference_answer" in row.part.folder:
        number = row.collector.case_named(case.id, row.place)
        found = references(turn_texts(choices[0].get("turns")) if choices else [])
        if number is not None:
            row.collector.add_references(row.place, number, found)
        return None
    system = row.system("model_id", "model")
    known = row.rest()
    replies = [_choice(row, case.id, choice, ResponseRow(system, attempt=n)) for n, choice in enumerate(choices)]
    for reply in replies:
        reply.row.metadata = known | reply.row.metadata
    return Told(case, replies, stands=Stands.ELSEWHERE)


def _choice(row: ToolRow, id_: str, choice: JsonDict, reply: ResponseRow) -> Reply:
    texts, index = turn_texts(choice.get("turns")), as_count(choice.get("index"))
    if _FAILED in texts or not texts:
        return Reply(reply, failure="the call failed" if texts else "the answer has no turns")
    reply.text, reply.messages = several_turns(row.collector, row.collector.case_known(id_, row.place), texts)
    turn = choice["turns"][0] if reply.text and isinstance(choice["turns"], list) else None
    measures = details(turn, ("content",)) if isinstance(turn, dict) else {}
    reply.attempt = reply.attempt if index is None else index
    reply.completion_tokens = as_count(measures.get("token_len"))
    reply.metadata = measures | details(choice, ("index", "turns"))
    return Reply(reply)


def _are_judgments(part: Part) -> bool:
    is_of_fastchat = part.has("turn") or part.has("user_prompt")
    return is_of_fastchat and part.has("question_id", "judgment") and (part.has("score") or part.has("judge"))


@_shape(
    "mt-bench-single",
    "MT-Bench: single-answer judgments",
    _are_judgments,
    "rows with judge, judgment, and turn or user_prompt",
    JUDGMENTS,
    export="Take the file of model_judgment whose name ends in _single, together with questions and answers.",
    comes="Each score from 1 to 10 is a verdict of the judge on a turn of the answer; without a score it is read from "
    "the judgment, where it stands as [[7]].",
    stays="A score of -1 is a reply that could not be read; it is counted and is no score.",
).rows
def single(row: ToolRow) -> Told:
    """Return what a judge gave a turn of an answer.

    Raises:
        BadRow: the row does not say whose answer was judged, and the person did not either.
    """
    system = row.text("model", "model_id") or row.collector.options.system
    if not system:
        raise BadRow("The row does not say which system's answer was judged. Name it as the system of the file.")
    case, reply = CaseInput(row.id(*ID)), Reply(ResponseRow(system), stands=Stands.ELSEWHERE)
    judge, reason, turn = row.judge(judge_name(row.get("judge"))), row.text("judgment"), as_count(row.get("turn"))
    rated = _RATED.findall(reason)
    score = row.number("score") if row.get("score") is not None else as_number(rated[-1] if rated else None)
    value = None if score == -1 else score
    reply.said = [Verdict(judge, value, (1.0, 10.0), reason, turn=turn, metadata=row.rest())]
    return Told(case, [reply], stands=Stands.ELSEWHERE)


@_shape(
    "mt-bench-pairs",
    "MT-Bench: pairwise judgments",
    lambda part: part.has("model_1", "model_2", "g1_winner"),
    "rows with model_1, model_2, g1_winner and g2_winner",
    JUDGMENTS,
    export="Take the file of model_judgment whose name ends in _pair, together with questions and answers.",
    comes="Both games of a pair are one preference; games that differ are a tie with an order flip.",
    stays="Pairs whose judgments could not be read are counted and not stored.",
).rows
def pairs(row: ToolRow) -> Told:
    """Return what both games say; FastChat names the winner by model, so the second is not turned round."""
    case, replies = CaseInput(row.id(*ID)), named(row, "model_1", "model_2")
    judge = row.judge(judge_name(row.get("judge")))
    games = [_winner(row.fields.get(name), row.fields) for name in ("g1_winner", "g2_winner")]
    opinion = both_orders(games[0], games[1], is_strict=True)
    if opinion is None:
        row.unread(judge)
        return Told(case, replies, stands=Stands.ELSEWHERE)
    opinion.by, opinion.turn = judge, as_count(row.get("turn"))
    opinion.reason = "\n\n".join(filter(None, (row.text("g1_judgment"), row.text("g2_judgment"))))
    opinion.metadata = row.rest()
    return Told(case, replies, [opinion], stands=Stands.ELSEWHERE)


def _winner(value: object, fields: JsonDict) -> Choice | None:
    if value == fields.get("model_1"):
        return Choice.A
    return Choice.B if value == fields.get("model_2") else winner(value)
