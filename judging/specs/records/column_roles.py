"""Resolves the role of each column of a table once, by what the person said, names, the shapes of values, and words.

What cannot be told is a question to the person, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from evalsite.base.types import as_text, objects
from judging.specs.records import names
from judging.specs.records.case_reader import is_rubric, reference_texts
from judging.specs.records.column_questions import DOUBLE, PAIRED, ColumnQuestions
from judging.specs.records.columns import (
    ASKS,
    BY_NAME,
    BY_VALUES,
    BY_WORD,
    CHOSEN,
    OPINIONS,
    RESPONDS,
    Answer,
    Column,
    Mapping,
    is_reply,
    system_beside,
    value_at,
)
from judging.specs.records.names import REPEATED, Holds
from judging.specs.records.neutral import Choice
from judging.specs.records.opinion_questions import OF_RESPONSES, WORTH, is_of_criterion
from judging.specs.records.parts import Part, Row, UploadParts
from judging.specs.records.preferences import preference
from judging.specs.records.values import (
    are_choices,
    are_digits,
    are_texts,
    as_id,
    holds_choices,
    is_choice,
    is_list,
    is_messages,
    is_name,
    is_question,
    listed,
    parsed,
)
from judging.specs.turns import content_of

FEW_ROWS = 50  # in smaller tables one prompt with two ids says that ids are those of rows
_OF_CASES = Holds.CONTEXT, Holds.CONTEXT_ROLE, Holds.IMAGE, Holds.SCENARIO, Holds.TYPE, Holds.LANGUAGE, Holds.SPLIT
_DIGITS, _NUMBER = re.compile(r"\d+(\.0)?"), re.compile(r"[A-Za-z]?\d+(\.0)?")  # of questions
_IN_WORDS = re.compile(r"(\d+\s*[-–=:.(]\s*)?\D+")  # a grade: "good", "5 - excellent"
_OF_ANSWERS = Holds.RESPONSE, Holds.REFERENCE, Holds.IGNORE  # what a column `answer` may be
_OF_TEXTS = Holds.REFERENCE, Holds.RESPONSE  # made from a source
_SAID_OF_CASES = (Holds.ANSWER, Holds.LABEL, Holds.CONTEXT, Holds.CHOICES)
_OF_ONE = Holds.RESPONSE, Holds.RESPONSE_TURNS, Holds.TURNS  # the last may end in a response
_SAY_OF: dict[Holds, tuple[Holds, ...]] = {  # roles that say something of others, of which the table must have one
    **dict.fromkeys((Holds.RATER, Holds.JUDGE), OPINIONS),
    **dict.fromkeys((Holds.RESPONSE_IMAGE, Holds.STOP, Holds.ERROR, Holds.SECONDS), _OF_ONE),
    **dict.fromkeys(names.ATTEMPTS, (*_OF_ONE, Holds.SYSTEM)),
}
_UNITS = ("ms", "s", "sec", "seconds")
LONG_BEGINNING = 100  # characters that prompts made of a template have in common
_NUMBER_WORDS = {2: "two", 3: "three", 4: "four"}


def resolve(part: Part, upload: UploadParts) -> Mapping:
    """Return the role of each column, and the questions that must be answered first; a part is resolved once."""
    _, known = upload.mappings.get(id(part), (part, None))
    if not isinstance(known, Mapping):
        known = _Resolver(part, upload).resolve()
        upload.mappings[id(part)] = part, known  # a part that is gone would leave its id() to another
    return known


class _Resolver(ColumnQuestions):
    """Gives roles to the columns of one part, the surest first."""

    def resolve(self) -> Mapping:
        """Return the mapping with every column."""
        self._take_chosen()
        self._find_pairs()
        self._find_prompt()
        self._find_response()
        self._find_system()
        self._find_numbered()
        self._find_answer()
        self._find_raters()
        self._find_opinions()
        self._find_wide()
        self._find_by_words()
        self._find_case()
        self._find_rest()
        self._leave_what_says_nothing()
        self.ask()
        self.ask_what_raters_say()
        self.ask_what_tells_apart()
        order = {name: self.roles.get(name, Holds.DETAIL) for name in self.columns}
        self.mapping.roles = order
        self.mapping.printed = self._printed_turns()
        return self.mapping

    def _printed_turns(self) -> frozenset[str]:
        """Return the columns of prompts and responses that hold lists with as many texts each: turns and replies."""
        asked, said = self.mapping.all(Holds.PROMPT), self.mapping.all(*RESPONDS, Holds.RESPONSE_B)
        is_open = asked and said and all(self.columns[name].mostly(are_texts) for name in (*asked, *said))
        rows = [[listed(parsed(row.fields.get(name))) for name in (*asked, *said)] for row in self.part.sample]
        are_turns = is_open and all(len(set(map(len, row))) == 1 for row in rows)
        return frozenset((*asked, *said)) if are_turns else frozenset()

    def _give(self, role: Holds, columns: Sequence[str], why: str = BY_NAME) -> None:
        """Give a role to the first column, or to all where several may have it."""
        taken = columns if role in REPEATED else [] if self.has(role) else columns[:1]
        for name in taken:
            self.roles[name] = role
            self.mapping.why[name] = why

    def _give_only(self, role: Holds, candidates: Sequence[str]) -> None:
        """Give a role to the one candidate; ask where there are several that differ."""
        cells: list[list[object]] = [self.columns[name].values for name in candidates]
        if role is Holds.REFERENCE:
            cells = [[reference_texts(value)[0] for value in values] for values in cells]
        if self.has(role) or not candidates:
            return
        if len(candidates) > 1 and any(values != cells[0] for values in cells):
            count = _NUMBER_WORDS.get(len(candidates), str(len(candidates)))
            message = f"{count} columns could be the {role.label.lower()}: {', '.join(candidates)}."
            answers: list[Answer] = [(role, [name]) for name in candidates]
            hint = f"{{}}{' or {}' * (len(answers) - 1)}."
            if role is Holds.PREFERENCE:
                hint, answers = f"{hint} Those of people are {{}}.", [*answers, (Holds.LABELS_OF, candidates)]
            self.ask_role("two-columns", message, hint, *answers)
        self._give(role, candidates[:1])

    def _take_chosen(self) -> None:
        for name, word in self.upload.options.columns.items():
            if name not in self.columns:
                continue
            if word not in names.MENU:
                roles = ", ".join(role for role in names.MENU)
                message = f"{word!r} is no role of a column."
                self.put("unknown-role", message, f"The roles are: {roles}.", "")
                continue
            whole = name.partition(".")[0] if name in self.mapping.paths else name
            if whole in self.columns:
                self.roles.setdefault(whole, Holds.DETAIL)
            role = Holds(word)
            if self.has(role) and role not in REPEATED:
                message = f"two columns are chosen for {role.label.lower()}: {self.mapping.one(role)}, {name}."
                self.put("same-role", message, "Choose one of them.", "")
            self.roles[name], self.mapping.why[name] = role, CHOSEN
            self.is_told = self.is_told or role not in (Holds.IGNORE, *OPINIONS)

    def _find_pairs(self) -> None:
        """Find the two responses of a row that compares two, and their systems."""
        if self.has(*RESPONDS):
            return
        by_key = {names.compared(names.system_of_responses(name) or name): name for name in self.free()}
        both = names.responses_beside(by_key)
        self.ask_whose_letters(both)
        are_attempts = self.strong(Holds.SYSTEM) and names.are_numbered(both)
        if are_attempts and not (self._preferences() or self.choosing()):
            self._give(Holds.RESPONSES_OF, both)  # attempts of the system that each row names
            return
        self._give(Holds.RESPONSE_A, both[:1])
        self._give(Holds.RESPONSE_B, both[1:])
        if not self.has(Holds.RESPONSE_A):
            self._find_sides()
        systems = names.systems_beside(by_key)
        self.turn_sides(systems)
        if self.has(Holds.RESPONSE_A) or self._compares_known(systems):
            for role, name in zip((Holds.SYSTEM_A, Holds.SYSTEM_B), systems, strict=False):
                self._give(role, [name])

    def _find_sides(self) -> None:
        """Find two responses that only what is preferred tells: its values are their headers, or they name models."""
        worded = [
            name for name in self.free() if self.columns[name].is_worded and not any(names.letter_of_choice(name))
        ]
        sides = [name for name in worded if names.is_model(name)] if self.strong(Holds.PREFERENCE) else []
        naming: dict[str, list[str]] = {}  # a column whose values name two headers, or ties -> these headers
        for name in self.free():
            said = self.columns[name].distinct
            named = [header for header in worded if not said.isdisjoint(names.systems_of(header))]
            is_of_more = any(names.is_model(header) for header in worded if header not in named)
            rest = said.difference(*map(names.systems_of, named))
            if len(named) == 2 and not is_of_more and all(preference(text) is Choice.TIE for text in rest):
                naming[name] = named
        if naming:
            self._give(Holds.PREFERENCE, [*naming] if len(naming) == 1 else [], BY_VALUES)
            sides = next(iter(naming.values()))
        for role, name in zip((Holds.RESPONSE_A, Holds.RESPONSE_B), sides, strict=False) if len(sides) == 2 else ():
            self._give(role, [name])

    def _compares_known(self, systems: Sequence[str]) -> bool:
        """Return whether a column says which of two responses is better that other files have, by case and system."""
        if not (systems and self.strong(Holds.CASE)) or self.strong(Holds.RESPONSE):
            return False
        named = {text for name in systems for text in self.columns[name].distinct}
        chosen = [*self.mapping.all(Holds.PREFERENCE, Holds.LABELS_OF), *self._preferences()]
        words = {word for name in chosen for word in self.columns[name].distinct}
        return any(word in named or preference(word) is not None for word in words)  # what others mean is asked

    def _find_prompt(self) -> None:
        """Find what is asked: a conversation, a prompt, an instruction above it."""
        turns = [name for name in self.named(Holds.TURNS) if self._is_turns(name)]
        if not turns and not self.strong(Holds.PROMPT):
            said = self.named(Holds.RESPONSE) + self.named(Holds.RESPONSE_TURNS)
            turns = [name for name in self.free() if self.columns[name].mostly(is_messages) and name not in said]
            turns = [name for name in turns if not self.columns[name].mostly(is_reply)]
            turns = turns if len(turns) == 1 else []
            self._give(Holds.TURNS, turns, BY_VALUES)
        self._give(Holds.TURNS, turns)
        prompts = [name for name in self.strong(Holds.PROMPT) if not (self._is_of_names(name) or self._counts(name))]
        filled = [name for name in prompts if self.columns[name].values]
        prompts = [name for name in filled if not self.columns[name].is_numbers]  # prices of an input
        prompts = sorted(prompts, key=self._is_template) or self._beside_replies()
        if names.compared(prompts[0]) == "instruction" if prompts else False:
            self._give_instruction(prompts[0], prompts[1:2])
        elif prompts:
            self._give(Holds.PROMPT, prompts)
            self._give_instruction(next(filter(self._is_instruction, prompts[1:]), ""), prompts[:1])
        if not self.has(*ASKS):
            weak = [name for name in self.named(Holds.PROMPT) if not names.is_source(name)]
            self._give(Holds.PROMPT, [name for name in weak if self._is_weak_prompt(name)])
        if not self.has(*ASKS):
            found = [name for name in self._unknown_texts() if names.has_word(name, Holds.PROMPT)]
            self._give(Holds.PROMPT, found if len(found) == 1 else [], BY_WORD)
        is_source_known = len(self.upload.parts) == 1 and self.strong(Holds.REFERENCE)  # else of cases that others ask
        is_made = self.strong(Holds.RESPONSE) or self.has(*PAIRED) or self._says_who_responded()
        if not self.has(*ASKS) and (is_made or is_source_known):
            sources = [name for name in self.named(Holds.PROMPT) if names.is_source(name)]
            self._give(Holds.PROMPT, [name for name in sources if self.columns[name].is_text])
        self._give_system_text()

    def _beside_replies(self) -> list[str]:
        """Return the column of what a user said, where one of what the assistant replied stands beside it."""
        said = {names.compared(name): name for name in self.free() if self.columns[name].is_worded}
        return [said[role] for role in ("user", "human") if role in said and "assistant" in said]

    def _is_of_names(self, name: str) -> bool:
        """Return whether a column has names again and again, as those of templates are: few_shot-1."""
        column = self.columns[name]
        return column.mostly(is_name) and len(column.distinct) * 2 <= len(column.values)

    def _counts(self, name: str) -> bool:
        """Return whether a column such as `question` has the numbers of what is asked: 7, or Q7 beside the text."""
        form = _NUMBER if self.has(*ASKS) or self.strong(Holds.PROMPT)[1:] else _DIGITS
        return self.columns[name].mostly(lambda value: form.fullmatch(as_text(value).strip()) is not None)

    def _is_constant(self, name: str) -> bool:
        return len(self.columns[name].distinct) == 1 < len(self.columns[name].values)

    def _is_template(self, name: str) -> bool:
        """Return whether a column holds one text for all rows, texts with a place that the question is put into, those
        of a judge, into which a question and a response were put, or questions behind the same long beginning."""
        within = [other for other in self.strong(Holds.PROMPT) if other != name and self._is_within(other, name)]
        is_open = not within and self.columns[name].mostly(_has_place)
        return self._is_constant(name) or is_open or (bool(within) and self._is_filled(name, within[0]))

    def _is_filled(self, name: str, asked: str) -> bool:
        pairs = [(as_text(row.fields.get(asked)), as_text(row.fields.get(name))) for row in self.part.sample]
        beginning, filled = pairs[0][1][:LONG_BEGINNING], dict(pairs)
        if len(pairs) > 1 and len(beginning) == LONG_BEGINNING and all(text.startswith(beginning) for _, text in pairs):
            return all(filled[question] == text for question, text in pairs)  # else it holds a document of each row too
        said = (other for other in self.columns if names.is_of_answers(other) and self.columns[other].is_prose)
        return any(self._is_within(other, name) for other in said)

    def _is_within(self, inner: str, outer: str) -> bool:
        """Return whether nine of ten rows have the text of one column within that of another."""
        pairs = [(as_text(row.fields.get(inner)).strip(), as_text(row.fields.get(outer))) for row in self.part.sample]
        return sum(bool(text) and text in whole for text, whole in pairs) >= 0.9 * len(pairs)

    def _is_instruction(self, name: str) -> bool:
        """Return whether a column stands above the prompts: by its name, or as it is the same for all rows."""
        is_constant = self._is_constant(name) and not self.columns[name].mostly(_has_place)
        return is_constant or names.compared(name) == "instruction"

    def _is_turns(self, name: str) -> bool:
        column = self.columns[name]
        is_context = names.rank(name, Holds.CONTEXT) is not None
        if not names.is_strong(name, Holds.TURNS):  # questions, which may be those of a reviewer
            is_answered = self.strong(Holds.RESPONSE) or self.strong(Holds.REFERENCE) or self.named(Holds.ANSWER)
            return bool(is_answered) and column.mostly(are_choices)
        is_other = self.strong(Holds.PROMPT) and column.mostly(_says_nothing)  # the rounds of an attack
        return column.mostly(is_messages if is_context else is_list) and not (is_other or column.mostly(is_reply))

    def _give_instruction(self, instruction: str, below: Sequence[str]) -> None:
        """Take an instruction above a prompt, unless the prompt has its text already."""
        if not instruction:
            return
        if not below:
            self._give(Holds.PROMPT, [instruction])
            return
        self._give(Holds.PROMPT, below)
        pairs = [(as_text(row.fields.get(instruction)), as_text(row.fields.get(below[0]))) for row in self.part.sample]
        if not all(above.strip() in text for above, text in pairs if above.strip()):
            self._give(Holds.INSTRUCTION, [instruction])

    def _is_weak_prompt(self, name: str) -> bool:
        """Return whether a column such as `text` or `task` holds what is asked: not the texts of systems, not tags."""
        is_of_answers = (
            self.mapping.list_of_responses or system_beside(self.part) or names.is_of_answers(self.part.stem)
        )
        is_response = names.rank(name, Holds.RESPONSE) and (self._says_who_responded() or is_of_answers)
        column = self.columns[name]
        is_passage = names.compared(name) == "text" and any(map(names.is_address, self.columns))
        is_passage = is_passage and not any(map(self.named, (Holds.REFERENCE, Holds.ANSWER, Holds.LABEL)))
        return not (is_response or is_passage) and (
            column.is_prose
            or column.mostly(is_question)
            or (len(self.columns) <= 2 and not (column.mostly(is_list) or self._counts(name)))
        )

    def _give_system_text(self) -> None:
        if self.has(*ASKS):
            named = [name for name in self.named(Holds.SYSTEM_TEXT) if not self.columns[name].mostly(is_list)]
            naming = [name for name in self.named(Holds.SYSTEM) if not self.columns[name].is_sentences]
            self._give(Holds.SYSTEM_TEXT, [name for name in named if name not in naming])

    def _find_response(self) -> None:
        if self.has(*RESPONDS):
            return
        named = self.named(Holds.RESPONSE_TURNS) + self.named(Holds.TURNS)
        turns = [name for name in named if self.columns[name].mostly(is_messages)]
        turns = [name for name in turns if self.named(Holds.RESPONSE_TURNS) or self.columns[name].mostly(is_reply)]
        if not (turns or self.has(Holds.TURNS) or self.strong(Holds.RESPONSE)) and self.strong(Holds.SYSTEM):
            turns = [name for name in self.free() if self.columns[name].is_recorded(is_named=True)]
            turns = turns if len(turns) == 1 else []
        self._give(Holds.RESPONSE_TURNS, turns)
        strong = [name for name in self.strong(Holds.RESPONSE) if not self.columns[name].mostly(are_digits)]
        strong = [
            name for name in strong if names.rank(name, Holds.SYSTEM) is None or self.columns[name].is_prose
        ]  # mt
        strong = strong or [
            name for name in self.named(Holds.RESPONSE) if (names.rank(name, Holds.RESPONSE) or (0,))[0] == 2
        ]
        if self.has(Holds.RESPONSE_TURNS):
            self._give(Holds.RESPONSE, strong)
            return
        self._give_only(Holds.RESPONSE, [name for name in strong if not self.columns[name].is_numbers] or strong)
        weak = [] if strong else [name for name in self.named(Holds.RESPONSE) if self.columns[name].may_be_written]
        if weak:
            is_said = self._says_who_responded() or (names.is_of_answers(self.part.stem) and not self.has(*ASKS))
            is_made = names.is_source(self.mapping.one(Holds.PROMPT)) and any(map(self.strong, _OF_TEXTS))
            self._give(Holds.RESPONSE, weak if is_said or is_made else [])
        is_open = self.has(*ASKS) and not (self.strong(Holds.REFERENCE) or self._says_who_responded())
        is_open = is_open and not self.upload.options.system
        either = [name for name in strong[:1] if names.rank(name, Holds.ANSWER)]  # Antwort may be, as answer may
        either += weak if is_open and not (self.has(Holds.RESPONSE) or any(map(self.named, _SAID_OF_CASES))) else []
        if is_open and len(either) == 1:
            self.ask_which(either[0], Holds.RESPONSE, Holds.REFERENCE, "what a system wrote, or the reference")

    def _says_who_responded(self) -> bool:
        """Return whether rows name the system, or the attempt at a case."""
        counts_attempts = self.strong(Holds.CASE) and self.strong(Holds.ATTEMPT)
        return bool(self.strong(Holds.SYSTEM) or self.has(Holds.SYSTEM) or counts_attempts)

    def _find_system(self) -> None:
        named = [name for name in self.named(Holds.SYSTEM) if not self.columns[name].is_sentences]
        is_answered = self.has(*RESPONDS) or bool(self.named(Holds.ANSWER))
        strong = [name for name in named if name in self.strong(Holds.SYSTEM)]
        if not self.has(*PAIRED):
            self._give(Holds.SYSTEM, named if is_answered else strong)

    def _find_numbered(self) -> None:
        """Find numbered references (ref_1, ref_2), any of which is right, and numbered contexts."""
        for role in (Holds.REFERENCE, Holds.CONTEXT):
            found = [name for name in self.free() if names.is_strong(names.unnumbered(name), role)]
            self._give(role, found if len(found) > 1 == len(set(map(names.unnumbered, found))) else [])

    def _find_answer(self) -> None:
        """Decide what `answer` is: the response beside a system or without a prompt, else the reference."""
        answers = [name for name in self.named(Holds.ANSWER) if not self.columns[name].is_decisions]
        answers = [name for name in answers if not self.names_models(name)]
        references = self.strong(Holds.REFERENCE) + self.mapping.all(Holds.REFERENCE)
        said = references or [name for name in self.free() if names.says_reference(name) and not self.cites(name)]
        if answers and not self.columns[answers[0]].mostly(is_list):  # then a list of references is one of passages
            said = [name for name in said if not self.columns[name].mostly(is_list)]
            references = [name for name in references if name in said]
        if answers and not self.has(*RESPONDS):
            is_response = (
                self.has(Holds.SYSTEM) or system_beside(self.part) or not (self.has(*ASKS) or self._unknown_texts())
            )
            metrics = [name for name in self.free() if names.compared(name) in names.METRICS]
            judging = [name for name in self.free() if self._judges(name) or self.names_models(name)]
            judging = metrics or judging or ([] if references else self.strong(Holds.RATER))
            is_of_answers = names.is_of_answers(self.part.stem) and not names.says_reference(self.part.stem)
            is_labelled = bool(self.strong(Holds.LABEL) and self.strong(Holds.RATER))
            if is_response or (references and metrics) or (is_labelled and not references):
                self._give(Holds.RESPONSE, answers if self._is_content(answers[0]) else [])
                self._ask_whose_choice(answers[0])
            elif (
                judging or is_of_answers or (said and not (self._choice_columns() and self.columns[said[0]].is_labels))
            ):
                beside = ", ".join(said or judging) or "the name of the file"
                message = f"{answers[0]} could be the response or the reference, beside {beside}."
                self.ask_role("two-roles", message, "{} or {} or {}.", *((role, answers[:1]) for role in _OF_ANSWERS))
        if self.has(*ASKS) and not self.has(Holds.REFERENCE):
            named = references or [name for name in answers if name not in self.roles]
            filled = [name for name in named if self.columns[name].values]
            self._give_only(Holds.REFERENCE, filled or self._right_labels() or named)
        elif self._is_key():
            self._give_only(Holds.REFERENCE, references)
            if references and names.compared(references[0]).startswith("solution"):
                self.ask_which(references[0], Holds.RESPONSE, Holds.REFERENCE, "what a system wrote or the reference")

    def _judges(self, name: str) -> bool:
        """Return whether a column says of the answer of each row how good it is."""
        column = self.columns[name]
        is_said = names.judges(name) or names.may_be_of_people(name) or names.is_wide_rater(name)
        is_said = is_said or names.compared(name) in WORTH or is_of_criterion(name)
        if (is_said or self.may_score(name)) and column.is_labels and column.values and not self._choice_columns():
            return True
        return self._judges_responses(name) and not any(
            self.columns[key].is_prose for key in self.named(Holds.RESPONSE)
        )

    def _is_key(self) -> bool:
        """Return whether nothing of a table is asked, answered or said: its references are those of known cases."""
        said = (Holds.SYSTEM, Holds.RATER, Holds.LABEL, Holds.SCORE, Holds.PREFERENCE)
        return not (self.has(*ASKS, *RESPONDS, Holds.SYSTEM) or any(map(self.strong, said)))

    def _unknown_texts(self) -> list[str]:
        """Return the free columns of texts whose names say nothing, one of which may be what is asked."""
        return [name for name in self.free() if self.columns[name].is_prose and not names.is_known(name)]

    def _is_content(self, name: str) -> bool:
        """Return whether an answer is a response, and not the label of a person in a table of labels alone."""
        is_label = bool(self.named(Holds.RATER)) and not self.has(Holds.SYSTEM, *ASKS)
        return not (is_label and self.may_label(name))

    def _right_labels(self) -> list[str]:
        """Return the columns of labels that say what is right: those that count the choices of a row, those that have
        what is predicted in the column of the response, and a `gold_label` where nothing responds."""
        named = self.strong(Holds.LABEL)
        named += [name for name in self.free() if names.compared(name) in ("correct", "actual", "correct_choice")]
        responses = [self.columns[name] for name in self.mapping.all(Holds.RESPONSE, Holds.RESPONSES_OF)]
        if self.strong(Holds.RATER):
            return []
        if responses and all(each.is_labels for each in responses):
            said = [name for name in named if self._says_what_is_right(name)]
            return [name for name in said if all(self.columns[name].distinct & each.distinct for each in responses)]
        if self.has(*RESPONDS):
            return []
        counting = [name for name in named if self._choice_columns() and self.columns[name].mostly(is_choice)]
        return counting or list(filter(names.says_right, named))

    def _says_what_is_right(self, name: str) -> bool:
        """Return whether a column may have what should be predicted: by its name, or as it has letters of choices."""
        if names.compared(name) == "correct":
            return bool(self._choice_columns()) and not self.columns[name].is_numbers
        return names.compared(name) == "actual" or names.rank(name, Holds.LABEL) == (0, 0) or names.says_right(name)

    def _choice_columns(self) -> list[str]:
        """Return the columns of choices: one with lists, or those headed A, B, C or option_1, option_2, option_3."""
        lists = [name for name in self.named(Holds.CHOICES) if self.columns[name].mostly(holds_choices)]
        letters: dict[str, dict[str, str]] = {}  # what is before the letter -> letter -> column
        for name in self.free():
            before, letter = names.letter_of_choice(name)
            if letter:
                letters.setdefault(before, {})[letter] = name
        several = [found for found in letters.values() if len(found) > 2]
        return lists or [several[0][letter] for letter in sorted(several[0])] if len(several) == 1 else lists

    def _may_choose(self, columns: Sequence[str]) -> bool:
        """Return whether a reference says one of these texts, by its place or in its words; true without a reference.
        Else they are what several systems wrote."""
        name = self.mapping.one(Holds.REFERENCE)
        pairs = [(parsed(row.fields.get(name)), row.fields) for row in self.part.sample] if name else []
        said = [is_choice(value) or value in map(fields.get, columns) for value, fields in pairs if value is not None]
        return 2 * sum(said) >= len(said)

    def _find_raters(self) -> None:
        """Find who labels: a column of raters, or one column for each."""
        opinions = self._labels()
        opinions += [*self._preferences(), *self._of_sides()] if self.has(*PAIRED) else self._scores()
        opinions = opinions or [name for name in self.named(Holds.ANSWER) if not self._is_content(name)] or self.rated()
        if not opinions and not self.has(*OPINIONS):
            return
        raters = [name for name in self.strong(Holds.RATER) if not self.columns[name].is_text]
        is_known = self.has(Holds.RESPONSE, Holds.RESPONSE_TURNS, *PAIRED, Holds.SYSTEM)
        self._give_only(Holds.RATER, raters or ([] if is_known else self.named(Holds.RATER)))
        if not self.has(Holds.RATER) and is_known:
            self._give(Holds.JUDGE, self.named_judges())

    def _preferences(self) -> list[str]:
        """Return the columns of preferences: by their names or a word of them, else the one whose values name a side or
        a tie."""
        said = [*self.strong(Holds.PREFERENCE), *(name for name in self.free() if names.chooses(name))]
        if said:
            return list(dict.fromkeys(said))
        naming = [name for name in self.free() if self.names_sides(name)]
        is_one = len(naming) == 1 and set(self.choosing()) <= set(naming)
        return self.named(Holds.PREFERENCE) or (naming if is_one else [])

    def _find_opinions(self) -> None:
        """Find preferences, labels and scores."""
        if self.has(*PAIRED):
            self._give(Holds.LABEL if self.has(Holds.RATER) else Holds.SCORE, self._of_sides())
            chosen = [name for name in self._preferences() if self.columns[name].is_labels]
            is_said = any(names.chooses(name) or names.is_strong(name, Holds.PREFERENCE) for name in chosen)
            self._give_only(Holds.PREFERENCE, chosen if is_said else chosen[:1])
            return
        is_known = self.has(Holds.SYSTEM) or bool(self.upload.options.system)
        is_answered = self.has(*RESPONDS) or bool(is_known and (self.named(Holds.CASE) or self.is_recorded()))
        scores, labels = self._scores(), self._labels()
        strong = [name for name in labels if names.is_strong(name, Holds.LABEL)]
        if self.has(Holds.JUDGE):
            self._give(Holds.SCORE, scores or strong[:1])
        elif self.has(Holds.RATER):
            answers = [name for name in self.named(Holds.ANSWER) if self.columns[name].is_labels]
            is_by_header = len(scores) > 1 or len(self.mapping.all(Holds.LABEL)) > 1
            if is_by_header and not self.named(Holds.CRITERION):  # then each is a label by a criterion
                self._give(Holds.LABEL, strong or scores)
            self._give_only(Holds.LABEL, strong or [*labels, *answers, *scores][:1])
        else:
            said = {name for name in strong if names.rank(name, Holds.LABEL) == (0, 0) or names.says_people(name)}
            is_alone = {*filter(None, self.columns)} == {*strong, *self.named(Holds.CASE)}
            plain = [name for name in strong if is_answered or is_alone or name in said]
            graded = [name for name in self.free() if names.is_score(name) and self._is_graded_in_words(name)]
            given = [name for name in self.free() if self.columns[name].mostly(_is_given_by_people)]
            self._give_only(Holds.LABEL, plain or given or (graded if is_answered and len(graded) == 1 else []))
        if is_answered:
            self._give(Holds.SCORE, [name for name in scores if name not in self.roles])

    def _of_sides(self) -> list[str]:
        """Return the columns of numbers that judge each response of a pair: rating_a and rating_b."""
        sides = self.mapping.all(Holds.RESPONSE_A, Holds.RESPONSE_B)
        numbers = [name for name in self.free() if self.columns[name].is_numbers]
        of_sides = [[name for name in numbers if names.judges(names.said_of_side(name, side))] for side in sides]
        return [name for found in of_sides for name in found if all(of_sides)]

    def _is_graded_in_words(self, name: str) -> bool:
        """Return whether the values are grades in words: CORRECT, INCORRECT; they may be numbered: 5 - Excellent."""
        column = self.columns[name]
        return (
            column.is_labels
            and not column.is_numbers
            and column.mostly(lambda value: bool(_IN_WORDS.fullmatch(as_text(value).strip())))
        )

    def _scores(self) -> list[str]:
        is_rated = self.has(Holds.RATER) or bool(self.strong(Holds.RATER))
        is_judged = self.has(Holds.JUDGE) or (self.has(*RESPONDS) and bool(self.strong(Holds.JUDGE)))
        named = [
            name
            for name in self.free()
            if names.is_score(name) or (is_rated and (names.is_rating(name) or names.scale_said(name)))  # Fluency (1-5)
        ]
        named = [name for name in named if is_rated or not (names.says_people(name) or names.is_wide_rater(name))]
        named = named or [name for name in self.named(Holds.LABEL) if is_judged]
        twice = {
            name for name in named if names.is_in_scores(name) and name.removesuffix("_score") in set(named) - {name}
        }
        return [name for name in named if self.columns[name].is_numbers and name not in twice]

    def _labels(self) -> list[str]:
        """Return the columns named as labels whose values are some; a category is one only where nothing
        responds or somebody labels."""
        named = [name for name in self.named(Holds.LABEL) if self.columns[name].is_labels and self.columns[name].values]
        weak = [name for name in named if not names.is_strong(name, Holds.LABEL)]
        is_open = weak and self.is_rated()
        further = self.further_rows(self.part.sample, weak, *OF_RESPONSES) if is_open else None
        if further is not None and further.are_many:  # what is the same for all who label is of the case
            named = [name for name in named if name not in weak or name in further.differing]
        if not self.has(*RESPONDS):
            return named
        said = [name for name in named if names.is_score(name) or names.is_strong(name, Holds.LABEL)]
        return said or (named if self.is_rated() else [])

    def _find_wide(self) -> None:
        """Find columns side by side: the responses of systems, or the labels of raters."""
        if not self.has(Holds.LABEL, Holds.PREFERENCE):
            raters = [name for name in self.free() if names.is_wide_rater(name)]
            raters = [name for name in raters if self.columns[name].is_labels]
            self._give(Holds.LABELS_OF, raters if len(raters) > 1 else [])
        if self.has(Holds.RESPONSE, Holds.RESPONSE_TURNS, *PAIRED, Holds.LABELS_OF):
            return
        if self.has(*ASKS) or self.named(Holds.CASE) or any(map(names.PROVIDER_HEADER.fullmatch, self.columns)):
            systems = [name for name in self.free() if names.is_model(name)] or self._numbered_responses()
            named = set(filter(None, map(names.named_responses, systems)))
            responding = [*systems, *self.mapping.all(Holds.RESPONSES_OF)]
            about = {name: by for name in self.free() if (by := self._judges_a_system(name, responding, named))}
            systems = [name for name in systems if name not in about and not self._counts_a_double(name)]
            if any(self.columns[name].is_prose for name in systems):  # then numbers beside are codes of what they did
                systems = [
                    name for name in systems if names.is_numbered_response(name) or not self.columns[name].is_numbers
                ]
            is_said = named or any(
                names.PROVIDER_HEADER.fullmatch(name)
                or names.system_of_responses(name)
                or names.is_numbered_response(name)
                for name in systems
            )
            is_chosen = bool(self._choice_columns()) and all(self.columns[name].mostly(is_choice) for name in systems)
            is_written = is_said or is_chosen or any(self.columns[name].is_worded for name in systems)
            self._give(Holds.RESPONSES_OF, systems if is_written else [])
            for name, by in about.items() if self.has(Holds.RESPONSES_OF) else ():
                self._give(Holds.LABEL if names.labels(by) else Holds.SCORE, [name])
            self._give(Holds.JUDGE, self.named_judges() if self.has(Holds.SCORE) else [])

    def _counts_a_double(self, name: str) -> bool:
        """Return whether a column of numbers has the header of one of texts, as ratings below one of their own have."""
        match = DOUBLE.fullmatch(name)
        header = self.columns.get(match[1]) if match else None
        return header is not None and header.is_worded and self.columns[name].is_numbers

    def _judges_a_system(self, name: str, systems: Sequence[str], named: Collection[str]) -> str:
        """Return by what a column judges a system that another column names, as gpt-4 beside gpt-4_response does."""
        others = {*named, *systems, *map(names.system_of_responses, systems)} - ({name} - set(named))
        said_of = names.said_of_side if names.are_numbered(systems) else names.said_of
        said = (by for system in others if names.judges(by := said_of(name, system)))
        return next(
            (by for by in said if self.columns[name].is_numbers or (names.labels(by) and self.columns[name].is_labels)),
            "",
        )

    def _numbered_responses(self) -> list[str]:
        """Return columns such as response_1, response_2, response_3; two are a pair."""
        found = [name for name in self.free() if names.is_numbered_response(name)]
        return found if len(found) > 2 else []

    def _find_by_words(self) -> None:
        """Give a role that no name stands for to the one column whose name has a word for it, as "LLM answer" has."""
        unknown = [name for name in self.free() if "." not in name and not names.is_known(name)]
        unknown += [
            name for name in self.free() if names.compared(name).endswith("_model") and names.is_about_row(name)
        ]
        unknown = [name for name in unknown if not names.is_in_table(name)]
        said = {name: names.words_of(name) for name in unknown}
        roles = {name: [role for role, words in names.WORDS.items() if words & said[name]] for name in unknown}
        for role in names.WORDS:
            found = [name for name in unknown if roles[name][:1] == [role] and self._is_by_word(name, role, said[name])]
            if found and role is Holds.REFERENCE:  # a case may expect several things: expected_category beside it
                found += [name for name in self.free() if names.is_about_row(name) and names.has_word(name, role)]
            is_open = not self.has(
                role, *(RESPONDS if role is Holds.RESPONSE else ASKS if role is Holds.PROMPT else ())
            )
            if len(found) == 1 and is_open:
                self._give(role, found, BY_WORD)
                if role is Holds.RESPONSE:  # then opinions are of it
                    self._find_raters()
                    self._find_opinions()

    def _is_by_word(self, name: str, role: Holds, words: set[str]) -> bool:
        column = self.columns[name]
        if role is Holds.RESPONSE:
            says_system = not names.WORDS_OF_SYSTEMS.isdisjoint(words) or self.has(Holds.SYSTEM)
            return says_system and column.is_prose
        if role is Holds.SYSTEM:
            is_opinion = any(names.rank(word, role) for word in words for role in OPINIONS)
            return self.has(*RESPONDS) and not (is_opinion or column.is_sentences or self.has(Holds.SYSTEM_A))
        if role is Holds.PROMPT:
            return column.is_prose
        return self.has(*ASKS) and not (column.holds_objects or self._is_constant(name))

    def _find_case(self) -> None:
        """Find the id of the case; an id of which one prompt has several is that of a row."""
        is_named = self.has(*ASKS, Holds.CASE) or self.named(Holds.CASE)
        self._give(Holds.CASE_PATH, [] if is_named else self.named(Holds.CASE_PATH))
        prompt = self.mapping.one(Holds.PROMPT) or self.mapping.one(Holds.TURNS)
        named = sorted(self.named(Holds.CASE), key=lambda name: self._is_of_groups(name, prompt))
        for name in named + list(filter(self._counts, self.strong(Holds.PROMPT))):
            if self.has(Holds.CASE):
                return
            is_judged = prompt and self.has(*RESPONDS, Holds.LABEL)
            if is_judged and (self._is_of_rows(name, prompt) or self._asks_what_others_ask(name, prompt)):
                self._give(Holds.ROW_ID, [name], BY_VALUES)
            else:
                self._give(Holds.CASE, [name])

    def _is_of_groups(self, name: str, prompt: str) -> bool:
        """Return whether ids are those of several questions each, as task_id may be beside uid."""
        if not prompt:
            return self._is_constant(name)
        return len(self.columns[name].distinct) < len(self.columns[prompt].distinct)

    def _is_of_rows(self, id_column: str, prompt: str) -> bool:
        """Return whether the ids are those of rows: none comes twice, and several belong to one prompt.

        All rows are looked at where the sample has neither and rows of one prompt are likely.
        """
        repeats = self.has(Holds.SYSTEM, *names.ATTEMPTS, Holds.RATER, Holds.JUDGE, Holds.CRITERION, *PAIRED)
        is_of_rows = self._is_counted(iter(self.part.sample), id_column, prompt)
        if is_of_rows is None and repeats and len(self.part.sample) >= FEW_ROWS:
            is_of_rows = self._is_counted(self.part.rows(), id_column, prompt)
        return bool(is_of_rows)

    def _asks_what_others_ask(self, id_column: str, prompt: str) -> bool:
        """Return whether questions of another file have all prompts of this one, and other ids: then those count."""
        ids, prompts = (
            {as_text(value_at(row.fields, column, self.mapping)).strip() for row in self.part.sample}
            for column in (id_column, prompt)
        )
        for other in self.upload.parts if len(prompts) > 2 else ():
            key, asked = (names.strongest(other.columns, role) for role in (Holds.CASE, Holds.PROMPT))
            if other is not self.part and key and asked and not names.strongest(other.columns, Holds.RESPONSE):
                missing = set(prompts)
                for row in other.rows():  # of most, one of the first has an id of this file
                    if as_text(row.fields.get(key)).strip() in ids:
                        break
                    missing.discard(as_text(row.fields.get(asked)).strip())
                else:
                    if not missing:
                        return True
        return False

    def _is_counted(self, rows: Iterator[Row], id_column: str, prompt: str) -> bool | None:
        prompts, ids, count = self._ids_of(rows, id_column, prompt)
        again = sum(len(values) - 1 for values in prompts.values())
        if ids < count:
            return False
        return (count < FEW_ROWS or again * 10 >= count) or None if again else None

    def _ids_of(self, rows: Iterator[Row], id_column: str, prompt: str) -> tuple[dict[int, set[str]], int, int]:
        """Return the ids of each prompt, how many ids there are, and how many rows have one."""
        prompts: dict[int, set[str]] = {}
        ids: set[str] = set()
        count = 0
        about = [prompt, *self._beside_prompts()]
        for row in rows:
            key = as_id(value_at(row.fields, id_column, self.mapping))
            if key:
                asked = [as_text(value_at(row.fields, name, self.mapping)) for name in about]
                prompts.setdefault(hash(str(asked)), set()).add(key)
                ids.add(key)
                count += 1
        return prompts, len(ids), count

    def _beside_prompts(self) -> list[str]:
        """Return the columns that tell cases with one prompt apart: what several systems found are no such contexts."""
        system = self.mapping.one(Holds.SYSTEM)
        is_of_one = not system or len(self.columns[system].distinct) < 2
        contexts = self.named(Holds.CONTEXT) if is_of_one else []
        own = self.mapping.all(Holds.INSTRUCTION, Holds.SYSTEM_TEXT, Holds.REFERENCE)
        return [*own, *contexts, *self.named(Holds.IMAGE), *self.named(Holds.LANGUAGE), *self.strong(Holds.REFERENCE)]

    def _find_rest(self) -> None:
        """Give the roles whose names are plain: they never compete with those before."""
        choices = self._choice_columns() if self.has(*ASKS) else []
        self._give(Holds.CHOICES, choices if len(choices) == 1 or self._may_choose(choices) else [])
        answered = (*RESPONDS, Holds.LABEL, Holds.LABELS_OF, Holds.PREFERENCE)
        if self.has(*answered, Holds.SCORE):
            for role in (Holds.RESPONSE_IMAGE, Holds.TIME, Holds.ROW_ID, Holds.STOP):
                self._give(role, self.named(role))
            named = [name for name in self.named(Holds.CRITERION) if not self.columns[name].holds_objects]
            is_said = self.has(*OPINIONS)  # else of responses that people are to judge
            self._give(Holds.CRITERION, [name for name in named if is_said or not self.columns[name].is_numbers])
            is_explained = self.has(Holds.RESPONSE_A, *OPINIONS) and len(self.mapping.all(Holds.SCORE)) < 2
            self._give(Holds.REASON, self.reasons() if is_explained else [])  # else of nothing that is read
            self._give(Holds.ERROR, [name for name in self.named(Holds.ERROR) if not self.columns[name].is_decided])
            for role in (Holds.COST, Holds.TOKENS):
                self._give(role, self.named(role))
            timed = [name for name in self.named(Holds.SECONDS) if self.columns[name].is_numbers]
            self._give(Holds.SECONDS, [name for name in timed if names.compared(name).rpartition("_")[2] in _UNITS])
            attempts = self.named(Holds.ATTEMPT)
            attempts = [name for name in attempts if "attempt" in name or self.columns[name].is_numbers]
            self._give(Holds.ATTEMPT, [] if self.has(Holds.ATTEMPT_FROM_1) else attempts)
            self._ask_which_attempt_is_first()
        if self.has(*ASKS) and not self.has(Holds.REFERENCE):
            self._give_only(Holds.REFERENCE, self.strong(Holds.REFERENCE))
        rubrics = [name for name in self.named(Holds.RUBRIC) if all(map(is_rubric, self.columns[name].values))]
        self._give(Holds.RUBRIC, rubrics if self.has(*ASKS) else [])
        for role in _OF_CASES:
            as_objects = role in (Holds.CONTEXT, Holds.IMAGE)
            fitting = [name for name in self.named(role) if as_objects or not self.columns[name].holds_objects]
            if role is Holds.CONTEXT:  # numbers count or name something
                fitting = [name for name in fitting if not self.columns[name].is_numbers]
            self._give(role, fitting if self.has(*ASKS) else [])
        if not self.has(*ASKS) and self.has(*RESPONDS):  # then images are those of responses
            self._give(Holds.RESPONSE_IMAGE, self.named(Holds.IMAGE))

    def _leave_what_says_nothing(self) -> None:
        """Take a role away that says something of what the table has not: its column stays a detail."""
        several = self.mapping.all(Holds.RESPONSES_OF)
        idle = [role for role, of in _SAY_OF.items() if not self.has(*of)]
        idle += [Holds.SYSTEM] if several and not names.are_numbered(several) else []  # their headers name the systems
        for name in self.mapping.all(*idle):
            if self.mapping.why[name] != CHOSEN:
                del self.roles[name]


def _is_given_by_people(value: object) -> bool:
    entries = objects(value) if isinstance(value, list) else []
    raters = Column("", [entry.get(names.strongest(entry, Holds.RATER)) for entry in entries])
    return bool(entries) and None not in raters.values and not raters.is_sentences


def _says_nothing(value: object) -> bool:
    """Return whether a value is a list of objects, none of which has the text of a turn."""
    entries = objects(value)
    return bool(entries) and not any(map(content_of, entries))


def _has_place(value: object) -> bool:
    return "{}" in as_text(value)
