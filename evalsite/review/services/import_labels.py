"""Stores labels and preferences of people, and those that benchmarks come with, of any import; and reads them back.

One label table for each file, criterion and turn. What is said of responses of this site also becomes the final label
of their content, found by every judge of it, whatever its rubric, run or baseline.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from debate.models import Debate, OutsideLabel
from evalsite.accounts.audit import record
from evalsite.base.rows import batches
from evalsite.base.signals import labels_imported
from evalsite.base.types import JsonDict
from evalsite.review.models import FinalLabel, ImportedLabel, LabelledItem, LabelTable, Provenance, Subject
from evalsite.review.questions.scales import COMPARED, PREFERENCE_SHARES, Label, labels_to_json, scale_of_labels
from evalsite.review.selectors.subjects import (
    Content,
    RubricParts,
    SubjectFacts,
    content_facts,
    first_cases,
    pair_facts,
    with_pairs,
)
from evalsite.review.services.label_tables import (
    SOURCE_LIMIT,
    LabelledSubject,
    delete_labels,
    store_final_labels,
    store_items,
)
from evalsite.review.services.queues import free_slug
from evalsite.review.services.run_referrals import store_subjects
from evalsite.review.states import outcome
from evalsite.review.tables.label_files import LABEL_LIMIT, PREFERENCE_VALUES, item_key
from judging.llm.chat import canonical_json
from judging.models import Response, Suite, SuiteCase, Upload
from judging.services.file_imports.imports import ImportRefused, refusal_message
from judging.services.registries import RecordStore
from judging.specs.files.findings import Problem, Severity, said_once
from judging.specs.records.collected import Collected, preference_json
from judging.specs.records.neutral import Giver, LabelRecord, Place, PreferenceRecord, ResponseRecord
from judging.specs.records.values import moment_of
from judging.specs.types import UNKNOWN_SCALE, Scale
from judging.stored_content import turned_label

BATCH = 2_000
CHUNK = 5_000
CRITERION_LIMIT, LANGUAGE_LIMIT = 200, 20
CHOICES = {value: choice for choice, value in PREFERENCE_VALUES.items()}
_OF_GOLD, _TURN, _STRENGTH, _TURNED, _LABEL = "gold", "turn", "strength", "turned", "label"  # names of details
PAIRS_AT_ONCE = 500


_Identity = tuple[int, int | None]  # a case and a response of it or none; of a pair, both responses


def _stem(file: str) -> str:
    name = file.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _turned(identity: _Identity) -> tuple[int | None, int]:
    return identity[1], identity[0]


@dataclass(slots=True)
class _Given:
    """What one rater said of one item; of a pair in the item's own order."""

    position: int
    rater: str
    label: str
    given_at: datetime | None
    reason: str
    details: JsonDict


@dataclass(slots=True)
class _LabelItem:
    """A case, a response or a pair with what was said of it. `responses` are stored ones; none, or not all: a case."""

    key: str
    about: JsonDict
    place: Place
    responses: tuple[int, ...]
    given: list[_Given] = field(default_factory=list)


@dataclass(slots=True)
class _CriterionTable:
    """The labels of one file, or of people in several, under one criterion, of a conversation about one turn."""

    files: list[str]
    criterion: str
    turn: int | None
    is_pair: bool
    is_gold: bool  # the file itself says it
    declared: Scale = UNKNOWN_SCALE
    items: dict[_Identity, _LabelItem] = field(default_factory=dict)

    @property
    def raters(self) -> list[str]:
        names = dict.fromkeys(given.rater for item in self.items.values() for given in item.given)
        return [name for name in names if name]

    @property
    def name(self) -> str:
        """What the files are called, without their folders and endings."""
        names = [*dict.fromkeys(map(_stem, self.files))]
        return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]

    def fits(self, other: _CriterionTable) -> bool:
        """Return whether the labels of another file are of the same question and say nothing twice.

        Without a criterion, only files of one name, or named after the person, are known to ask the same.
        """
        about = [(table.criterion, table.turn, table.is_pair, table.is_gold, table.declared) for table in (self, other)]
        is_same = self.criterion or self.name == other.name or other.raters == [other.name] == [_stem(other.files[0])]
        if self.is_gold or about[0] != about[1] or not is_same:
            return False
        for identity, item in other.items.items():
            mine = self.items.get(identity)
            raters = {given.rater for given in mine.given} if mine is not None else set()
            if any(given.rater in raters for given in item.given) or (self.is_pair and _turned(identity) in self.items):
                return False
        return True

    def add(self, table: _CriterionTable) -> None:
        """Take the labels of another file in."""
        self.files += table.files
        for identity, item in table.items.items():
            self.items.setdefault(identity, replace(item, given=[])).given.extend(item.given)

    @property
    def words(self) -> str:
        """The criterion and turn, in words."""
        return ", ".join(filter(None, (self.criterion, f"turn {self.turn}" if self.turn else "")))

    def scale(self) -> tuple[Label, ...]:
        """Return the labels, the lowest first."""
        if self.is_pair:
            return COMPARED
        used = (given.label for item in self.items.values() for given in item.given)
        return scale_of_labels(used, () if self.declared == UNKNOWN_SCALE else self.declared)


@transaction.atomic
def store_imported_labels(  # noqa: PLR0913 as `StoreRecords` has it
    *,
    collected: Collected,
    upload: Upload,
    suite: Suite | None,
    responses: Callable[[int], int | None],
    is_blind: bool,
    actor: User | None,
    at: datetime,
) -> list[LabelTable]:
    """Return the tables that the labels and preferences of people and of files became, or already are.

    `responses` gives the id of a stored response. Labels that no person gave are blind, those of people as
    `is_blind` says.

    Raises:
        ImportRefused: a label contradicts what the same people, or the same file, said before.
    """
    tables = _Tables(collected, responses)
    for position, (_, label) in enumerate(collected.labels):
        tables.add_label(position, label)
    for position, (_, preference) in enumerate(collected.preferences):
        if preference.kind is not Giver.JUDGE:
            tables.add_preference(position, preference)
    cases = {prompt_id: case.pk for prompt_id, case in first_cases(suite.pk).items()} if suite is not None else {}
    keeper = _Keeper(upload, suite, cases, actor, at)
    stored = [keeper.store(table, is_blind=is_blind or table.is_gold) for table in tables.together()]
    if keeper.problems:
        problems = tuple(said_once(keeper.problems))
        raise ImportRefused(refusal_message(problems), problems)
    if keeper.new:
        labels_imported.send(sender=LabelTable)
    return stored


class _Tables:
    """Sorts records into tables and items."""

    def __init__(self, collected: Collected, responses: Callable[[int], int | None]) -> None:
        self.by_key: dict[tuple[object, ...], _CriterionTable] = {}
        self._collected, self._stored = collected, responses
        self._keys = collected.case_keys()

    def add_label(self, position: int, row: LabelRecord) -> None:
        """Take a label of a response or a case."""
        table = self._table(row.place.file, row.criterion, None, is_pair=False, is_gold=not row.rater)
        if row.scale != UNKNOWN_SCALE and table.declared == UNKNOWN_SCALE:
            table.declared = row.scale
        identity = (row.case, row.response)
        if identity not in table.items:
            about: JsonDict = {"case": self._keys[row.case]}
            response_id = None
            if row.response is not None:
                response = self._collected.response(row.response)
                about |= {"system": response.system, "attempt": response.attempt}
                response_id = self._stored(row.response)
            table.items[identity] = _LabelItem(
                item_key(about["case"], self._named(row.response)),
                about,
                row.place,
                () if response_id is None else (response_id,),
            )
        details = dict(row.metadata) | ({_LABEL: row.label} if len(row.label) > LABEL_LIMIT else {})
        given = _Given(position, row.rater, row.label[:LABEL_LIMIT], moment_of(row.at), row.reason, details)
        table.items[identity].given.append(given)

    def add_preference(self, position: int, row: PreferenceRecord) -> None:
        """Take a preference; both ways round of a pair are one item."""
        is_gold = row.kind is Giver.GOLD
        table = self._table(row.place.file, row.criterion, row.turn, is_pair=True, is_gold=is_gold)
        identity, turned_identity = (row.a, row.b), (row.b, row.a)
        is_turned = turned_identity in table.items
        if is_turned:
            identity = turned_identity
        elif identity not in table.items:
            first, second = self._collected.response(row.a), self._collected.response(row.b)
            case = self._keys[first.case]
            about: JsonDict = {"case": case, "a": first.system, "b": second.system}
            about["attempts"] = [first.attempt, second.attempt]
            ids = [pk for number in identity if (pk := self._stored(number)) is not None]
            key = item_key(case, self._named(row.a), self._named(row.b))
            table.items[identity] = _LabelItem(key, about, row.place, tuple(ids) if len(ids) == 2 else ())
        details: JsonDict = dict(row.metadata)
        details |= {_STRENGTH: row.strength} if row.strength is not None else {}
        details |= {_TURN: row.turn} if row.turn is not None else {}
        details |= {_TURNED: True} if is_turned else {}
        details |= {_OF_GOLD: True} if is_gold else {}
        label = turned_label(PREFERENCE_VALUES[row.choice], turned=is_turned)
        table.items[identity].given.append(_Given(position, row.by, label, None, row.reason, details))

    def _table(self, file: str, criterion: str, turn: int | None, *, is_pair: bool, is_gold: bool) -> _CriterionTable:
        key = (file, criterion, turn, is_pair, is_gold)
        return self.by_key.setdefault(key, _CriterionTable([file], criterion, turn, is_pair, is_gold))

    def together(self) -> list[_CriterionTable]:
        """Return the tables, with those of people in files of their own as one; what one says twice stays apart."""
        together: list[_CriterionTable] = []
        for table in self.by_key.values():
            fitting = next((earlier for earlier in together if earlier.fits(table)), None)
            if fitting is None:
                together.append(table)
            else:
                fitting.add(table)
        return together

    def _named(self, number: int | None) -> ResponseRecord | None:
        return None if number is None else self._collected.response(number)


@dataclass(slots=True)
class _Keeper:
    """Stores tables of one upload with their final labels."""

    upload: Upload
    suite: Suite | None
    cases: dict[int, int]  # of the suite, by prompt
    actor: User | None
    at: datetime
    new: int = 0
    problems: list[Problem] = field(default_factory=list)

    def store(self, table: _CriterionTable, *, is_blind: bool) -> LabelTable:
        """Return the table, or the equal one that is stored."""
        contents = self._contents(table)
        digest = self._digest(table, contents, is_blind=is_blind)
        known = LabelTable.objects.filter(digest=digest).first()
        if known is not None:
            return known
        scale, raters = table.scale(), table.raters
        name = ", ".join(filter(None, (table.name, table.words)))
        source = (", ".join(raters) or table.files[0].rpartition("/")[2])[:SOURCE_LIMIT]
        labels = self._final_labels(table, contents, scale, source, is_blind=is_blind)
        row = LabelTable.objects.create(
            slug=free_slug(LabelTable, name),
            name=name[:200],
            labels=labels_to_json(scale),
            source_file=", ".join(dict.fromkeys(file.rpartition("/")[2] for file in table.files))[:200],
            item_count=len(table.items),
            label_count=sum(len(item.given) for item in table.items.values()),
            imported_by=self.actor,
            created_at=self.at,
            digest=digest,
            source=source,
            is_blind=is_blind,
            upload=self.upload,
        )
        self.new += 1
        store_items(row, self._items_of(row, table))
        store_final_labels(row, labels, self.at)
        record(
            self.actor,
            "labels.imported",
            row,
            **{"file": ", ".join(table.files), "items": row.item_count, "labels": row.label_count, "from": source},
            blind=is_blind,
            final_labels=row.final_count,
        )
        return row

    def _items_of(self, row: LabelTable, table: _CriterionTable) -> Iterator[tuple[LabelledItem, list[ImportedLabel]]]:
        links = SuiteCase.objects.filter(suite=self.suite).values_list("case__key", "case__scenario", "case__lang")
        classes = {
            key: {"scenario": scenario, "language": language[:LANGUAGE_LIMIT]}
            for key, scenario, language in links.iterator(CHUNK)
        }
        for item in table.items.values():
            stored = LabelledItem(
                table=row,
                key=item.key,
                criterion=table.criterion[:CRITERION_LIMIT],
                about=item.about,
                response_id=item.responses[0] if item.responses else None,
                response_b_id=item.responses[1] if len(item.responses) == 2 else None,
                **classes.get(item.about["case"], {}),
            )
            yield stored, [ImportedLabel(**asdict(given)) for given in item.given]

    def _contents(self, table: _CriterionTable) -> dict[int, tuple[Content, int, int]]:
        """Return the content, the prompt and the number of turns of each stored response of a table."""
        ids = sorted({pk for item in table.items.values() for pk in item.responses})
        contents: dict[int, tuple[Content, int, int]] = {}
        columns = ["pk", "text_hash", "prompt_id", "prompt__content_hash", "prompt__benchmark_id"]
        for some in batches(ids, CHUNK):
            rows = Response.objects.filter(pk__in=some)
            for row in rows.values_list(*columns, *(["messages"] if table.turn else [])):
                pk, text_hash, prompt_id, prompt_hash, benchmark_id = row[:5]
                turns = sum(turn["role"] == "assistant" for turn in row[5]) if table.turn else 1
                contents[pk] = Content(prompt_hash, (text_hash,), benchmark_id), prompt_id, turns
        return contents

    def _digest(self, table: _CriterionTable, contents: dict[int, tuple[Content, int, int]], *, is_blind: bool) -> str:
        """Return what is equal where a second import would bring nothing new."""
        benchmark_id = self.suite.benchmark_id if self.suite is not None else None
        head = [
            ", ".join(table.files),
            table.criterion,
            table.turn,
            table.is_pair,
            table.is_gold,
            benchmark_id,
            is_blind,
        ]
        digest = sha256(canonical_json(head))
        for item in table.items.values():
            hashes = [contents[pk][0].text_hashes for pk in item.responses]
            given = [[row.rater, row.label, row.reason, row.details] for row in item.given]
            digest.update(canonical_json([item.key, item.about, hashes, given]))
        return digest.hexdigest()

    def _final_labels(
        self,
        table: _CriterionTable,
        contents: dict[int, tuple[Content, int, int]],
        scale: tuple[Label, ...],
        source: str,
        *,
        is_blind: bool,
    ) -> list[tuple[SubjectFacts, str]]:
        """Return the subjects that the raters agree about, with their label, without those stored before."""
        subjects: dict[str, LabelledSubject] = {}
        for item in table.items.values():
            if not item.responses:
                continue
            content, prompt_id, turns = contents[item.responses[0]]
            hashes = tuple(contents[pk][0].text_hashes[0] for pk in item.responses)
            if len(set(hashes)) < len(hashes):
                continue  # two equal texts: neither is better
            about = Content(content.prompt_hash, hashes, content.benchmark_id)
            is_whole = table.turn is None or table.turn >= turns  # the last turn stands for the conversation too
            for criterion in dict.fromkeys((table.words, table.criterion if is_whole else table.words)):
                facts = content_facts(
                    about, case_id=self.cases.get(prompt_id), criterion=criterion[:CRITERION_LIMIT], labels=scale
                )
                subject = subjects.setdefault(facts.key, LabelledSubject(facts, item.place))
                subject.labels += [turned_label(row.label, turned=facts.is_turned) for row in item.given]
        former = self._former(subjects.values(), source)
        agreed: list[tuple[SubjectFacts, str]] = []
        for subject in subjects.values():
            label = outcome(subject.labels, quorum=1).label
            stored = former.get(subject.facts.content_key)
            if label is None or (stored is not None and (stored.label, stored.is_blind) == (label, is_blind)):
                continue
            if stored is None:
                agreed.append((subject.facts, label))
            else:
                self.problems.append(_contradiction(subject.place, label, stored))
        return agreed

    def _former(self, subjects: Iterable[LabelledSubject], source: str) -> dict[str, FinalLabel]:
        """Return what the same people or file said before, by content."""
        former: dict[str, FinalLabel] = {}
        rows = FinalLabel.objects.filter(item=None, source=source, table__isnull=False)
        for some in batches((subject.facts.content_key for subject in subjects), CHUNK):
            found = rows.filter(subject__content_key__in=some).select_related("subject", "table").order_by("-pk")
            former |= {row.subject.content_key: row for row in found}
        return former


def _contradiction(place: Place, label: str, stored: FinalLabel) -> Problem:
    if stored.label != label and stored.subject.is_pair:
        text = f"{stored.source} has another preference for this pair in {stored.table}."
    elif stored.label != label:
        text = f"{stored.source} gave this the label {stored.label!r} in {stored.table}; this file has {label!r}."
    else:
        words = "blind" if stored.is_blind else "not blind"
        text = f"This label of {stored.source} is stored as {words} in {stored.table}."
    hint = "Delete that table of labels first."
    return Problem(Severity.ERROR, place.file, place.at, text, label[:120], hint, "other-label")


def imported_labels(upload: Upload) -> Iterator[JsonDict]:
    """Yield the stored labels of an upload, in its order, as `Collected.document` has them."""
    rows = _stored(upload).exclude(item__about__has_key="a")
    for row in rows.iterator(CHUNK):
        about = row.item.about
        fields: JsonDict = {"case": about["case"], "rater": row.rater, "label": row.details.get(_LABEL, row.label)}
        fields["criterion"] = row.item.criterion
        fields |= {name: about[name] for name in ("system", "attempt") if name in about}
        yield fields | ({"reason": row.reason} if row.reason else {})


def imported_person_preferences(upload: Upload) -> Iterator[JsonDict]:
    """Yield the stored preferences of people and files of an upload, in its order, as `Collected.document` has them."""
    for row in _stored(upload).filter(item__about__has_key="a").iterator(CHUNK):
        about, is_turned = row.item.about, bool(row.details.get(_TURNED))
        systems, attempts = (about["a"], about["b"]), tuple(about["attempts"])
        preference = PreferenceRecord(
            a=0,
            b=0,
            choice=CHOICES[turned_label(row.label, turned=is_turned)],
            kind=Giver.GOLD if row.details.get(_OF_GOLD) else Giver.PERSON,
            by=row.rater,
            strength=row.details.get(_STRENGTH),
            reason=row.reason,
            criterion=row.item.criterion,
            turn=row.details.get(_TURN),
        )
        yield preference_json(
            preference,
            case=about["case"],
            systems=systems[::-1] if is_turned else systems,
            attempts=attempts[::-1] if is_turned else attempts,
        )


def _stored(upload: Upload) -> QuerySet[ImportedLabel]:
    rows = ImportedLabel.objects.filter(table__upload=upload).select_related("item")
    return rows.order_by("position", "pk")


def delete_imported_labels(upload: Upload, actor: User | None) -> None:
    """Remove the tables that came with an upload, with their final labels."""
    for table in LabelTable.objects.filter(upload=upload).order_by("pk"):
        subject_ids = list(table.final_labels.values_list("subject_id", flat=True))
        delete_labels(table=table, actor=actor)
        for some in batches(subject_ids, BATCH):  # those that nothing else asks about would keep their cases
            rows = Subject.objects.filter(pk__in=some)
            rows.filter(final_labels=None, items=None, referrals=None).delete()


LABEL_STORE = RecordStore(
    store=store_imported_labels,
    read={"labels": imported_labels, "preferences": imported_person_preferences},
    delete=delete_imported_labels,
)


_Answer = tuple[str, bool, datetime]  # a label in the order of the subject of a pair, whether it is blind, and when
_Answers = dict[str, dict[str, _Answer]]  # by the subject's key and rater


def keep_debate_labels(*, debate_ids: Iterable[int], at: datetime) -> None:
    """Store what raters elsewhere say of the pairs of these debates as final labels, some hundred debates at a time.

    A second time changes nothing, so that a job which broke off may be repeated.

    A pair has one label of its blind raters and one of the others at most: the most frequent answer, none where two are
    equally frequent. Debates of equal content are one pair, of which a rater's newest answer counts.
    """
    parts, changed = RubricParts(), 0
    for some in batches(sorted(debate_ids), PAIRS_AT_ONCE):
        changed += _keep(some, parts, at)
    if changed:
        labels_imported.send(sender=FinalLabel)


@transaction.atomic
def _keep(debate_ids: Sequence[int], parts: RubricParts, at: datetime) -> int:
    """Return how many final labels of these debates' pairs were new, changed or no longer given."""
    debates = list(with_pairs(Debate.objects.filter(pk__in=debate_ids)).order_by("pk"))
    subjects = store_subjects(facts=[pair_facts(debate, parts) for debate in debates], at=at)
    ids = {subject.pk for subject in subjects.values()}
    list(Subject.objects.select_for_update().filter(pk__in=ids).order_by("pk"))  # imports of the same pairs take turns
    answers = _answers(_labelled_twins(debates), subjects, parts)
    fresh = {
        (subjects[key].pk, is_blind): row
        for key, by_rater in answers.items()
        for is_blind in (True, False)
        if (row := _final_label(subjects[key], by_rater, is_blind=is_blind)) is not None
    }
    stored = {
        (row.subject_id, row.is_blind): row for row in FinalLabel.objects.filter(subject__in=ids, item=None, table=None)
    }
    changed_keys = [key for key in sorted({*fresh, *stored}) if _said(fresh.get(key)) != _said(stored.get(key))]
    FinalLabel.objects.filter(pk__in=[stored[key].pk for key in changed_keys if key in stored]).delete()
    FinalLabel.objects.bulk_create(fresh[key] for key in changed_keys if key in fresh)
    return len(changed_keys)


def _labelled_twins(debates: Iterable[Debate]) -> QuerySet[Debate]:
    """Return the labelled debates, of any set, whose responses and question are among those of these debates."""
    responses = [response for debate in debates for response in (debate.response_a, debate.response_b)]
    texts = {response.text_hash for response in responses}
    twins = Debate.objects.filter(
        Exists(OutsideLabel.objects.filter(debate=OuterRef("pk"))),
        response_a__prompt__content_hash__in={debate.response_a.prompt.content_hash for debate in debates},
        response_a__text_hash__in=texts,
        response_b__text_hash__in=texts,
    )
    return with_pairs(twins).order_by("pk")


def _answers(debates: Iterable[Debate], keys: Collection[str], parts: RubricParts) -> _Answers:
    facts = {debate.pk: content for debate in debates if (content := pair_facts(debate, parts)).key in keys}
    answers: _Answers = defaultdict(dict)
    for row in OutsideLabel.objects.filter(debate__in=facts).order_by("created_at", "pk"):
        about = facts[row.debate_id]
        label = turned_label(str(row.verdict), turned=about.is_turned)
        answers[about.key][row.rater] = label, row.is_blind, row.created_at
    return answers


def _final_label(subject: Subject, by_rater: dict[str, _Answer], *, is_blind: bool) -> FinalLabel | None:
    """Return the label that the blind raters, or the others, agree about."""
    counted = {rater: answer for rater, answer in by_rater.items() if answer[1] == is_blind}
    leads = Counter(label for label, _, _ in counted.values()).most_common(2)
    if not leads or (len(leads) > 1 and leads[0][1] == leads[1][1]):
        return None
    label = leads[0][0]
    return FinalLabel(
        subject=subject,
        provenance=Provenance.IMPORTED,
        is_blind=is_blind,
        label=label,
        share=PREFERENCE_SHARES[label],
        source=", ".join(sorted(counted))[:SOURCE_LIMIT],
        decided_at=max(given_at for _, _, given_at in counted.values()),
    )


def _said(row: FinalLabel | None) -> tuple[str, str] | None:
    return None if row is None else (row.label, row.source)
