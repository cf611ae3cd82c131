"""Comparisons of systems: FastChat (MT-Bench), Arena-Hard, Chatbot Arena, AlpacaEval, and what reads pairs of any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from evalsite.base.types import JsonDict, as_text
from judging.specs.records.collector import Collector
from judging.specs.records.names import Holds, is_model, judges, said_of_side, strongest
from judging.specs.records.neutral import CaseRecord, Choice, Giver, PreferenceRecord, ResponseRecord
from judging.specs.records.parts import Part
from judging.specs.records.preferences import degree, preference
from judging.specs.records.shapes import (
    CASES,
    JUDGMENTS,
    BadRow,
    NotReadable,
    Opinion,
    Reply,
    Score,
    Shape,
    Stands,
    Told,
    ToolRow,
    Verdict,
    share,
)
from judging.specs.records.values import (
    as_count,
    as_number,
    at,
    content_text,
    conversation,
    details,
    is_messages,
    parsed,
    references,
    reply_in,
    user_turns,
)
from judging.specs.turns import RowMessage, content_of, role_of, text_of


def side(column: str, text: object, system: str = "", **more: object) -> Reply:
    """Return one of two responses, which may stand in several comparisons: of a system, or of a column that names none.

    Raises:
        NotReadable: the row has no such response.
    """
    if text is None:
        raise NotReadable(f"The row has no {column}.")
    return Reply(ResponseRecord(system, as_text(text), is_same_if_equal=True, **more), column=column)  # type: ignore[arg-type]


def pair(a: Reply, b: Reply) -> tuple[Reply, Reply]:
    """Return two responses.

    Raises:
        NotReadable: one of both has a system and the other has none.
    """
    if bool(a.row.system) != bool(b.row.system):
        raise NotReadable(f"The row does not say which system {(b if a.row.system else a).column} is of.")
    return a, b


def asks(question: JsonDict, id_: str = "") -> JsonDict:
    """Return what a row asks.

    Raises:
        NotReadable: it asks nothing.
    """
    if not (question.get("messages") or as_text(question.get("prompt")).strip()):
        raise NotReadable(f"The row {id_} has no question.".replace("  ", " "))
    return question


def chosen(value: object, meaning: dict[float, Choice], name: str) -> Choice:
    """Return what a number of a set chooses.

    Raises:
        NotReadable: the set does not use this value.
    """
    number = as_number(value)
    if number is None or number not in meaning:
        raise NotReadable(f"{name} is {as_text(value)!r}, which chooses none of the two responses.")
    return meaning[number]


def winner(value: object) -> Choice | None:
    """Return what a word such as `model_a`, `B`, `tie (bothbad)` chooses; None for any other."""
    text = as_text(value)
    return preference(text) or preference(text.partition("(")[0])


def signed(value: float, *, first_is_positive: bool = True) -> Choice:
    """Return whom the sign of a number chooses."""
    if value == 0:
        return Choice.TIE
    return Choice.A if (value > 0) == first_is_positive else Choice.B


def swapped(choice: Choice | None) -> Choice | None:
    """Return a choice between two responses that were shown the other way round."""
    return {Choice.A: Choice.B, Choice.B: Choice.A}.get(choice, choice) if choice is not None else None


def ordered(games: list[object]) -> tuple[Choice | None, Choice | None]:
    """Return the choices of two games that are orders such as `A>B`; None for one that is missing or unreadable."""
    found = [None if (value := degree(as_text(game))) is None else signed(value) for game in games[:2]]
    return (*found, None, None)[0], (*found, None, None)[1]


def both_orders(first: Choice | None, second: Choice | None, *, is_strict: bool) -> PreferenceRecord | None:
    """Return the one preference of two games, both as to the same first response; None where neither could be read.

    Opposite winners are a tie with an order flip; strictly any two that differ are. Else a win beside a tie wins.
    """
    choices = tuple(choice for choice in (first, second) if choice is not None)
    if not choices:
        return None
    differing, orders = set(choices), choices if len(choices) == 2 else ()
    if len(differing) == 1:
        return Opinion(choices[0], Giver.JUDGE, orders=orders)
    if is_strict or Choice.TIE not in differing:
        return Opinion(Choice.TIE, Giver.JUDGE, is_flipped=True, orders=orders)
    return Opinion(Choice.A if Choice.A in differing else Choice.B, Giver.JUDGE, orders=orders)


def question_of(messages: list[RowMessage]) -> list[RowMessage]:
    """Return the turns of a conversation that ask: all but those of the assistant."""
    return [turn for turn in messages if role_of(turn) != "assistant"]


def reply_of(turns: object, column: str, system: str = "") -> Reply:
    """Return the response in a conversation: its one reply as text, or the whole conversation of several."""
    messages = turns if isinstance(turns, list) else []
    replies = [turn for turn in messages if role_of(turn) == "assistant"]
    if len(replies) == 1 and messages[-1] is replies[0]:
        return side(column, content_text(content_of(replies[0])), system)
    return side(column, "", system, messages=messages)


def several_turns(collector: Collector, case: int | None, replies: list[str]) -> tuple[str, list[RowMessage]]:
    """Return replies, one a turn, as text where there is one, else as the whole conversation with a known case."""
    if len(replies) == 1:
        return replies[0], []
    known = collector.prompt_messages(case) if case is not None else []
    asked: list[RowMessage] = [{"role": turn["role"], "content": text_of(turn)} for turn in known]
    before = [turn for turn in asked if turn["role"] == "system"]
    questions = [turn for turn in asked if turn["role"] == "user"]
    return "", [*before, *conversation(questions[: len(replies)], replies)]


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
    return [Reply(ResponseRecord(row.text(name)), stands=Stands.ELSEWHERE) for name in names]


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
def _questions_of_fastchat(row: ToolRow) -> Told:
    """Return a question with its turns."""
    turns, found = turn_texts(row.get("turns")), row.references(strongest(row.fields, Holds.REFERENCE))
    case = CaseRecord(row.id(*ID), references=found, metadata=row.rest())
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
def _answers_of_fastchat(row: ToolRow) -> Told | None:
    """Return the choices of an answer, or take them for the references that FastChat's folder says they are."""
    case, choices = CaseRecord(row.id(*ID)), row.objects("choices")
    if "reference_answer" in row.part.folder:
        number = row.collector.case_named(case.key, row.place)
        found = references(turn_texts(choices[0].get("turns")) if choices else [])
        if number is not None:
            row.collector.add_references(row.place, number, found)
        return None
    system = row.system("model_id", "model")
    known = row.rest()
    replies = [_choice(row, case.key, choice, ResponseRecord(system, attempt=n)) for n, choice in enumerate(choices)]
    for reply in replies:
        reply.row.metadata = known | reply.row.metadata
    return Told(case, replies, stands=Stands.ELSEWHERE)


def _choice(row: ToolRow, id_: str, choice: JsonDict, reply: ResponseRecord) -> Reply:
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
def _single_of_fastchat(row: ToolRow) -> Told:
    """Return what a judge gave a turn of an answer.

    Raises:
        BadRow: the row does not say whose answer was judged, and the person did not either.
    """
    system = row.text("model", "model_id") or row.collector.options.system
    if not system:
        raise BadRow("The row does not say which system's answer was judged. Name it as the system of the file.")
    case, reply = CaseRecord(row.id(*ID)), Reply(ResponseRecord(system), stands=Stands.ELSEWHERE)
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
def _pairs_of_fastchat(row: ToolRow) -> Told:
    """Return what both games say; FastChat names the winner by model, so the second is not turned round."""
    case, replies = CaseRecord(row.id(*ID)), named(row, "model_1", "model_2")
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


_ID = ("uid", "question_id")


# ------------------------------------------------------------------------------- Arena-Hard
@Shape(
    "arena-hard-questions",
    "Arena-Hard: questions",
    lambda part: part.has("uid", "prompt", "category") and not part.keys_of_any() & {"model", "messages", "response"},
    "rows with uid, category and prompt",
    CASES,
    export="Take question.jsonl from the folder of the benchmark below data.",
    comes="Each prompt is a case under its uid; category, subcategory and cluster are kept with it.",
).rows
def questions(row: ToolRow) -> Told:
    """Return a question."""
    return Told(CaseRecord(row.id(*_ID), row.text("prompt"), metadata=row.rest()))


def _are_answers_arena(part: Part) -> bool:
    if not (part.has("messages") and (part.has("uid") or part.has("question_id"))):
        return False
    return part.has("ans_id") or any(isinstance(at(said, "-1.content"), dict) for said in part.values("messages"))


@Shape(
    "arena-hard-answers",
    "Arena-Hard: answers of a model",
    _are_answers_arena,
    "rows with uid, model and messages whose last content has an answer",
    export="Take the files of model_answer, best together with question.jsonl.",
    comes="The text of the last message is the response of the model; token counts and thoughts are kept with it.",
).rows
def answers(row: ToolRow) -> Told:
    """Return an answer; its question counts only where no other file has it."""
    messages = row.objects("messages")
    if not is_messages(messages):
        raise NotReadable("The row has no list of messages.")
    turns = [_plain(turn) for turn in messages]
    asked = [turn for turn in turns if role_of(turn) == "user"]
    case = CaseRecord(row.id(*_ID), as_text(asked[0]["content"]) if len(asked) == 1 else "")
    case.messages = asked if len(asked) > 1 else None
    system, answer = row.system("model", "model_id"), messages[-1].get("content")
    if answer is None or (isinstance(answer, dict) and reply_in(answer) is None):
        return Told(case, [Reply(ResponseRecord(system), failure="the answer is null")], stands=Stands.REPEATED)
    reply = reply_of([turn for turn in turns if role_of(turn) != "system"], "", system).row
    reply.is_same_if_equal, reply.completion_tokens = False, as_count(row.at("metadata.token_len"))
    reply.metadata = row.rest() | details(row.fields_of("metadata"), ("token_len",))
    reply.metadata |= details(answer, ("answer",)) if isinstance(answer, dict) else {}
    told = [as_text(turn["content"]) for turn in turns if role_of(turn) == "system"]
    reply.metadata |= {"system_prompt": told[0]} if told else {}
    return Told(case, [Reply(reply)], stands=Stands.REPEATED)


def _plain(turn: JsonDict) -> JsonDict:
    """Return a turn with its text: Arena-Hard puts an answer into an object, beside the thoughts of the model."""
    content = turn.get("content")
    return turn | {"content": reply_in(content) or "" if isinstance(content, dict) else content}


def _are_judgments_arena(part: Part) -> bool:
    games = [at(games, "0") for games in part.values("games")]
    return part.has("games") and all(isinstance(game, dict) and "score" in game for game in games if game is not None)


@Shape(
    "arena-hard-judgments",
    "Arena-Hard: judgments",
    _are_judgments_arena,
    "rows with model, judge and games, each with a score",
    JUDGMENTS,
    export="Take the files of model_judgment, together with the answers of the model and of the baseline.",
    comes="Both games are one preference between baseline and model; opposite winners are an order flip.",
    stays="Judgments of 0.1 whose baseline is not in the upload, and games that could not be read, are counted.",
).rows
def judgments(row: ToolRow) -> Told:
    """Return what the games say of baseline and model."""
    case, games = CaseRecord(row.id(*_ID)), row.objects("games")
    judge = row.judge(
        judge_name(row.get("judge")), row.part.folder.rpartition("/")[2]
    )  # model_judgment/JUDGE/MODEL.jsonl
    opinion = _opinion_of_games(games, judge)
    baseline = row.text("baseline") or _baseline(row, case.key, games)
    if opinion is None:
        row.unread(judge)
    elif not baseline:
        why = "the row does not name the baseline, and no answer of the upload stands in the judge's prompt"
        row.collector.leave_out("preference", why, row.place)
        row.collector.warn("row-left-out", row.place, why)
    else:
        replies = [Reply(ResponseRecord(baseline), stands=Stands.ELSEWHERE), *named(row, "model")]
        return Told(case, replies, [opinion], stands=Stands.ELSEWHERE)
    return Told(case, stands=Stands.ELSEWHERE)


def _opinion_of_games(games: list[JsonDict], judge: str) -> PreferenceRecord | None:
    """Return what the games say: A is the baseline in the first, the model in the second."""
    first, second = ordered([game.get("score") for game in games])
    opinion = both_orders(first, swapped(second), is_strict=False)
    if opinion is not None:
        texts = [at(game, "judgment.answer") or game.get("judgment") for game in games]
        opinion.by, opinion.reason = judge, "\n\n".join(text for text in texts if isinstance(text, str))
        opinion.metadata = {"games": [as_text(game.get("score")) for game in games]}
    return opinion


def _baseline(row: ToolRow, id_: str, games: list[JsonDict]) -> str:
    """Return the system whose answer stands in the judge's prompt beside the model's own: 0.1 does not name it.

    Where the prompt is not in the file, it is the one other system of the upload that answered.
    """
    prompt = as_text([[game.get("user_prompt"), game.get("prompt")] for game in games])
    case, model = row.collector.case_named(id_, row.place) if id_ else None, row.text("model")
    known = row.collector.responses_to(case) if case is not None else []
    shown = {system for _, system, text in known if text.strip() and as_text([text])[2:-2] in prompt}
    others = (shown if model in shown else {system for _, system, _ in known}) - {model}
    return others.pop() if len(others) == 1 else ""


# ------------------------------------------------------------------------------- votes
_VOTE_OF_THE_ARENA = ("anony", "tstamp", "timestamp", "conv_metadata", "evaluation_session_id")
_ONE_HOT = {"winner_model_a": Choice.A, "winner_model_b": Choice.B, "winner_tie": Choice.TIE}
_BOTH_BAD = ("tie (bothbad)", "both_bad", "bothbad")


@Shape(
    "arena-votes",
    "Chatbot Arena or MT-Bench: votes on two conversations",
    lambda part: part.has("conversation_a", "conversation_b") and (part.has("winner") or part.has(*_ONE_HOT)),
    "rows with conversation_a, conversation_b and winner",
    tool_name="Chatbot Arena",
    export="Take the published file of votes, such as chatbot_arena_conversations or mt_bench_human_judgments.",
    comes="The user turns are the case, both conversations responses, and each vote a preference of its person.",
).rows
def votes(row: ToolRow) -> Told:
    """Return two conversations and a vote on them."""
    turns = [parsed(row.get(f"conversation_{letter}")) for letter in "ab"]
    if not all(map(is_messages, turns)):
        raise NotReadable("A conversation of the row is no list of turns.")
    asked, opinion = question_of(turns[0] if isinstance(turns[0], list) else []), _vote(row, ("model_a", "model_b"))
    turn = as_count(row.get("turn"))  # MT-Bench: the turn that is judged; the arena counts turns
    is_of_the_arena = any(name in row.fields for name in _VOTE_OF_THE_ARENA)
    opinion.turn = turn if len(asked) > 1 and not is_of_the_arena else None
    systems = [row.text(f"model_{letter}") for letter in "ab"]
    case = CaseRecord(row.id("question_id", "uid", "id"), **asks({"messages": asked}))
    opinion.metadata = row.rest("full_conversation")
    a, b = (reply_of(turns[n], f"conversation_{letter}", systems[n]) for n, letter in enumerate("ab"))
    return Told(case, pair(a, b), [opinion])


def _vote(row: ToolRow, models: Sequence[str]) -> PreferenceRecord:
    """Return whom a vote chooses, by its side or the name of its system, and who gave it."""
    given = row.text("winner").strip()
    hot = [choice for name, choice in _ONE_HOT.items() if row.number(name) == 1]
    won = [side for side, name in zip(("a", "b"), models, strict=False) if given and row.text(name).strip() == given]
    choice = winner(won[0] if len(won) == 1 else given) or (hot[0] if not given and len(hot) == 1 else None)
    if choice is None:
        raise NotReadable(f"The row does not say which response won: {given!r}.")
    voter = row.get("judge", "judge_hash", "annotator", "user", "user_id")
    giver = Giver.JUDGE if isinstance(voter, list) or is_model(as_text(voter)) else Giver.PERSON
    reason = "both bad" if given.lower() in _BOTH_BAD else ""
    return Opinion(choice, giver, judge_name(voter), reason=reason, is_flipped="inconsistent" in given)


def _pair_names(part: Part) -> tuple[tuple[str, str], ...]:
    """Return the names of each response and its system; none where a table has no such pair."""
    for letters in ("ab", "12", "AB"):
        responses, models = [f"response_{letter}" for letter in letters], [f"model_{letter}" for letter in letters]
        if part.has(*responses) and (part.has(*models, "winner") or any(map(part.has, _ONE_HOT))):
            return tuple(zip(responses, models, strict=True))
    return ()


@Shape(
    "arena-vote-table",
    "Chatbot Arena: table of votes",
    lambda part: bool(_pair_names(part)),
    "columns for the prompt, two responses, their models, and the winner",
    export="Take train.csv of the competition, or another table of votes with the models beside the responses.",
    comes="Cells with lists are conversations; the winner's columns are one preference of an unnamed person.",
).rows
def vote_table(row: ToolRow) -> Told:
    """Return two responses and a vote on them: a cell is a text, a list of one a turn, or a list of turns."""
    names = _pair_names(row.part)
    asked = parsed(row.get("prompt", row.named(Holds.PROMPT)))
    questions_, opinion = asked if isinstance(asked, list) else [asked], _vote(row, [model for _, model in names])
    turns = question_of(conversation(questions_, ()))
    sides = []
    for response, model in names:
        replies = parsed(row.get(response))
        texts = replies if isinstance(replies, list) else [replies]
        said = replies if is_messages(replies) else conversation(questions_[: len(texts)], texts)
        sides.append(reply_of(said, response, row.text(model)))
        judged = {name: by for name in row.fields if judges(by := said_of_side(name, response))}
        numbers = {name: row.number(name) for name in judged}
        sides[-1].said = [Score(judged[name], value, share(judged[name], value)) for name, value in numbers.items()]
    prompt = as_text(turns[0]["content"]) if turns else ""
    question: JsonDict = {"messages": turns} if len(turns) > 1 else {"prompt": prompt}
    case = CaseRecord(row.id("id", "question_id", "uid"), **asks(question))
    opinion.metadata = row.rest()
    return Told(case, pair(sides[0], sides[1]), [opinion])


_OF_THE_CASE = ("dataset", "datasplit", "split", "subset", "category", "source", "language")
_TIE = 1.5  # of preferences from 1 to 2; older files have 0


def asked(row: ToolRow) -> str:
    """Return an instruction with its input below it."""
    return "\n\n".join(filter(str.strip, (row.text("instruction"), row.text("input"))))


def _case(row: ToolRow) -> CaseRecord:
    kept = details({name: row.get(name) for name in _OF_THE_CASE}, ())
    return CaseRecord(row.id("id", "idx", "instruction_id"), asked(row), metadata=kept)


def _are_annotations(part: Part) -> bool:
    numbers = {as_number(value) for value in part.values("preference")} - {None}
    is_on_scale = all(number is not None and (number == 0 or 1 <= number <= 2) for number in numbers)
    return part.has("instruction", "output_1", "output_2", "preference") and bool(numbers) and is_on_scale


@Shape(
    "alpaca-eval-annotations",
    "AlpacaEval: annotations",
    _are_annotations,
    "rows with instruction, output_1, output_2 and preference",
    JUDGMENTS,
    keys=("instruction", "output_1", "output_2", "preference"),
    export="Take annotations.json from the folder of the annotator below results; model_outputs.json is a table.",
    comes="Both outputs are responses; a preference below 1.5 is for the first, above for the second, 1.5 a tie. The "
    "mean of a board is AlpacaEval's win_rate, to which a weighted preference counts what it says.",
    stays="Annotations without a preference are counted and not stored.",
).rows
def preferences(row: ToolRow) -> Told:
    """Return two outputs and whose is better; its strength is the weight of the second."""
    case, value = _case(row), row.number("preference")
    a, b = pair(
        *(side(f"output_{n}", row.fields.get(f"output_{n}"), row.text(f"generator_{n}").strip()) for n in (1, 2))
    )
    asks({"prompt": case.prompt}, case.key)
    judge, person = row.get("annotator"), row.id("annotator", "annotator_index", "annotator_id")
    giver = Giver.JUDGE if judge and not isinstance(judge, int | float) else Giver.PERSON if person else Giver.GOLD
    by = as_text(judge) if giver is Giver.JUDGE else person
    value = _TIE if value == 0 else value
    if value is None or not 1 <= value <= 2:
        row.unread(by or "the annotator")
        return Told(case, [a, b])
    opinion = Opinion(signed(value - _TIE, first_is_positive=False), giver, by, strength=round(value - 1, 9))
    opinion.worth_of_a = round(2 - value, 9)
    opinion.metadata = row.rest("preference", "output_1", "output_2")
    return Told(case, [a, b], [opinion])
