"""Published sets with ratings of people and judges, and the tables of crowdsourcing platforms."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.records.collector import Collector
from judging.specs.records.names import Holds, compared, strongest
from judging.specs.records.neutral import CaseRecord, LabelRecord, ResponseRecord, VerdictRecord
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import (
    JUDGMENTS,
    Label,
    Reply,
    Shape,
    Stands,
    Told,
    ToolRow,
    Verdict,
    read_rows,
    store,
)
from judging.specs.records.tools.annotated_items import (
    ForeignAnnotation,
    Item,
    Registrar,
    cancelled,
    is_free_text,
    item_of,
    joined,
    named,
    store_annotation,
)
from judging.specs.records.values import (
    as_id,
    as_number,
    at,
    details,
    is_missing,
    parsed,
    printed_list,
    references,
    texts,
)
from judging.specs.types import Scale

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
    """Yield the fields of a row with an object of ratings a rater, such as expert_annotations."""
    for name, value in fields.items():
        entries = parsed(value) if name.endswith("annotations") else None
        if isinstance(entries, list) and entries and all(map(_are_of_five, entries)):
            yield name, entries


def _are_of_five(ratings: object) -> bool:
    given = list(ratings.values()) if isinstance(ratings, dict) else []
    numbers = [as_number(value) for value in given if not is_missing(value)]
    return bool(given) and all(number is not None and 1 <= number <= 5 for number in numbers)


_SOURCES = ("article", "dialogue", "document", "source")


def _is_summeval(part: Part) -> bool:
    rows = [row for row in part.sample if any(_rating_lists(row.fields))]
    return len(rows) * 2 > len(part.sample) and (part.has("decoded") or part.has("model_id"))


@Shape(
    "summeval",
    "SummEval: annotations of summaries",
    _is_summeval,
    "rows with lists of ratings such as expert_annotations",
    keys=("id", "decoded|summary"),
    export="Take model_annotations.aligned.jsonl with the articles paired in, or rows with a list `annotations`.",
    comes="Texts are cases and summaries responses; each rating is a label of a person by place in the list.",
).rows
def summeval(row: ToolRow) -> Told:
    """Return an article, a summary, and the ratings of each person."""
    case = CaseRecord(row.id("id"), row.text("text", *_SOURCES), references=row.references("references", "reference"))
    case.metadata = details({"filepath": row.get("filepath")}, ())
    groups = dict(_rating_lists(row.fields))
    summary = row.get("decoded", "summary")
    reply = Reply(ResponseRecord(row.system("model_id"), as_text(summary), row_id=case.key))
    reply.row.metadata = row.rest(*groups)
    reply.stands = Stands.ELSEWHERE if summary is None else Stands.HERE
    reply.said = [
        label
        for name, entries in groups.items()
        for number, ratings in enumerate(entries, start=1)
        for label in _labels(row.by_place(name.rpartition("_")[0] or "annotator", number), ratings, _OF_FIVE)
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
    reply = row.replied(row.system("model"), "response")
    ratings = {name: parsed(row.get(name)) for name in _ATTRIBUTES if name in row.fields}
    several = max((len(value) for value in ratings.values() if isinstance(value, list)), default=0)
    said = [] if several else _labels("", ratings, _FROM_ZERO)
    for n in range(several):
        own = {name: at(value, str(n)) for name, value in ratings.items()}
        said += _labels(row.by_place("annotator", n + 1), own, _FROM_ZERO)
    reply.said = said
    return Told(CaseRecord(prompt=row.text("prompt"), metadata=row.rest()), [reply])


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
    case = CaseRecord("", row.text("instruction"), references=best, metadata=row.rest())
    case.metadata |= {"incorrect_answers": wrong} if references(wrong) else {}
    entries = completions if isinstance(completions, list) else []
    return Told(case, [_completion(row, entry) for entry in entries if isinstance(entry, dict)])


def _completion(row: ToolRow, entry: JsonDict) -> Reply:
    own = ToolRow(row.part, row.collector, row.upload, row.place, entry)
    reply, judge = own.replied(own.system("model"), "response"), row.judge("")
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


def flask_output(row: ToolRow) -> Told:
    """Return a text of a model."""
    return Told(CaseRecord(row.id("question_id")), [row.replied(row.system(), "text")], stands=Stands.ELSEWHERE)


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
    if asks or upload.options.kind == "flask-outputs":
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
    case = CaseRecord(row.id("idx", "question_id", "id"), row.text("instruction", "text"))
    case.references, reason = row.references("answer"), row.text("review")
    system = row.collector.options.system or row.part.stem.removesuffix("_review")
    row.collector.warn_once("system-from-file", row.place, system)
    reply = row.replied(system, "target_txt", is_same_if_equal=True)
    judge = row.judge("")
    reply.said = [
        verdict
        for skill, value in row.fields_of("score").items()
        for verdict in _verdict(row, judge, value, _OF_FIVE, reason, skill)
    ]
    case.metadata = row.rest("total_tokens_step4")
    return Told(case, [reply], stands=Stands.REPEATED)


_QUESTIONS = ("instructions", "questions", "queries")
_ANSWERS = ("outputs", "answers", "references", "ground_truths")
_DOCUMENTS = ("input", "context", "document", "passage", "article", "story", "text")
_OF_SYSTEM = ("_outputs", "_answers", "_responses", "_predictions")


def _first(fields: JsonObject, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in fields), "")


def _are_questions(fields: JsonObject) -> bool:
    """Return whether a row has a document, and as many answers as questions, which are texts."""
    questions = printed_list(fields.get(_first(fields, _QUESTIONS)))
    answers = printed_list(fields.get(_first(fields, _ANSWERS)))
    is_answered = bool(questions) and len(answers) == len(questions) and bool(_first(fields, _DOCUMENTS))
    return is_answered and all(isinstance(text, str) for text in questions)


@Shape(
    "document-questions",
    "Questions about documents: lists of questions and answers",
    lambda part: bool(part.sample) and all(_are_questions(row.fields) for row in part.sample),
    "rows with a list of instructions or questions and one of as many outputs or answers",
    tool_name="L-Eval",
    export="Take a file of a task (LEval-data), or any table with lists of questions and answers about a document.",
    comes="Each question is a case with the document as its context and its answer as the reference; lists such as "
    "gpt4_outputs are the responses of that system.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    for place, fields in part.placed():
        row = ToolRow(part, collector, upload, place, fields)
        for told in _told(row):
            store(row, told)


def _told(row: ToolRow) -> list[Told]:
    questions, answers = (_first(row.fields, names) for names in (_QUESTIONS, _ANSWERS))
    asked, right = printed_list(row.fields.get(questions)), printed_list(row.fields.get(answers))
    systems = {
        name: entries
        for name in row.fields
        if name.endswith(_OF_SYSTEM) and len(entries := printed_list(row.fields.get(name))) == len(asked)
    }
    context, id_ = texts(row.get(*_DOCUMENTS)), row.id("id", "doc_id", "document_id", "_id")
    metadata = row.rest(questions, answers, *systems)
    told = []
    for number, question in enumerate(asked):
        case = CaseRecord(f"{id_}-{number + 1}" if id_ else "", as_text(question), None, references(right[number]))
        case.context, case.metadata, case.asks_of = context, dict(metadata), context
        told.append(Told(case, [_reply(name, entries[number]) for name, entries in systems.items()]))
    return told


def _reply(name: str, text: object) -> Reply:
    return Reply(
        ResponseRecord(name.rpartition("_")[0], as_text(text)), failure="" if text is not None else "it is null"
    )


_GOLDEN = "GOLDEN:"  # of Toloka: the right answer of a task that checks people


@dataclass(frozen=True, slots=True)
class _Platform:
    """What the columns of a platform are called."""

    shown: str  # before the names of what a task shows
    given: str  # before the names of what a person said
    rater: str
    task: str
    status: str
    kept: tuple[str, ...]  # kept with the labels; the first is when they were given
    gold: str = ""  # after the names of what a person said, of columns of right answers, where only those tell them

    def prefixed(self, fields: JsonObject) -> JsonObject:
        """Return what a row shows and what a person said with the platform's prefixes, where its names have none."""
        if not self.gold:
            return fields
        named = {name: f"{self.given if f'{name}{self.gold}' in fields else self.shown}{name}" for name in fields}
        return {
            name if name.startswith("_") or name.endswith(self.gold) else named[name]: value
            for name, value in fields.items()
        }


_PLATFORMS = (
    _Platform("Input.", "Answer.", "WorkerId", "HITId", "AssignmentStatus", ("SubmitTime", "WorkTimeInSeconds")),
    _Platform(
        *("INPUT:", "OUTPUT:", "ASSIGNMENT:worker_id", "ASSIGNMENT:task_id", "ASSIGNMENT:status"),
        kept=("ASSIGNMENT:submitted", "ASSIGNMENT:started"),
    ),
    _Platform("Input.", "Answer.", "_worker_id", "_unit_id", "_tainted", ("_created_at", "_trust"), gold="_gold"),
    _Platform(  # with the answer of most workers
        *("Input.", "Answer.", "_worker_id", "_unit_id", "_unit_state", ("_last_judgment_at", "_trusted_judgments")),
        gold=":confidence",
    ),
)
_REJECTED = {"rejected": "the assignment is rejected", "true": "the platform does not trust the worker"}


def _platform(part: Part) -> _Platform | None:
    """Return the platform that a part is of; published and aggregated results lack the workers."""
    is_anonymous = not strongest(part.columns, Holds.RATER)
    for platform in _PLATFORMS:
        named = platform.prefixed(dict.fromkeys(part.columns))
        has = {sign for sign in (platform.shown, platform.given) if any(name.startswith(sign) for name in named)}
        is_told = platform.task in named or (platform.given.isupper() and platform.shown in has)
        if platform.given in has and (platform.rater in named or (is_anonymous and is_told)):
            return platform
    return None


@Shape(
    "crowd",
    "Mechanical Turk, Toloka or Appen: results of a batch",
    lambda part: _platform(part) is not None,
    "columns WorkerId, Input.… and Answer.…, ASSIGNMENT:worker_id, INPUT:… and OUTPUT:…, or _worker_id and …_gold",
    JUDGMENTS,
    export="Mechanical Turk: Manage, Review results, Download CSV. Toloka: the pool, Download results, TSV. Appen: "
    "Results, the full report.",
    comes="What a task shows is a case, with its responses; each answer of a worker is a label under the name of its "
    "field, and free text its reason.",
    stays="Rejected assignments are counted. What the platform says of a task (title, reward, times) stays.",
)
def _read_crowd(part: Part, collector: Collector, upload: UploadParts) -> None:
    platform = _platform(part)
    if platform is None:
        return
    sample = [dict(_answers(platform, platform.prefixed(row.fields))) for row in part.sample]
    questions = dict.fromkeys(question for answers in sample for question in answers)
    remarks = {name for name in questions if is_free_text(name, [answers.get(name) for answers in sample])}
    registrar = Registrar(part, collector)
    for _, row in part.placed():
        registrar.look_at(*_task(platform, platform.prefixed(row)))
    collector.leave_out("column", "what the platform says of its tasks", part.place())
    for place, row in part.placed():
        fields = platform.prefixed(row)
        why = _REJECTED.get(as_text(fields.get(platform.status)).strip().lower())
        if why:
            cancelled(collector, place, why)
            continue
        item, id_ = _task(platform, fields)
        subject = registrar.register(place, item, id_)
        if subject is not None:
            annotation = _annotation(platform, fields, remarks)
            annotation.name = f"task {id_}, {annotation.rater}"
            store_annotation(collector, place, subject, annotation)


def _task(platform: _Platform, fields: JsonObject) -> tuple[Item, str]:
    """Return what a task shows, and its id; of several tasks with one prompt the ids are those of rows."""
    shown = {name.removeprefix(platform.shown): fields[name] for name in fields if name.startswith(platform.shown)}
    ids = named(shown, Holds.CASE)
    id_ = as_id(shown.pop(ids[0])) if ids else as_id(fields.get(platform.task))
    item = item_of(shown)
    item.asks_of = [] if item.responses else [as_text(value) for value in (*item.details.values(), *item.context)]
    golden = (name for name in fields if name.startswith(_GOLDEN) or (platform.gold and name.endswith(platform.gold)))
    item.details |= details({name: fields[name] for name in golden}, ())
    return item, id_


def _annotation(platform: _Platform, fields: JsonObject, remarks: set[str]) -> ForeignAnnotation:
    annotation = ForeignAnnotation("", as_id(fields.get(platform.rater)))
    given = {name: parsed(value) for name, value in fields.items() if name.startswith(platform.given)}
    logs = {name: value for name, value in given.items() if isinstance(value, dict) and not _plain(value)}
    annotation.metadata = details({name: fields.get(name) for name in platform.kept}, ()) | logs
    at = as_text(fields.get(platform.kept[0]))
    annotation.at = at if at[:4].isdigit() else ""
    for question, answer in _answers(platform, fields):
        (annotation.remarks if question in remarks else annotation.labels)[question] = answer
    return annotation


def _answers(platform: _Platform, fields: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield question and answer: of fields, of boxes (a field an option, true or false), and of fields in JSON."""
    boxes: dict[str, JsonDict] = {}
    for name, value in fields.items():
        if not name.startswith(platform.given) or is_missing(value):
            continue
        question, value = name.removeprefix(platform.given).removesuffix(".label"), parsed(value)
        group, dot, option = question.rpartition(".")
        if dot and as_text(value).lower() in ("true", "false"):
            boxes.setdefault(group, {})[option] = as_text(value).lower() == "true"
        elif isinstance(value, list) and value == objects(value):
            yield from ((key, _plain(entry)) for answers in value for key, entry in answers.items() if _plain(entry))
        elif isinstance(value, dict):
            yield from [(question, answer)] if (answer := _plain(value)) else ()
        else:
            yield question, as_id(value)
    yield from ((question, answer) for question, options in boxes.items() if (answer := _plain(options)))


def _plain(answer: object) -> str:
    """Return an answer as text: the label in an object, or the options that are true."""
    if isinstance(answer, dict):
        chosen = [name for name, value in answer.items() if value is True]
        return as_id(answer["label"]) if "label" in answer else joined(chosen)
    return "" if is_missing(answer) else as_id(answer)


_MARK = re.compile(r"</?v>")  # around the words of an error
_NO_ERROR = "no-error"
_WEIGHTS = {"major": 5.0, "critical": 5.0, "minor": 1.0, "neutral": 0.0, _NO_ERROR: 0.0}
_SCALE: Scale = (-25.0, 0.0)
_LIST = "target_errors"  # of a row that has its errors in it
_NAMES = {  # of columns as they are compared, where tables name them otherwise
    **{name: name for name in ("system", "source", "target", "rater", "category", "severity", "doc", _LIST)},
    "mt": "system",
    "mt_engine": "system",
    "annotator_id": "rater",
    "error_category": "category",
}
_PUNCTUATION, _NO_TRANSLATION = 0.1, 25.0


def _weight(category: str, severity: str) -> float | None:
    """Return what an error counts; None for a severity that is not known."""
    weight, kind = _WEIGHTS.get(severity), category.strip().lower()
    if weight and kind.startswith(("non-translation", "source")):
        return _NO_TRANSLATION if kind.startswith("non") else 0.0
    return _PUNCTUATION if weight == 1.0 and kind == "fluency/punctuation" else weight


def _renamed(fields: JsonDict) -> JsonDict:
    return {_NAMES.get(compared(name), name): value for name, value in fields.items()}


def _is_mqm(part: Part) -> bool:
    keys = {_NAMES.get(compared(name), "") for name in part.keys_of_all()}
    return {"system", "source", "target", "rater"} <= keys and ({"category", "severity"} <= keys or _LIST in keys)


@Shape(
    "mqm",
    "MQM: errors in translations",
    _is_mqm,
    "columns system (MT), rater (Annotator_ID), source, target, category and severity, or a list target_errors",
    tool_name="WMT MQM",
    has_equal_rows=True,
    export="Take a table with a row for each error (mqm_*.tsv), as the WMT shared tasks publish them.",
    comes="Sources are cases and translations responses. What each person marked in a translation is one label: the "
    "negative sum of the weights (major 5, minor 1, punctuation 0.1, no translation 25); the errors are its details.",
    stays="Errors of a severity that is none of these are counted.",
)
def _read_mqm(part: Part, collector: Collector, upload: UploadParts) -> None:
    ratings: dict[tuple[int, str], LabelRecord] = {}
    weights: dict[tuple[int, str], float] = defaultdict(float)
    for place, fields in part.placed():
        row = ToolRow(part, collector, upload, place, _renamed(fields))
        case = collector.case(place, _case(row))
        translation = _MARK.sub("", row.text("target"))
        response = ResponseRecord(row.system("system"), translation, is_same_if_equal=True)
        number = collector.response(place, case, response) if case is not None else None
        if case is None or number is None:
            continue
        rater = row.text("rater").strip()
        rating = LabelRecord(case, rater, "", number, "MQM", scale=_SCALE, place=place)
        rating = ratings.setdefault((number, rater), rating)
        for category, severity, marked in _errors(row):
            key = severity.strip().lower().replace("_", "-").replace(" ", "-") if category or severity else _NO_ERROR
            weight = _weight(category, key)
            if weight is None:
                collector.leave_out("annotation", f"{severity}: a severity without a weight", place)
            elif key != _NO_ERROR:
                error = {"category": category, "severity": severity, "marked": marked}
                weights[number, rater] += weight
                rating.metadata.setdefault("errors", []).append(error | row.rest("source", "doc", "doc_id", "seg_id"))
    for identity, rating in ratings.items():
        rating.label = f"{0 - weights[identity]:.6g}"
        collector.label(rating)


def _errors(row: ToolRow) -> list[tuple[str, str, str]]:
    """Return category, severity and marked words of the errors in the list of a row; else of the one that it is."""
    listed = [_renamed(error) for error in row.objects(_LIST)]
    if _LIST in row.fields:
        said = [[as_text(error.get(name)) for name in ("category", "severity", "term")] for error in listed]
        return [(category, severity, term) for category, severity, term in said]
    return [(row.text("category"), row.text("severity"), row.text("target", "source"))]


def _case(row: ToolRow) -> CaseRecord:
    """Return the source of a translation, under the number of its segment."""
    case = CaseRecord(row.id("seg_id", "globalSegId", "segment_id"), _MARK.sub("", row.text("source")))
    case.metadata = {name: as_text(row.fields[name]) for name in ("doc", "doc_id", "SEG_ID") if row.fields.get(name)}
    return case


_EACH, _ALL = "individual_human_scores", ("majority_human", "mean_human")


def _is_said(annotations: object) -> bool:
    """Return whether an object has what people said, by metric."""
    said = list(annotations.values()) if isinstance(annotations, dict) else []
    return bool(said) and all(isinstance(entry, dict) and not entry.keys().isdisjoint((_EACH, *_ALL)) for entry in said)


@Shape(
    "judge-bench",
    "JUDGE-BENCH: texts with the labels of people",
    lambda part: part.has("instance", "annotations") and all(map(_is_said, part.values("annotations"))),
    "instances with annotations by metric, each with individual_human_scores or majority_human",
    export="Take the JSON file of a set.",
    comes="Each instance is a case, with the responses that it has; each score of a person is a label by place in the "
    "list, else the majority or mean is a label without a rater.",
)
def _read_judge_bench(part: Part, collector: Collector, upload: UploadParts) -> None:
    registrar = Registrar(part, collector)
    for place, fields in part.placed():
        shown, id_ = fields.get("instance"), as_id(fields.get("id"))
        item = item_of(shown) if isinstance(shown, dict) else Item(prompt=as_text(shown))
        item.details |= details(fields, ("id", "instance", "annotations"))
        subject = registrar.register(place, item, id_)
        for annotation in _annotations(id_, fields["annotations"]):
            if annotation.rater:
                collector.warn_once("raters-by-place", part.place(), annotation.rater)
            if subject is not None:
                store_annotation(collector, place, subject, annotation)


def _annotations(id_: str, annotations: JsonObject) -> list[ForeignAnnotation]:
    """Return what each person said, by metric; of a metric that has no persons, what they said together."""
    by_person: dict[int, ForeignAnnotation] = {}
    for metric, said in annotations.items():
        each = said.get(_EACH)
        scores = list(enumerate(each, start=1)) if isinstance(each, list) and each else [(0, _together(said))]
        for number, score in scores:
            if not is_missing(score):
                rater = f"human {number}" if number else ""
                person = by_person.setdefault(number, ForeignAnnotation(f"instance {id_}", rater))
                person.labels[metric] = as_id(score)
    return list(by_person.values())


def _together(said: JsonDict) -> object:
    return next((said[name] for name in _ALL if not is_missing(said.get(name))), None)
