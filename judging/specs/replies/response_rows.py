"""What all response files share: known cases, names of fields, and that no answer is given twice."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from evalsite.base.json_types import JsonDict
from judging.specs.case_keys import visible_key
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, Rule, error_rule, shorten, warning_rule
from judging.specs.files.jsonl_reading import first_text
from judging.specs.pictures.picture_rows import (
    IMAGE_FIELDS,
    RESPONSE_IMAGE_FIELDS,
    ImageSource,
    fields_of,
    holds_data_uri,
    read_images,
)
from judging.specs.suites.cases_yaml import key_from_path
from judging.specs.turns import MESSAGE_FIELDS, RESPONSE_MESSAGE_FIELDS, ReadTurns, first_messages, read_turns
from judging.specs.types import ResponseSpec, SuiteSpec

CASE_FIELDS = ("case_id", "case_key", "case", "key", "id", "question_id")
SYSTEM_FIELDS = ("system", "model", "model_name")
ATTEMPT_FIELDS = ("attempt", "attempt_index", "sample")
TEXT_FIELDS = ("response", "text", "model_answer", "completion", "output", "answer")
_NOT_METADATA = frozenset({*CASE_FIELDS, *SYSTEM_FIELDS, *ATTEMPT_FIELDS, "prompt", "question", "instruction"})

DUPLICATE = error_rule("duplicate-response", "Remove one of the two, or give them different attempts or systems.")
UNKNOWN_CASE = error_rule("unknown-case", "First import the suite that contains the case, or correct the id.")
SKIPPED_CASE = warning_rule("unknown-case", "No action is needed unless the suite should contain this case.")
NO_CASE_ID = error_rule("response-without-case", "Give `case_id`.")
NO_TEXT = error_rule("response-without-text", "Give `response` as text; an empty response is an empty text.")
NULL_TEXT = warning_rule(
    "null-response", "The row is left out. Write an empty text if the response of the system was empty."
)
NO_SYSTEM = error_rule("response-without-system", "Give `system`, or name the system when importing.")
BAD_ATTEMPT = error_rule("bad-attempt", "Number attempts 0, 1, 2, …")

_ASKING = frozenset({"prompt", "question", "instruction"})
_NUMBERED = re.compile(r"_(\d+)$")


@dataclass(frozen=True, slots=True)
class KnownCases:
    """The cases that responses may answer: keys, and keys by the path that the suite gives them."""

    keys: frozenset[str] = frozenset()
    by_path: Mapping[str, str] = field(default_factory=dict)
    by_question: Mapping[str, str] = field(default_factory=dict)  # what `question_hash` gives -> key
    named: list[str] | None = None  # where it is a list, every case is known, and the keys that rows name go there

    @classmethod
    def of(cls, suite: SuiteSpec) -> KnownCases:
        paths = {case.source_path: case.key for case in suite.cases if case.source_path}
        questions = {question_hash(case.prompt): case.key for case in suite.cases}
        return cls(frozenset(case.key for case in suite.cases), paths, questions)

    def has(self, key: str) -> bool:
        """Return whether there is such a case."""
        if self.named is None:
            return key in self.keys
        self.named.append(key)
        return True

    def key_for_question(self, text: str) -> str:
        """Return the key of the case with this prompt, or whose key is written in its place; else the text itself."""
        text = text.strip()
        return text if text in self.keys else self.by_question.get(question_hash(text), text)

    def key_for_path(self, path: str) -> str:
        """Return the key of the case that a file name speaks of: a case file, or a response `<case>_<attempt>.txt`."""
        if path in self.by_path:
            return self.by_path[path]
        stem = posixpath.splitext(posixpath.basename(path.replace("\\", "/")))[0]
        whole, shorter = key_from_path(stem + ".yaml"), key_from_path(_NUMBERED.sub("", stem) + ".yaml")
        if whole in self.keys:
            return whole
        if shorter in self.keys or path.endswith(".txt"):
            return shorter
        return whole


def question_hash(text: str) -> str:
    """Return what stands for a question whose white space does not matter."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a response was read."""

    file: str
    location: str

    def __str__(self) -> str:
        return f"{self.file}, {self.location}" if self.location else self.file


@dataclass(slots=True)
class Collector:
    """Gathers responses, numbers attempts where none are given, and refuses doubles."""

    findings: Findings
    system: str = ""  # for rows that name none
    known_cases: KnownCases | None = None
    unknown_rule: Rule = UNKNOWN_CASE
    bundle: Bundle = field(default_factory=lambda: Bundle({}))
    responses: list[ResponseSpec] = field(default_factory=list)
    origins: dict[tuple[str, str, int], Origin] = field(default_factory=dict)
    counts: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def add_row(self, fields: JsonDict, origin: Origin, case_key: str) -> None:
        """Add the response of one row to a case; the row's other fields become metadata."""
        case_key = visible_key(case_key, self.findings, origin.file, origin.location)
        is_known = self._is_known(case_key, origin)
        system = first_text(fields, SYSTEM_FIELDS) or self.system
        if not system.strip():
            self.findings.add(NO_SYSTEM, origin.file, origin.location, "The system of the response is not given.")
        name = next((name for name in TEXT_FIELDS if name in fields), "")
        turns = self._turns(fields, origin, f"{system}, case {case_key}", has_text=fields.get(name) is not None)
        if turns is None:
            return
        text = turns.text if turns.messages else fields.get(name)
        if name and text is None:
            self.findings.add(NULL_TEXT, origin.file, origin.location, f"`{name}` is null, so there is no response.")
        elif not isinstance(text, str):
            self.findings.add(
                NO_TEXT, origin.file, origin.location, "The row has no text of a response.", ", ".join(fields)
            )
        else:
            attempt = self._attempt(fields, origin, case_key, system)
            metadata = _metadata(fields, name, turns)
            if attempt is not None and is_known:
                spec = ResponseSpec(
                    case_key, system, attempt, text, str(origin), metadata, turns.images, turns.messages
                )
                self._keep(spec, origin)

    def _turns(self, fields: JsonDict, origin: Origin, owner: str, *, has_text: bool) -> ReadTurns | None:
        """Return the turns and images of a response; those that stand beside a question belong to the question, and so
        do messages beside the text of a response."""
        source = ImageSource(origin.file, origin.location, f"The response of {owner}")
        asks = first_messages(fields, MESSAGE_FIELDS) is not None and has_text
        is_own = _ASKING.isdisjoint(fields) and not asks
        messages = first_messages(fields, (*RESPONSE_MESSAGE_FIELDS, *(MESSAGE_FIELDS if is_own else ())))
        turns = read_turns(self.bundle, self.findings, source, messages) if messages is not None else ReadTurns((), ())
        names = (*RESPONSE_IMAGE_FIELDS, *(IMAGE_FIELDS if is_own else ()))
        images = read_images(self.bundle, self.findings, source, fields_of(fields, names))
        return ReadTurns(turns.messages, (*turns.images, *images)) if turns is not None else None

    def _attempt(self, fields: JsonDict, origin: Origin, case_key: str, system: str) -> int | None:
        name = next((name for name in ATTEMPT_FIELDS if fields.get(name) not in (None, "")), "")
        if not name:
            return self.next_attempt(case_key, system)
        text = first_text(fields, (name,)) or ""
        if not re.fullmatch(r"[0-9]{1,6}", text.strip()):
            message = f"`{name}` must be a whole number from 0."
            self.findings.add(BAD_ATTEMPT, origin.file, origin.location, message, fields[name])
            return None
        return int(text)

    def next_attempt(self, case_key: str, system: str) -> int:
        """Return the number of the next unnumbered attempt of a system at a case."""
        self.counts[case_key, system] += 1
        return self.counts[case_key, system] - 1

    def add(self, response: ResponseSpec, origin: Origin) -> None:
        """Keep a response unless its case is unknown or it is already there."""
        if self._is_known(response.case_key, origin):
            self._keep(response, origin)

    def _is_known(self, key: str, origin: Origin) -> bool:
        if self.known_cases is None or self.known_cases.has(key):
            return True
        self.findings.add(
            self.unknown_rule, origin.file, origin.location, f"The suite has no case {shorten(key)!r}.", key
        )
        return False

    def _keep(self, response: ResponseSpec, origin: Origin) -> None:
        identity = (response.case_key, response.system, response.attempt)
        if identity in self.origins:
            message = (
                f"Attempt {response.attempt} of {response.system!r} at case {response.case_key!r} "
                f"is already given in {self.origins[identity]}."
            )
            self.findings.add(DUPLICATE, origin.file, origin.location, message, response.case_key)
            return
        self.origins[identity] = origin
        self.responses.append(response)


def _metadata(fields: JsonDict, text_name: str, turns: ReadTurns) -> JsonDict:
    has_turns = turns.messages or first_messages(fields, MESSAGE_FIELDS) is not None
    read = {*_NOT_METADATA, text_name, *((*RESPONSE_MESSAGE_FIELDS, *MESSAGE_FIELDS) if has_turns else ())}
    return {key: value for key, value in fields.items() if key not in read and not holds_data_uri(key, value)}
