"""What an import of answers would change in a queue, and why it cannot: compared act by act, written by nobody here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import QuerySet

from evalsite.base.rows import batches
from evalsite.review.models import LEFT_OUT, Annotation, Queue, ReviewItem
from evalsite.review.questions.forms import LETTERS
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.annotation_exports import PAIR, RESPONSE, SHOWN, act_rows, kind_of, shown_value
from evalsite.review.selectors.subjects import form_of_item, label_of_parts, parts_in
from evalsite.review.services.decisions import MOST_ANSWERS, GivenLabel, outcome_of
from evalsite.review.states import ItemOutcome, ItemStatus, outcome
from evalsite.review.tables.annotations import SKIPPED, Act, ActsOfItem, AnnotationFile, ItemRecord, LocatedAct, group
from judging.specs.files.findings import Problem, Severity, said_once
from judging.specs.records.file_records import problem

CHUNK = 500
KEPT_HERE = ("criterion", "scenario", "language", "reason", "arm", "inclusion_probability")
FORMER_KINDS = {"debate": PAIR, "verdict": RESPONSE, "score": RESPONSE}  # in files of earlier versions
Identity = tuple[str, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class PeopleChoice:
    """Who the people of a file are here: by their own name unless mapped; added, switched off, where that is chosen."""

    names: Mapping[str, str] = field(default_factory=dict)  # name in the file: user name here
    create: bool = False

    def here(self, name: str) -> str:
        """Return the user name here of a person in the file."""
        return self.names.get(name, name)


@dataclass(frozen=True, slots=True)
class ImportedAdjudication:
    """A final label as a file tells it."""

    label: str
    parts: str
    adjudicator: str
    reason: str
    adopted: str
    at: datetime
    is_blind: bool


@dataclass(frozen=True, slots=True)
class ItemChange:
    """What happens to one item. `item_id` is None for a test-retest that is not here yet."""

    facts: ItemRecord
    item_id: int | None
    first_id: int | None  # of the item that a test-retest repeats
    acts: tuple[Act, ...]  # new ones, under the names of people here
    adjudication: ImportedAdjudication | None
    quorum: int
    status: ItemStatus
    label: str
    decided_at: datetime | None
    reopened_at: datetime | None = None


@dataclass(slots=True)
class AnnotationPlan:
    """What an import would do. With errors it does nothing."""

    changes: list[ItemChange] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unknown: tuple[str, ...] = ()  # people of the file whom this site does not know
    unchanged: int = 0  # acts that are here already

    @property
    def is_refused(self) -> bool:
        return any(finding.severity is Severity.ERROR for finding in self.problems)

    @property
    def is_empty(self) -> bool:
        return not self.changes

    def counts(self) -> dict[str, int]:
        """Return how much is new, by kind."""
        acts = [act for change in self.changes for act in change.acts]
        return {
            "items": len(self.changes),
            "answers": sum(act.is_answer for act in acts),
            "revisions": sum(bool(act.revised_label) for act in acts),
            "cannot_judge": sum(act.is_unable for act in acts),
            "skips": sum(act.act == "skipped" for act in acts),
            "flags": sum(bool(act.flag) for act in acts),
            "adjudications": sum(change.adjudication is not None for change in self.changes),
            "retests": sum(change.item_id is None for change in self.changes),
            "unchanged": self.unchanged,
        }


def plan_import(*, queue: Queue, file: AnnotationFile, people: PeopleChoice, at: datetime) -> AnnotationPlan:
    """Return what the file would bring into the queue; with the items locked, what it will bring."""
    plan = AnnotationPlan()
    matches = match_items(queue=queue, items=file.items, names=people.names)
    planner = _Planner(queue, file.name, people, at, plan, tells_all=file.tells_all)
    plan.unknown = planner.look_for_people(file.items)
    for location, text, hint in matches.problems:
        planner.say(location, text, hint=hint)
    matched = [item_acts for item_acts in file.items if item_acts.facts.item in matches.by_item]
    for chunk in batches(matched, CHUNK):
        ids = [pk for item_acts in chunk if (pk := matches.by_item[item_acts.facts.item].item_id) is not None]
        rows = act_rows(queue, item_ids=ids)
        here = {item_acts.facts.item: item_acts for item_acts in group(("", row) for row in rows)}
        gone = Annotation.objects.filter(item__in=ids, left_out_at__isnull=False)
        planner.left_out = set(gone.values_list("item_id", "annotator__username"))
        firsts = [pk for item_acts in chunk if (pk := matches.by_item[item_acts.facts.item].first_id) is not None]
        stored = ReviewItem.objects.select_related("queue", "subject__rubric_item").in_bulk({*ids, *firsts})
        for item_acts in chunk:
            match = matches.by_item[item_acts.facts.item]
            item = stored[match.item_id] if match.item_id is not None else None
            first = stored[match.first_id] if match.first_id is not None else item
            planner.compare(item_acts, item, here.get(match.item_id or 0), first, match.first_id)
    plan.problems = said_once(plan.problems)
    return plan


@dataclass(frozen=True, slots=True)
class _ItemAnnotations:
    """What people say of one item, here and in the file."""

    answers: tuple[Act, ...]
    unable: int  # who cannot judge it
    quorum: int
    item: ReviewItem | None

    def outcome(self, *, revised: bool = False) -> ItemOutcome:
        """Return what the labels make of the item; `revised`: those after the reveal, where there are any."""
        given = [_given(act, revised=revised and bool(act.revised_label)) for act in self.answers]
        if self.item is None:
            return outcome([answer.label for answer in given], quorum=self.quorum, unable=self.unable)
        return outcome_of(self.item, given, quorum=self.quorum, unable=self.unable)


def _given(act: Act, *, revised: bool) -> GivenLabel:
    label, parts = (act.revised_label, act.revised_parts) if revised else (act.blind_label, act.blind_parts)
    return GivenLabel(label, parts_in(parts))


@dataclass(slots=True)
class _Planner:
    queue: Queue
    file: str
    people: PeopleChoice
    at: datetime
    plan: AnnotationPlan
    tells_all: bool
    left_out: set[tuple[int, str]] = field(default_factory=set)  # (item, person) of labels that count here no more

    def say(self, location: str, text: str, *, hint: str = "", offending: str = "") -> None:
        self.plan.problems.append(problem(self.file, location, text, hint=hint, offending=offending, code="import"))

    def warn(self, location: str, text: str) -> None:
        self.plan.problems.append(Problem(Severity.WARNING, self.file, location, text, code="import"))

    def look_for_people(self, items: Iterable[ActsOfItem]) -> tuple[str, ...]:
        """Return the people whom this site does not know, and say what to do about them."""
        first: dict[str, str] = {}
        for item in items:
            first.setdefault(item.facts.adjudicator, item.location)
            first.setdefault(item.facts.only_for, item.location)
            for file_act in item.acts:
                first.setdefault(file_act.act.annotator, file_act.location)
        first.pop("", None)
        usernames = {name: self.people.here(name) for name in first}
        existing = set(User.objects.filter(username__in=set(usernames.values())).values_list("username", flat=True))
        unknown = [name for name, here in usernames.items() if here not in existing]
        hint = "Choose an account, or let the missing people be added (without a password, unable to sign in)."
        for name in unknown:
            if not self.people.create or name in self.people.names:
                self.say(first[name], f"There is no account {usernames[name]!r}.", hint=hint, offending=name)
        return tuple(unknown)

    def compare(
        self,
        file_item: ActsOfItem,
        item: ReviewItem | None,
        here: ActsOfItem | None,
        first: ReviewItem | None,
        first_id: int | None,
    ) -> None:
        """Add what is new of one item to the plan, or say why it cannot be."""
        stored = {file_act.act.annotator: file_act.act for file_act in here.acts} if here else {}
        mapped = [LocatedAct(file_act.location, self._mapped(file_act.act)) for file_act in file_item.acts]
        fresh = self._fresh(file_item, [row for row in mapped if not self._is_left_out(row, item)], stored)
        adjudication = self._adjudged(file_item, here)
        if not fresh and adjudication is None:
            return
        answers = {act.annotator: act for act in stored.values() if act.is_answer}
        answers |= {file_act.act.annotator: file_act.act for file_act in fresh if file_act.act.is_answer}
        unable = {act.annotator for act in stored.values() if act.is_unable}
        unable |= {file_act.act.annotator for file_act in fresh if file_act.act.is_unable}
        quorum = max(file_item.facts.quorum or 1, item.quorum if item else 1)
        self._check_quorum(file_item, fresh, len(answers), quorum, repeated=file_item.facts.retest_of is not None)
        self._check_labels(file_item, fresh, first)
        self._check_parts(file_item, fresh, first)
        self._check_facts(file_item, here)
        in_file = {file_act.act.annotator for file_act in mapped if file_act.act.is_answer or file_act.act.is_unable}
        same = {*answers, *unable} == in_file
        is_whole = same and quorum == (file_item.facts.quorum or 1)
        answered = _ItemAnnotations(tuple(answers.values()), len(unable), quorum, item)
        status, label, decided_at = self._fate(file_item, item, answered, is_whole=is_whole)
        acts = _seated([file_act.act for file_act in fresh], stored.values())
        self.plan.changes.append(
            ItemChange(
                facts=file_item.facts,
                item_id=item.pk if item else None,
                first_id=first_id,
                acts=acts,
                adjudication=adjudication,
                quorum=quorum,
                status=status,
                label=label,
                decided_at=decided_at,
                reopened_at=self._reopened_at(item, status, answered),
            )
        )

    def _reopened_at(self, item: ReviewItem | None, status: ItemStatus, answered: _ItemAnnotations) -> datetime | None:
        """Return since when an item waits for a researcher although its answers have a majority."""
        if item is not None and item.reopened_at is not None and status != ItemStatus.ADJUDICATED:
            return item.reopened_at
        state = answered.outcome().state
        return self.at if (status, state) == (ItemStatus.NEEDS_ADJUDICATION, ItemStatus.DECIDED) else None

    def _is_left_out(self, file_act: LocatedAct, item: ReviewItem | None) -> bool:
        """Return whether a person's label of an item was left out here, which an import does not undo."""
        if item is None or (item.pk, file_act.act.annotator) not in self.left_out:
            return False
        self.warn(file_act.location, f"The label of {file_act.act.annotator} was left out here and stays so.")
        self.plan.unchanged += 1
        return True

    def _mapped(self, act: Act) -> Act:
        return replace(act, annotator=self.people.here(act.annotator))

    def _fresh(
        self, file_item: ActsOfItem, mapped: Sequence[LocatedAct], stored: Mapping[str, Act]
    ) -> list[LocatedAct]:
        fresh: dict[str, LocatedAct] = {}
        for file_act in mapped:
            annotator = file_act.act.annotator
            stored_act = stored.get(annotator)
            if annotator in fresh:
                text = f"Two people of the file map to {annotator} on {file_item.facts.name}."
                self.say(file_act.location, text, hint="Choose another account for one of them.")
            elif stored_act is None:
                fresh[annotator] = file_act
            elif self._is_here(file_act.act, stored_act):
                self.plan.unchanged += 1
            else:
                completed = _completed(file_act.act, stored_act)
                names = (column.name for column in fields(Act))
                name = next(name for name in names if getattr(stored_act, name) != getattr(completed, name))
                text = f"{file_item.facts.name} already has another {name} by {annotator}; nothing is overwritten."
                self.say(file_act.location, text, hint="Remove the row to keep the stored value.")
        return list(fresh.values())

    def _is_here(self, act: Act, stored: Act) -> bool:
        """Return whether an act is stored. Other tools tell what was said alone, and call all else skipped."""
        if self.tells_all:
            return replace(stored, slot=None) == replace(_completed(act, stored), slot=None)
        said = parts_in(stored.revised_parts or stored.blind_parts)
        return stored.is_answer == act.is_answer and (act.act == SKIPPED or parts_in(act.blind_parts) == said)

    def _adjudged(self, file_item: ActsOfItem, here: ActsOfItem | None) -> ImportedAdjudication | None:
        imported, stored = _adjudged_of(file_item.facts, self.people), _adjudged_of(here.facts) if here else None
        if (
            imported is not None
            and stored is not None
            and replace(imported, parts=imported.parts or stored.parts) != stored
        ):
            self.say(
                file_item.location, f"{file_item.facts.name} already has another adjudication; nothing is overwritten."
            )
        return imported if stored is None else None

    def _check_quorum(
        self, file_item: ActsOfItem, fresh: Sequence[LocatedAct], n_answers: int, quorum: int, *, repeated: bool
    ) -> None:
        location = next(
            (file_act.location for file_act in reversed(fresh) if file_act.act.is_answer), file_item.location
        )
        if quorum > MOST_ANSWERS:
            self.say(location, f"{file_item.facts.name} has a quorum of {quorum}; the maximum is {MOST_ANSWERS}.")
        elif n_answers > (1 if repeated else quorum):
            text = (
                f"{file_item.facts.name} would have {n_answers} annotations; its quorum is {1 if repeated else quorum}."
            )
            self.say(location, text, hint="Remove the surplus rows.")

    def _check_labels(self, file_item: ActsOfItem, fresh: Sequence[LocatedAct], item: ReviewItem | None) -> None:
        scale = {label.value for label in labels_from_json(item.subject.labels)} if item is not None else set[str]()
        labels = [
            (file_act.location, label)
            for file_act in fresh
            for label in (file_act.act.blind_label, file_act.act.revised_label)
        ]
        labels += [
            (file_item.location, label) for label in (file_item.facts.final_label, file_item.facts.adjudicated_label)
        ]
        for location, label in labels:
            if label and label not in scale:
                text = f"The label {label!r} is not on the scale of {file_item.facts.name}."
                self.say(location, text, hint=f"The scale is {', '.join(sorted(scale))}.", offending=label)

    def _check_parts(self, file_item: ActsOfItem, fresh: Sequence[LocatedAct], item: ReviewItem | None) -> None:
        answers = [
            (
                file_item.location,
                "adjudicated_parts",
                file_item.facts.adjudicated_parts,
                file_item.facts.adjudicated_label,
            )
        ]
        for file_act in fresh:
            act = file_act.act
            self._check_order(file_act, item)
            answers.append((file_act.location, "blind_parts", act.blind_parts, act.blind_label))
            answers.append((file_act.location, "revised_parts", act.revised_parts, act.revised_label))
        answers = [answer for answer in answers if answer[2]]
        form = form_of_item(item) if item is not None and answers else None
        for location, column, parts, label in answers:
            if form is not None and label_of_parts(form, parts) != label:
                text = f"{column} of {file_item.facts.name} do not give the label {label!r}."
                hint = 'Expected: JSON with a value for each part of the rubric, such as {"50.1": true, "clarity": 4}.'
                self.say(location, text, hint=hint, offending=parts[:100])

    def _check_order(self, file_act: LocatedAct, item: ReviewItem | None) -> None:
        order = file_act.act.shown_order
        if not order or item is None:
            return
        letters = LETTERS[: len(item.material.responses) if item.material is not None else 0]
        if "".join(sorted(order)) != letters:
            text = f"shown_order {order!r} is no order of the item's responses."
            self.say(file_act.location, text, hint=f"Expected: the letters {letters}, each once.", offending=order)

    def _check_facts(self, file_item: ActsOfItem, here: ActsOfItem | None) -> None:
        if here is None:
            return
        for name in KEPT_HERE:
            if getattr(file_item.facts, name) != getattr(here.facts, name):
                self.warn(
                    file_item.location,
                    f"{name} of {file_item.facts.name} differs from the stored value, which is kept.",
                )

    def _fate(
        self, file_item: ActsOfItem, item: ReviewItem | None, answered: _ItemAnnotations, *, is_whole: bool
    ) -> tuple[ItemStatus, str, datetime | None]:
        """Return status, label and time of settling: as the file tells where the answers are just the file's."""
        facts = file_item.facts
        if item is not None and item.status in LEFT_OUT:
            return ItemStatus(item.status), item.label, item.decided_at
        blind_outcome = answered.outcome()
        # Until labels were kept apart, a revision could decide an item: files of that time are read by their answers.
        revised_outcome = answered.outcome(revised=True)
        if is_whole and facts.status and facts.status != ItemStatus.STALE:
            if _is_possible(facts, blind_outcome.state, blind_outcome.label or ""):
                return ItemStatus(facts.status), facts.final_label, facts.settled_at
            if not _is_possible(facts, revised_outcome.state, revised_outcome.label or ""):
                text = f"{facts.name} cannot be {facts.status!r} with the label {facts.final_label!r}: "
                self.say(file_item.location, text + "its annotations and adjudication contradict this.")
        if not facts.adjudicated_label and item is not None and item.status == ItemStatus.ADJUDICATED:
            return ItemStatus.ADJUDICATED, item.label, item.decided_at
        if facts.adjudicated_label:
            return ItemStatus.ADJUDICATED, facts.adjudicated_label, facts.adjudicated_at
        return (
            ItemStatus(blind_outcome.state.value),
            blind_outcome.label or "",
            self.at if blind_outcome.state is ItemStatus.DECIDED else None,
        )


def _completed(act: Act, stored: Act) -> Act:
    """Return an act with what files of earlier versions do not tell as it is stored here."""
    return replace(
        act,
        blind_parts=act.blind_parts or stored.blind_parts,
        revised_parts=act.revised_parts or stored.revised_parts,
        mode=act.mode or stored.mode,
        prefilled=act.prefilled or stored.prefilled,
        prefilled_by=act.prefilled_by or stored.prefilled_by,
        guidelines_version=stored.guidelines_version if act.guidelines_version is None else act.guidelines_version,
        seen_before=stored.seen_before if act.seen_before is None else act.seen_before,
    )


def _is_possible(facts: ItemRecord, state: ItemStatus, label: str) -> bool:
    """Return whether a status of the file agrees with its answers; reopened items need adjudication in any case."""
    if facts.status == ItemStatus.ADJUDICATED:
        return bool(facts.adjudicated_label) and facts.final_label == facts.adjudicated_label
    if facts.status == ItemStatus.EXCLUDED:
        return not facts.final_label
    if facts.status == ItemStatus.NEEDS_ADJUDICATION:
        return state is not ItemStatus.OPEN and not facts.final_label
    return facts.status == state.value and facts.final_label == label


def _adjudged_of(facts: ItemRecord, people: PeopleChoice | None = None) -> ImportedAdjudication | None:
    if facts.adjudicated_at is None:
        return None
    choice = people or PeopleChoice()
    return ImportedAdjudication(
        label=facts.adjudicated_label,
        parts=facts.adjudicated_parts,
        adjudicator=choice.here(facts.adjudicator),
        reason=facts.adjudication_reason,
        adopted=choice.here(facts.adjudication_adopted),
        at=facts.adjudicated_at,
        is_blind=bool(facts.adjudication_is_blind),
    )


def _seated(acts: Sequence[Act], stored: Iterable[Act]) -> tuple[Act, ...]:
    """Return acts whose answers take the slots that they had, or the next free ones."""
    used_slots = {act.slot for act in stored if act.is_answer}
    with_slots = []
    for act in sorted(acts, key=lambda act: act.slot if act.slot is not None else -1):
        slot = act.slot
        if act.is_answer and slot in used_slots:
            slot = next(number for number in range(len(used_slots) + 1) if number not in used_slots)
        if act.is_answer:
            used_slots.add(slot)
        with_slots.append(replace(act, slot=slot))
    return tuple(with_slots)


@dataclass(frozen=True, slots=True)
class Match:
    """An item here; None with the first item's id for a test-retest that is not here yet."""

    item_id: int | None
    first_id: int | None = None


@dataclass(slots=True)
class Matches:
    """The matches by the file's own item numbers, and what has none: location, sentence, what to do."""

    by_item: dict[int, Match] = field(default_factory=dict)
    problems: list[tuple[str, str, str]] = field(default_factory=list)


def match_items(*, queue: Queue, items: Sequence[ActsOfItem], names: Mapping[str, str]) -> Matches:
    """Return which items of the queue are meant. An item whose content differs is not taken for it.

    `names` are the user names here of people in the file who are called otherwise.
    """
    matches = Matches()
    hashes = _hashes(queue, {item.facts.item for item in items} | {item.facts.retest_of or 0 for item in items})
    same = [item for item in items if hashes.get(item.facts.item) == item.facts.item_hash]
    matches.by_item = {item.facts.item: Match(item.facts.item) for item in same}
    others = [item for item in items if item.facts.item not in matches.by_item]
    alike = _alike(queue, others)
    for item in others:
        if item.facts.retest_of is None:
            _match_alike(item, alike.get(_identity(item.facts), []), hashes, matches)
    repeated = [other for other in others if other.facts.retest_of is not None]
    _match_retests(repeated, alike, hashes, names, matches)
    _refuse_twins(items, matches)
    return matches


def _hashes(queue: Queue, ids: set[int]) -> dict[int, str]:
    hashes: dict[int, str] = {}
    for some in batches(sorted(ids), CHUNK):
        hashes |= dict(queue.items.filter(pk__in=some).values_list("pk", "content_hash"))
    return hashes


def _identity(facts: ItemRecord) -> Identity:
    kind = FORMER_KINDS.get(facts.subject, facts.subject)
    return facts.item_hash, kind, facts.case, facts.criterion, facts.system_a, facts.system_b


def _alike(queue: Queue, items: Iterable[ActsOfItem]) -> dict[Identity, list[int]]:
    item_ids: dict[Identity, list[int]] = {}
    for hashes in batches(sorted({item.facts.item_hash for item in items}), CHUNK):
        for identity, pk in _identities(queue.items.filter(content_hash__in=hashes, retest_of=None).order_by("pk")):
            item_ids.setdefault(identity, []).append(pk)
    return item_ids


def _identities(items: QuerySet[ReviewItem]) -> Iterable[tuple[Identity, int]]:
    named = [path for paths in SHOWN.values() for path in paths]
    for row in items.values("pk", "content_hash", "criterion", "material_id", "response_b_id", *named):
        kind = kind_of(has_material=row["material_id"] is not None, is_pair=row["response_b_id"] is not None)
        case, system_a, system_b = (shown_value(row, name) for name in SHOWN)
        yield (row["content_hash"], kind, case, row["criterion"], system_a, system_b), row["pk"]


def _match_alike(item: ActsOfItem, item_ids: Sequence[int], hashes: dict[int, str], matches: Matches) -> None:
    facts = item.facts
    if len(item_ids) == 1:
        matches.by_item[facts.item] = Match(item_ids[0])
    elif facts.item in hashes:
        text = f"{facts.name} has different content on this site: its hash begins with {hashes[facts.item][:12]}, "
        hint = "The annotations are about another text or rubric and cannot be imported."
        matches.problems.append((item.location, f"{text}in the file with {facts.item_hash[:12]}.", hint))
    else:
        hint = "Import into the queue that the file was exported from, or into one created from the same file."
        matches.problems.append((item.location, f"{facts.name} is not in this queue.", hint))


def _match_retests(
    items: Sequence[ActsOfItem],
    alike: Mapping[Identity, Sequence[int]],
    hashes: dict[int, str],
    names: Mapping[str, str],
    matches: Matches,
) -> None:
    """Match copies of items; of a gold item nothing but its copies is in a file."""
    for item in items:
        first = matches.by_item.get(item.facts.retest_of or 0)
        same = alike.get(_identity(item.facts), ())
        first_id = first.item_id if first is not None else same[0] if len(same) == 1 else None
        if first_id is None and hashes.get(item.facts.retest_of or 0) == item.facts.item_hash:
            first_id = item.facts.retest_of
        if first_id is None:
            text = f"{item.facts.name} repeats item {item.facts.retest_of}, which is not in this queue."
            matches.problems.append((item.location, text, "Import both items together."))
        else:
            matches.by_item[item.facts.item] = Match(
                _known_retest(first_id, names.get(item.facts.only_for, item.facts.only_for)), first_id
            )


def _known_retest(first_id: int, person: str) -> int | None:
    retests = ReviewItem.objects.filter(retest_of_id=first_id, only_for__username=person)
    return retests.values_list("pk", flat=True).first()


def _refuse_twins(items: Sequence[ActsOfItem], matches: Matches) -> None:
    by_item_id: dict[int, ActsOfItem] = {}
    for item in items:
        match = matches.by_item.get(item.facts.item)
        if match is None or match.item_id is None:
            continue
        if match.item_id in by_item_id:
            text = f"{item.facts.name} and {by_item_id[match.item_id].facts.name} are the same item on this site."
            matches.problems.append((item.location, text, "Import the annotations of one of them."))
            del matches.by_item[item.facts.item]
        else:
            by_item_id[match.item_id] = item
