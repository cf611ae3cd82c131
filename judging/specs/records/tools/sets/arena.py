"""Arena-Hard (questions, answers, judgments) and Chatbot Arena (votes of people)."""

from __future__ import annotations

from evalsite.base.json_types import JsonDict
from judging.specs.records.names import is_model
from judging.specs.records.neutral import CaseInput, Choice, Giver, PreferenceRecord, ResponseRow
from judging.specs.records.parts import Part
from judging.specs.records.shapes import CASES, JUDGMENTS, Shape
from judging.specs.records.tool_rows import NotReadable, Opinion, Reply, Stands, Told, ToolRow
from judging.specs.records.tools.sets.comparisons import (
    asks,
    both_orders,
    ordered,
    pair,
    question_of,
    reply_of,
    swapped,
    winner,
)
from judging.specs.records.tools.sets.mt_bench import judge_name, named
from judging.specs.records.values import (
    as_count,
    as_text,
    at,
    conversation,
    details,
    is_messages,
    parsed,
    reply_in,
    role_of,
)

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
    return Told(CaseInput(row.id(*_ID), row.text("prompt"), metadata=row.rest()))


def _are_answers(part: Part) -> bool:
    if not (part.has("messages") and (part.has("uid") or part.has("question_id"))):
        return False
    return part.has("ans_id") or any(isinstance(at(said, "-1.content"), dict) for said in part.values("messages"))


@Shape(
    "arena-hard-answers",
    "Arena-Hard: answers of a model",
    _are_answers,
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
    case = CaseInput(row.id(*_ID), as_text(asked[0]["content"]) if len(asked) == 1 else "")
    case.messages = asked if len(asked) > 1 else None
    system, answer = row.system("model", "model_id"), messages[-1].get("content")
    if answer is None or (isinstance(answer, dict) and reply_in(answer) is None):
        return Told(case, [Reply(ResponseRow(system), failure="the answer is null")], stands=Stands.REPEATED)
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


def _are_judgments(part: Part) -> bool:
    games = [at(games, "0") for games in part.values("games")]
    return part.has("games") and all(isinstance(game, dict) and "score" in game for game in games if game is not None)


@Shape(
    "arena-hard-judgments",
    "Arena-Hard: judgments",
    _are_judgments,
    "rows with model, judge and games, each with a score",
    JUDGMENTS,
    export="Take the files of model_judgment, together with the answers of the model and of the baseline.",
    comes="Both games are one preference between baseline and model; opposite winners are an order flip.",
    stays="Judgments of 0.1 whose baseline is not in the upload, and games that could not be read, are counted.",
).rows
def judgments(row: ToolRow) -> Told:
    """Return what the games say of baseline and model."""
    case, games = CaseInput(row.id(*_ID)), row.objects("games")
    judge = row.judge(
        judge_name(row.get("judge")), row.part.folder.rpartition("/")[2]
    )  # model_judgment/JUDGE/MODEL.jsonl
    opinion = _opinion_of_games(games, judge)
    baseline = row.text("baseline") or _baseline(row, case.id, games)
    if opinion is None:
        row.unread(judge)
    elif not baseline:
        why = "the row does not name the baseline, and no answer of the upload stands in the judge's prompt"
        row.collector.leave_out("preference", why, row.place)
        row.collector.warn("row-left-out", row.place, why)
    else:
        replies = [Reply(ResponseRow(baseline), stands=Stands.ELSEWHERE), *named(row, "model")]
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
    asked, opinion = question_of(turns[0] if isinstance(turns[0], list) else []), _vote(row)
    turn = as_count(row.get("turn"))  # MT-Bench: the turn that is judged; the arena counts turns
    is_of_the_arena = any(name in row.fields for name in _VOTE_OF_THE_ARENA)
    opinion.turn = turn if len(asked) > 1 and not is_of_the_arena else None
    systems = [row.text(f"model_{letter}") for letter in "ab"]
    case = CaseInput(row.id("question_id", "uid", "id"), **asks({"messages": asked}))
    opinion.metadata = row.rest("full_conversation")
    a, b = (reply_of(turns[n], f"conversation_{letter}", systems[n]) for n, letter in enumerate("ab"))
    return Told(case, pair(a, b), [opinion])


def _vote(row: ToolRow) -> PreferenceRecord:
    """Return whom a vote chooses, and who gave it."""
    given = row.text("winner").strip()
    hot = [choice for name, choice in _ONE_HOT.items() if row.number(name) == 1]
    choice = winner(given) or (hot[0] if not given and len(hot) == 1 else None)
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
    asked = parsed(row.get("prompt"))
    questions_, opinion = asked if isinstance(asked, list) else [asked], _vote(row)
    turns = question_of(conversation(questions_, ()))
    sides = []
    for response, model in _pair_names(row.part):
        replies = parsed(row.get(response))
        texts = replies if isinstance(replies, list) else [replies]
        said = replies if is_messages(replies) else conversation(questions_[: len(texts)], texts)
        sides.append(reply_of(said, response, row.text(model)))
    prompt = as_text(turns[0]["content"]) if turns else ""
    question: JsonDict = {"messages": turns} if len(turns) > 1 else {"prompt": prompt}
    case = CaseInput(row.id("id", "question_id", "uid"), **asks(question))
    opinion.metadata = row.rest()
    return Told(case, pair(sides[0], sides[1]), [opinion])
