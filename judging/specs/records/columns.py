"""The columns of a table or of records: names, values in the sample, what the shape of these says, and their roles."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.files.findings import Findings, Problem, Severity, shorten
from judging.specs.records import names
from judging.specs.records.names import Holds
from judging.specs.records.neutral import Choice
from judging.specs.records.parts import MOST_COLUMNS, Part, UploadParts
from judging.specs.records.preferences import degree, names_a_side, preference
from judging.specs.records.shapes import ColumnUse
from judging.specs.records.values import (
    as_count,
    as_number,
    at,
    has_words,
    in_one_list,
    is_address,
    is_messages,
    is_missing,
    named_numbers,
    parsed,
    reply_in,
)
from judging.specs.spreadsheets import ShareText
from judging.specs.turns import role_of

CHOSEN, BY_NAME, BY_VALUES, BY_WORD = "chosen", "by its name", "by its values", "by a word of its name"
ASKS = (Holds.PROMPT, Holds.TURNS)
RESPONDS = (Holds.RESPONSE, Holds.RESPONSE_TURNS, Holds.RESPONSES_OF, Holds.RESPONSE_A)
CHOSEN_OF_SEVERAL = (Holds.BEST, Holds.WORST)
OPINIONS = (Holds.LABEL, Holds.LABELS_OF, Holds.SCORE, Holds.PREFERENCE, Holds.RANK, *CHOSEN_OF_SEVERAL)
_PLAIN = re.compile(r"[\w.=-]+")  # needs no quotes in a shell
Answer = tuple[Holds, Sequence[str]]  # to a question: the role of columns
IF_SO = "If so, {}; if not, {}."  # a hint with two answers
UNKNOWN_COLUMNS = "unknown-columns"  # code of the question which columns hold responses or labels, or what is asked
SAMPLES = 3  # cells that are shown of a column
MOST_LABELLED = 6  # rows of one sentence, each of a person
MOST_WORDS = 7  # of a scale in words, which nothing else tells
MOST_LABELS, LABEL_LENGTH = 50, 60  # of a scale, of one label
_CODE = re.compile(
    r"[\w./:+-]*\d[\w./:+-]*|\w?|true|false|yes|no|ja|nein|oui|non|pass|fail|passed|failed|correct|wrong"
)
_OF_TOP = re.compile(r"(?P<score>\d+(?:[.,]\d+)?)\s*(?:/|out of)\s*(?P<top>\d+(?:[.,]\d+)?)")
_RIGHT_OR_WRONG = (
    *({"pass", "fail"}, {"passed", "failed"}, {"correct", "incorrect"}, {"right", "wrong"}, {"good", "bad"}),
    *({"richtig", "falsch"}, {"对", "错"}, {"up", "down"}, {"like", "dislike"}, {"thumbs up", "thumbs down"}),
)
_DECISIONS = frozenset({"accept", "reject", "ignore"})  # of a person about a label, as Prodigy writes them


@dataclass(slots=True)
class Column:
    """A column with its values in the sample, without missing ones; printed lists are lists."""

    name: str
    values: list[object]

    @property
    def distinct(self) -> set[str]:
        """The different values as text."""
        return set(map(as_text, self.values))

    def mostly(self, is_so: Callable[[object], bool]) -> bool:
        """Return whether nine of ten values fulfil a condition."""
        return bool(self.values) and sum(map(is_so, self.values)) >= 0.9 * len(self.values)

    @property
    def is_worded(self) -> bool:
        """Whether half of the values have words and are no codes, grades, yes or no."""
        texts = [value.strip() for value in self.values if isinstance(value, str)]
        worded = [text for text in texts if not _CODE.fullmatch(text.lower()) and re.search(r"[^\W\d_]{2}", text)]
        return bool(worded) and len(worded) * 2 >= len(self.values) and len(texts) == len(self.values)

    @property
    def is_prose(self) -> bool:
        """Whether the values are texts that a system may have written: worded, and not the same few names again.
        Sentences may come again, as where several people label each."""
        again = MOST_LABELLED if self.is_sentences else 2
        return self.is_worded and len(self.distinct) * again > len(self.values)

    @property
    def may_be_written(self) -> bool:
        """Whether the values are texts that a system may have written, or objects that hold such a reply."""
        return self.is_prose or self.mostly(lambda value: isinstance(value, dict) and has_words(reply_in(value)))

    @property
    def is_sentences(self) -> bool:
        """Whether some values are too long for a name."""
        return any(
            len(text) > 120 or "\n" in text or len(text.split()) > 6 or (text.endswith(".") and len(text.split()) > 2)
            for text in map(as_text, self.values)
        )

    @property
    def is_text(self) -> bool:
        """Whether the values are texts that may come again: worded, some too long for a name."""
        return self.is_worded and self.is_sentences

    @property
    def is_labels(self) -> bool:
        """Whether the values are few and short, as the labels of a scale are."""
        return len(self.distinct) <= MOST_LABELS and self.mostly(
            lambda value: isinstance(value, list) or len(as_text(value).strip()) <= LABEL_LENGTH
        )

    @property
    def is_few_words(self) -> bool:
        """Whether the values are a few short texts, as those of a scale in words are."""
        return self.is_worded and self.is_labels and not self.is_sentences and len(self.distinct) <= MOST_WORDS

    @property
    def counts_rows(self) -> bool:
        """Whether the values are the whole numbers from 0 or 1, one after the other."""
        count = len(self.values)
        return count > 2 and list(map(as_count, self.values)) in (list(range(count)), list(range(1, count + 1)))

    @property
    def holds_objects(self) -> bool:
        """Whether the values are objects."""
        return self.mostly(lambda value: isinstance(value, dict))

    @property
    def is_decisions(self) -> bool:
        """Whether the values say what a person did with a label, and not what was answered."""
        return bool(self.values) and self.distinct <= _DECISIONS

    @property
    def is_decided(self) -> bool:
        """Whether the values say right or wrong alone."""
        said = {as_text(value).strip().lower() for value in self.values}
        return bool(said) and any(said <= words for words in _RIGHT_OR_WRONG)

    @property
    def is_numbers(self) -> bool:
        """Whether the values are numbers, shares in percent, or booleans, on one scale where they say theirs."""
        return self.mostly(lambda value: number_of(value) is not None) and len(self.tops) < 2

    @property
    def is_mixed(self) -> bool:
        """Whether some values are numbers, and others are none."""
        return len({number_of(value) is None for value in self.values}) > 1

    @property
    def tops(self) -> set[float]:
        """The highest scores that the values say, as 4/5 does."""
        return {top for value in self.values if (top := top_of(value)) is not None}

    def is_recorded(self, is_named: bool) -> bool:
        """Return whether the values are conversations with what a system said in them: they end with a reply, tools are
        called in most, or a column names the system that replied."""
        roles = {"tool", "assistant"} if is_named else {"tool"}
        said = sum(not roles.isdisjoint(map(role_of, objects(value))) for value in self.values)
        return self.mostly(ends_in_reply) or (self.mostly(is_messages) and said * 2 > len(self.values))


@dataclass(slots=True)
class Mapping:
    """What each column of a table is read as. A column without a role of its own is a detail."""

    roles: dict[str, Holds]
    why: dict[str, str]
    columns: dict[str, Column]
    paths: tuple[str, ...] = ()  # columns that lie in objects of the rows, with dots
    expanded: frozenset[str] = frozenset()  # objects whose entries are columns
    list_of_responses: str = ""  # the column whose lists hold a response of each system: each entry is a row
    is_leaderboard: bool = False  # it has figures of systems, and no cases
    printed: frozenset[str] = frozenset()  # columns whose cells print the texts of several turns
    questions: Findings = field(default_factory=Findings)  # what the person must say before the table is read

    def all(self, *roles: Holds) -> list[str]:
        """Return the columns of any of these roles in the order of the file."""
        return [name for name, role in self.roles.items() if role in roles]

    def one(self, role: Holds) -> str:
        """Return the column of a role; empty where there is none."""
        return next(iter(self.all(role)), "")

    def has(self, *roles: Holds) -> bool:
        """Return whether a column has one of these roles."""
        return not set(roles).isdisjoint(self.roles.values())

    def rows_in(self, fields: JsonObject) -> Iterator[JsonObject]:
        """Yield the rows of one of the file, with the entries of its containers as columns: one, or one a response."""
        several = unrolled(fields, self.list_of_responses) if self.list_of_responses else (fields,)
        return (flat(each, self) for each in several)

    def uses(self) -> list[ColumnUse]:
        """Return the mapping as it is shown."""
        return [
            ColumnUse(name, str(self.roles[name]), self.why.get(name, ""), tuple(map(shorten, map(as_text, cells))))
            for name, cells in ((name, column.values[:SAMPLES]) for name, column in self.columns.items())
        ]


def ends_in_reply(turns: object) -> bool:
    """Return whether a value is a conversation whose last turn is an assistant's."""
    return is_messages(turns) and isinstance(turns, list) and len(turns) > 1 and role_of(turns[-1]) == "assistant"


def is_reply(turns: object) -> bool:
    """Return whether a value is a conversation in which nobody asks: the steps of a response."""
    return is_messages(turns) and all(role_of(turn) in ("assistant", "tool") for turn in objects(turns))


def top_of(value: object) -> float | None:
    """Return the highest score that a score says itself, as 4/5 and "4 out of 5" do; None where it says none."""
    match = _OF_TOP.fullmatch(value.strip()) if isinstance(value, str) else None
    top = as_number(match["top"].replace(",", ".")) if match else None
    return top if top and (number_of(value) or 0) <= top else None


def number_of(value: object) -> float | None:
    """Return a score as a number: 50% is 0.5, 0,5 is 0.5, true is 1, 4/5 is 4; None for what is none."""
    number = as_number(value)
    if number is not None or not isinstance(value, str):
        return number
    text = value.strip().lower()
    if match := _OF_TOP.fullmatch(text):
        return as_number(match["score"].replace(",", "."))
    if text in ("true", "false"):
        return float(text == "true")
    share = as_number(text[:-1].strip().replace(",", ".")) if text.endswith("%") else None
    if share is not None:
        return round(share / 100, 12)
    return as_number(text.replace(",", ".")) if re.fullmatch(r"[+-]?\d+,\d+", text) else None


def flat(fields: JsonObject, mapping: Mapping) -> JsonObject:
    """Return a row with the entries of its containers as columns, with the paths that were chosen, and with the turns
    that cells print as lists."""
    if not (mapping.paths or mapping.printed):
        return fields
    row = {name: value for name, value in fields.items() if name not in mapping.expanded}
    row.update((path, value_at(fields, path, mapping)) for path in mapping.paths)
    return row | {name: parsed(row.get(name)) for name in mapping.printed}


def value_at(fields: JsonObject, name: str, mapping: Mapping) -> object:
    """Return what a row has in a column; an entry's name may have dots itself, as responses.gpt-3.5 has."""
    if name not in mapping.paths:
        return fields.get(name)
    container, _, entry = name.partition(".")
    inner = _as_object(fields.get(container))
    if container in mapping.expanded and isinstance(inner, dict) and entry in inner:
        return inner[entry]
    return at({container: inner}, name)


def unrolled(fields: JsonObject, column: str) -> Iterator[JsonObject]:
    """Yield a row for each entry of the list in a column, with what the row says beside it; the row where none is."""
    entries = _entries(fields.get(column)) if column else []
    if not entries:
        yield fields
        return
    beside = {name: value for name, value in fields.items() if name != column}
    for entry in entries:
        yield {f"{name} of the row" if name in entry else name: value for name, value in beside.items()} | entry


def _list_of_responses(part: Part) -> str:
    """Return the column whose values have a response of each system, as "answers" of {answer, model, rank}, or all that
    the system of the row answered: "results" of {question, answer} beside "model"."""
    is_of_system = any(names.is_strong(name, Holds.SYSTEM) for name in part.columns)
    for name in part.columns:
        entries = [entry for row in part.sample for entry in _entries(row.fields.get(name))]
        if entries and all(map(says_who_answered, entries)):
            return name
        if entries and is_of_system and all(map(_asks_and_answers, entries)):
            return name
        is_other = names.is_of_scores(f"{name}.x") or not all(map(_says_who_wrote, entries))
        if entries and not is_other and not any(map(is_messages, part.values(name))):
            return name
    return ""


def _entries(value: object) -> list[JsonDict]:
    """Return the objects of a list of nothing else, or of an object by model, each with its name; none of others."""
    value = parsed(value)
    if isinstance(value, dict) and names.are_models(value) and all(isinstance(entry, dict) for entry in value.values()):
        return [{"model": name, **entry} for name, entry in value.items()]
    is_of_objects = isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
    return objects(value) if is_of_objects else []


def _asks_and_answers(entry: JsonObject) -> bool:
    """Return whether an object has what is asked and an answer."""
    asks = any(names.is_strong(name, role) for name in entry for role in (Holds.PROMPT, Holds.CASE))
    return asks and any(names.rank(name, role) for name in entry for role in (Holds.RESPONSE, Holds.ANSWER))


def says_who_answered(entry: JsonObject) -> bool:
    """Return whether an object has an answer and who gave it: {"model": "oak", "answer": "…"}."""
    named = [rank for name in entry if (rank := names.rank(name, Holds.SYSTEM)) is not None]
    answers = [name for name in entry if names.rank(name, Holds.RESPONSE) or names.rank(name, Holds.ANSWER)]
    return any(weakness == 0 for weakness, _ in named) and bool(answers)


def _says_who_wrote(entry: JsonObject) -> bool:
    """Return whether an object has the name of a model that is no judge, and a text that is no reason."""
    models = [key for key, value in entry.items() if names_a_model(value) and not names.rank(key, Holds.JUDGE)]
    return bool(models) and any(
        has_words(value) and key not in models and not names.rank(key, Holds.REASON) for key, value in entry.items()
    )


def names_a_model(value: object) -> bool:
    """Return whether a value is the name of a model, in one word."""
    return isinstance(value, str) and len(value.split()) == 1 and names.is_model(value.strip())


def system_named(settings: JsonObject) -> str:
    """Return the system that settings beside rows name: {"model": "oak"}; empty where none or several are named."""
    said = {
        name: value.strip() for name, value in settings.items() if isinstance(value, str) and len(value.split()) == 1
    }
    found = {value for name, value in said.items() if names.is_strong(name, Holds.SYSTEM)}
    weak = {
        value
        for name, value in said.items()
        if names.rank(name, Holds.SYSTEM) or names.compared(name) in ("name", "source", "id")
    }
    found = found or set(filter(names.is_model, weak))
    return found.pop() if len(found) == 1 else ""


_SETTINGS = ("parameters", "params", "config", "args", "metadata", "meta", "settings", "hyperparameters")


def system_beside(part: Part) -> str:
    """Return the system that a document or its settings name beside its rows; empty where they name none."""
    beside = part.document
    settings = [beside, *(beside[name] for name in _SETTINGS if isinstance(beside.get(name), dict))]
    return next(filter(None, map(system_named, settings)), "")


def _as_object(value: object) -> object:
    return named_numbers(value := parsed(value)) or value


def _is_expanded(name: str, values: Sequence[object]) -> bool:
    """Return whether a column holds objects whose entries are columns: containers, scores or responses by name."""
    if not values or not all(isinstance(value, dict) for value in values):
        return False
    entries = [entry for value in objects(list(values)) for entry in value.items()]
    keys = {key for key, _ in entries}
    if not keys or len(keys) > MOST_COLUMNS or name in names.CONTAINERS:
        return 0 < len(keys) <= MOST_COLUMNS
    is_asked = not (names.rank(name, Holds.REFERENCE) or names.rank(name, Holds.RESPONSE))
    if is_asked and all(any(names.rank(key, role) for key in keys) for role in (Holds.PROMPT, Holds.REFERENCE)):
        return True  # {"question": …, "target": …}
    are_of_models = len(keys) > 1 and all(map(names.is_model, keys))
    if all(isinstance(entry, int | float | None) for _, entry in entries):
        return are_of_models or names.is_of_scores(f"{name}.x")
    are_texts = all(isinstance(entry, str) and not names.is_known(key) for key, entry in entries)
    return are_texts and len(keys) > 1 and all(names.system_of_entry(f"{name}.{key}") for key in keys)


def columns_of(part: Part, upload: UploadParts) -> Mapping:
    """Return the columns of a part, those inside containers and those that were named by a path too."""
    in_lists = _list_of_responses(part)
    rows = [fields for row in part.sample for fields in unrolled(row.fields, in_lists)]
    columns = list(dict.fromkeys(name for fields in rows for name in fields)) if in_lists else part.columns
    paths: list[str] = []
    expanded: set[str] = set()
    for name in columns:
        inner = [_as_object(fields[name]) for fields in rows if fields.get(name) is not None]
        if _is_expanded(name, inner):
            expanded.add(name)
            paths += dict.fromkeys(f"{name}.{key}" for value in objects(inner) for key in value)
    chosen = [path for path in upload.options.columns if "." in path and path not in columns]
    paths += [path for path in chosen if path not in paths and path.partition(".")[0] in columns]
    mapping = Mapping({}, {}, {}, tuple(paths), frozenset(expanded), in_lists, questions=Findings(part.file))
    flattened = [flat(fields, mapping) for fields in rows]
    for name in (*(name for name in columns if name not in expanded), *paths):
        values = [in_one_list(parsed(row[name])) for row in flattened if name in row and not is_missing(row[name])]
        mapping.columns[name] = Column(name, values)
    return mapping


class ColumnRoles:
    """The roles that the columns of one part have so far."""

    def __init__(self, part: Part, upload: UploadParts) -> None:
        self.part, self.upload = part, upload
        self.mapping = columns_of(part, upload)
        self.columns, self.roles = self.mapping.columns, self.mapping.roles
        self.is_told = False  # whether the person named columns with content

    def put(
        self,
        code: str,
        message: str,
        hint: str,
        page_hint: str,
        columns: Sequence[str] = (),
        *answers: Sequence[Answer],
    ) -> None:
        """Put a question that the person must answer before the table is read; `columns` are those it asks about, and
        each of `answers` is whole."""
        self.mapping.questions.extend([_asking(self.part, code, message, (hint, page_hint), columns, answers)])

    def ask_role(self, code: str, message: str, hint: str, *answers: Answer) -> None:
        """Put a question with answers, each of which has a place in `hint`."""
        self.mapping.questions.extend([question(self.part, code, message, hint, answers, self.columns)])

    def ask_which(self, name: str, first: Holds, second: Holds, said: str) -> None:
        """Ask which of two roles a column has, unless the person said it."""
        if self.mapping.why.get(name) != CHOSEN:
            self.ask_role("two-roles", f"{name} may be {said}.", "{} or {}.", (first, [name]), (second, [name]))

    def ask_or_keep(self, name: str, code: str, message: str, hint: str, role: Holds = Holds.DETAIL) -> None:
        """Ask for another file; the column may be left as it is too."""
        self.ask_role(code, message, f"{hint}{{}}.", (role, [name]))

    def names_of_all(self) -> str:
        """Return the names of the columns, for a question."""
        return ", ".join(filter(None, self.columns))

    def free(self) -> Iterator[str]:
        """Yield the columns without a role, in the order of the file."""
        return (name for name in self.columns if name and name not in self.roles)

    def named(self, role: Holds) -> list[str]:
        """Return the free columns whose names say a role, strongest first; empty ones only where all are."""
        ranked = [(place, name) for name in self.free() if (place := names.rank(name, role)) is not None]
        ranked = [(place, name) for place, name in ranked if role is not Holds.REFERENCE or not self.cites(name)]
        found = [name for _, name in sorted(ranked, key=lambda entry: entry[0])]
        return [name for name in found if self.columns[name].values] or found

    def cites(self, name: str) -> bool:
        """Return whether a column `reference` says where something is from, and not what is right."""
        return "ref" in names.compared(name) and self.columns[name].mostly(is_address)

    def strong(self, role: Holds) -> list[str]:
        """Return the free columns whose names are strong ones of a role, strongest first."""
        return [name for name in self.named(role) if names.is_strong(name, role)]

    def has(self, *roles: Holds) -> bool:
        """Return whether a column has one of these roles."""
        return self.mapping.has(*roles)

    def choosing(self) -> list[str]:
        """Return the unknown columns that hold nothing but sides of a pair and ties, as those of several people do."""
        may_be = (names.may_choose, names.may_be_of_people)
        open_ = [name for name in self.free() if not names.is_known(name) or any(is_so(name) for is_so in may_be)]
        return [name for name in open_ if self.columns[name].mostly(says_a_side) or self.names_sides(name)]

    def names_sides(self, name: str) -> bool:
        """Return whether the values of a column name the two responses, as their headers do, or ties."""
        sides = self.mapping.all(Holds.RESPONSE_A, Holds.RESPONSE_B)
        return self.columns[name].mostly(lambda value: value in sides or chooses_a_side(value))

    def rated(self) -> list[str]:
        """Return the unknown columns of a few whole numbers beside a rater, which may be labels by criterion; where
        nothing else is an opinion, those of a few words."""
        unknown = [name for name in self.free() if not (names.is_known(name) or names.is_number_of(name))]
        unknown = [name for name in unknown if not self.columns[name].counts_rows] if self.is_rated() else []
        graded = [name for name in unknown if self.columns[name].mostly(is_grade)]
        is_open = not (graded or self.has(*OPINIONS))
        return [name for name in unknown if self.columns[name].is_few_words] if is_open else graded

    def is_rated(self) -> bool:
        """Return whether a column names who labels, and not only a user, nor a person's grades as `expert` may."""
        named = [name for name in self.strong(Holds.RATER) if not names.compared(name).startswith("user")]
        graded = [name for name in named if names.says_people(name) and self.columns[name].mostly(is_grade)]
        return self.has(Holds.RATER) or len(named) > len(graded)

    def is_recorded(self) -> bool:
        """Return whether the conversations of the table have what a system said in them."""
        turns = self.mapping.one(Holds.TURNS)
        return bool(turns) and self.columns[turns].is_recorded(self.has(Holds.SYSTEM))


def question(
    part: Part, code: str, message: str, hint: str, answers: Sequence[Answer], columns: Collection[str]
) -> Problem:
    """Return a question with its answers in the places `{}` of a hint: as options of the command, and as menus of the
    page, which has one for each of `columns` and none for entries of objects."""
    in_menus = [(role, said) for role, said in answers if set(said) <= {*columns}]
    choices: list[str] = []
    for number, (role, said) in enumerate(in_menus):
        last_role, last = in_menus[number - 1] if number else (None, None)
        words = ("" if role is last_role else role.label, "" if said == last else f"for {', '.join(said)}")
        choices.append(" ".join(filter(None, words)))
    before = hint.partition("{")[0].rpartition(". ")
    by_page = "".join([*before[:2], "Choose an answer."])
    if len(choices) == len(answers):
        by_page = _filled(hint.replace("} {", "}, {"), "choose ", choices)
    by_command = _filled(hint, "say ", [option(role, *said) for role, said in answers])
    asked = dict.fromkeys(name for _, said in in_menus for name in said)
    return _asking(part, code, message, (by_command, by_page), asked, _whole(hint, answers))


def _whole(hint: str, answers: Sequence[Answer]) -> list[list[Answer]]:
    """Return the answers that stand in a hint, of which those with only a space between them are one."""
    whole: list[list[Answer]] = []
    for before, answer in zip(hint.split("{}"), answers, strict=False):
        if whole and before == " ":
            whole[-1].append(answer)
        else:
            whole.append([answer])
    return whole


def _asking(
    part: Part,
    code: str,
    message: str,
    hints: tuple[str, str],
    columns: Iterable[str],
    answers: Iterable[Sequence[Answer]],
) -> Problem:
    """Return a question about columns with its hints for the command and the page; each of `answers` is whole: a role
    with its columns, or several."""
    texts = (tuple(f"{role}={name}" for role, said in answer for name in said) for answer in answers)
    by_command, by_page = hints
    return Problem(
        Severity.ERROR,
        part.file,
        part.name,
        message,
        hint=by_command,
        code=code,
        page_hint=by_page,
        columns=tuple(columns),
        answers=tuple(dict.fromkeys(filter(None, texts))),
    )


def _filled(hint: str, verb: str, said: Sequence[str]) -> str:
    lead, *rest = hint.split("{}")
    texts = chain.from_iterable(zip(said, rest, strict=True))
    return "".join([lead, verb if lead else verb.capitalize(), *texts])


def option(role: Holds, *columns: str) -> str:
    """Return the options of the command that give columns a role, in quotes where the shell needs them."""
    texts = (f"{role}={name}" for name in columns)
    return " ".join(f"--map {text if _PLAIN.fullmatch(text) else _quoted(text)}" for text in texts)


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\$`])', r"\\\1", text) + '"'


def chooses_a_side(value: object) -> bool:
    """Return whether a value says by itself that it is one side of a pair or a tie; a letter alone may be anything."""
    text, chosen = as_text(value), preference(as_text(value))
    is_verdict = degree(text) is not None or (text.lstrip().startswith("[[") and chosen is not None)
    return is_verdict or names_a_side(text) or chosen is Choice.TIE or names.compared(text) in ("left", "right")


def is_grade(value: object) -> bool:
    """Return whether a value is a whole number as people give to responses, 0 to 10."""
    number = as_count(value)
    return number is not None and number <= 10


def says_a_side(value: object) -> bool:
    return preference(as_text(value)) is not None or chooses_a_side(value)


def criteria_of(mapping: Mapping) -> dict[str, str]:
    """Return the columns of labels with the criterion that each header says; empty for one of a rater."""
    labels, is_by_rater = mapping.all(Holds.LABEL, Holds.LABELS_OF), mapping.has(Holds.LABELS_OF)
    is_by_criterion = len(labels) > 1 or any(names.is_score(name) and not names.is_in_table(name) for name in labels)
    said = labels if is_by_criterion and not is_by_rater else ()
    entries = {name: name.rpartition(".")[2] if name in mapping.paths else name for name in labels}
    return {name: names.bare(entries[name]) if name in said else "" for name in labels}


def is_share(value: object) -> bool:
    """Return whether a value says by itself that it is a share: a percentage, or true or false."""
    if isinstance(value, str):
        text = value.strip().lower()
        return isinstance(value, ShareText) or text.endswith("%") or text in ("true", "false")
    return isinstance(value, bool)


def system_names(headers: Sequence[str]) -> dict[str, str]:
    """Return the system of each column: its header, of "[provider] prompt" the provider where that is enough, of the
    same entry of several objects the object."""
    entries = {name.rpartition(".")[2] for name in headers}
    if len(entries) == 1 < len(headers):
        return {name: name.removesuffix(f".{entry}") for name in headers for entry in entries}
    providers = [match[1] if (match := names.PROVIDER_HEADER.fullmatch(name)) else name for name in headers]
    return {
        name: names.system_of_responses(name)
        or names.system_of_entry(name)
        or names.named_responses(name)
        or (provider if providers.count(provider) == 1 else name)
        for name, provider in zip(headers, providers, strict=True)
    }


def header_named(text: str, headers: Collection[str]) -> str:
    """Return the one of several headers of responses that a text names: by itself, by the system in it, or, where they
    differ by it alone, by the number or letter at its end; empty where it names none."""
    ends = {name: names.compared(name).rpartition("_")[2] for name in headers} if names.are_numbered(headers) else {}
    said = {name: {*map(str.casefold, names.systems_of(name)), ends.get(name, name)} for name in headers}
    named = [name for name in headers if text.casefold() in said[name]]
    return named[0] if len(named) == 1 else ""
