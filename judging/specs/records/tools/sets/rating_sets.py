"""Published sets of ratings: SummEval, HelpSteer, UltraFeedback, FLASK."""

from __future__ import annotations

from collections.abc import Iterator

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import CaseInput, LabelRecord, ResponseRow, Scale, VerdictRecord
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import CASES, JUDGMENTS, Shape
from judging.specs.records.tool_rows import Label, Reply, Stands, Told, ToolRow, Verdict, read_rows
from judging.specs.records.values import as_id, as_number, as_text, at, details, is_missing, parsed, references

_FROM_ZERO: Scale = (0.0, 4.0)  # HelpSteer
_OF_FIVE: Scale = (1.0, 5.0)
_OF_TEN: Scale = (1.0, 10.0)


def _labels(rater: str, ratings: JsonObject, scale: Scale) -> list[LabelRecord]:
    """Return what a person gave by criterion, without what is missing."""
    given = ((name, value) for name, value in ratings.items() if not is_missing(value))
    return [Label(rater, as_id(value), None, name, scale=scale) for name, value in given]


def _verdict(
    row: ToolRow, judge: str, value: object, scale: Scale, reason: str, criterion: str
) -> Iterator[VerdictRecord]:
    """Yield a rating as far as there is one: "N/A" is none."""
    if is_missing(value):
        why = f"{criterion} is {as_text(value) or 'empty'}: not rated, never 0"
        row.collector.leave_out("verdict", why, row.place)
        row.collector.warn("unscored", row.place, criterion)
    else:
        yield Verdict(judge, as_number(value), scale, reason, criterion)


# ------------------------------------------------------------------------------- SummEval
def _rating_lists(fields: JsonObject) -> Iterator[tuple[str, list[JsonDict]]]:
    """Yield the groups of raters of a row, such as expert, each with an object of ratings a rater."""
    for name, value in fields.items():
        entries = parsed(value) if name.endswith("_annotations") else None
        if isinstance(entries, list) and entries and all(isinstance(entry, dict) for entry in entries):
            yield name.removesuffix("_annotations"), entries


def _is_summeval(part: Part) -> bool:
    rows = [row for row in part.sample if any(_rating_lists(row.fields))]
    return len(rows) * 2 > len(part.sample) and (part.has("decoded") or part.has("model_id"))


@Shape(
    "summeval",
    "SummEval: annotations of summaries",
    _is_summeval,
    "rows with lists of ratings such as expert_annotations",
    keys=("id", "decoded"),
    export="Take model_annotations.aligned.jsonl with the articles paired in (`text`).",
    comes="Articles are cases and summaries responses; each rating is a label of a person by place in the list.",
).rows
def summeval(row: ToolRow) -> Told:
    """Return an article, a summary, and the ratings of each person."""
    case = CaseInput(row.id("id"), row.text("text"), references=row.references("references", "reference"))
    case.metadata = details({"filepath": row.get("filepath")}, ())
    groups = list(_rating_lists(row.fields))
    reply = Reply(ResponseRow(row.system("model_id"), row.text("decoded"), row_id=case.id))
    reply.row.metadata = row.rest(*(f"{group}_annotations" for group, _ in groups))
    reply.stands = Stands.ELSEWHERE if row.fields.get("decoded") is None else Stands.HERE
    reply.said = [
        label
        for group, entries in groups
        for number, ratings in enumerate(entries, start=1)
        for label in _labels(row.by_place(group, number), ratings, _OF_FIVE)
    ]
    return Told(case, [reply], stands=Stands.HERE if case.prompt.strip() else Stands.ELSEWHERE)


# ------------------------------------------------------------------------------- HelpSteer
_ATTRIBUTES = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")


def _is_helpsteer(part: Part) -> bool:
    names = [name for name in _ATTRIBUTES if part.has(name)]
    given = [value for name in names for value in part.values(name) if not is_missing(value)]
    ratings = [rating for value in map(parsed, given) for rating in (value if isinstance(value, list) else [value])]
    numbers = [as_number(rating) for rating in ratings if not is_missing(rating)]
    is_on_scale = all(number is not None and 0 <= number <= 4 for number in numbers)
    is_distinct = "verbosity" in names or "complexity" in names
    return part.has("prompt", "response") and len(names) > 2 and is_distinct and is_on_scale


@Shape(
    "helpsteer-attributes",
    "HelpSteer: ratings of attributes",
    _is_helpsteer,
    "rows with prompt, response, helpfulness, correctness, coherence, complexity and verbosity",
    export="Take train.jsonl.gz, validation.jsonl.gz or disagreements.jsonl.gz.",
    comes="Each attribute from 0 to 4 is a label without a rater; of the disagreements, of people by their place.",
).rows
def helpsteer(row: ToolRow) -> Told:
    """Return a response and its ratings; disagreements have a list of them, one a person."""
    reply = Reply(ResponseRow(row.system("model"), row.text("response")))
    ratings = {name: parsed(row.get(name)) for name in _ATTRIBUTES if name in row.fields}
    several = max((len(value) for value in ratings.values() if isinstance(value, list)), default=0)
    said = [] if several else _labels("", ratings, _FROM_ZERO)
    for n in range(several):
        own = {name: at(value, str(n)) for name, value in ratings.items()}
        said += _labels(row.by_place("annotator", n + 1), own, _FROM_ZERO)
    reply.said = said
    return Told(CaseInput(prompt=row.text("prompt"), metadata=row.rest()), [reply])


# ------------------------------------------------------------------------------- UltraFeedback
@Shape(
    "ultrafeedback",
    "UltraFeedback: completions with annotations",
    lambda part: (
        part.has("instruction", "completions")
        and any(isinstance(at(parsed(value), "0.response"), str) for value in part.values("completions"))
    ),
    "rows with instruction and completions, each with annotations",
    export="Take a JSON Lines file of the data set.",
    comes="Each completion is a response of its model; ratings of 1 to 5 and the overall score are verdicts.",
    stays="Ratings that are N/A are counted and are no verdicts.",
).rows
def ultrafeedback(row: ToolRow) -> Told:
    """Return an instruction and its completions."""
    best, completions = row.references("correct_answers"), parsed(row.get("completions"))
    wrong = row.get("incorrect_answers")
    row.read.add("models")
    case = CaseInput("", row.text("instruction"), references=best, metadata=row.rest())
    case.metadata |= {"incorrect_answers": wrong} if references(wrong) else {}
    entries = completions if isinstance(completions, list) else []
    return Told(case, [_completion(row, entry) for entry in entries if isinstance(entry, dict)])


def _completion(row: ToolRow, entry: JsonDict) -> Reply:
    own = ToolRow(row.part, row.collector, row.upload, row.place, entry)
    reply, judge = Reply(ResponseRow(own.system("model"), own.text("response"))), row.judge("")
    said: list[VerdictRecord] = []
    for criterion, given in own.fields_of("annotations").items():
        rating = given[0] if isinstance(given, list) and given else given
        if isinstance(rating, dict):
            reason = as_text(rating.get("Rationale"))
            for verdict in _verdict(row, judge, rating.get("Rating"), _OF_FIVE, reason, criterion):
                verdict.metadata = details(rating, ("Rating", "Rationale"))
                said.append(verdict)
    critique, overall = own.text("critique"), own.get("overall_score")
    if "overall_score" in entry:
        said += _verdict(row, judge, overall, _OF_TEN, critique, "overall")
    reply.said, reply.row.metadata = said, own.rest()
    return reply


# ------------------------------------------------------------------------------- FLASK
def _is_flask(part: Part) -> bool:
    is_asking = part.has("instruction") or part.has("text")
    return part.has("answer", "skill") and (is_asking or part.has("difficulty"))


def _flask_case(row: ToolRow) -> CaseInput:
    case = CaseInput(row.id("idx", "question_id", "id"), row.text("instruction", "text"))
    case.references = row.references("answer")
    return case


@Shape(
    "flask-tasks",
    "FLASK: evaluation set",
    _is_flask,
    "rows with instruction, answer and skill",
    CASES,
    export="Take flask_evaluation.jsonl or flask_hard_evaluation.jsonl.",
    comes="Each instruction is a case, its answer the reference; skills, domain and difficulty are kept with it.",
).rows
def flask(row: ToolRow) -> Told:
    """Return an instruction with its answer."""
    case = _flask_case(row)
    case.metadata = row.rest()
    return Told(case)


def flask_output(row: ToolRow) -> Told:
    """Return a text of a model."""
    reply = Reply(ResponseRow(row.system(), row.text("text")))
    return Told(CaseInput(row.id("question_id")), [reply], stands=Stands.ELSEWHERE)


@Shape(
    "flask-outputs",
    "FLASK: outputs of a model",
    lambda part: part.keys_of_any() == {"question_id", "text"},
    "rows with question_id and text alone, beside the evaluation set",
    export="Take the file of the model below model_output/outputs, together with the evaluation set.",
    comes="Each text is a response of the system that the file is named after.",
)
def flask_outputs(part: Part, collector: Collector, upload: UploadParts) -> None:
    """Read answers of a model where their questions are in the upload; alone, they may be questions as well."""
    asks = [other for other in upload.parts if _is_flask(other) or other.has("question_id", "text", "answer")]
    if asks or upload.kind == "flask-outputs":
        read_rows(part, collector, upload, flask_output)
        return
    message = "The column `text` may hold questions or responses."
    hint = "Say --kind flask-outputs for responses, with their questions in the upload; --kind table for questions."
    page_hint = "Choose the kind: FLASK outputs with their questions in the upload, or a table of questions."
    collector.findings.file = part.file
    collector.findings.error(part.name, "two-shapes", message, hint=hint, page_hint=page_hint)


@Shape(
    "flask-reviews",
    "FLASK: reviews",
    lambda part: part.has("review", "score", "target_txt"),
    "rows with target_txt, review and score",
    JUDGMENTS,
    rank=30,
    export="Take the file of the model below gpt_review/outputs.",
    comes="Each skill's score from 1 to 5 is a verdict, with the review as its reason.",
    stays="Skills that are N/A are counted and are no verdicts.",
).rows
def flask_reviews(row: ToolRow) -> Told:
    """Return what a judge gave a response, by skill. FLASK names the file after the model."""
    case, reason = _flask_case(row), row.text("review")
    system = row.collector.options.system or row.part.stem.removesuffix("_review")
    row.collector.warn_once("system-from-file", row.place, system)
    reply = Reply(ResponseRow(system, row.text("target_txt"), is_same_if_equal=True))
    judge = row.judge("")
    reply.said = [
        verdict
        for skill, value in row.fields_of("score").items()
        for verdict in _verdict(row, judge, value, _OF_FIVE, reason, skill)
    ]
    case.metadata = row.rest("total_tokens_step4")
    return Told(case, [reply], stands=Stands.REPEATED)
