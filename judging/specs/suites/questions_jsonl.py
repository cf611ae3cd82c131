"""Questions with reference answers in JSON Lines, as question-answering benchmarks publish them.

One object per line: `id`, `question` (or prompt), `answer` (or a text `reference`), `type`, `scenario` (or
scenario_code, category), `context` (a text or a list of texts), `context_role`, `lang`. Where a row has an
`instruction` beside its question, the prompt is both with an empty line between. `image` or `images` name files of the
upload or are data URIs. `messages` is a conversation in place of a question. Everything else, a list of reference
passages say, becomes metadata. Rows without an id are keyed by their line.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, at_line, error_rule, warning_rule
from judging.specs.files.jsonl_reading import JsonLine, RowLimits, first_text, readable_rows
from judging.specs.files.problems import Parsed
from judging.specs.files.row_counts import ProgressCallback, no_progress
from judging.specs.pictures.picture_rows import IMAGE_FIELDS, ImageSource, fields_of, holds_data_uri, read_images
from judging.specs.suites.cases_yaml import BAD_ROLE, CONTEXT_ROLES
from judging.specs.turns import MESSAGE_FIELDS, ReadTurns, first_messages, read_turns
from judging.specs.types import CaseSpec, SuiteSpec

NO_QUESTION = error_rule("row-without-question", "Give `question` as text.")
SAME_ID = error_rule("duplicate-case", "Give each question a unique id.")
NO_ANSWER = warning_rule("row-without-answer", "Give `answer` if judges should compare with a reference.")

ID_FIELDS = ("id", "case_id", "question_id", "key")
QUESTION_FIELDS = ("question", "prompt", "query")
ANSWER_FIELDS = ("answer", "reference", "reference_answer", "gt_answer")
SCENARIO_FIELDS = ("scenario", "scenario_code", "category")
_READ = frozenset({*ID_FIELDS, *QUESTION_FIELDS, *SCENARIO_FIELDS, "type", "lang", "context", "context_role"})


def parse_questions_jsonl(
    bundle: Bundle,
    path: str,
    *,
    name: str = "",
    limits: RowLimits | None = None,
    report_progress: ProgressCallback = no_progress,
) -> Parsed[SuiteSpec]:
    """Return a suite with one case per row; the suite has the file's name unless one is given."""
    findings = Findings()
    return suite_of_rows(bundle, path, readable_rows(bundle, path, findings, limits, report_progress), findings, name)


def suite_of_rows(
    bundle: Bundle, path: str, rows: Iterable[JsonLine], findings: Findings, name: str = ""
) -> Parsed[SuiteSpec]:
    """Return a suite with one case per row, wherever the rows were read."""
    reader = _QuestionReader(bundle, path, findings)
    for row in rows:
        reader.add(row)
    suite = SuiteSpec(
        name=name or posixpath.splitext(posixpath.basename(path))[0], version="", cases=tuple(reader.cases)
    )
    return Parsed(None if findings.has_errors else suite, findings.as_tuple())


@dataclass(slots=True)
class _QuestionReader:
    bundle: Bundle
    path: str
    findings: Findings
    cases: list[CaseSpec] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)  # key -> line

    def add(self, row: JsonLine) -> None:
        """Add the case of one row."""
        fields, location = row.fields, at_line(row.line)
        key = (first_text(fields, ID_FIELDS) or str(row.line)).strip()
        source = ImageSource(self.path, location, f"Case {key}")
        messages = first_messages(fields, MESSAGE_FIELDS)
        turns = read_turns(self.bundle, self.findings, source, messages) if messages is not None else ReadTurns((), ())
        prompt = turns.text if turns is not None and turns.messages else prompt_of(fields)
        if turns is None:
            return
        if not prompt:
            self.findings.add(NO_QUESTION, self.path, location, "The row has no question.", ", ".join(fields))
            return
        if key in self.lines:
            message = f"The id {key!r} is already used on line {self.lines[key]}."
            self.findings.add(SAME_ID, self.path, location, message, key)
            return
        role = first_text(fields, ("context_role",)) or ""
        if role not in CONTEXT_ROLES:
            self.findings.add(BAD_ROLE, self.path, location, "The role of a context must be one of two.", role)
        answer = next((name for name in ANSWER_FIELDS if isinstance(fields.get(name), str)), "")
        if not answer:
            self.findings.add(NO_ANSWER, self.path, location, "The row has no reference answer.", key)
        self.lines[key] = row.line
        images = read_images(self.bundle, self.findings, source, fields_of(fields, IMAGE_FIELDS))
        self.cases.append(
            CaseSpec(
                key=key,
                prompt=prompt,
                reference=fields.get(answer, ""),
                context=_joined(fields.get("context")),
                context_role=role,
                scenario=first_text(fields, SCENARIO_FIELDS) or "",
                question_type=first_text(fields, ("type",)) or "",
                lang=first_text(fields, ("lang",)) or "",
                source_path=f"{self.path}, {location}",
                metadata=_metadata(fields, answer, turns.messages),
                images=(*turns.images, *images),
                messages=turns.messages,
            )
        )


def prompt_of(fields: JsonDict) -> str:
    """Return what is asked in a row: instruction and question, or the one that is there; empty without either."""
    parts = [first_text(fields, ("instruction",)), first_text(fields, QUESTION_FIELDS)]
    return "\n\n".join(part for part in parts if part and part.strip())


def _joined(context: object) -> str:
    if isinstance(context, list):
        return "\n\n".join(part for part in context if isinstance(part, str))
    return context if isinstance(context, str) else ""


def _metadata(fields: JsonDict, answer: str, messages: Sequence[JsonObject]) -> JsonDict:
    """Return what nothing else reads. Paths of images stay, as their authors wrote them; data URIs do not."""
    read = {*_READ, answer, *(MESSAGE_FIELDS if messages else ())}
    extra = {key: value for key, value in fields.items() if key not in read and not holds_data_uri(key, value)}
    if "instruction" in fields:  # judges that ask for the parts find them here
        extra["question"] = first_text(fields, QUESTION_FIELDS) or ""
    return extra
