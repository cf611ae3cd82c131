"""Published sets of pairs: two responses to one prompt and which is better, by the set itself, people, or a judge."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalsite.base.types import JsonDict, as_text
from judging.specs.records.columns import says_a_side
from judging.specs.records.names import Holds, chooses, is_wide_rater, judges
from judging.specs.records.neutral import CaseRecord, Choice, Giver, PreferenceRecord, ResponseRecord
from judging.specs.records.parts import Part
from judging.specs.records.preferences import degree
from judging.specs.records.shapes import (
    COMPANION,
    JUDGMENTS,
    NotReadable,
    Opinion,
    Reply,
    Score,
    Shape,
    Stands,
    Told,
    ToolRow,
    share,
)
from judging.specs.records.tools.arenas import (
    asked,
    asks,
    both_orders,
    chosen,
    ordered,
    pair,
    side,
    signed,
    swapped,
)
from judging.specs.records.values import (
    as_number,
    at,
    content_text,
    details,
    is_messages,
    is_missing,
    last_turn_split,
    object_of,
    parsed,
)
from judging.specs.turns import RowMessage

_FIRST_SECOND = {1.0: Choice.A, 2.0: Choice.B}  # LLMBar, PandaLM
_ZERO_ONE = {0.0: Choice.A, 1.0: Choice.B}  # PKU-SafeRLHF; Auto-J, where 2 is a tie
_COMES = "Prompts are cases, both texts responses, and what the set says is better a gold preference."


def _numbers(part: Part, name: str) -> set[float | None]:
    return {as_number(value) for value in part.values(name)}


def _case(row: ToolRow, id_: str, question: JsonDict) -> CaseRecord:
    """Return the case of a row, with what nothing else reads; called when all else was read."""
    return CaseRecord(id_, metadata=row.rest(), **asks(question, id_))


def _columns(row: ToolRow, *names: str, systems: tuple[str, str] = ("", "")) -> tuple[Reply, Reply]:
    """Return two responses under these names."""
    row.read.update(names)
    a, b = (side(name, row.fields.get(name), system) for name, system in zip(names, systems, strict=True))
    return pair(a, b)


# ------------------------------------------------------------------------------- LLMBar, Auto-J
_EVALUATOR = re.compile(r"(?:^|/)evaluators/(.+)$")  # Natural/evaluators/GPT-4/CoT/result.json
COUNTS = Shape(
    "llmbar-statistics",
    "LLMBar: statistics of an evaluator",
    lambda part: {"correct_average", "correct_both"} <= part.document.keys(),
    "`correct_average` and `correct_both`",
    COMPANION,
    belongs_to="result.json of the same evaluator",
    export="Bring the folder of a subset, or of the whole set.",
    stays="Shares and kappas are computed here again.",
)


@Shape(
    "llmbar",
    "LLMBar: pairs with a gold label",
    lambda part: (
        (part.has("output_1") or part.has("output_2")) and part.has("label") and _numbers(part, "label") <= {1.0, 2.0}
    ),
    "rows with output_1, output_2 and a label that is 1 or 2",
    export="Take dataset.json of a subset, result.json of an evaluator, or the folder of the whole set.",
    comes=f"{_COMES} The results of an evaluator in both orders are one preference of a judge; of several subsets each "
    "is a scenario.",
).rows
def llmbar(row: ToolRow) -> Told:
    """Return a pair with its gold label, and an evaluator's preference where the file has its results."""
    pair_ = _columns(row, "output_1", "output_2")
    opinions = [Opinion(chosen(row.get("label"), _FIRST_SECOND, "label"))] if "label" in row.fields else []
    games = [game for game in row.objects("results") if "swap = False" in game]
    choices = [_winner(at(games[-1], f"swap = {turned}.winner")) for turned in (False, True)] if games else [None, None]
    opinion = both_orders(choices[0], choices[1], is_strict=False)
    if opinion is not None:
        folder = _EVALUATOR.search(row.part.folder)
        opinion.by = row.judge("", folder[1].replace("/", " ") if folder else "")
        opinion.metadata = {"results": row.fields["results"]}
        opinions.append(opinion)
    case = _case(row, row.id("id"), {"prompt": asked(row)})
    if len({_EVALUATOR.sub("", part.folder) for part in row.upload.parts}) > 1:
        case.scenario = _EVALUATOR.sub("", row.part.folder).rpartition("/")[2]
    return Told(case, pair_, opinions)


def _winner(value: object) -> Choice | None:
    """Return whom LLMBar's or PandaLM's evaluators chose; None for a reply that they could not read."""
    number = as_number(value)
    if number is None or number == 0:
        return Choice.TIE if number == 0 or as_text(value).strip().lower() == "tie" else None
    return _FIRST_SECOND.get(number)


@Shape(
    "auto-j-pairs",
    "Auto-J: pairs with a gold label",
    lambda part: part.has("prompt", "response 1", "response 2", "label") and _numbers(part, "label") <= {0.0, 1.0, 2.0},
    "rows with response 1, response 2 and a label that is 0, 1 or 2",
    export="Take testdata_pairwise.jsonl.",
    comes=f"{_COMES} 0 is the first, 1 the second, 2 a tie.",
).rows
def auto_j(row: ToolRow) -> Told:
    """Return a pair with its gold label."""
    pair_ = _columns(row, "response 1", "response 2")
    opinion = Opinion(chosen(row.get("label"), {**_ZERO_ONE, 2.0: Choice.TIE}, "label"))
    return Told(_case(row, "", {"prompt": row.text("prompt")}), pair_, [opinion])


# ------------------------------------------------------------------------------- Vertex AI
_BASELINE, _CHOICE = "baseline_model_response", "pairwise_choice"
_CANDIDATE = {"baseline": Choice.A, "candidate": Choice.B, "tie": Choice.TIE}


@Shape(
    "vertex-pairs",
    "Vertex AI: pairwise evaluation",
    lambda part: part.has("response", _BASELINE) and any(name.endswith(_CHOICE) for name in part.columns),
    f"rows with response, {_BASELINE} and columns …/{_CHOICE}",
    rank=25,
    export="Save metrics_table of the result as CSV or JSON Lines.",
    comes="Both texts are responses; each metric is a judge with its preference and explanation.",
).rows
def vertex_pairs(row: ToolRow) -> Told:
    """Return a pair with what the judge of each metric preferred."""
    pair_ = _columns(row, _BASELINE, "response")
    opinions: list[PreferenceRecord] = []
    for name in [name for name in row.fields if name.endswith(_CHOICE)]:
        judge, reason = name[: -len(_CHOICE)].rstrip("/_"), row.text(f"{name[: -len(_CHOICE)]}explanation")
        choice = _CANDIDATE.get(row.text(name).strip().lower())
        if choice is None:
            row.unread(judge or "judge")
        else:
            opinions.append(Opinion(choice, Giver.JUDGE, judge or "judge", reason=reason))
    return Told(_case(row, row.id(row.named(Holds.CASE)), row.asked(row.named(Holds.PROMPT))), pair_, opinions)


# ------------------------------------------------------------------------------- JudgeBench
def _is_judgebench(part: Part) -> bool:
    has_response = part.has("response_A") or part.has("response_B")
    is_judged = part.has("label") or part.has("judgments")
    are_orders = all(degree(as_text(value)) is not None for value in part.values("label"))
    return part.has("question") and has_response and is_judged and are_orders


@Shape(
    "judgebench",
    "JudgeBench: pairs, also with judgments",
    _is_judgebench,
    "rows with response_A, response_B and a label such as A>B",
    export="Take a file of data, or of outputs where a judge has judged the pairs.",
    comes="Both texts are attempts of one system; the label is gold. Two judgments are one preference of a judge; the "
    "second one saw the responses the other way round, unless the prompts are the same.",
    stays="Judgments that could not be read are counted and not stored.",
).rows
def judgebench(row: ToolRow) -> Told:
    """Return a pair, its gold label, and what a judge said in both orders."""
    given, judgments = row.get("label"), row.get("judgments")
    label = degree(as_text(given))
    if label is None and (given is not None or not judgments):
        raise NotReadable(f"The label {as_text(given)!r} is no order of A and B.")
    opinions = [Opinion(signed(label))] if label is not None else []
    system = row.text("response_model").strip()
    a, b = _columns(row, "response_A", "response_B", systems=(system, system))
    if system:
        a.row.attempt, b.row.attempt = 0, 1
    judge = _judgebench_judge(row)
    opinion = _judgebench_opinion(row, judge) if judgments else None
    if opinion is not None:
        opinions.append(opinion)
    elif judgments:
        row.unread(judge)
    return Told(_case(row, row.id("pair_id"), {"prompt": row.text("question")}), (a, b), opinions)


def _judgebench_judge(row: ToolRow) -> str:
    name = row.text("judge_name")
    model = next(
        (as_text(found) for game in row.objects("judgments") if (found := at(game, "judgment.judge_model"))), ""
    )
    return f"{name} ({model})" if name and model else name or model or "judge"


def _judgebench_opinion(row: ToolRow, judge: str) -> PreferenceRecord | None:
    """Return the judge's preference.

    In the second of two games the tool shows it the responses the other way round, unless the prompts are the same; a
    prompt that is the judge's reply, as published files have it of some judges, shows nothing.
    """
    judgments = row.get("judgments")
    games = [object_of(game) for game in judgments] if isinstance(judgments, list) else []  # a failed one is null
    first, second = ordered([game.get("decision") for game in games])
    said = [[as_text(at(game, f"judgment.{name}")).strip() for name in ("prompt", "response")] for game in games[:2]]
    prompts = ["" if prompt == reply else prompt for prompt, reply in said]
    second = second if prompts[0:1] == prompts[1:2] != [""] else swapped(second)
    opinion = both_orders(first, second, is_strict=False)
    if opinion is not None:
        opinion.by = judge
        opinion.reason = "\n\n".join(filter(None, (as_text(at(game, "judgment.response")) for game in games)))
        opinion.metadata = {"decisions": [as_text(game.get("decision")) for game in games]}
    return opinion


# ------------------------------------------------------------------------------- PandaLM
def _annotators(part: Part) -> list[str]:
    names = [name for name in part.columns if is_wide_rater(name)]
    return [name for name in names if _numbers(part, name) <= {0.0, 1.0, 2.0, None}]


@Shape(
    "pandalm",
    "PandaLM: pairs with labels of annotators",
    lambda part: (
        part.has("instruction") and (part.has("response1") or part.has("response2")) and bool(_annotators(part))
    ),
    "rows with response1, response2 and columns annotator1, annotator2, …",
    keys=("instruction", "input", "response1", "response2"),
    export="Take testset-v1.json.",
    comes="Each annotator's number is a preference of a person: 0 a tie, 1 the first, 2 the second.",
    stays="Rows without a question are counted and left out.",
).rows
def pandalm(row: ToolRow) -> Told:
    """Return a pair with the preference of each annotator; an input alone, without an instruction, asks nothing."""
    systems = row.text("cmp_key").split("_")
    pair_ = _columns(row, "response1", "response2", systems=(systems[0], systems[1]) if len(systems) == 2 else ("", ""))
    meaning = {0.0: Choice.TIE, **_FIRST_SECOND}
    given = [rater for rater in _annotators(row.part) if row.number(rater) is not None]
    opinions = [Opinion(chosen(row.fields[rater], meaning, rater), Giver.PERSON, rater) for rater in given]
    if "input" in row.part.columns and "input" not in row.fields:
        raise NotReadable("The row has no input.")
    question = asked(row) if row.text("instruction").strip() else ""
    return Told(_case(row, row.id("idx"), {"prompt": question}), pair_, opinions)


def _result_name(part: Part) -> str:
    """Return what begins the names of result and reason in PandaLM's files of a judge: gpt_result, gpt_reason."""
    names = [name.removesuffix("_result") for name in part.columns if name.endswith("_result")]
    return names[0] if len(names) == 1 and part.has("idx", f"{names[0]}_result", f"{names[0]}_reason") else ""


@Shape(
    "pandalm-results",
    "PandaLM: results of a judge",
    lambda part: bool(_result_name(part)),
    "rows with idx, a result and a reason",
    JUDGMENTS,
    export="Take the file of the judge together with testset-v1.json.",
    comes="Each result is a preference of the judge between both responses of the test set.",
    stays="Results that could not be read are counted and not stored.",
).rows
def pandalm_results(row: ToolRow) -> Told | None:
    """Return what a judge said of a pair of the test set."""
    judge, id_ = _result_name(row.part), row.id("idx")
    choice = _winner(row.get(f"{judge}_result"))
    if choice is None:
        row.unread(judge)
        return None
    case = row.collector.case_known(id_, row.place)
    known = row.collector.responses_to(case) if case is not None else []
    if len(known) < 2:
        raise NotReadable("The pair of the test set is not in the upload: import the two files together.")
    opinion = Opinion(choice, Giver.JUDGE, judge, reason=row.text(f"{judge}_reason"))
    opinion.metadata = row.rest()
    replies = [Reply(ResponseRecord(system), number=number) for number, system, _ in known[:2]]
    return Told(CaseRecord(id_), replies, [opinion], stands=Stands.ELSEWHERE)


# ------------------------------------------------------------------------------- HelpSteer
@Shape(
    "helpsteer3-preference",
    "HelpSteer3: preferences",
    lambda part: part.has("response1", "response2", "overall_preference"),
    "rows with response1, response2 and overall_preference",
    export="Take the files of the preference subset.",
    comes="A negative preference is for the first response; single ones are of people by their place in the list.",
).rows
def helpsteer3(row: ToolRow) -> Told:
    """Return a pair with its overall preference and those of single people."""
    opinions = [_by_strength(row, "overall_preference")]
    opinions += _by_place(row, parsed(row.get("individual_preference")), "score", "reasoning")
    pair_ = _columns(row, "response1", "response2")
    return Told(_case(row, row.id("id"), row.asked("context", "prompt")), pair_, opinions)


@Shape(
    "helpsteer2-preference",
    "HelpSteer2: preferences",
    lambda part: part.has("prompt", "response_1", "response_2", "preference_strength"),
    "rows with response_1, response_2 and preference_strength",
    export="Take preference.jsonl.gz.",
    comes="A negative strength is for the first response; single ones are of people by their place in the list.",
).rows
def helpsteer2(row: ToolRow) -> Told:
    """Return a pair with its preference and those of single people."""
    opinions = [_by_strength(row, "preference_strength", row.text("preference_elaboration"))]
    people = row.get("all_preferences_unprocessed", "three_most_similar_preferences")
    opinions += _by_place(row, people, "strength", "elaboration")
    pair_ = _columns(row, "response_1", "response_2")
    return Told(_case(row, "", {"prompt": row.text("prompt")}), pair_, opinions)


def _by_strength(row: ToolRow, name: str, reason: str = "") -> PreferenceRecord:
    """Return a preference from -3, the first is much better, to 3, the second is."""
    value = row.number(name)
    if value is None:
        raise NotReadable(f"{name} is no number: {as_text(row.fields.get(name))!r}.")
    return Opinion(signed(value, first_is_positive=False), strength=abs(value), reason=reason)


def _by_place(row: ToolRow, given: object, score: str, reason: str) -> Iterator[PreferenceRecord]:
    """Yield the preferences of people who have no names but a place in a list."""
    for number, entry in enumerate(given if isinstance(given, list) else (), start=1):
        value = as_number(entry.get(score)) if isinstance(entry, dict) else None
        if value is not None:
            choice, rater = signed(value, first_is_positive=False), row.by_place("annotator", number)
            opinion = Opinion(choice, Giver.PERSON, rater, strength=abs(value), reason=as_text(entry.get(reason)))
            opinion.metadata = details(entry, (score, reason))
            yield opinion


# ------------------------------------------------------------------------------- SHP, PKU-SafeRLHF
@Shape(
    "shp",
    "SHP: pairs of comments with a preference",
    lambda part: part.has("history", "human_ref_A", "human_ref_B", "labels"),
    "rows with history, human_ref_A, human_ref_B and labels",
    export="Take a file of the data set.",
    comes=f"{_COMES} A label of 1 is for A, 0 for B.",
).rows
def shp(row: ToolRow) -> Told:
    """Return two comments; what the row says of one of them alone is its detail."""
    pair_ = _columns(row, "human_ref_A", "human_ref_B")
    _take_own(row, pair_, ("_A", "_B"))
    opinion = Opinion(chosen(row.get("labels"), {1.0: Choice.A, 0.0: Choice.B}, "labels"))
    opinion.metadata = details({name: row.get(name) for name in ("seconds_difference", "score_ratio")}, ())
    return Told(_case(row, row.id("post_id"), {"prompt": row.text("history")}), pair_, [opinion])


def _take_own(row: ToolRow, pair_: tuple[Reply, Reply], marks: tuple[str, str]) -> None:
    """Give each of two responses the fields that have its mark in their names, as details without the mark."""
    for reply, mark in zip(pair_, marks, strict=True):
        names = [name for name in row.fields if re.search(rf"{mark}(?=_|$)", name) and name not in row.read]
        own = {name.replace(mark, ""): row.get(name) for name in names}
        reply.row.metadata = details(own, ())


_SAFE_RLHF = {"better_response_id": "", "safer_response_id": "safer"}


@Shape(
    "safe-rlhf",
    "PKU-SafeRLHF: pairs with gold preferences",
    lambda part: part.has("prompt", "response_0", "response_1") and any(map(part.has, _SAFE_RLHF)),
    "rows with response_0, response_1 and better_response_id or safer_response_id",
    export="Take a file of the data set.",
    comes=f"{_COMES} What is safer is a preference of its own.",
).rows
def safe_rlhf(row: ToolRow) -> Told:
    """Return a pair with what is better and what is safer."""
    systems = [row.text(f"response_{number}_source").strip() for number in "01"]
    pair_ = _columns(row, "response_0", "response_1", systems=(systems[0], systems[1]))
    _take_own(row, pair_, ("_0", "_1"))
    opinions = [
        Opinion(chosen(value, _ZERO_ONE, name), criterion=criterion)
        for name, criterion in _SAFE_RLHF.items()
        if (value := row.get(name)) is not None
    ]
    return Told(_case(row, "", {"prompt": row.text("prompt")}), pair_, opinions)


# ------------------------------------------------------------------------------- chosen and rejected
_BOTH = ("chosen", "rejected")
_RIGHT: dict[float | None, Choice] = {1.0: Choice.A, 0.5: Choice.TIE, 0.0: Choice.B}  # results of RewardBench
_TURN = re.compile(r"\s*\n\n(Human|Assistant): ?")  # HH-RLHF writes a conversation as one text
_BETWEEN = re.compile(r"[_\-. ]")


@Shape(
    "chosen-rejected",
    "RewardBench, UltraFeedback binarized, HH-RLHF: chosen and rejected responses",
    lambda part: part.has(*_BOTH) and not any(_says_otherwise(part, name) for name in part.columns),
    "rows with chosen and rejected",
    rank=10,
    tool_name="RewardBench",
    export="Take a file of the data set as JSON Lines or CSV.",
    comes="The chosen response is better than the rejected one; which is shown first is decided here. A subset is the "
    "scenario; results, as RewardBench writes them beside a reward model's scores, are preferences of that model.",
    stays="Rows without a prompt or without one of both are counted and left out.",
).rows
def chosen_rejected(row: ToolRow) -> Told:
    """Return the responses of a row, and that each chosen one is better than each rejected one."""
    question = _asked_before(row)
    better, worse = (_sides(row, name) for name in _BOTH)
    missing = [name for name, found in (("prompt", question), ("chosen", better), ("rejected", worse)) if not found]
    if missing:
        raise NotReadable(f"The row has no {' and no '.join(missing)}.")
    pair(better[0], worse[0])
    row.read.update(("input", "messages", "models"))
    count = len(better)
    opinions = [PreferenceRecord(a, count + b, Choice.A, Giver.GOLD) for a in range(count) for b in range(len(worse))]
    if "results" in row.fields and row.number("results") in _RIGHT and (count, len(worse)) == (1, 1):
        opinions.append(Opinion(_RIGHT[row.number("results") or 0.0], Giver.JUDGE, row.judge(row.text("model"))))
    case = _case(row, row.id(row.named(Holds.CASE)), question)
    case.scenario = as_text(case.metadata.pop("subset", ""))
    return Told(case, [*better, *worse], opinions)


def _says_otherwise(part: Part, name: str) -> bool:
    """Return whether a column says itself which of both is better, as the headers do."""
    said = [value for value in part.values(name) if not is_missing(value)] if name not in _BOTH else []
    return bool(said) and (chooses(name) or all(value in _BOTH or says_a_side(value) for value in said))


def _sides(row: ToolRow, name: str) -> list[Reply]:
    """Return the responses under `chosen` or `rejected`: a text, a conversation, or a list of texts."""
    value = parsed(row.fields.get(name))
    split = last_turn_split(value) or _transcript(value)
    texts = [split[1]] if split is not None else value if isinstance(value, list) else [value]
    if any(isinstance(text, dict) for text in texts):
        texts = [content_text(text.get("content")) for text in texts if isinstance(text, dict)]
    found = [side(name, text, _system(row, name, n)) for n, text in enumerate(texts) if text is not None]
    own = {key: [word for word in _BETWEEN.split(key) if word != name] for key in row.fields}
    about = {"_".join(rest): row.get(key) for key, rest in own.items() if key != name and name in _BETWEEN.split(key)}
    judged = {key: value for key, value in about.items() if judges(key) and isinstance(value, int | float)}
    for reply in found:
        reply.said = [Score(key, value, share(key, value)) for key, value in judged.items()]
        reply.row.metadata = details(about, ("model", *judged))
    row.read.add(name)
    return found


def _system(row: ToolRow, name: str, number: int) -> str:
    """Return the model of a chosen or rejected response; one list of models is of the chosen, then the rejected."""
    fields, models = row.fields, row.fields.get("models")
    given = [fields[key] if isinstance(fields.get(key), list) else [fields.get(key)] for key in _BOTH if key in fields]
    if isinstance(models, list) and len(models) == sum(map(len, given)):
        return as_text(models[number + (len(given[0]) if name == "rejected" else 0)]).strip()
    named = parsed(row.get(*(f"{name}{mark}model" for mark in "_-. ")))
    if isinstance(named, list):
        return as_text(named[number]).strip() if number < len(named) else ""
    return as_text(named).strip()


def _asked_before(row: ToolRow) -> JsonDict:
    """Return what both responses are to: the prompt of the row, or the conversation before the last turn."""
    name = row.named(Holds.PROMPT)
    value = asked(row) if name == "instruction" else parsed(row.get(name))
    system = row.text(row.named(Holds.SYSTEM_TEXT)).strip()
    if is_messages(value) and isinstance(value, list):
        turns: list[RowMessage] = list(value)
    elif as_text(value).strip():
        turns = _transcript_turns(as_text(value)) or [{"role": "user", "content": as_text(value)}]
    else:
        whole = parsed(row.fields.get("chosen"))
        split = last_turn_split(whole) or _transcript(whole)
        turns = split[0] if split is not None else []
    if not turns:
        return {}
    return {"messages": [{"role": "system", "content": system}, *turns] if system else turns}


def _transcript(value: object) -> tuple[list[RowMessage], str] | None:
    """Return the turns and the last reply of a conversation written as one text with Human: and Assistant:."""
    return last_turn_split(_transcript_turns(value)) if isinstance(value, str) else None


def _transcript_turns(text: str) -> list[RowMessage]:
    pieces = _TURN.split(text)
    if len(pieces) < 3 or pieces[0].strip():
        return []
    roles = {"Human": "user", "Assistant": "assistant"}
    said = zip(pieces[1::2], pieces[2::2], strict=True)
    turns: list[RowMessage] = [{"role": roles[who], "content": text.strip()} for who, text in said]
    return turns if turns[-1]["content"] or turns[-1]["role"] == "user" else turns[:-1]
