"""Published sets whose cases bring their own rubric: HealthBench, WildBench, BiGGen-Bench, Prometheus."""

from __future__ import annotations

import re

from evalsite.base.types import JsonDict, JsonObject, as_text
from judging.specs.records.api_replies import set_reply
from judging.specs.records.case_reader import criteria_in
from judging.specs.records.collector import Collector
from judging.specs.records.names import SHARE, Holds
from judging.specs.records.neutral import CaseRecord, Choice, CriterionRecord, Giver, ResponseRecord
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import (
    CASES,
    JUDGMENTS,
    Label,
    Opinion,
    Reply,
    Said,
    Score,
    Shape,
    Stands,
    Told,
    ToolRow,
    Verdict,
    read_rows,
)
from judging.specs.records.tools.arenas import side, winner
from judging.specs.records.values import as_number, at, details, object_of, parsed, references, texts
from judging.specs.types import Scale

_LEVEL = re.compile(r"(?:orig_)?score_?(-?\d+)_description")


# ------------------------------------------------------------------------------- HealthBench
_RUBRICS = ("rubrics", "rubric_items")  # of the set, and of the results of simple-evals


@Shape(
    "healthbench",
    "HealthBench: conversations with rubrics",
    lambda part: any(
        part.has("prompt", name)
        and isinstance(at(rubrics, "0.criterion"), str)
        and as_number(at(rubrics, "0.points")) is not None
        for name in _RUBRICS
        for rubrics in part.values(name)
    ),
    "rows with a prompt and rubrics (rubric_items), each with criterion and points",
    CASES,
    export="Take the published JSON Lines, also of the hard or consensus subset, or the results of simple-evals.",
    comes="Each conversation is a case; its rubric has the points as given, negative ones too. Tags are kept. "
    "Whether a completion meets a criterion is a verdict of the judge, and the score of the example a score.",
).rows
def healthbench(row: ToolRow) -> Told:
    """Return a conversation with its rubric, and a completion where the row has one."""
    best, tags = references(row.at("ideal_completions_data.ideal_completion")), row.get("example_tags")
    case = CaseRecord(row.id("prompt_id"), references=best, **row.asked("prompt"))
    lines = [line for name in _RUBRICS for line in row.objects(name)]
    rubric = criteria_in(lines)
    met = [line for line in lines if isinstance(line.get("criteria_met"), bool)]
    judge = row.judge("") if met else ""
    said: list[Said] = [
        Verdict(judge, float(line["criteria_met"]), SHARE, as_text(line.get("explanation")), as_text(line["criterion"]))
        for line in met
    ]
    said += [Score("score", row.number("score"))] if met else []
    completion, replies = row.get("completion", row.named(Holds.RESPONSE)), list[Reply]()
    more = details({name: row.get(name) for name in ("completion_id", "usage")}, ())
    if completion:
        replies.append(Reply(set_reply(ResponseRecord(row.system("model"), metadata=more), completion), said))
    row.read.add("model")
    case.metadata = row.rest() | ({"tags": tags} if tags else {})
    case.metadata |= details(row.fields_of("ideal_completions_data"), ("ideal_completion",))
    return Told(case, replies, rubric=rubric)


@Shape(
    "healthbench-meta",
    "HealthBench: labels of physicians",
    lambda part: part.has("prompt", "completion", "rubric", "binary_labels"),
    "rows with completion, rubric and binary_labels",
    export="Take the published JSON Lines of the meta evaluation.",
    comes="Each completion is a response, and each physician's label says whether it meets the criterion.",
).rows
def healthbench_meta(row: ToolRow) -> Told:
    """Return a completion and whether it meets a criterion, as each physician says."""
    case, people = CaseRecord(row.id("prompt_id"), **row.asked("prompt")), row.get("anonymized_physician_ids")
    response = ResponseRecord(row.system(), row.text("completion"), is_same_if_equal=True)
    response.metadata = details({"completion_id": row.get("completion_id")}, ())
    labels, criterion = row.get("binary_labels"), row.text("rubric")
    kept = row.rest()
    said: list[Said] = [
        Label(
            as_text(at(people, str(n))) or row.by_place("physician", n + 1),
            as_text(label),
            None,
            criterion,
            metadata=kept,
        )
        for n, label in enumerate(labels if isinstance(labels, list) else ())
    ]
    return Told(case, [Reply(response, said)])


# ------------------------------------------------------------------------------- WildBench
@Shape(
    "wildbench-tasks",
    "WildBench: tasks",
    lambda part: sum(part.has(name) for name in ("conversation_input", "checklist", "session_id")) > 1,
    "rows with conversation_input and checklist",
    CASES,
    export="Save the data set as JSON Lines.",
    comes="Each conversation is a case under its session_id; the checklist is its rubric.",
).rows
def wildbench_tasks(row: ToolRow) -> Told:
    """Return a conversation with its checklist."""
    given, rubric = row.get("references"), _checklist(row)
    case = CaseRecord(row.id("session_id" if row.fields.get("session_id") else "id"), **row.asked("conversation_input"))
    case.references = references(list(given.values()) if isinstance(given, dict) else given)
    case.metadata = row.rest()
    return Told(case, rubric=rubric)


def _checklist(row: ToolRow) -> list[CriterionRecord]:
    return [CriterionRecord(line) for line in texts(row.get("checklist"))]


@Shape(
    "wildbench-outputs",
    "WildBench: outputs of a model",
    lambda part: part.has("chat_history", "output") and (part.has("session_id") or part.has("generator")),
    "rows with session_id, chat_history and output",
    rank=25,
    export="Take the file of the model below result_dirs.",
    comes="The entries of output are attempts of the generator.",
).rows
def wildbench_outputs(row: ToolRow) -> Told:
    """Return the outputs of a model; their question counts only where no other file has it."""
    history, given = row.get("chat_history"), row.get("output")
    roles, said = ("user", "assistant"), history if isinstance(history, list) else [history]
    turns = [{"role": roles[number % 2], "content": as_text(text)} for number, text in enumerate(said)]
    case = CaseRecord(row.id("session_id"), messages=turns)
    case.metadata = details({name: row.get(name) for name in ("primary_tag", "dataset")}, ())
    system = row.system("generator")
    replies = [
        Reply(
            ResponseRecord(system, as_text(output), attempt=attempt, metadata=row.rest()),
            failure="the output is null" if output is None else "",
        )
        for attempt, output in enumerate(given if isinstance(given, list) else [given])
    ]
    return Told(case, replies, stands=Stands.REPEATED)


def _wildbench_judge(row: ToolRow) -> str:
    """Return the judge: the row's model, else the folder eval=NAME into which WildBench writes, else the file."""
    named = as_text(row.get("model") or at(row.fields, "eval_config.gpt") or at(row.fields, "eval_config.model"))
    folders = [step.partition("eval=")[2] for step in row.part.folder.split("/") if "eval=" in step]
    return row.judge(named, folders[-1] if folders else "")


def _repeated(row: ToolRow, name: str, system: str) -> Reply:
    """Return the response that a row of judgments repeats; it is stored where no file of outputs has it."""
    given = row.get(name)
    said = given[0] if isinstance(given, list) and given else given
    stands = Stands.REPEATED if isinstance(said, str) else Stands.ELSEWHERE
    return Reply(ResponseRecord(system, as_text(said), attempt=0), stands=stands)


@Shape(
    "wildbench-scores",
    "WildBench: scores",
    lambda part: part.has("parsed_result") and (part.has("session_id") or part.has("model_output")),
    "rows with session_id, model_output and parsed_result",
    JUDGMENTS,
    rank=25,
    export="Take the file of the model below eval_results, together with the tasks.",
    comes="Each score from 1 to 10 is a verdict of the judge, with strengths and weaknesses as its reason.",
    stays="Scores that could not be read are counted and are no scores.",
).rows
def wildbench_scores(row: ToolRow) -> Told:
    """Return what a judge gave a response."""
    case, rubric = CaseRecord(row.id("session_id")), _checklist(row)
    reply = _repeated(row, "model_output", row.system("generator", "model_test"))
    judge, value = _wildbench_judge(row), as_number(row.at("parsed_result.score") or row.get("score"))
    reasons = [as_text(row.at(f"parsed_result.{name}")) for name in ("strengths", "weaknesses")]
    reply.said = [Verdict(judge, value, (1.0, 10.0), "\n\n".join(filter(None, reasons)), metadata=row.rest())]
    return Told(case, [reply], rubric=rubric, stands=Stands.ELSEWHERE)


@Shape(
    "wildbench-pairs",
    "WildBench: pairwise judgments",
    lambda part: part.has("session_id", "assignment", "ref_output"),
    "rows with session_id, assignment and ref_output",
    JUDGMENTS,
    rank=30,
    export="Take the file of the model below pairwise, together with the tasks.",
    comes="Each choice is a preference of the judge; the degrees of A++ and A+ are kept as its strength.",
    stays="Choices that could not be read are counted and not stored.",
).rows
def wildbench_pairs(row: ToolRow) -> Told:
    """Return which of two responses a judge chose."""
    case, judge = CaseRecord(row.id("session_id")), _wildbench_judge(row)
    columns = {row.text("generator"): "model_output", row.text("ref_generator"): "ref_output"}
    row.read.update(("model_output", "ref_output"))
    systems = [as_text(at(row.fields, f"assignment.{letter}")) for letter in "AB"]
    replies = [_repeated(row, columns.get(system, ""), system) for system in systems]
    given, reason = as_text(row.at("parsed_result.choice")).strip(), as_text(row.at("parsed_result.reason"))
    choice = Choice.TIE if given == "A=B" else winner(given.rstrip("+"))
    if choice is None:
        row.unread(judge)
        return Told(case, replies, stands=Stands.ELSEWHERE)
    opinion = Opinion(choice, Giver.JUDGE, judge, strength=float(given.count("+")) or None, reason=reason)
    opinion.metadata = row.rest()
    return Told(case, replies, [opinion], stands=Stands.ELSEWHERE)


# ------------------------------------------------------------------------------- BiGGen-Bench
def _criterion(row: ToolRow, fields: JsonObject, name: str) -> CriterionRecord:
    """Return the criterion of a rubric whose levels are described one a field."""
    found = {match[1]: key for key in fields if (match := _LEVEL.fullmatch(key))}
    row.read.update((name, *found.values()))
    levels = {level: as_text(fields[found[level]]) for level in sorted(found, key=int)}
    return CriterionRecord(
        as_text(fields.get(name)), levels={level: text for level, text in levels.items() if text.strip()}
    )


def _scale(criterion: CriterionRecord) -> Scale:
    values = [*(float(value) for value in criterion.levels), 1.0, 5.0]
    return min(values), max(values)


def _rubric(criterion: CriterionRecord) -> list[CriterionRecord]:
    return [criterion] if criterion.text else []


@Shape(
    "biggen-bench",
    "BiGGen-Bench: tasks, responses and evaluations",
    lambda part: any(at(parsed(rubric), "criteria") is not None for rubric in part.values("score_rubric")),
    "rows with input and score_rubric",
    keys=("system_prompt", "input", "score_rubric"),
    export="Take the JSON files of responses or evaluations, or the data set as JSON Lines.",
    comes="Each task is a case with its rubric; responses and the scores of judges come with it where they are.",
).rows
def biggen(row: ToolRow) -> Told:
    """Return a task with its rubric, and a response with its scores where the row has one."""
    system, question = row.text("system_prompt").strip(), row.text("input")
    case = CaseRecord(row.id("id"), question, references=row.references("reference_answer"))
    if system and question.strip():
        case.messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        case.prompt = ""
    rubric = parsed(row.get("score_rubric"))
    criterion = _criterion(row, object_of(rubric), "criteria")
    replies = _judged(row, criterion, row.fields.get("response"))
    case.metadata = row.rest("response")
    return Told(case, replies, rubric=_rubric(criterion))


def _judged(row: ToolRow, criterion: CriterionRecord, text: object) -> list[Reply]:
    """Return a response with the scores that the row has of it, also by names of judges: gpt4_score, gpt4_feedback."""
    named = [name.removesuffix("_score") for name in row.fields if name.endswith("_score") and name[:5] != "orig_"]
    given = [(judge, row.get(f"{judge}_score"), row.get(f"{judge}_feedback")) for judge in named]
    value, reason, judge = row.get("score"), row.get("feedback"), row.text("eval_model_name")
    row.read.update(("response_model_name", "model_name", "response_source"))
    if text is None:
        return []
    if "score" in row.fields:
        given.insert(0, (row.judge(judge), value, reason))
    reply = ResponseRecord(row.system("response_model_name", "model_name", "response_source"), as_text(text))
    reply.is_same_if_equal = True
    return [Reply(reply, [said for entry in given for said in _scores(criterion, *entry)])]


def _scores(criterion: CriterionRecord, judge: str, value: object, reason: object) -> list[Said]:
    """Return what a judge gave, several times where it was asked several times; `human` is people without names."""
    values = value if isinstance(value, list) else [value]
    reasons = reason if isinstance(reason, list) else [reason] * len(values)
    scale, said = _scale(criterion), zip(values, reasons, strict=False)
    if judge == "human":
        known = [score for score, _ in said if as_number(score) is not None]
        return [Label("", as_text(score), None, criterion.text, scale=scale) for score in known]
    names = [f"{judge} #{number}" if len(values) > 1 else judge for number in range(1, len(values) + 1)]
    return [
        Verdict(name, as_number(score), scale, as_text(why), criterion.text)
        for name, (score, why) in zip(names, said, strict=False)
    ]


# ------------------------------------------------------------------------------- Prometheus
_OF_A_JUDGE = {"instruction": "judge_prompt", "output": "judge_reply", "input": "judge_input"}
_SECTION = re.compile(r"^###\s*(.+?):[ \t]*$", re.MULTILINE)
_QUESTION = "the instruction to evaluate"
_RUBRIC_LINE = re.compile(r"^Score (\d+): *(.*)$", re.MULTILINE)


def _prometheus_case(row: ToolRow) -> CaseRecord:
    case = CaseRecord(prompt=row.text("orig_instruction"), references=row.references("orig_reference_answer"))
    case.metadata = row.rest(*_OF_A_JUDGE, *(name for name in row.fields if name.startswith("orig_")))
    return case


def _of_a_judge(row: ToolRow) -> JsonDict:
    return {name: row.fields[key] for key, name in _OF_A_JUDGE.items() if row.fields.get(key)}


@Shape(
    "prometheus-feedback",
    "Prometheus: Feedback Collection or Feedback Bench",
    lambda part: (
        part.has("orig_instruction")
        and not part.has("orig_response_A")
        and any(map(part.has, ("orig_response", "orig_criteria", "orig_reference_answer", "orig_feedback")))
    ),
    "rows with orig_instruction, and mostly orig_response and orig_criteria",
    export="Take the published JSON or JSON Lines.",
    comes="The orig_ fields are case, response, reference, rubric and verdict; the judge's prompt stays with it.",
).rows
def prometheus_feedback(row: ToolRow) -> Told:
    """Return a response with the score that a judge gave it."""
    criterion = _criterion(row, row.fields, "orig_criteria")
    told = Told(_prometheus_case(row), rubric=_rubric(criterion))
    if row.fields.get("orig_response") is not None:
        system = row.system("response_source", "orig_model")
        reply = row.replied(system, "orig_response", is_same_if_equal=True)
        if "orig_score" in row.fields:
            value, reason = row.number("orig_score"), row.text("orig_feedback")
            kept = _of_a_judge(row)
            reply.said = [Verdict(row.judge(""), value, _scale(criterion), reason, criterion.text, metadata=kept)]
        told.replies = [reply]
    return told


@Shape(
    "prometheus-preferences",
    "Prometheus: Preference Collection or Preference Bench",
    lambda part: part.has("orig_instruction", "orig_response_A", "orig_response_B"),
    "rows with orig_response_A, orig_response_B and orig_preference",
    export="Take the published JSON or JSON Lines.",
    comes="Both responses come with the rubric; the preference is one of a judge, named after the file.",
    stays="Preferences that could not be read are counted and not stored.",
).rows
def prometheus_preferences(row: ToolRow) -> Told:
    """Return two responses and which a judge chose."""
    criterion, judge = _criterion(row, row.fields, "orig_criteria"), row.judge("")
    replies = [side(f"response_{letter}", row.text(f"orig_response_{letter}")) for letter in "AB"]
    told = Told(_prometheus_case(row), replies, rubric=_rubric(criterion))
    choice = winner(row.get("orig_preference"))
    if choice is None:
        row.unread(judge)
        return told
    opinion = Opinion(choice, Giver.JUDGE, judge, reason=row.text("orig_feedback"), criterion=criterion.text)
    scores = {f"score_{letter}": row.get(f"orig_score_{letter}") for letter in "AB"}
    opinion.metadata = _of_a_judge(row) | details(scores, ())
    told.opinions = [opinion]
    return told


def _sections(text: str) -> dict[str, str]:
    """Return the parts of a prompt of Prometheus by their headings."""
    pieces = _SECTION.split(text)
    return {name.strip().lower(): part.strip() for name, part in zip(pieces[1::2], pieces[2::2], strict=True)}


def _are_judge_prompts(part: Part) -> bool:
    prompts = [_sections(as_text(value)) for value in part.values("instruction")]
    is_judging = part.has("instruction") and all("response to evaluate" in found for found in prompts)
    return is_judging and not part.has("orig_instruction")


def _has_ids(part: Part) -> bool:
    """Return whether idx tells cases: second turns have one idx and another dialogue for each model."""
    asked: dict[str, str] = {}
    for row in part.rows():
        question = _sections(as_text(row.fields.get("instruction"))).get(_QUESTION, "")
        if asked.setdefault(as_text(row.fields.get("idx")), question) != question:
            return False
    return True


@Shape(
    "prometheus-prompts",
    "Prometheus: judge's prompts with scores",
    _are_judge_prompts,
    "rows whose instruction has the headings of Prometheus, such as ###Response to evaluate:",
    export="Take a file of eval/benchmark/data.",
    comes="The parts of the prompt are case, response, reference and rubric; each score is a verdict of its judge.",
)
def prometheus_prompts(part: Part, collector: Collector, upload: UploadParts) -> None:
    """Read prompts of a judge, whose parts are case, response, reference and rubric."""
    has_ids = _has_ids(part)
    read_rows(part, collector, upload, lambda row: _judge_prompt(row, "idx" if has_ids else ""))


def _judge_prompt(row: ToolRow, id_name: str) -> Told:
    found = _sections(row.text("instruction"))
    reference = next((text for name, text in found.items() if name.startswith("reference answer")), "")
    rubric = found.get("score rubrics", "")
    criterion = CriterionRecord(rubric.partition("\n")[0].strip("[] "), levels=dict(_RUBRIC_LINE.findall(rubric)))
    case = CaseRecord(row.id(id_name), found.get(_QUESTION, ""), references=references(reference))
    replies = _judged(row, criterion, found.get("response to evaluate", ""))
    case.metadata = row.rest()
    return Told(case, replies, rubric=_rubric(criterion))
