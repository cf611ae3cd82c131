"""Tags runs, archives, restores and deletes them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.base.actions.deletions import delete_with_dependents, dependents_of
from evalsite.base.rows import lock_row
from judging.models import Run, RunKind, RunTag
from judging.states import ACTIVE, RunRefused

TAG_LENGTH = 40
MAX_TAGS = 10


def tags_in(text: str) -> list[str]:
    """Return the tags of a comma-separated text, each once whatever its case, in their order.

    Raises:
        RunRefused: one is too long, or there are too many.
    """
    by_key: dict[str, str] = {}
    for part in text.split(","):
        name = " ".join(part.split())
        by_key.setdefault(name.casefold(), name)
    tags = [name for name in by_key.values() if name]
    if any(len(tag) > TAG_LENGTH for tag in tags):
        raise RunRefused(f"A tag has at most {TAG_LENGTH} characters.")
    if len(tags) > MAX_TAGS:
        raise RunRefused(f"A run has at most {MAX_TAGS} tags.")
    return tags


@transaction.atomic
def tag_run(*, run_id: int, tags: Iterable[str], actor: User | None) -> Run:
    """Give a run these tags in place of those it has; the audit log keeps the former ones."""
    run = lock_row(Run, run_id)
    former, new = sorted(run.tags.values_list("name", flat=True)), sorted(tags)
    if former == new:
        return run
    run.tags.exclude(name__in=new).delete()
    RunTag.objects.bulk_create(RunTag(run=run, name=name) for name in new if name not in former)
    record(actor, "run.tagged", run, **{"tags": ", ".join(new), "former tags": ", ".join(former)})
    return run


@transaction.atomic
def archive_run(*, run_id: int, actor: User | None, at: datetime) -> Run:
    """Take a run that has ended or is paused out of lists and the choices of leaderboards.

    Raises:
        RunRefused: it is still at work, or belongs to a set of debates.
    """
    run = lock_row(Run, run_id)
    if run.kind == RunKind.DEBATE:
        raise RunRefused("The run of a set of debates cannot be archived.")
    if run.status in ACTIVE:
        raise RunRefused("The run is still at work; pause or cancel it before you archive it.")
    if run.archived_at is None:
        run.archived_at = at
        run.save(update_fields=["archived_at"])
        record(actor, "run.archived", run)
    return run


@transaction.atomic
def restore_run(*, run_id: int, actor: User | None) -> Run:
    """List an archived run again."""
    run = lock_row(Run, run_id)
    if run.archived_at is not None:
        run.archived_at = None
        run.save(update_fields=["archived_at"])
        record(actor, "run.restored", run)
    return run


@transaction.atomic
def delete_run(*, run_id: int, actor: User | None) -> Run:
    """Delete a run that has ended or is paused, with its verdicts and scores. Its calls stay for the costs.

    Raises:
        RunRefused: it is still at work.
        InUse: something rests on it.
    """
    run = lock_row(Run, run_id)
    if run.status in ACTIVE:
        raise RunRefused("The run is still at work; cancel it before you delete it.")
    found = dependents_of(run)
    record(actor, "run.deleted", str(run), run=run.pk, **found.counts(found.gone))
    delete_with_dependents(run)
    return run
