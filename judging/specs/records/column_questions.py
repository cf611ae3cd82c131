"""Asks the person what the columns of a table are where nothing tells it, before the table is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from evalsite.base.types import JsonDict, as_text, objects
from judging.specs.records import names
from judging.specs.records.api_replies import is_api_reply, is_whole_reply
from judging.specs.records.columns import (
    ASKS,
    BY_NAME,
    CHOSEN,
    IF_SO,
    OPINIONS,
    RESPONDS,
    UNKNOWN_COLUMNS,
    Column,
    Mapping,
    ends_in_reply,
    is_grade,
    number_of,
    option,
    says_who_answered,
    system_beside,
    system_named,
    value_at,
)
from judging.specs.records.names import Holds
from judging.specs.records.opinion_questions import OpinionQuestions, is_one_word, is_word, opinions_in
from judging.specs.records.preferences import degree, names_a_side
from judging.specs.records.values import (
    are_choices,
    as_count,
    as_id,
    has_words,
    holds_words,
    in_one_list,
    is_choice,
    is_list,
    is_question,
    listed,
    reply_in,
)
from judging.specs.spreadsheets import FormulaText
from judging.specs.turns import role_of

DOUBLE = re.compile(r"(.+) \(\d+\)")  # how a header that stands twice is told apart
MOST_ALIKE = 10  # files beside one, in which the same ids are looked for

_SEVERAL = frozenset({"candidates", "samples", "runs", "variants", "replies", "results", "generations"})  # of texts
_CONVERSATIONS = frozenset({"session", "conversation", "conv", "dialog", "dialogue", "chat", "thread"})
_OF_EACH = "holds objects that seem to say something of each response"
_LABELLED = (Holds.LABEL, Holds.LABELS_OF)
PAIRED = (Holds.RESPONSE_A, Holds.SYSTEM_A)


class ColumnQuestions(OpinionQuestions):
    """What must be asked once roles are given."""

    def ask(self) -> None:
        """Ask what the columns are where nothing says it."""
        self._ask_about_objects()
        self._ask_about_labels()
        if self.mapping.questions.has_errors:
            return
        turns = self.mapping.one(Holds.TURNS)
        is_about = self.has(*ASKS, Holds.CASE, Holds.CASE_PATH)
        is_judged = any(map(self._judges_responses, self.free()))
        is_lost = self.has(*_LABELLED) and not self.has(*RESPONDS)
        rest = [name for name in self.free() if self.columns[name].values and self._is_open(name, is_judged or is_lost)]
        texts = [name for name in rest if self._may_respond(name) or (is_lost and self.columns[name].is_text)]
        labels = self._labels_among(rest, texts)
        is_of_reference = self.has(Holds.REFERENCE)  # then a word alone says little
        is_said = any(
            names.may_be_of_responses(name) or (names.has_word(name, Holds.RESPONSE) and not is_of_reference)
            for name in texts
        )
        is_judged = is_judged or len(labels) > 1 or names.is_model(self.part.name or self.part.stem)
        is_judged = is_judged or any(self.columns[name].holds_objects and names.is_known(name) for name in texts)
        is_told = self.is_told or not (len(texts) > 1 or is_said or (texts and is_judged))
        wide = self.mapping.all(Holds.RESPONSES_OF)
        if self.has(*RESPONDS, *OPINIONS) or (
            turns and (self.columns[turns].mostly(ends_in_reply) or (self.is_recorded() and self.has(Holds.SYSTEM)))
        ):
            is_guessed = any(self.mapping.why[name] == BY_NAME for name in wide)
            is_open = (is_guessed or is_lost) and bool(texts) and not self.is_told
        elif is_about and len(texts) < 2 and set(texts) <= set(labels) and not self._lists_texts(rest) and labels[1:]:
            self.ask_for(
                Holds.LABEL,
                Holds.LABEL if self.is_rated() else Holds.LABELS_OF,
                [] if any(names.is_rating(name) for name in self.free() if name not in labels) else labels,
            )
            return
        else:
            is_asked = self.has(*ASKS) or (self.has(Holds.REFERENCE) and is_about and not texts)
            is_open = not is_asked or self.has(Holds.SYSTEM) or not is_told
        if is_open:
            wordy = [name for name in rest if name in texts or self._may_be_words(name)]
            self.ask_for(Holds.RESPONSE, Holds.RESPONSES_OF, [*wide, *wordy])
        elif not is_about:
            self._ask_for_prompt()

    def _may_be_words(self, name: str) -> bool:
        """Return whether a column has texts that may be short responses, and counts nothing by its name."""
        return any(map(is_word, self.columns[name].values)) and not names.is_number_of(name)

    def _ask_for_prompt(self) -> None:
        message = f"which column holds the prompt or the id of the case? It has: {self.names_of_all()}."
        hint = "Say it with --map prompt=COLUMN or --map case=COLUMN."
        page_hint = f"Choose {Holds.PROMPT.label} or {Holds.CASE.label} for one of them under Columns."
        self.put(UNKNOWN_COLUMNS, message, hint, page_hint, (), *self.may_be_asked())

    def _is_open(self, name: str, is_judged: bool) -> bool:
        """Return whether a column may be of responses or labels: by a name that says nothing, or that says either where
        nothing else is one."""
        is_rated = not self.has(*RESPONDS, *OPINIONS) and names.may_be_rated(name)
        is_said = is_rated or (not self.has(*RESPONDS) and names.may_be_of_responses(name))
        is_judged = is_judged or self.columns[name].holds_objects
        return is_said or not names.is_known(name) or (is_judged and names.rank(name, Holds.RESPONSE) is not None)

    def _labels_among(self, columns: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the columns that may be labels; beside what is asked only those that are like others."""
        found = [name for name in columns if self.may_label(name)]
        return self.alike(found) if self.has(*ASKS) else [name for name in found if name not in texts]

    def _lists_texts(self, columns: Sequence[str]) -> bool:
        """Return whether a column has lists of texts, as those of what is asked one after the other."""
        lists = [name for name in columns if self.columns[name].mostly(are_choices)]
        texts = [as_text(text) for name in lists for value in self.columns[name].values for text in listed(value)]
        return any(len(text.split()) > 3 for text in texts)

    def _judges_responses(self, name: str) -> bool:
        """Return whether a column is a metric by its name, or holds objects with opinions."""
        return names.compared(name) in names.METRICS or any(
            any(opinions_in(value)) for value in self.columns[name].values
        )

    def _ask_for_cases(self) -> None:
        """Refuse a leaderboard: rows of a system each, with figures and no texts."""
        about = (*ASKS, *RESPONDS, Holds.CASE_PATH, Holds.RATER, Holds.JUDGE, Holds.LABELS_OF, Holds.REFERENCE)
        systems = next((name for name in self.columns if name and self._counts_systems(name)), "")
        case = self.mapping.one(Holds.CASE)
        if case not in ("", systems) and names.is_strong(case, Holds.CASE):
            return
        others = [name for name in self.columns if name not in ("", systems)]
        figures = [name for name in others if self.columns[name].is_numbers and not names.is_number_of(name)]
        is_said = self.is_told or any(self.columns[name].is_text for name in others)
        if not figures or is_said or self.has(*about):
            return
        if systems:
            message = f"this is a leaderboard: it has figures of systems ({', '.join(figures[:4])}), and no cases."
        elif not self.has(Holds.LABEL) and all(map(self._is_figure_or_group, others)):
            message = f"it has figures ({', '.join(figures[:4])}), and neither cases nor texts."
        else:
            return
        hint = "Bring the responses and scores of each case, from which these figures were computed."
        self.put(UNKNOWN_COLUMNS, message, hint, hint)
        self.mapping.is_leaderboard = True

    def _is_figure_or_group(self, name: str) -> bool:
        """Return whether a column has numbers, or short words that come again, and no ids of what was asked."""
        column = self.columns[name]
        is_named = any(names.rank(name, role) for role in (Holds.SPLIT, Holds.SCENARIO, Holds.CRITERION))
        is_group = column.is_labels and (is_named or not column.is_prose) and not column.mostly(is_list)
        is_id = names.compared(name).rpartition("_")[2] == "id"
        return not is_id and (column.is_numbers or is_group or not column.values)

    def _ask_about_names(self) -> None:
        """Ask where what is asked would be names of systems, or names beside figures, as statistics have."""
        prompt = self.mapping.one(Holds.PROMPT)
        others = [name for name in self.columns if name not in ("", prompt)]
        figures = [name for name in others if self.columns[name].is_numbers and not names.is_number_of(name)]
        is_asking = prompt and self.mapping.why[prompt] != CHOSEN and len(self.part.sample) > 1
        is_open = is_asking and not self.has(*RESPONDS, Holds.REFERENCE)
        asked = self.columns[prompt] if is_open else Column("", [])
        is_named = asked.mostly(is_one_word) and names.are_models([as_text(value) for value in asked.values])
        if is_named or (
            is_open and figures and all(self.columns[name].mostly(is_one_word) for name in [prompt, *others])
        ):
            named = "systems" if is_named else f"what the figures beside it are of ({', '.join(figures[:4])})"
            message = f"{prompt} seems to name {named}."
            hint = "Bring the responses and scores of each case. If the names are what is asked, "
            self.ask_or_keep(prompt, "names-asked", message, hint, Holds.PROMPT)

    def _counts_systems(self, name: str) -> bool:
        """Return whether a column names a system in each row, and few of them again."""
        column = self.columns[name]
        named = [value for value in column.values if isinstance(value, str) and names.is_model(value)]
        is_system = self.roles.get(name) is Holds.SYSTEM or len(named) * 3 > len(column.values)
        return is_system and len(column.distinct) * 2 > len(column.values)

    def _may_respond(self, name: str) -> bool:
        """Return whether a column may hold what systems wrote: texts, or short ones with a word for it in the name."""
        column = self.columns[name]
        return not names.is_of_media(name) and (
            column.may_be_written
            or (names.is_model(name) and not (column.is_numbers and self.has(*RESPONDS, *_LABELLED)))
            or (column.is_worded and names.has_word(name, Holds.RESPONSE))
            or (not column.is_numbers and names.may_be_of_responses(name))
        )

    def _ask_about_labels(self) -> None:
        """Ask where labels name responses that the table has not, or answers count choices that no column is."""
        self._ask_about_doubles()
        self._ask_about_ids()
        self._ask_whose_lists()
        self.ask_who_labels()
        self.ask_against_headers()
        self._ask_about_marks()
        self.ask_about_ratings()
        of_two = names.systems_beside({names.compared(name): name for name in self.columns})
        name = self.mapping.one(Holds.LABEL) or next(filter(names.chooses, self.free() if of_two else ()), "")
        words = self.columns[name].distinct if name and not self.has(*RESPONDS, Holds.SYSTEM_A) else set()
        is_judged = self.has(Holds.PREFERENCE, Holds.LABELS_OF)
        say_so = (names.says_opinion, names.may_choose, names.may_be_of_people)
        labels = [name for name in self.free() if any(says(name) for says in say_so)]
        labels = labels or [name for name in self.free() if self._is_open(name, False) and self.may_label(name)]
        labels = [name for name in labels if not self.columns[name].counts_rows]
        labels = list(filter(self.is_of_sides, labels))
        labels = [] if self.is_rated() else labels  # then who labels says what to ask
        choosing = self.choosing() or labels if self.has(Holds.RESPONSE_A) and not is_judged else []
        if choosing:
            self.ask_for(Holds.PREFERENCE, Holds.LABELS_OF, choosing)
        asked = self.mapping.one(Holds.PROMPT) if words and not self.has(Holds.RATER, Holds.SYSTEM) else ""
        if asked and self.columns[asked].mostly(is_question):
            self.ask_which(name, Holds.REFERENCE, Holds.LABEL, f"right to answer {asked}, or what a person said")
        if any(names_a_side(word) or degree(word) is not None for word in words):
            message = f"the values of {name} name two responses, which the table does not have."
            hint = "Bring them beside it. If columns hold them, say --map response-a=COLUMN --map response-b=COLUMN."
            page_hint = f"Bring them beside it, or choose {Holds.RESPONSE_A.label} and {Holds.RESPONSE_B.label}."
            self.put("unknown-sides", message, hint, page_hint)
        self._ask_about_choices()

    def _ask_about_marks(self) -> None:
        """Ask where each row labels a piece of a text, from one place in it to another."""
        by_key = {names.compared(name): name for name in self.free() if self.columns[name].is_numbers}
        marked = [by_key[key] for key in names.PLACES if key in by_key]
        if len(marked) == 2 and self.has(Holds.LABEL) and not self.has(*RESPONDS):
            message = (
                f"{' and '.join(marked)} say which piece of a text each row labels, which no label of all of it is."
            )
            hint = "Bring them as Label Studio or doccano write them. To take them for labels of all of it, "
            self.ask_or_keep(marked[0], "marks", message, hint)

    def ask_what_raters_say(self) -> None:
        """Ask where a column names who labels, and nothing is known to be a label."""
        is_said = self.has(*OPINIONS) or self.mapping.questions.has_errors
        raters = [] if is_said or not self.is_rated() else self.mapping.all(Holds.RATER) or self.strong(Holds.RATER)
        found = [name for name in self.free() if name not in raters and self._may_be_said(name)] if raters else []
        if found:
            role, said = (Holds.PREFERENCE, found[:1]) if self.has(Holds.RESPONSE_A) else (Holds.LABEL, found)
            message = f"{raters[0]} names who labels, but no column is known to hold labels; {', '.join(found)} may."
            self.ask_role("unknown-labels", message, IF_SO, (role, said), (Holds.DETAIL, raters[:1]))

    def _may_be_said(self, name: str) -> bool:
        """Return whether a column has few values that differ, or ticks in some rows, under a name that says no role."""
        is_opinion = names.is_rating(name) or names.is_score(name) or names.may_choose(name)
        is_other = (names.is_in_table(name) and not is_opinion) or names.is_number_of(name)
        column = self.columns[name]
        is_of_row = len(column.distinct) > 1 or 0 < len(column.values) < len(self.part.sample)
        return column.is_labels and is_of_row and not is_other

    def _ask_about_choices(self) -> None:
        """Ask where an answer may count the texts of a list that nothing names as choices, and where numbered answers
        may be right ones, as nothing chooses one of them."""
        several = self.mapping.all(Holds.CHOICES)
        said = {names.letter_of_choice(name)[0] for name in several[1:] if self.mapping.why[name] != CHOSEN}
        if said & {"answer", "ans"} and not self.has(Holds.REFERENCE):
            message = f"{', '.join(several)} may be the choices of a question, or answers that are right."
            hint = f"Say which: {option(Holds.CHOICES, *several)}, or {option(Holds.REFERENCE, *several)}. In place of "
            hint += f'{Holds.REFERENCE}, write "{Holds.RESPONSES_OF}" if systems gave them.'
            roles = Holds.CHOICES, Holds.REFERENCE, Holds.RESPONSES_OF
            page_hint = f"Choose {roles[0].label}, {roles[1].label} or {roles[2].label} for each."
            self.put("two-roles", message, hint, page_hint, several, *([(role, several)] for role in roles))
        answer = self.mapping.one(Holds.REFERENCE) or ("" if self.has(*RESPONDS) else self.mapping.one(Holds.LABEL))
        if answer and not self.has(Holds.CHOICES) and self.columns[answer].mostly(is_choice):
            lists = [name for name in self.free() if self.columns[name].mostly(are_choices)]
            for name in [name for name in lists if not names.is_known(name)][:1]:
                kind = "number" if self.columns[answer].is_numbers else "letter"
                message = f"{answer} is a {kind}. Does it count the entries of {name}?"
                self.ask_role("unknown-choices", message, IF_SO, (Holds.CHOICES, [name]), (Holds.IGNORE, [name]))

    def _ask_about_objects(self) -> None:
        """Ask where a prompt or response is an object without a known text, and where each row is one turn."""
        for name in self.mapping.all(Holds.PROMPT, Holds.RESPONSE, Holds.RESPONSES_OF):
            role = self.roles[name]
            text_of, asked = (names.text_in, role) if role is Holds.PROMPT else (reply_in, Holds.RESPONSE)
            is_typed = role is not Holds.PROMPT and self.part.is_records  # there a text of JSON is what a system wrote
            inner = objects(list(map(in_one_list, self.part.values(name))) if is_typed else self.columns[name].values)
            unknown = (value for value in inner if value and text_of(value) is None)
            nameless = next((value for value in unknown if role is Holds.PROMPT or not is_api_reply(value)), None)
            if nameless is not None and (role is not Holds.RESPONSE or self.mapping.why[name] != CHOSEN):
                entry = _said_in(nameless) or next(iter(nameless))
                message = f"{name} holds objects. Which entry is the {asked}? They have: {', '.join(nameless)}."
                answers = (role, [f"{name}.{entry}"]), (role, [name])
                whole = role is Holds.RESPONSE
                self.ask_role(
                    "object-in-role", message, f"{{}}{', or {} for all of it' * whole}.", *answers[: 1 + whole]
                )
        for ask in (
            *(self._ask_about_formulas, self._ask_which_way_it_lies),
            *(self._ask_whose_steps, self._ask_whose_context, self._ask_about_errors, self._ask_about_objects_alike),
            *(
                self._ask_about_lists,
                self.ask_about_ranks,
                self._ask_about_turns,
                self.ask_who_says,
                self._ask_for_cases,
            ),
            *(self._ask_about_names, self._ask_whose_settings, self._ask_whose_scores, self._ask_about_several),
            self._ask_who_made,
        ):
            ask()
        if self.is_recorded() and not (self.has(*RESPONDS, Holds.SYSTEM) or self.upload.options.system):
            turns = self.mapping.one(Holds.TURNS)
            may_be_right = self.columns[turns].mostly(ends_in_reply) and not self.has(Holds.REFERENCE)
            rated = list(filter(self.may_rate, self.free())) if may_be_right else []
            if rated or self.has(*OPINIONS) or not may_be_right:
                message = f"{turns} holds conversations that a system carried out. Which system was it?"
                hint, page_hint = "Say it with --system NAME.", "Write it under System."
                if rated:
                    hint += f" If the last turns are reference answers, say {option(Holds.DETAIL, *rated)}."
                    page_hint += (
                        f" If the last turns are reference answers, choose {Holds.DETAIL.label} for {rated[0]}."
                    )
                self.put("unknown-system", message, hint, page_hint)
        self._ask_about_rows_of_turns()

    def _ask_who_made(self) -> None:
        """Ask where a text may have been made of another (summary of source), or objects as the reference has them."""
        source = next((name for name in self.named(Holds.PROMPT) if names.is_source(name)), "")
        sources = [name for name in [source] if name and self.columns[name].is_text and not self.has(*ASKS, *RESPONDS)]
        made = [name for name in self.named(Holds.RESPONSE) if self.columns[name].is_prose and name not in sources]
        right, asked = self.mapping.one(Holds.REFERENCE), self.mapping.one(Holds.PROMPT)
        if right and asked and self.columns[right].holds_objects and not self.has(*RESPONDS):
            keys = [set(value) for value in objects(self.columns[right].values)]
            found = (name for name in self.free() if self.columns[name].holds_objects)
            made = [name for name in found if [set(value) for value in objects(self.columns[name].values)] == keys]
            sources = [asked] * bool(made)
        if sources and made:
            message = f"{made[0]} may be what a system made of {sources[0]}."
            answers = (Holds.PROMPT, sources), (Holds.RESPONSE, made[:1]), (Holds.DETAIL, made[:1])
            self.ask_role("two-roles", message, "If so, {} {}; if not, {}.", *answers)

    def _ask_about_rows_of_turns(self) -> None:
        """Ask where each row is one turn of a conversation: a column says who speaks, counts the turns of each, or
        names the conversation."""
        lead = "Bring one row for a conversation, with its turns as a list in a column messages."
        several = [name for name in self.free() if len(self.columns[name].distinct) > 1]
        speaking = [name for name in several if names.compared(name) in ("role", "speaker", "author_role", "sender")]
        named = [name for name in speaking if self.columns[name].mostly(lambda value: bool(role_of({"role": value})))]
        if named:
            message = f"each row is one turn of a conversation ({named[0]}), not a case."
            self.put("rows-are-turns", message, lead, lead)
            return
        again = [name for name in speaking if 2 * len(self.columns[name].distinct) <= len(self.columns[name].values)]
        of_turns = [*filter(self._counts_turns, several), *again, *filter(self._holds_several, several)]
        if of_turns:
            message = f"each row seems to be one turn of a conversation ({of_turns[0]}), not a case."
            self.ask_or_keep(of_turns[0], "rows-are-turns", message, f"{lead} To take each row for a case, ")

    def _holds_several(self, name: str) -> bool:
        """Return whether a column names conversations in most of which several things are asked: session_id."""
        prompt = self.mapping.one(Holds.PROMPT)
        if not prompt or _CONVERSATIONS.isdisjoint(names.compared(name).split("_")):
            return False
        asked: dict[str, set[str]] = {}
        for row in self.part.sample:
            asked.setdefault(as_text(row.fields.get(name)), set()).add(as_text(row.fields.get(prompt)))
        return 2 * sum(len(texts) > 1 for texts in asked.values()) > len(asked)

    def _ask_about_several(self) -> None:
        """Ask for other rows where one has several questions, each with its answer: question 1, answer 1."""
        numbered: dict[str, dict[str, str]] = {}  # what stands before a number -> number -> column
        for name in self.columns:
            about, _, number = names.compared(name).rpartition("_")
            if number.isdigit() and self.columns[name].is_worded and self.mapping.why.get(name) != CHOSEN:
                numbered.setdefault(about, {})[number] = name
        asks = [found for about, found in numbered.items() if len(found) > 1 and _says(about, "user", *ASKS)]
        says = [found for about, found in numbered.items() if _says(about, "assistant", Holds.RESPONSE, Holds.ANSWER)]
        several = [(asked, said) for asked in asks for said in says if asked.keys() == said.keys()]
        for asked, said in several[:1]:
            message = (
                f"{', '.join([*asked.values(), *said.values()])} are several questions in a row, with their answers."
            )
            hint = "Bring turns of one conversation as a list in a column messages, and else a row for each question."
            self.put("rows-are-several", message, hint, hint)

    def _counts_turns(self, name: str) -> bool:
        """Return whether numbers go up in the rows with one value of another column, which ask different things."""
        prompt = self.mapping.one(Holds.PROMPT)
        within = self.mapping.all(Holds.SYSTEM, Holds.RATER, Holds.JUDGE, *names.ATTEMPTS)
        for other in self.columns if prompt and names.compared(name).partition("_")[0] == "turn" else ():
            groups: dict[str, dict[str, int]] = {}  # the other value -> what is asked -> its number
            for row in self.part.sample if other not in (name, prompt) else ():
                key = as_text([row.fields.get(column) for column in (other, *within)])
                number = as_count(row.fields.get(name)) or 0
                groups.setdefault(key, {}).setdefault(as_text(row.fields.get(prompt)), number)
            again = [list(numbers.values()) for numbers in groups.values() if len(numbers) > 1]
            if again and all(numbers == sorted(set(numbers)) for numbers in again):
                return True
        return False

    def _ask_whose_choice(self, name: str) -> None:
        """Ask whose a table's answers are that count choices of cases, where nothing names a system."""
        is_named = self.has(Holds.SYSTEM) or self.upload.options.system
        if is_named or not self.has(Holds.RESPONSE) or not self.columns[name].mostly(is_choice):
            return
        message = f"{name} may be what a system chose, or the right choice of the case."
        hint = f"Say which: --system NAME, or {option(Holds.REFERENCE, name)}."
        page_hint = f"Write the name under System, or choose {Holds.REFERENCE.label} for {name} under Columns."
        self.put("two-roles", message, hint, page_hint)

    def _ask_which_attempt_is_first(self) -> None:
        """Ask where attempts are numbered and none is 0: they may be counted from 1, or others be elsewhere."""
        name = self.mapping.one(Holds.ATTEMPT)
        rows = [row for part in [self.part, *self.upload.alike(self.part)] for row in part.sample] if name else []
        numbers = {as_count(row.fields.get(name)) for row in rows}
        if 1 in numbers and 0 not in numbers and self.mapping.why[name] != CHOSEN:
            message, hint = f"{name} has no 0, from which attempts are counted here.", "If 1 is the first, {}; "
            answers = (Holds.ATTEMPT_FROM_1, [name]), (Holds.ATTEMPT, [name])
            self.ask_role("unknown-first", message, f"{hint}if 0 is elsewhere, {{}}.", *answers)

    def _ask_about_formulas(self) -> None:
        """Ask for the results of formulas under a name that would be read."""
        for name in self.free():
            cells = [row.fields.get(name) for row in self.part.sample]
            is_named = names.is_known(name) or names.says_opinion(name)
            if is_named and not self.columns[name].values and any(isinstance(cell, FormulaText) for cell in cells):
                hint = "Save the workbook in a spreadsheet program. To leave it out, "
                self.ask_or_keep(name, "formula-without-value", f"{name} has formulas without results.", hint)

    def _ask_which_way_it_lies(self) -> None:
        """Refuse a table whose first column has the names of fields: prompt, response, prompt, response."""
        first, *others = (self.part.is_cells and self.part.columns) or ("",)
        rows = [row.fields for row in self.part.sample] if others else []
        said = [as_text(row.get(first)).strip() for row in rows]
        comes_again = any(row.get(first) == first and row.get(others[0]) != others[0] for row in rows)
        named = [text for text in said if names.is_strong(text, Holds.PROMPT)]
        is_plain = names.is_known(first) and not any(names.rank(name, Holds.PROMPT) for name in others)
        if not self.is_told and names.is_known(first) and (comes_again or (named and is_plain)):
            fields = ", ".join(list(dict.fromkeys(said))[:4])
            message = f"{first} seems to name fields ({fields}), each of which should be a column."
            hint = "Bring a row for each case, with a column for each field."
            self.put("rows-are-fields", message, hint, hint)

    def _ask_whose_steps(self) -> None:
        """Ask where an answer is an object with a list of objects in it, as a record of what a system did."""
        name = self.mapping.one(Holds.REFERENCE)
        if (
            name
            and names.rank(name, Holds.ANSWER)
            and self.columns[name].mostly(lambda value: isinstance(value, dict) and any(map(objects, value.values())))
        ):
            self.ask_which(name, Holds.RESPONSE, Holds.REFERENCE, "what a system did, or the reference")
        is_of_source = name and names.is_source(self.mapping.one(Holds.PROMPT)) and self.has(Holds.SYSTEM)
        if is_of_source and not (self.has(*RESPONDS) or self.mapping.questions.has_errors):
            self.ask_which(name, Holds.RESPONSE, Holds.REFERENCE, "what the systems made of it, or the reference")

    def _ask_whose_context(self) -> None:
        """Ask where a file that is named after a model has texts beside its prompts, and no responses."""
        contexts = self.mapping.all(Holds.CONTEXT) if self.has(*ASKS) and not self.has(*RESPONDS) else []
        for name in contexts if names.is_model(self.part.stem) else ():
            if self.columns[name].is_text:
                said = f"what {self.part.stem} wrote, after which the file is named, or what is asked about"
                self.ask_which(name, Holds.RESPONSE, Holds.CONTEXT, said)

    def _ask_about_errors(self) -> None:
        """Ask where each row has a response and an error, which would leave all of them out."""
        response = self.mapping.one(Holds.RESPONSE)
        for name in self.mapping.all(Holds.ERROR) if response else ():
            rows = [(row.fields.get(response), row.fields.get(name)) for row in self.part.sample]
            if names.compared(name) not in ("status", "success") and all(is_word(a) and is_word(b) for a, b in rows):
                said = "why no sample has a response, or said of the responses that are there"
                self.ask_which(name, Holds.ERROR, Holds.DETAIL, said)

    def _ask_whose_scores(self) -> None:
        """Ask where scores stand beside prompts, and no responses: lists of numbers, shares that differ, or any number
        beside a text of which nothing says what it is."""
        is_read = self.has(Holds.CASE) or self.is_recorded()  # scores of a response are told by case and system
        is_named = is_read and (self.has(Holds.SYSTEM) or self.upload.options.system)
        is_open = self.has(*ASKS) and not self.has(*RESPONDS)
        free = [name for name in self.free() if self.mapping.why.get(name) != CHOSEN] if is_open else []
        is_of_system = any(map(self.names_models, free)) or system_beside(self.part)
        is_other = names.is_about_row if is_of_system else names.is_known
        texts = [name for name in free if self.columns[name].is_prose and not is_other(name)]
        rated = [name for name in free if self.may_rate(name)]
        is_labelled = self.has(Holds.LABEL, Holds.RATER)
        several = [name for name in free if names.compared(name) in _SEVERAL and self.columns[name].mostly(_are_texts)]
        is_said = rated or is_labelled or is_of_system or self.has(Holds.SCORE, Holds.SYSTEM)
        if several or (texts and is_said):
            texts += several
            self.ask_for(Holds.RESPONSE, Holds.RESPONSES_OF, texts)
            return
        for name in filter(names.is_score, [] if is_labelled else free):
            column, about = self.columns[name], names.compared(name).removesuffix("score").rstrip("_")
            is_share = not is_named and column.mostly(_is_share) and len(column.distinct) > 1
            is_of_row = names.is_about_row(about) or names.has_word(name, Holds.REFERENCE)
            if (is_share or column.mostly(_are_numbers)) and not is_of_row:
                message = f"{name} seems to say how good responses are, which the table does not have."
                by_command = ", or name their system with --system NAME" if is_read else ""
                by_page = ", or write their system" if is_read else ""
                hint = f"Bring them beside it{by_command}. To keep it as a detail, say {option(Holds.DETAIL, name)}."
                page_hint = f"Bring them beside it{by_page}. To keep it, choose {Holds.DETAIL.label}."
                self.put("unknown-scores", message, hint, page_hint, [name], [(Holds.DETAIL, [name])])
                return

    def _ask_whose_settings(self) -> None:
        """Ask where a column beside responses names systems, or objects do, and no column that is called so."""
        is_open = self.has(Holds.RESPONSE) and not (self.has(Holds.SYSTEM) or self.upload.options.system)
        for name in self.mapping.all(Holds.SPLIT, Holds.DETAIL) + list(self.free()) if is_open else ():
            settings = objects(self.columns[name].values)
            named = sorted({system_named(value) for value in settings} - {""})
            paths = (f"{name}.{key}" for value in settings for key in value if value[key] in named)
            path = next(paths, name)
            if self.names_models(name):
                named = sorted(self.columns[name].distinct)
            if named and self.mapping.why.get(name) != CHOSEN:
                count = "several systems" if len(named) > 1 else "a system"
                message = f"{name} names {count}: {', '.join(named[:3])}."
                answers = (Holds.SYSTEM, [path]), (Holds.DETAIL, [name])
                self.ask_role("unknown-system", message, "If they responded, {}; if not, {}.", *answers)

    def _ask_about_objects_alike(self) -> None:
        """Ask where columns hold objects with the same entries, one a text: the responses of systems may be in them."""
        alike: dict[frozenset[str], list[str]] = {}
        is_open = self.has(*ASKS) and not self.has(*RESPONDS)
        for name in self.free() if is_open else ():
            keys = {frozenset(value) if isinstance(value, dict) else frozenset() for value in self.columns[name].values}
            if len(keys) == 1 and any(map(_said_in, objects(self.columns[name].values)[:1])):
                alike.setdefault(keys.pop(), []).append(name)
        for columns in (found for found in alike.values() if len(found) > 1):
            entry = _said_in(objects(self.columns[columns[0]].values)[0])
            message = f"{', '.join(columns)} hold objects with the same entries. Which one is the response of a system?"
            each = [f"{name}.{entry}" for name in columns]
            self.ask_role(
                "objects-alike", message, "{}; if none is, {}.", (Holds.RESPONSES_OF, each), (Holds.DETAIL, columns)
            )

    def _ask_whose_lists(self) -> None:
        """Ask whose the lists of a document are where they answer one question differently."""
        name, prompt = self.part.list_column, self.mapping.one(Holds.PROMPT)
        is_open = name and self.has(Holds.RESPONSE) and not (self.has(Holds.SYSTEM) or self.upload.options.system)
        answer = self.mapping.one(Holds.RESPONSE if is_open else Holds.REFERENCE)
        judged = () if self.has(*RESPONDS) or self.named(Holds.ANSWER) else self.free()
        judging = [key for key in judged if names.is_rating(key) and self.columns[key].values]
        is_plain = bool(answer) and names.rank(answer, Holds.ANSWER) is None and not judging
        if not (prompt and answer) or (not is_open and (is_plain or self.mapping.why[answer] == CHOSEN)):
            return
        others = self.upload.alike(self.part)
        answers: dict[str, set[str]] = {}
        asking = (prompt, *self.mapping.all(Holds.CHOICES))
        for row in (row for part in (self.part, *others) for row in part.sample):
            asked = as_text([row.fields.get(column) for column in asking])
            answers.setdefault(asked, set()).add(as_text(row.fields.get(answer)))
        if not any(len(found) > 1 for found in answers.values()):
            return
        if others and not name:
            said = "what systems wrote or references, as it differs between sheets or files that ask the same"
            self.ask_which(answer, Holds.RESPONSE, Holds.REFERENCE, said)
        elif judging and not name:
            self.ask_which(answer, Holds.RESPONSE, Holds.REFERENCE, f"what {judging[0]} judges, or the reference")
        elif name in self.columns and self.mapping.why.get(name) != CHOSEN:
            message = f"{answer} of one question differs between the lists. Are they of systems?"
            hint = "If so, {}; if they are what is asked about, {}; if neither, {}."
            self.ask_role(
                "two-roles", message, hint, *((role, [name]) for role in (Holds.SYSTEM, Holds.CONTEXT, Holds.DETAIL))
            )

    def _ask_about_doubles(self) -> None:
        """Ask where two columns have the same header and other cells, and one of them is read."""
        doubles = [match for name in self.free() if (match := DOUBLE.fullmatch(name))]
        for name, header in (match.group(0, 1) for match in doubles if self.part.is_cells):
            role = self.roles.get(header, Holds.IGNORE)
            is_read = role not in (Holds.DETAIL, Holds.IGNORE) and self.mapping.why[header] != CHOSEN
            if is_read and self.columns[name].values != self.columns[header].values:
                message = f"two columns have the header {header}, and their cells differ."
                self.ask_role("two-columns", message, "{} or {}.", (role, [header]), (role, [name]))

    def _ask_about_ids(self) -> None:
        """Ask where most ids that come again stand beside other questions: they count within groups, or within each of
        several files or sheets."""
        name, prompt = self.mapping.one(Holds.CASE), self.mapping.one(Holds.PROMPT)
        is_of_answers = names.is_of_answers(self.part.stem)
        is_open = name and prompt and self.mapping.why[name] != CHOSEN
        others = self.upload.alike(self.part) if is_open else []
        alike = islice((part for part in others if names.is_of_answers(part.stem) == is_of_answers), MOST_ALIKE)
        asked: dict[str, list[str]] = {}
        for row in [row for part in [self.part, *alike] for row in part.sample] if is_open else ():
            if key := as_id(value_at(row.fields, name, self.mapping)):
                asked.setdefault(key, []).append(as_text(value_at(row.fields, prompt, self.mapping)))
        again = [questions for questions in asked.values() if len(questions) > 1]
        differing = sum(len(set(questions)) - 1 for questions in again)
        if differing > 2 and 2 * differing > sum(len(questions) - 1 for questions in again):
            message = f"{name} has the same value for different questions, as where it counts within groups or files."
            hint = "{}: cases are then told by their questions. Or bring an id for each."
            self.ask_role("unknown-ids", message, hint, (Holds.DETAIL, [name]))

    def _ask_about_lists(self) -> None:
        """Ask where a response is a list of lists, and where lists that no role has hold responses without systems."""
        name = self.mapping.one(Holds.RESPONSE)
        nested = [value for value in self.columns[name].values if any(map(is_list, listed(value)))] if name else []
        is_nested = bool(nested) and len(nested) >= 0.9 * len(self.columns[name].values)
        found = [(name, f"{name} holds lists in lists, which are no responses")] if is_nested else []
        if self.has(*ASKS) and not self.has(*RESPONDS) and not self.mapping.questions.has_errors:
            found = [
                (name, f"{name} has {said} in objects, which may be responses")
                for name in self.free()
                if (said := self._said_in_lists(name))
            ]
            if not found:
                self._ask_about_texts_below()
            labels = filter(self._lists_labels, self.free())
            found += [(name, f"{name} holds several labels of each row, which are not read") for name in labels]
        if self.has(*RESPONDS):
            several = [name for name in self.mapping.all(Holds.LABEL) if name.endswith("s") and not self.is_told]
            open_to = [*self.free(), *several]
            self._ask_whose_grades(open_to)
            found += [(name, f"{name} {why}") for name in open_to if (why := self._said_of_lists(name))]
            self.ask_about_opinions()
            self.ask_whose_response()
        for name, message in found:
            hint = "Bring a row for each of them. To keep them as a detail, "
            self.ask_or_keep(name, "lists", f"{message}.", hint)

    def _ask_about_texts_below(self) -> None:
        """Ask where objects have the text of a response somewhere in them, by its name."""
        for name in self.free():
            found = sorted({path for value in self.columns[name].values for path in _responses_below(value)})
            if found:
                message = f"{name} has {found[0]} in its objects, which may be what a system wrote."
                answers = (Holds.RESPONSE, [f"{name}.{found[0]}"]), (Holds.DETAIL, [name])
                self.ask_role("object-in-role", message, IF_SO, *answers)

    def _ask_about_turns(self) -> None:
        """Ask where turns of conversations, or texts that are references, have scores or labels, which are not read."""
        for name in self.mapping.all(Holds.TURNS, Holds.RESPONSE_TURNS, Holds.REFERENCE):
            turns = [turn for value in self.columns[name].values for turn in objects(value)]
            found = list(dict.fromkeys(key for turn in turns for key in turn if names.is_opinion(key, turn[key])))
            if found and self.mapping.why[name] != CHOSEN:
                judged = "text" if self.roles[name] is Holds.REFERENCE else "turn"
                message = f"{name} has {', '.join(found)} in its {judged}s, which is not read."
                hint = (
                    f"Bring a row for each {judged} that is judged, with the conversation up to it. To leave it out, "
                )
                self.ask_or_keep(name, "lists", message, hint, self.roles[name])

    def _lists_labels(self, name: str) -> bool:
        """Return whether a column has lists or objects under a name of labels."""
        is_named = names.is_strong(name.removesuffix("s"), Holds.LABEL)
        return is_named and (self.columns[name].holds_objects or self.columns[name].mostly(is_list))

    def _said_of_lists(self, name: str) -> str:
        """Return what lists beside responses seem to hold that is not read; empty where nothing says it."""
        values, response = self.columns[name].values, self.mapping.one(Holds.RESPONSE)
        if self._graded(name):
            return ""
        if self.columns[name].mostly(lambda value: isinstance(value, dict) and says_who_answered(value)):
            return "holds responses of other systems"
        says_labels = names.rank(name.removesuffix("s"), Holds.LABEL) and name not in self.roles
        if says_labels and self.columns[name].holds_objects:
            return _OF_EACH
        if not self.columns[name].mostly(is_list):
            return ""
        entries = [entry for value in values for entry in objects(value)]
        if entries and all(names.strongest(entry, Holds.JUDGE) for entry in entries):
            return "holds what several judges said of each response"
        if entries and (says_labels or names.is_rating(name)):
            return _OF_EACH
        is_of_systems = self._is_of_each(name) and names.rank(name.rstrip("s"), Holds.SYSTEM)
        return f"names the systems of the lists in {response}" if is_of_systems else ""

    def _is_of_each(self, name: str) -> bool:
        """Return whether a column has a value for each of several responses in a list."""
        response = self.mapping.one(Holds.RESPONSE)
        both = [self.columns[column].values for column in (response, name) if column]
        counts = [[len(listed(value)) for value in values] for values in both]
        return bool(response) and counts[0] == counts[1] and max(counts[0], default=0) > 1

    def _graded(self, name: str) -> list[str]:
        """Return a column that has several grades of each response, or the entries of its objects that have."""
        column = self.columns[name]
        paths = {f"{name}.{key}": key for value in objects(column.values) for key in value}
        inner = {path: [value.get(key) for value in objects(column.values)] for path, key in paths.items()}
        graded = [
            path
            for path, values in (inner or {name: column.values}).items()
            if all(map(_are_numbers, values)) and not names.ranks(path)
            if names.is_rating(name.rstrip("s"))
            or self._is_of_each(name)
            or all(is_grade(entry) for value in values for entry in listed(value))
        ]
        return graded if column.values and len(graded) == len(inner or [name]) else []

    def _ask_whose_grades(self, columns: Iterable[str]) -> None:
        """Ask whose the grades in lists are: of one response each, or of several people."""
        graded = {name: found for name in columns if (found := self._graded(name))}
        for is_of_each in (True, False):
            found = [path for name, paths in graded.items() if self._is_of_each(name) is is_of_each for path in paths]
            if found:
                each = "a value for each of the responses" if is_of_each else "several values for each response"
                message = f"{', '.join(found)} {'hold' if found[1:] else 'holds'} {each}."
                hint = "If they are scores, {}; if not, {}." if is_of_each else "If they are of people, {}; if not, {}."
                whole = list(dict.fromkeys(name for name in graded if set(graded[name]) & set(found)))
                role = Holds.SCORE if is_of_each else Holds.LABEL
                self.ask_role("lists", message, hint, (role, found), (Holds.DETAIL, whole))

    def _said_in_lists(self, name: str) -> str:
        """Return the entry that all objects of a column or in its lists have by the name of a response, or all texts in
        its objects, each by the name of a system; empty for none."""
        column = self.columns[name]
        is_by_name = column.mostly(_holds_objects_by_name)
        lists = [list(value.values()) if isinstance(value, dict) else value for value in column.values]
        entries = [entry for value in lists for entry in objects(value)] if is_by_name or column.mostly(is_list) else []
        entries = entries or [value for value in objects(column.values) if not is_whole_reply(value)]
        says_who = bool(entries) and all(map(says_who_answered, entries))
        is_open = says_who or not column.holds_objects or is_by_name
        keys = set(entries[0]).intersection(*entries) if entries and is_open else set()
        said = {key: names.rank(key, Holds.RESPONSE) or (says_who and names.rank(key, Holds.ANSWER)) for key in keys}
        is_text = is_by_name and all(any(map(has_words, entry.values())) for entry in entries)
        if is_by_name and not any(said.values()):
            said = {key: names.rank(key, Holds.ANSWER) for key in keys}
        return min((key for key, rank in said.items() if rank and (rank[0] == 0 or is_text)), default="")


def _responses_below(value: object) -> Iterator[str]:
    """Yield the paths of texts in an object that are responses by their names."""
    for key, entry in value.items() if isinstance(value, dict) else ():
        if has_words(entry) and names.is_strong(key, Holds.RESPONSE):
            yield key
        yield from (f"{key}.{path}" for path in _responses_below(entry))


def _says(name: str, who: str, *roles: Holds) -> bool:
    """Return whether a name is that of what somebody says, or of who says it: question, user; answer, assistant."""
    return role_of({"role": name}) == who or any(names.is_strong(name, role) for role in roles)


def _is_share(value: object) -> bool:
    number = number_of(value)
    return number is not None and 0 <= number <= 1 and not isinstance(value, bool)


def _are_numbers(value: object) -> bool:
    return len(listed(value)) > 1 and all(isinstance(entry, int | float) for entry in listed(value))


def _are_texts(value: object) -> bool:
    return is_list(value) and all(map(has_words, listed(value)))


def is_unknown(mapping: Mapping) -> bool:
    """Return whether a question is which of all columns hold responses, labels or prompts."""
    return any(question.code == UNKNOWN_COLUMNS for question in mapping.questions.listed)


def _said_in(entry: JsonDict) -> str:
    """Return the entry of an object that is a response by its name, or has the longest text and is neither a reason
    nor what is asked; empty for none."""
    said = [key for key, value in entry.items() if has_words(value) or holds_words(value)]
    said = [key for key in said if not (names.rank(key, Holds.REASON) or names.is_strong(key, Holds.PROMPT))]
    return max(said, key=lambda key: (names.rank(key, Holds.RESPONSE) is not None, len(entry[key])), default="")


def _holds_objects_by_name(value: object) -> bool:
    return isinstance(value, dict) and len(value) > 1 and all(isinstance(entry, dict) for entry in value.values())
