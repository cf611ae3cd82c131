"""Asks the person which columns of a table hold opinions of responses, and whose, where nothing tells it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from evalsite.base.types import as_text, objects
from judging.specs.records import names
from judging.specs.records.columns import (
    ASKS,
    BY_WORD,
    CHOSEN,
    CHOSEN_OF_SEVERAL,
    IF_SO,
    OPINIONS,
    RESPONDS,
    UNKNOWN_COLUMNS,
    Answer,
    Column,
    ColumnRoles,
    header_named,
    is_grade,
    is_share,
    names_a_model,
    number_of,
    option,
    says_a_side,
)
from judging.specs.records.names import Holds
from judging.specs.records.neutral import Choice
from judging.specs.records.parts import Row
from judging.specs.records.preferences import preference
from judging.specs.records.values import as_count, as_id, at, is_question, named_numbers

MOST_COMPARED = 1000  # questions or responses, of which further rows are looked at
MOST_ANSWERS = 4  # of a question that one column answers
MOST_SIDES = 7  # of a label that says which of two responses is better, and how much
_YES_OR_NO = (
    *({"yes", "no"}, {"y", "n"}, {"ja", "nein"}, {"oui", "non"}, {"sí", "no"}, {"sim", "não"}, {"да", "нет"}),
    {"是", "否"},
    {"strongly agree", "agree", "neutral", "disagree", "strongly disagree", "neither agree nor disagree"},
)
_WORTH_WORDS = (  # is_safe says how good a response is, is_english what it is
    "safe unsafe harmful harmless toxic helpful good bad right wrong valid relevant faithful grounded accurate "
    "complete refusal refused hallucinated hallucination jailbroken leaked biased compliant appropriate acceptable "
    "accepted approved rejected usable"
)
WORTH = frozenset(_WORTH_WORDS.split())
_CRITERIA_WORDS = (
    "helpfulness harmlessness coherence relevance fluency overall quality clarity completeness conciseness safety "
    "usefulness naturalness tone style grammar politeness truthfulness informativeness readability severity "
    "Qualität Korrektheit Verständlichkeit Vollständigkeit Relevanz Nützlichkeit qualité pertinence exactitude calidad "
    "corrección relevancia qualidade relevância qualità 流畅性 相关性 完整性 流暢性"
)
_CRITERIA = frozenset(map(names.compared, _CRITERIA_WORDS.split()))


_OF_PAIRS = (Holds.RESPONSE_A, Holds.RESPONSE_B, Holds.SYSTEM_A, Holds.SYSTEM_B)
_SAYING = (Holds.RATER, Holds.JUDGE, Holds.CRITERION)  # whose opinion a row is, and of what
_OF_CASES = (*ASKS, Holds.INSTRUCTION, Holds.CASE, Holds.REFERENCE)
OF_RESPONSES = (*_OF_CASES, *RESPONDS, *_OF_PAIRS, Holds.SYSTEM, *names.ATTEMPTS)


@dataclass(frozen=True, slots=True)
class FurtherRows:
    """The rows behind the first one of the same question, response or pair, and the columns that differ in them."""

    are_many: bool  # a third of all
    apart: list[str]  # columns of a few words or numbers that are others in each of them
    differing: list[str]  # columns that are others in some


class OpinionQuestions(ColumnRoles):
    """What must be asked of columns that may be labels, scores or preferences."""

    def further_rows(self, rows: Iterable[Row], columns: Collection[str], *told_by: Holds) -> FurtherRows:
        """Return which rows say more of what an earlier one has, as the columns of roles tell, and how they differ."""
        about = self.mapping.all(*told_by)
        known: dict[int, dict[str, set[str]]] = {}  # question, response or pair -> column -> its values
        total = count = 0
        differs: Counter[str] = Counter()
        for fields in (each for row in rows if about for each in self.mapping.rows_in(row.fields)):
            total += 1
            key = hash(str([fields.get(name) for name in about]))
            if key not in known and len(known) == MOST_COMPARED:
                continue
            count += key in known
            said, earlier = {name: as_text(fields.get(name)) for name in columns}, known.get(key, {})
            differs.update(name for name, text in said.items() if earlier and text not in earlier[name])
            known[key] = {name: {*earlier.get(name, ()), text} for name, text in said.items()}
        few = [name for name in differs if self.columns[name].is_labels and not self.columns[name].is_prose]
        apart = [name for name in few if differs[name] == count > 1]
        return FurtherRows(3 * count >= total and count > 1, apart, list(differs))

    def ask_what_tells_apart(self) -> None:
        """Ask what a column is that tells all rows of one case and system apart, unless one counts repeated runs."""
        is_answered = self.has(Holds.RESPONSE, Holds.RESPONSE_TURNS, Holds.RESPONSES_OF)
        is_answered = is_answered or names.rank(self.mapping.one(Holds.REFERENCE), Holds.ANSWER) is not None
        is_told = self.mapping.questions.has_errors or self.has(*names.ATTEMPTS, *_SAYING, Holds.LABELS_OF)
        columns = {name: self.columns[name] for name in self.free()} if is_answered and not is_told else {}
        few = [name for name, each in columns.items() if each.is_labels and 2 * len(each.distinct) <= len(each.values)]
        few = [name for name in few if not names.may_choose(name)]  # result
        is_named, is_labelled = self.has(Holds.SYSTEM), self.has(Holds.LABEL)
        about = (*ASKS, Holds.INSTRUCTION, Holds.CASE, Holds.CHOICES, Holds.SYSTEM if is_named else Holds.CONTEXT)
        found = self.further_rows(self.part.rows(), few, *about).apart if few else []
        for name in [] if any(map(names.counts_attempts, found)) else found[:1]:
            message = f"{name} tells the rows of one case and system apart, and nothing says what it is."
            roles = [Holds.SYSTEM] * (not is_named) + [Holds.RATER] * is_labelled + [Holds.DETAIL]
            hint = f"If they are of different systems, {'write it behind their name' if is_named else '{}'}; "
            hint += f"{'if by who labels, {}; ' * is_labelled}if not, {{}}."
            self.ask_role("unknown-apart", message, hint, *((role, [name]) for role in roles))

    def ask_who_labels(self) -> None:
        """Ask where a column may name who labels, as it is another one in each row of the same response."""
        is_labelled = self.has(Holds.LABEL, Holds.PREFERENCE, Holds.SCORE)
        if self.has(*_SAYING, Holds.LABELS_OF) or self.mapping.questions.has_errors:
            return
        if self.is_rated() and not is_labelled:  # then a rater is known, and labels are asked about
            return
        further = self.further_rows(self.part.sample, self.columns, *OF_RESPONSES)
        free = set(self.free()) if further.are_many else set()
        of_rows = (Holds.RATER, Holds.TIME)  # which may count, too
        counting = [name for name in filter(names.counts_attempts, further.apart) if not self._is_named(name, *of_rows)]
        who = [name for name in further.apart if name in free and not self._says_grade(name) and not counting]
        who = [name for name in who if not (self._is_named(name, Holds.TIME) or self.names_models(name))]
        who.sort(key=lambda name: (not self._is_named(name, Holds.RATER), self.columns[name].is_numbers))
        role = Holds.PREFERENCE if self.has(Holds.RESPONSE_A, Holds.SYSTEM_A) else Holds.LABEL
        said = [name for name in further.differing if name in free and name not in who[:1] and self.may_label(name)]
        of_rows = (Holds.TIME, Holds.SPLIT)
        said = [name for name in said if not (self.names_models(name) or self._is_named(name, *of_rows))]
        said = [name for name in said if names.is_rating(name) or not self._is_named(name, Holds.REASON)]
        said = [] if self.has(*OPINIONS) else said[:1] if role is Holds.PREFERENCE else said
        if said or (who and is_labelled):
            of = "pair" if role is Holds.PREFERENCE else "response" if self.has(*RESPONDS) else "question"
            asked = [*who[:1], *said]
            message = f"{', '.join(asked)} {'differ' if asked[1:] else 'differs'} between rows of one {of}."
            answers: list[Answer] = [answer for answer in ((Holds.RATER, who[:1]), (role, said)) if answer[1]]
            hint = f"If {'they say' if asked[1:] else 'it says'} who labels{', and how' * bool(said)}" if who else ""
            hint = f"{hint or 'If people say so'}, {' '.join(['{}'] * len(answers))}; if not, {{}}."
            self.ask_role("unknown-labels", message, hint, *answers, (Holds.DETAIL, asked))

    def _is_named(self, name: str, *roles: Holds) -> bool:
        return any(names.rank(name, role) is not None for role in roles)

    def ask_against_headers(self) -> None:
        """Ask where columns say which of two responses is better, and not always the one whose header says it."""
        better = self.mapping.one(Holds.RESPONSE_A)
        given = self.mapping.all(Holds.PREFERENCE, Holds.LABELS_OF)
        said = [name for name in given or self.choosing() if self.mapping.why.get(name) != CHOSEN]
        said = [name for name in said if any(self._is_worse(value) for value in self.columns[name].values)]
        if said and names.compared(better) in names.PREFERRED_FIRST:
            message = f"{', '.join(said)} may say that another response than {better} is better."
            role = Holds.LABELS_OF if said[1:] else Holds.PREFERENCE
            self.ask_role("unknown-labels", message, IF_SO, (role, said), (Holds.DETAIL, said))

    def _is_worse(self, value: object) -> bool:
        """Return whether a value says that the second response of a pair is better, or none."""
        text = as_text(value).strip()
        return text == self.mapping.one(Holds.RESPONSE_B) or preference(text) in (Choice.B, Choice.TIE)

    def _says_grade(self, name: str) -> bool:
        """Return whether a column has an opinion by its name, or decisions as those of people are."""
        is_said = names.says_opinion(name) or names.judges(name) or names.may_choose(name)
        return is_said or self.columns[name].is_decided or self.columns[name].mostly(says_a_side)

    def reasons(self) -> list[str]:
        """Return the columns that may say why; one of grades or sides has what was said."""
        named = {name: self.columns[name] for name in self.named(Holds.REASON)}
        said = [name for name, column in named.items() if not (column.is_numbers or column.mostly(says_a_side))]
        return [name for name in said if not (names.is_rating(name) and named[name].is_mixed)]

    def named_judges(self) -> list[str]:
        """Return the columns that may name a judge; one of grades has what it gave."""
        return [name for name in self.named(Holds.JUDGE) if not self.columns[name].is_numbers]

    def ask_about_ratings(self) -> None:
        """Ask where several columns may be labels by criterion or by person."""
        known = self.mapping.all(Holds.LABEL, Holds.LABELS_OF, Holds.PREFERENCE)
        if self.mapping.questions.has_errors or any(self.mapping.why[name] == CHOSEN for name in known):
            return
        if found := self._may_judge_sides():
            self._ask_of_each(found)
            return
        found = [] if self.has(*RESPONDS) else [name for name in self.free() if self._counts_what_others_say(name)]
        if len(found) > 1:
            message = f"{', '.join(found)} may say how good the responses under these headers are, which is not read."
            hint = "Bring a row for each response, with a column for its system and one for its score or label."
            self.ask_or_keep(found[0], "unknown-labels", message, f"{hint} Else ")
            return
        if self.mapping.all(Holds.RESPONSES_OF)[1:]:
            self._ask_of_which()
            return
        labelled = [name for name in self.free() if self.columns[name].is_labels and self.columns[name].values]
        if not all(map(names.is_score, known)):
            self._ask_beside_labels(known, [name for name in labelled if self._repeats(name)])
            return
        given = [name for name in self.mapping.all(Holds.SCORE) if names.compared(name.partition(".")[0]) == "ratings"]
        found = self.rated() or [name for name in labelled if not known and self._may_be_of_people(name)]
        is_of_others = self.has(Holds.SCORE) and self.has(Holds.SYSTEM) and not self.has(*ASKS, *RESPONDS)  # no details
        found = [] if self.has(Holds.RESPONSES_OF) else found
        is_judged = is_of_others or self.has(Holds.RESPONSE, Holds.RESPONSE_TURNS, Holds.RESPONSES_OF)
        is_judged = is_judged or (self.is_recorded() and bool(self.has(Holds.SYSTEM) or self.upload.options.system))
        if is_judged:  # others may be some
            more = self._may_be_opinions(self._differs if is_of_others else self.may_score)
            found += [name for name in more if name not in found and not (found and names.sums_up(name))]
        found = [] if self.has(Holds.RESPONSE_A) else found
        found += [name for name in given if self.mapping.why[name] != CHOSEN]
        if found:
            self._ask_of_each(found)

    def _ask_of_which(self) -> None:
        """Ask of which of several responses side by side columns are opinions, or which one they say is better."""
        headers = self.mapping.all(Holds.RESPONSES_OF)
        opinions = [*self.mapping.all(Holds.LABEL), *self._may_be_opinions(self.may_score)]
        opinions += [name for name in self.free() if names.judges(name) or names.chooses(name)]
        opinions += filter(self._may_be_of_people, self.free())
        systems = {said for name in headers for said in names.systems_of(name)}
        said = {*map(str.casefold, systems)}
        choosing = [
            name
            for name in self.free()
            if self.columns[name].mostly(lambda value: says_a_side(value) or as_text(value).strip().casefold() in said)
            or (names.may_choose(name) and self.is_of_sides(name))
        ]
        unsaid = {name for name in opinions if not any(names.said_of(name, system) for system in systems)}
        found = [name for name in self.columns if name in unsaid and self.columns[name].values]
        if len(headers) == 2 and choosing:
            role = Holds.LABELS_OF if choosing[1:] else Holds.PREFERENCE
            sides = (Holds.RESPONSE_A, headers[:1]), (Holds.RESPONSE_B, headers[1:]), (role, choosing)
            message = f"{', '.join(choosing)} may say which of {headers[0]} and {headers[1]} is better."
            self.ask_role("unknown-labels", message, "If so, {} {} {}; if not, {}.", *sides, (Holds.DETAIL, choosing))
        elif found:
            message = f"{', '.join(found)} may be opinions of the responses under these headers, and says not of which."
            hint = "Bring a row for each response, with a column for its system. If they are of the case, {}; "
            self.ask_role(
                "unknown-labels", message, f"{hint}if not, {{}}.", (Holds.LABEL, found), (Holds.DETAIL, found)
            )

    def ask_about_ranks(self) -> None:
        """Ask where columns seem to order the responses of a prompt."""
        several = self.mapping.all(Holds.RESPONSES_OF)
        headers = {said for name in several for said in names.systems_of(name)}
        ranked: list[str] = []
        choosing: list[Answer] = []
        is_of_responses = self.has(*RESPONDS) or (self.has(Holds.CASE) and self.has(Holds.SYSTEM))
        for name in self.free() if is_of_responses else ():
            column = self.columns[name]
            roles = [role for role in CHOSEN_OF_SEVERAL if several and names.is_strong(name, role)]
            role = roles[0] if roles else Holds.PREFERENCE
            is_chosen = names.is_strong(name, role) or column.distinct <= headers
            is_chosen = is_chosen and not self.has(Holds.RESPONSE_A) and len(several) != 2
            if is_chosen and roles and all(header_named(as_id(value), several) for value in column.values):
                choosing.append((role, [name]))
            elif column.is_numbers and names.ranks(name):
                ranked.append(name)
            elif column.values and (names.ranks(name) or is_chosen):
                hint = "Bring a row for each two responses, with which is better. If it does not, "
                message = f"{name} seems to say the order of responses, which is not read."
                self.ask_or_keep(name, "unknown-ranks", message, hint)
        if ranked:
            message = f"{', '.join(ranked)} may rank the responses of a case."
            hint = "If so, and 1 is the best, {}; if not, {}."
            self.ask_role("unknown-ranks", message, hint, (Holds.RANK, ranked), (Holds.DETAIL, ranked))
        if choosing:
            said = [name for _, found in choosing for name in found]
            message = f"{' and '.join(said)} may say which of the responses is the best or the worst."
            hint = f"If so, {' '.join(['{}'] * len(choosing))}; if not, {{}}."
            self.ask_role("unknown-ranks", message, hint, *choosing, (Holds.DETAIL, said))

    def ask_whose_letters(self, both: Sequence[str]) -> None:
        """Ask where texts under A and B may be choices, as the letter of one of them is the answer of each row."""
        letters = {name.casefold() for name in both if names.letter_of_choice(name)[1]}
        named = [*self.strong(Holds.REFERENCE), *self.named(Holds.ANSWER)] if letters else []
        for right in [name for name in named if {*map(str.casefold, self.columns[name].distinct)} <= letters][:1]:
            message = f"{' and '.join(both)} may be choices, of which {right} is the right one, or two responses."
            choices = (Holds.CHOICES, both), (Holds.REFERENCE, [right])
            sides = (Holds.RESPONSE_A, both[:1]), (Holds.RESPONSE_B, both[1:]), (Holds.PREFERENCE, [right])
            self.ask_role("two-roles", message, "If choices, {} {}; if responses, {} {} {}.", *choices, *sides)

    def turn_sides(self, systems: Sequence[str]) -> None:
        """Put the response first whose header the column of the first system names; ask where it names either."""
        a, b = self.mapping.one(Holds.RESPONSE_A), self.mapping.one(Holds.RESPONSE_B)
        said = self.columns[systems[0]].distinct if systems and a and b else set()
        if said and said <= names.systems_of(b):
            self.roles[a], self.roles[b] = Holds.RESPONSE_B, Holds.RESPONSE_A
        elif not (said.isdisjoint(names.systems_of(a)) or said.isdisjoint(names.systems_of(b))):
            message = f"{systems[0]} names now {a}, now {b}, under whose headers the responses stand."
            hint = "If the headers name the systems, {}."
            self.ask_role("unknown-sides", message, hint, (Holds.DETAIL, systems))

    def ask_who_says(self) -> None:
        """Ask where raters have names of models, or judges those of people."""
        is_unsaid = self.has(*RESPONDS) and self.has(Holds.LABEL) and not self.has(Holds.RATER, Holds.JUDGE)
        for name in self.strong(Holds.JUDGE) if is_unsaid else ():
            self.ask_which(name, Holds.RATER, Holds.JUDGE, "who labelled or what judged")
        for role, is_other in ((Holds.RATER, names.says_judge), (Holds.JUDGE, names.says_people)):
            name = self.mapping.one(role)
            found = sorted(filter(is_other, self.columns[name].distinct)) if name else []
            is_in_words = any(not self.columns[score].is_numbers for score in self.mapping.all(Holds.SCORE))
            may_be_either = (names.compared(name) == "evaluator" or (name and is_in_words)) and not any(
                map(names.is_model, self.columns[name].distinct)
            )
            if found or may_be_either:
                as_named = f", as it names {', '.join(found[:3])}" if found else ""
                self.ask_which(name, Holds.RATER, Holds.JUDGE, f"who labelled or what judged{as_named}")

    def ask_whose_response(self) -> None:
        """Ask where texts beside a response have the header of another system's: baseline_model_response."""
        response = self.mapping.one(Holds.RESPONSE)
        is_open = response and self.mapping.why[response] != CHOSEN
        is_by_word = bool(is_open) and self.mapping.why[response] == BY_WORD  # as another may be
        for name in self.free() if is_open else ():
            says_system = names.named_responses(name) or not names.WORDS_OF_SYSTEMS.isdisjoint(names.words_of(name))
            is_named = names.may_be_of_responses(name) or names.compared(name) in names.WORDS_OF_SYSTEMS
            is_other = (is_named and (says_system or is_by_word)) or _of_a_person(name)
            if is_other and self.columns[name].is_prose:
                who = "a person beside" if _of_a_person(name) else "another system than"
                message = f"{name} may hold responses of {who} {response}."
                self.ask_role(
                    "two-columns", message, IF_SO, (Holds.RESPONSES_OF, [response, name]), (Holds.DETAIL, [name])
                )

    def ask_about_opinions(self) -> None:
        """Ask where objects beside responses hold scores or preferences, which only a path reads."""
        responses = self.mapping.all(Holds.RESPONSE)
        for name in [*self.free(), *responses]:
            found = dict.fromkeys(path for value in self.columns[name].values for path in opinions_in(value, name))
            if found and self.mapping.why.get(name) != CHOSEN and not names.is_in_scores(name):
                said = (at(value, path) for value in self.columns[name].values for path in found)
                role = Holds.LABEL if any(map(is_word, said)) else Holds.SCORE
                role = Holds.PREFERENCE if self.has(Holds.RESPONSE_A) else role
                paths = [f"{name}.{path}" for path in found]
                message = f"{name} holds objects with what seem to be opinions: {', '.join(found)}."
                kept = [(Holds.RESPONSE, [name])] if name in responses else []
                hint = IF_SO.replace("{}", "{} {}", len(kept))
                self.ask_role(
                    "object-in-role", message, hint, (role, paths), *kept, *(kept or [(Holds.DETAIL, [name])])
                )

    def is_of_sides(self, name: str) -> bool:
        """Return whether the values of a column may be sides of a pair."""
        return self.columns[name].mostly(says_a_side) or 1 < len(self.columns[name].distinct) <= MOST_SIDES

    def _may_be_opinions(self, may_score: Callable[[str], bool]) -> list[str]:
        """Return the columns of numbers or words that nothing else is, once each."""
        worded = [name for name in self.free() if self.may_label(name) and not self.columns[name].is_numbers]
        found = [name for name in self.free() if may_score(name) and not names.is_in_scores(name)]
        found += [name for name in self.free() if names.rank(name, Holds.SCORE) and self.columns[name].is_mixed]
        found += self.alike(
            [name for name in worded if not names.is_known(name) or names.compared(name) in names.METRICS]
        )
        found += [name for name in worded if self._says_opinion(name) and not names.is_in_table(name)]
        return list(dict.fromkeys([*found, *filter(self._names_opinion, worded)]))

    def _names_opinion(self, name: str) -> bool:
        """Return whether a column has the name of scores, labels or a usual criterion, and few short values."""
        is_named = names.judges(name) or names.compared(name) in names.METRICS or is_of_criterion(name)
        return is_named and self.may_label(name)

    def _says_opinion(self, name: str) -> bool:
        """Return whether a column's name says an opinion or a usual criterion, or what its values may be: Good/Bad."""
        words = {word.strip().casefold() for word in name.split("/")}
        said = {as_text(value).strip().casefold() for value in self.columns[name].values}
        return names.says_opinion(name) or is_of_criterion(name) or (len(words) > 1 and said <= words)

    def _counts_what_others_say(self, name: str) -> bool:
        """Return whether a column of numbers has the header of one of texts in another part."""
        others = [other.values(name) for other in self.upload.parts if name in other.columns and other is not self.part]
        return self.columns[name].is_numbers and any(Column(name, list(values)).is_worded for values in others)

    def _differs(self, name: str) -> bool:
        """Return whether a column of an unknown name has numbers that differ and count nothing, such as log odds."""
        is_named = names.is_known(name) or names.is_number_of(name)
        return self.columns[name].is_numbers and len(self.columns[name].distinct) > 1 and not is_named

    def _ask_of_each(self, found: Sequence[str]) -> None:
        beside = (name for name in self.free() if self.may_score(name, is_beside=True) and not names.sums_up(name))
        named = {*found, *(name for name in beside if not names.is_in_scores(name))}
        stems = {_stem(name) for name in named} - {""}
        named |= {name for name in self.free() if _stem(name) in stems and self.columns[name].is_numbers}
        found = [name for name in self.columns if name in named]
        message = f"{', '.join(found)} may be labels of people or scores, each by a criterion or by a person."
        hint = f"Say it of each: {option(Holds.LABEL, *found)} by criterion. In place of {Holds.LABEL}, write "
        hint += f'"{Holds.LABELS_OF}" by person, {Holds.SCORE} for a judge, or {Holds.DETAIL} for neither.'
        roles = Holds.LABEL, Holds.LABELS_OF, Holds.SCORE, Holds.DETAIL
        page_hint = f"Choose {', '.join(role.label for role in roles[:-1])} or {roles[-1].label} for each."
        self.put("unknown-labels", message, hint, page_hint, found, *([(role, found)] for role in roles))

    def _may_judge_sides(self) -> list[str]:
        """Return the columns of grades that name one of several responses, by a word that nothing explains."""
        sides = self.mapping.all(Holds.RESPONSE_A, Holds.RESPONSE_B)
        headers = self.mapping.all(Holds.RESPONSES_OF)
        systems = [said for name in headers for said in names.systems_of(name)]
        said = {
            name: [names.said_of_side(name, side) for side in sides] + [names.said_of(name, each) for each in systems]
            for name in filter(self.may_score, self.free() if sides or headers else ())
        }
        return [name for name, found in said.items() if any(by and not names.is_number_of(by) for by in found)]

    def _may_be_of_people(self, name: str) -> bool:
        """Return whether a column may be of labels by its name; words may be responses where nothing else is one."""
        is_alone = self.has(*ASKS) and not (self.has(Holds.SYSTEM) or self.columns[name].is_worded)
        is_said = names.says_people(name) or self.has(*RESPONDS) or is_alone
        return is_said and names.may_be_of_people(name)

    def _repeats(self, name: str) -> bool:
        """Return whether a column may have another opinion, by its name or as it is of words or of sides of a pair."""
        column = self.columns[name]
        is_preference = self.has(Holds.RESPONSE_A) and (names.chooses(name) or column.mostly(says_a_side))
        return names.is_rating(name) or ((is_preference or not column.is_numbers) and not names.is_number_of(name))

    def _ask_beside_labels(self, known: Sequence[str], labelled: Sequence[str]) -> None:
        """Ask where columns have the words of labels beside them, as those of another person or a judge have, or
        grades."""
        words = {word for column in known for word in self.columns[column].distinct}
        is_said = len(words) > 1 or self.has(Holds.PREFERENCE)
        found = [name for name in labelled if is_said and self._says_the_same(name, words)]
        if found:
            message = f"{', '.join(found)} may be labels of another person or a judge, as {known[0]} has the same ones."
            self.ask_role("unknown-labels", message, IF_SO, (Holds.LABELS_OF, found), (Holds.DETAIL, found))
        elif not self.has(Holds.PREFERENCE):
            by = {names.compared(name).rpartition("_")[2] for name in self.mapping.all(Holds.LABELS_OF)}  # ann_tone
            graded = [name for name in self.free() if self.may_score(name) or self._names_opinion(name)]
            alike = [name for name in graded if not by or names.compared(name).rpartition("_")[2] in by]
            if alike:
                self._ask_of_each(alike)

    def _says_the_same(self, name: str, words: set[str]) -> bool:
        rest = self.columns[name].distinct - words
        return all(self.has(Holds.PREFERENCE) and preference(word) is Choice.TIE for word in rest)

    def may_score(self, name: str, *, is_beside: bool = False) -> bool:
        """Return whether a column has numbers up to 100, or words such as yes and no, and no name for something else.

        One number in all rows is a grade by its name or size, or beside others.
        """
        column, is_said = self.columns[name], names.says_opinion(name) or is_of_criterion(name)
        said = {as_text(value).strip().lower() for value in column.values}
        is_ticked = not any(map(str.isalnum, "".join(said))) and (len(said) > 1 or is_said)
        is_worded = column.is_decided or is_ticked or (bool(said) and any(said <= words for words in _YES_OR_NO))
        if not (is_worded or column.is_numbers) or self._is_of_other(name):
            return False
        numbers = {0.0, 1.0} if is_worded else {number_of(value) or 0.0 for value in column.values}
        if numbers <= {0, 1} and _says_what_it_is(name):
            return False
        is_of_all = (column.mostly(is_grade) and max(numbers) > 1) or (is_beside and not numbers <= {0, 1})
        is_open = is_said or ((len(numbers) > 1 or is_of_all) and (len(said) > 1 or len(column.values) > 1))
        return is_open and (numbers <= {-1, 0, 1} or all(0 <= number <= 100 for number in numbers))

    def may_rate(self, name: str) -> bool:
        """Return whether a column says something of responses: numbers or decisions under a name of opinions, grades
        beside references or under a usual criterion, or the models that wrote them."""
        is_said = names.judges(name) or names.sums_up(name) or is_of_criterion(name)
        is_given = is_said and self.columns[name].is_labels
        return is_given or self.names_models(name) or (self.has(Holds.REFERENCE) and self.may_score(name))

    def names_models(self, name: str) -> bool:
        """Return whether the values of a column are names of models."""
        return self.columns[name].mostly(names_a_model)

    def _is_of_other(self, name: str) -> bool:
        """Return whether a column counts something, or has a name for something else than grades, as those of criteria
        and judges are none.
        """
        is_rating = names.is_rating(name) or names.is_score(name) or names.says_judge(name) or is_of_criterion(name)
        is_rating = is_rating or any(
            names.is_strong(name, role) for role in (Holds.CRITERION, Holds.JUDGE, Holds.LABEL)
        )
        is_named = names.is_known(name) and not (is_rating or self.columns[name].is_decided)
        return is_named or names.is_number_of(name) or self.columns[name].counts_rows

    def alike(self, labels: Sequence[str]) -> list[str]:
        """Return the columns that have values of each other, as labels of several people have."""
        is_open = not self.has(Holds.REFERENCE, *RESPONDS)  # else numbers are of the case or the response
        found = [name for name in labels if not (names.is_number_of(name) or self.columns[name].counts_rows)]
        shares = [name for name in found if names.may_be_rated(name) and self.columns[name].mostly(is_share)]
        graded = [name for name in found if is_open and (name in shares or self.columns[name].mostly(is_grade))]
        found = [name for name in found if name in graded or not self.columns[name].is_numbers]
        said = {name: self.columns[name].distinct for name in found}
        return [name for name in said if any(said[name] & said[other] for other in said if other != name)]

    def may_label(self, name: str) -> bool:
        column = self.columns[name]
        is_other = column.is_sentences or column.holds_objects or names.is_of_media(name)
        return column.is_labels and not (is_other or column.mostly(lambda value: bool(objects(value))))

    def ask_for(self, one: Holds, wide: Holds, candidates: Sequence[str]) -> None:
        """Ask which column has responses or labels, or which ones have them by system or by person."""
        said = "responses" if one is Holds.RESPONSE else "labels"
        message = f"which columns hold {said}? It has: {self.names_of_all()}."
        are_numbered = one is Holds.RESPONSE and names.are_numbered(candidates)
        candidates = candidates if are_numbered or one is not Holds.RESPONSE else candidates[-2:]
        each = option(wide, *candidates)
        hint = f"Say it with --map {one}=COLUMN{', or ' + each if each else ''}."
        page_hint = f"Choose {one.label} for one of them under Columns, or {wide.label} for each of several."
        answers: list[list[Answer]] = [[(one, [name])] for name in candidates]
        if len(candidates) > 1:  # several labels, or texts with numbers, are likelier than one
            is_likelier = are_numbered or one is not Holds.RESPONSE
            answers.insert(0 if is_likelier else len(answers), [(wide, candidates)])
        if are_numbered and len(candidates) == 2:
            sides = zip((Holds.RESPONSE_A, Holds.RESPONSE_B), candidates, strict=True)
            answers.insert(0, [(role, [name]) for role, name in sides])
        if not self.has(*ASKS, Holds.CASE, Holds.CASE_PATH):
            hint += " Say which column holds the prompt with --map prompt=COLUMN."
            page_hint += f" Choose {Holds.PROMPT.label} for one of them too."
            answers = [*self.may_be_asked(), *answers]
            if any(
                1 < len(each.values) == len(each.distinct) and names.are_models(each.distinct)
                for each in self.columns.values()
            ):
                swap = (
                    " If each row is a system and each column a question, swap rows and columns in a spreadsheet first."
                )
                hint, page_hint = hint + swap, page_hint + swap
        elif one is Holds.RESPONSE and not self.has(*ASKS):
            hint += " If one holds what is asked, say --map prompt=COLUMN."
            page_hint += f" If one holds what is asked, choose {Holds.PROMPT.label}."
        elif candidates and self.has(Holds.PROMPT) and not self.has(Holds.SYSTEM):
            hint += f" If none does, say {option(Holds.DETAIL, *candidates)}."
            page_hint += f" If none does, choose {Holds.DETAIL.label}."
            answers.append([(Holds.DETAIL, candidates)])
        self.put(UNKNOWN_COLUMNS, message, hint, page_hint, candidates, *answers)

    def may_be_asked(self) -> list[list[Answer]]:
        """Return the answers that a column of texts holds what is asked, and one of single words the ids of it."""
        free = {name: self.columns[name] for name in self.free()}
        texts = [name for name, column in free.items() if column.is_text or column.mostly(is_question)]
        texts += [
            f"{name}.{key}"
            for name, column in free.items()
            for key in dict.fromkeys(key for value in objects(column.values) for key in value)
            if names.rank(f"{name}.{key}", Holds.PROMPT)
        ]
        words = [name for name in self.free() if self.columns[name].mostly(_is_word_or_count)]
        ids = [name for name in words if len(self.columns[name].distinct) > 1]
        found = [(Holds.PROMPT, texts[:MOST_ANSWERS]), (Holds.CASE, ids[:2])]
        return [[(role, [name])] for role, columns in found for name in columns]


def is_of_criterion(name: str) -> bool:
    """Return whether a name says only what is usual to judge: fluency, is_safe, overall quality."""
    words = {*names.compared(name).split("_")} - {"is", "was", "metric"}
    return bool(words) and words <= _CRITERIA | WORTH - {"good", "bad", "right", "wrong"}


def _stem(name: str) -> str:
    """Return the name of a column without its last word, which tells those of one kind apart; empty for one word."""
    return names.compared(name).rpartition("_")[0]


def _is_word_or_count(value: object) -> bool:
    return as_count(value) is not None or (is_word(value) and len(as_text(value).split()) == 1)


def _says_what_it_is(name: str) -> bool:
    """Return whether a name says what a row is or has, as is_english and has_code do, and not how good it is."""
    fact = re.match(r"(?:is|has)_(?=.)", names.compared(name))
    return fact is not None and names.compared(name)[fact.end() :] not in WORTH


def _of_a_person(name: str) -> bool:
    """Return whether a header is that of what a person answered: student_answer, doctor's response."""
    who = {"student", "pupil", "human", "expert", "doctor", "physician", "nurse", "teacher", "lawyer"}
    return names.has_word(name, Holds.RESPONSE) and not who.isdisjoint(names.words_of(name))


def opinions_in(value: object, name: str = "") -> Iterator[str]:
    """Yield the names of a list of values by name, or the paths of the entries of an object, and of objects in it,
    that are scores or preferences by name; of an object that is named so itself, as judge_scores and metrics are, all
    numbers."""
    yield from named_numbers(value) or ()
    entries = value if isinstance(value, dict) else {}
    is_rated = names.is_strong(name, Holds.CRITERION) and any(names.is_opinion(*entry) for entry in entries.items())
    is_rated = is_rated or names.is_rating(name.rstrip("s"))
    for key, entry in entries.items():
        if isinstance(entry, dict | list):
            yield from (f"{key}.{inner}" for inner in opinions_in(entry, key))
        elif names.is_opinion(key, entry) or (is_rated and _may_rate(key, entry)):
            yield key


def _may_rate(key: str, entry: object) -> bool:
    is_word = isinstance(entry, str) and is_one_word(entry) and names.rank(key, Holds.REASON) is None
    return is_word or number_of(entry) is not None


def is_word(value: object) -> bool:
    return isinstance(value, str) and number_of(value) is None


def is_one_word(value: object) -> bool:
    return re.fullmatch(r"[!-~]+", as_text(value).strip()) is not None
