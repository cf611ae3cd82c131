"""Makes queues, changes them and keeps their counters; and the teams of people that queues are given to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Case, F, Value, When
from django.utils.text import slugify

from debate.models import Agent, DebateSet
from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import delete_with_dependents, dependents_of
from evalsite.base.rows import assign, lock_row
from evalsite.base.types import JsonObject
from evalsite.review.blinding import blind_name, hidden_name_in
from evalsite.review.models import (
    LEFT_OUT,
    GuidelinesReading,
    LabelTable,
    NoticeKind,
    PastGuidelines,
    Queue,
    Quota,
    ReviewItem,
    Team,
)
from evalsite.review.models.items import SHARES
from evalsite.review.questions.scales import Label, labels_to_json
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.waiting_items import HELD
from evalsite.review.services.claims import withdraw_held
from evalsite.review.services.notices import notify
from evalsite.review.states import ItemStatus, QueueStatus, ReviewRefused, check_transition
from judging.models import EvaluatorKind, Run, System


def names_behind(queue: Queue) -> list[str]:
    """Return every name that annotators of a queue are not to know."""
    names = [queue.source_file]
    if queue.run is not None:
        names += names_behind_run(queue.run)
    if queue.debate_set is not None:
        names += names_behind_debates(queue.debate_set)
    for pair in queue.materials.order_by().values_list("system_a", "system_b").distinct():
        names += pair
    for more in queue.materials.exclude(more=[]).values_list("more", flat=True):
        names += [system for _, system in more]
    return [name for name in names if name]


def names_behind_run(run: Run) -> list[str]:
    """Return the names of a run's systems and judges; rules have names that tell nothing."""
    judges = run.evaluators.filter(kind=EvaluatorKind.JUDGE)
    return [*_of_systems(run.systems.all()), *judges.values_list("name", flat=True)]


def names_behind_debates(debate_set: DebateSet) -> list[str]:
    """Return the names of a set's systems and agents."""
    agents = Agent.objects.filter(debate__debate_set=debate_set).order_by().values_list("name", flat=True)
    return [*_of_systems([debate_set.system_a, debate_set.system_b]), *agents.distinct()]


def _of_systems(systems: Iterable[System]) -> list[str]:
    return [word for system in systems for word in (system.name, system.model)]


DEFAULT_QUORUM = 2
MANY_ITEMS = 1_000
QUORUMS_SHOWN = 5
PAIR_GUIDELINES = """Read the question, then both responses, and choose the one that serves the person who asked better.

- Judge by the criterion where one is shown, not by length or tone.
- Choose **Neither** when both are equally good or equally bad.
- If you cannot judge an item, say so and give a reason. If something is broken, flag it."""
SINGLE_GUIDELINES = """Read the question, then the response, and grade it, by the rubric where one is shown.

- Judge what is written, not what was probably meant.
- If you cannot judge an item, say so and give a reason. If something is broken, flag it."""

FORM_GUIDELINES = """Read everything that is shown before you answer what is asked about it.

- Judge what is written, not what was probably meant.
- If you cannot judge an item, say so and give a reason. If something is broken, flag it."""


@transaction.atomic
def queue_for_run(*, run: Run, labels: Sequence[Label], at: datetime) -> Queue:
    """Return the queue of a run, made on the first call."""
    if queue := Queue.objects.filter(run=run).first():
        return queue
    name = blind_name((f"{run.suite}, run {run.pk}", f"Run {run.pk}"), hidden=names_behind_run(run))
    return _make(name, labels, at, {"run": run, "guidelines": SINGLE_GUIDELINES, "created_by": run.created_by})


@transaction.atomic
def queue_for_debates(*, debate_set: DebateSet, labels: Sequence[Label], at: datetime) -> Queue:
    """Return the queue of a debate set, made on the first call."""
    if queue := Queue.objects.filter(debate_set=debate_set).first():
        return queue
    names = (debate_set.name, f"{debate_set.criterion}, debates {debate_set.pk}", f"Debates {debate_set.pk}")
    name = blind_name(names, hidden=names_behind_debates(debate_set))
    owner = debate_set.run.created_by if debate_set.run is not None else None
    return _make(name, labels, at, {"debate_set": debate_set, "guidelines": PAIR_GUIDELINES, "created_by": owner})


def check_name(name: str, *, hidden: Iterable[str]) -> None:
    """Accept a name that annotators may see. Raises: ReviewRefused where it holds the name of a system or a judge."""
    hidden_name = hidden_name_in(name, hidden=hidden)
    if hidden_name:
        raise ReviewRefused(
            f"Annotators see this name, and it contains “{hidden_name}”, which must stay hidden. Remove it.",
            field="name",
        )


def _make(name: str, labels: Sequence[Label], at: datetime, fields: JsonObject) -> Queue:
    return Queue.objects.create(
        slug=free_slug(Queue, name),
        name=name[:200],
        labels=labels_to_json(labels),
        quorum=DEFAULT_QUORUM,
        created_at=at,
        **fields,
    )


def free_slug(model: type[Queue] | type[LabelTable], name: str) -> str:
    """Return a slug made of the name that no row of the model has yet."""
    base = slugify(name)[:70].strip("-") or "queue"
    used_slugs = set(model._default_manager.filter(slug__startswith=base).values_list("slug", flat=True))
    numbers = range(2, len(used_slugs) + 3)
    return base if base not in used_slugs else next(f"{base}-{n}" for n in numbers if f"{base}-{n}" not in used_slugs)


def other_quorums(queue: Queue) -> list[int]:
    """Return the quorums of items that were begun before the queue's was changed, in order. One query."""
    items = queue.items.exclude(arm=ItemArm.RETEST).exclude(status__in=LEFT_OUT).exclude(quorum=queue.quorum)
    return sorted(items.order_by().values_list("quorum", flat=True).distinct()[:QUORUMS_SHOWN])


def recount(*, queue_id: int) -> Queue:
    """Bring a queue's counters up to date with its items, inside the caller's transaction.

    The queue's row is locked before counting: whoever decides an item meanwhile has either been counted or waits to
    count down after this.
    """
    queue = lock_row(Queue, queue_id)
    items = ReviewItem.objects.filter(queue=queue).exclude(arm=ItemArm.RETEST)
    queue.total_count = items.exclude(status__in=LEFT_OUT).count()
    queue.open_count = items.filter(status=ItemStatus.OPEN).count()
    queue.save(update_fields=["total_count", "open_count"])
    if queue.open_count >= MANY_ITEMS:
        count_for_planner()
    return queue


def count_for_planner() -> None:
    """Let PostgreSQL count the items now: right after many came, it would take the table for an empty one."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE review_reviewitem")


@transaction.atomic
def set_queue_status(*, queue: Queue, status: QueueStatus, actor: User | None) -> Queue:
    """Pause, resume, archive or bring back a queue.

    Raises:
        ReviewRefused: the queue cannot go there from where it is.
    """
    queue = lock_row(Queue, queue.pk)
    check_transition(QueueStatus(queue.status), QueueStatus(status))
    queue.status = status
    queue.save(update_fields=["status"])
    record(actor, f"queue.{status}", queue)
    return queue


def set_members(*, queue: Queue, members: Sequence[User], at: datetime) -> dict[str, list[str]]:
    """Let these people work at a queue and tell the new ones; none: everybody may. Return who joined and who left.

    What others hold is taken back, and what they typed is kept.
    """
    changes, added = _set_people(queue, members)
    if members:
        withdraw_held(queue.assignments.filter(item_open=True, status__in=HELD).exclude(annotator__in=members))
    notify(people=added, kind=NoticeKind.ASSIGNED, subject=queue, at=at)
    return changes


def _set_people(group: Queue | Team, people: Sequence[User]) -> tuple[dict[str, list[str]], list[User]]:
    """Let a queue or a team have these members; return the names of who joined and left, and who joined."""
    before = set(group.members.all())
    group.members.set(people)
    added = [person for person in people if person not in before]
    named = {"joined": added, "left": before.difference(people)}
    return {word: sorted(person.username for person in each) for word, each in named.items() if each}, added


def members_of(team: Team | None, *, chosen: Sequence[User] | None) -> Sequence[User] | None:
    """Return the people of a team, whom nobody changes until the caller's transaction ends; those chosen without it."""
    return chosen if team is None else list(lock_row(Team, team.pk).members.all())


@transaction.atomic
def update_queue(
    *, queue: Queue, fields: JsonObject, members: Sequence[User] | None, actor: User | None, at: datetime
) -> Queue:
    """Change name, guidelines, mode, order and quorum of a queue, and who answers it: the people of its team, if any.

    A new quorum holds for open items that nobody has answered or taken yet; the others keep theirs.

    Raises:
        ReviewRefused: the name gives a system, a judge or a file away, or somebody changed the guidelines meanwhile.
    """
    members = members_of(fields.get("team"), chosen=members)
    seen, queue = queue.guidelines_version, lock_row(Queue, queue.pk)
    if fields.get("name", queue.name) != queue.name:
        check_name(fields["name"], hidden=names_behind(queue))
    if fields.get("guidelines", queue.guidelines) != queue.guidelines:
        fields = {**fields, "guidelines_version": _keep_guidelines(queue, begun_with=seen, actor=actor, at=at)}
    changes = assign(queue, fields)
    if changes:
        queue.save(update_fields=sorted(changes))
    if "quorum" in changes or "overlap" in changes:
        untouched = queue.items.filter(status=ItemStatus.OPEN, answer_count=0, assignments__isnull=True)
        shared = Case(When(place__lt=queue.overlap * SHARES, then=Value(queue.quorum)), default=Value(1))
        items = ReviewItem.objects.filter(pk__in=untouched.values("pk"), retest_of=None)
        items.alias(place=F("shuffle") % SHARES).update(quorum=shared)
    if members is not None:
        changes |= set_members(queue=queue, members=members, at=at)
    if changes:
        record(actor, "queue.changed", queue, **changes)
    return queue


def guidelines_moved(queue: Queue, begun_with: int) -> str:
    """Why guidelines that were made of an older version are not stored."""
    return (
        f"Somebody changed the guidelines meanwhile: they are version {queue.guidelines_version} now, and this text "
        f"was made of version {begun_with}. Copy it, and open the settings again."
    )


def _keep_guidelines(queue: Queue, *, begun_with: int, actor: User | None, at: datetime) -> int:
    """Keep the guidelines that are being replaced, and return the number of the new ones; their author knows them."""
    if queue.guidelines_version != begun_with:
        raise ReviewRefused(guidelines_moved(queue, begun_with), field="guidelines")
    PastGuidelines.objects.create(queue=queue, version=queue.guidelines_version, text=queue.guidelines, replaced_at=at)
    version = queue.guidelines_version + 1
    if actor is not None:
        confirm_guidelines(queue=queue, person=actor, version=version, at=at)
    return version


def confirm_guidelines(*, queue: Queue, person: User, version: int, at: datetime) -> GuidelinesReading:
    """Note that a person has read a version of a queue's guidelines."""
    read = {"version": version, "read_at": at}
    return GuidelinesReading.objects.update_or_create(queue=queue, person=person, defaults=read)[0]


@transaction.atomic
def set_quota(*, queue: Queue, person: User, items: int | None, until: date | None, actor: User | None) -> Queue:
    """Ask a person for so many items of a queue at most, until a last day; neither: their quota is taken away."""
    if items is None and until is None:
        queue.quotas.filter(person=person).delete()
    else:
        Quota.objects.update_or_create(queue=queue, person=person, defaults={"items": items, "until": until})
    record(actor, "queue.quota_set", queue, person=person.username, items=items, until=until)
    return queue


@transaction.atomic
def save_view(*, queue: Queue, name: str, query: str, actor: User | None) -> Queue:
    """Keep a filter of a queue's items under a name, in place of one that has it; without a filter the name goes."""
    queue = lock_row(Queue, queue.pk)
    queue.views = {key: kept for key, kept in queue.views.items() if key != name} | ({name: query} if query else {})
    queue.save(update_fields=["views"])
    record(actor, "queue.view_saved" if query else "queue.view_deleted", queue, view=name, query=query)
    return queue


@transaction.atomic
def delete_queue(*, queue: Queue, actor: User | None) -> Queue:
    """Delete a queue with its items, annotations and final labels.

    Raises:
        InUse: something rests on it.
    """
    queue = lock_row(Queue, queue.pk)
    found = dependents_of(queue)
    record(actor, "queue.deleted", str(queue), queue=queue.pk, **found.counts(found.gone))
    delete_with_dependents(queue)
    return queue


@transaction.atomic
def create_team(*, name: str, members: Sequence[User], actor: User | None) -> Team:
    """Return a new team of these people."""
    team = Team.objects.create(name=name, created_by=actor)
    team.members.set(members)
    record(actor, "team.created", team, members=len(members))
    return team


@transaction.atomic
def change_team(*, team: Team, name: str, members: Sequence[User], actor: User | None, at: datetime) -> Team:
    """Rename a team and say who is in it. Who joins or leaves it joins or leaves its queues."""
    team = lock_row(Team, team.pk)
    changes = assign(team, {"name": name}) | _set_people(team, members)[0]
    team.save(update_fields=["name"])
    for queue in team.queues.select_for_update().order_by("pk"):
        set_members(queue=queue, members=members, at=at)
    if changes:
        record(actor, "team.changed", team, **changes)
    return team


@transaction.atomic
def delete_team(*, team: Team, actor: User | None) -> Team:
    """Delete a team. Its queues keep its people as their members."""
    record(actor, "team.deleted", str(team), team=team.pk)
    team.delete()
    return team
