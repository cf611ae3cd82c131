"""What each column of a table is: the field that its name means, or the one that a person chose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from evalsite.base.json_types import JsonDict
from judging.specs.replies.response_rows import ATTEMPT_FIELDS, CASE_FIELDS, SYSTEM_FIELDS, TEXT_FIELDS
from judging.specs.spreadsheets.cell_values import Cell
from judging.specs.spreadsheets.grids import plain_text
from judging.specs.suites.questions_jsonl import ANSWER_FIELDS, ID_FIELDS, QUESTION_FIELDS, SCENARIO_FIELDS

SYSTEM_CHARACTERS = 120
FILE_COLUMN = "filename"


class ColumnField(StrEnum):
    """What a column may hold."""

    CASE = "case"
    PROMPT = "prompt"
    REFERENCE = "reference"
    CONTEXT = "context"
    SYSTEM = "system"
    RESPONSE = "response"
    RESPONSES_OF = "system-responses"
    ATTEMPT = "attempt"
    SCENARIO = "scenario"
    TYPE = "type"
    LANGUAGE = "language"
    DETAIL = "detail"
    IGNORE = "ignore"


LABELS: Mapping[ColumnField, str] = {
    ColumnField.CASE: "Case ID",
    ColumnField.PROMPT: "Prompt",
    ColumnField.REFERENCE: "Reference",
    ColumnField.CONTEXT: "Context",
    ColumnField.SYSTEM: "System",
    ColumnField.RESPONSE: "Response",
    ColumnField.RESPONSES_OF: "Responses of the system in the header",
    ColumnField.ATTEMPT: "Attempt",
    ColumnField.SCENARIO: "Scenario",
    ColumnField.TYPE: "Question type",
    ColumnField.LANGUAGE: "Language",
    ColumnField.DETAIL: "Keep as detail",
    ColumnField.IGNORE: "Ignore",
}
READ_AS: Mapping[ColumnField, str] = {
    ColumnField.CASE: "case_id",
    ColumnField.PROMPT: "question",
    ColumnField.REFERENCE: "reference",
    ColumnField.CONTEXT: "context",
    ColumnField.SYSTEM: "system",
    ColumnField.RESPONSE: "response",
    ColumnField.ATTEMPT: "attempt",
    ColumnField.SCENARIO: "scenario",
    ColumnField.TYPE: "type",
    ColumnField.LANGUAGE: "lang",
}

OF_CASES = tuple(
    READ_AS[field]
    for field in (
        *(ColumnField.CASE, ColumnField.PROMPT, ColumnField.REFERENCE, ColumnField.CONTEXT),
        *(ColumnField.SCENARIO, ColumnField.TYPE, ColumnField.LANGUAGE),
    )
)

_LOOKED_FOR = frozenset(  # by readers of responses or of questions
    {*CASE_FIELDS, *SYSTEM_FIELDS, *ATTEMPT_FIELDS, *TEXT_FIELDS, *ID_FIELDS, *QUESTION_FIELDS, *ANSWER_FIELDS}
    | {*SCENARIO_FIELDS, *READ_AS.values(), FILE_COLUMN, "instruction", "context_role"}
)
_SAME = {
    **dict.fromkeys(("query_id", "item_id", "prompt_id", "task_id", "test_id"), "case_id"),
    **dict.fromkeys(("model_output", "model_response", "reply", "prediction", "generation"), "response"),
    **dict.fromkeys(("model_id", "system_name"), "system"),
}
_PROVIDER = re.compile(r"\[([^\]]+)\]\s*(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")  # of a template


@dataclass(frozen=True, slots=True)
class QuestionParts:
    """The variables of a test of promptfoo, and the template of its prompt; empty where systems differ by theirs."""

    variables: Mapping[str, int]  # with the position of each
    template: str

    def question(self, cells: Sequence[object]) -> str:
        """Return the prompt of a row: the filled template, else the variables, by name where they are several."""
        texts = {name: str(cells[position]) for name, position in self.variables.items() if position < len(cells)}
        if self.template:
            return _VARIABLE.sub(lambda match: texts.get(match[1], match[0]), self.template)
        named = (f"{name}: {text}" for name, text in texts.items())
        return "\n".join(named if len(texts) > 1 else texts.values())


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of one table by position, from 0."""

    names: tuple[str, ...]  # under which readers find the cells; empty: the column is not read
    systems: Mapping[int, str] = field(default_factory=dict)  # whose responses a column holds
    question_parts: QuestionParts | None = None  # what the question is made of, where no column holds it

    @property
    def field_names(self) -> list[str]:
        """The names of all fields that rows have."""
        named = [name for name in self.names if name] + (["question"] if self.question_parts else [])
        return named + (["system", "response"] if self.systems else [])

    @property
    def read_positions(self) -> frozenset[int]:
        """The positions of the columns that are read."""
        return frozenset(position for position, name in enumerate(self.names) if name) | frozenset(self.systems)

    def rows(self, cells: Sequence[object]) -> Iterator[JsonDict]:
        """Yield what a row says by name: once, or once for each system that has a response in it."""
        fields = {name: cell for name, cell in zip(self.names, cells, strict=False) if name}
        if self.question_parts is not None:
            fields["question"] = self.question_parts.question(cells)
        if not self.systems:
            yield fields
        for position, system in self.systems.items():
            response = cells[position] if position < len(cells) else None
            if response is not None and str(response).strip():
                yield {**fields, "system": system, "response": response}


def column_names(cells: Iterable[Cell]) -> list[str]:
    """Return the names of columns as they are compared: "Case ID" is case_id, and so is query_id."""
    names = [_compared(plain_text(cell)) for cell in cells]
    return [_SAME[name] if name in _SAME and _SAME[name] not in names else name for name in names]


def _compared(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def distinct_names(cells: Iterable[Cell]) -> tuple[str, ...]:
    """Return the names of columns as they are written, each once: a second "Score" is "Score (2)".

    A column without a name has none.
    """
    counts: Counter[str] = Counter()
    names: list[str] = []
    for cell in cells:
        name = " ".join(plain_text(cell).split())
        counts[name] += 1
        names.append(f"{name} ({counts[name]})" if name and counts[name] > 1 else name)
    return tuple(names)


def named_columns(cells: Iterable[Cell]) -> TableColumns:
    """Return what columns are by their names alone."""
    return TableColumns(tuple(column_names(cells)))


def mapped_columns(names: Sequence[str], fields: Mapping[str, str]) -> TableColumns:
    """Return what columns are by what was chosen for each; one for which nothing was is a detail."""
    chosen = [ColumnField(fields.get(name, ColumnField.DETAIL if name else ColumnField.IGNORE)) for name in names]
    systems = {position: name for position, name in enumerate(names) if chosen[position] is ColumnField.RESPONSES_OF}
    read_as = tuple(map(_read_as, names, chosen))
    return TableColumns(read_as, _named_systems(systems), _question_parts(names, chosen, systems))


def has_mapped_question(fields: Mapping[str, str]) -> bool:
    """Return whether rows with columns of these fields say what was asked."""
    return READ_AS[ColumnField.PROMPT] in mapped_columns(list(fields), fields).field_names


def _read_as(name: str, chosen: ColumnField) -> str:
    if chosen is ColumnField.DETAIL:
        return f"column_{_compared(name)}" if _compared(name) in _LOOKED_FOR else _compared(name)
    return READ_AS.get(chosen, "")


def _question_parts(
    names: Sequence[str], chosen: Sequence[ColumnField], systems: Mapping[int, str]
) -> QuestionParts | None:
    """Return what the question of a table of promptfoo is made of; None where a column holds it, or names the case."""
    matches = [match for name in systems.values() if (match := _PROVIDER.fullmatch(name))]
    if not matches or not {ColumnField.CASE, ColumnField.PROMPT}.isdisjoint(chosen):
        return None
    first = min(systems)
    variables = {
        name: position for position, name in enumerate(names[:first]) if chosen[position] is ColumnField.DETAIL
    }
    templates = {match[2] for match in matches}
    return QuestionParts(variables, templates.pop() if len(templates) == 1 else "") if variables else None


def _named_systems(headers: Mapping[int, str]) -> dict[int, str]:
    """Return the systems that headers name; of "[provider] prompt" the provider alone where that tells them apart."""
    parts = {position: _PROVIDER.fullmatch(name) for position, name in headers.items()}
    providers = Counter(match[1] for match in parts.values() if match)
    names = {
        position: match[1] if (match := parts[position]) and providers[match[1]] == 1 else name
        for position, name in headers.items()
    }
    return {position: name[:SYSTEM_CHARACTERS] for position, name in names.items()}
