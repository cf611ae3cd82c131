"""What workers call in this app, and what they remove with age. Primitives in, one service call, safe to repeat."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone
from django_rq import job

from debate.models import DebateSet
from evalsite.accounts.audit import record
from evalsite.review.models import ProposalStatus, WordingProposal
from evalsite.review.selectors.audits import run_asks_people, unrouted_debate_sets, unrouted_runs
from evalsite.review.services.golden import work_on_proposal
from evalsite.review.services.notices import people_to_mail, remove_notices, send_waiting_mail
from evalsite.review.services.researcher_referrals import refresh_items, send_rest
from evalsite.review.services.run_referrals import open_items_for_debates, open_items_for_run
from evalsite.review.states import ReviewRefused
from judging.models import Run
from judging.services.file_imports.uploads import forget_uploads
from judging.services.ledger import prune_calls
from judging.services.long_jobs import enqueue_once
from judging.specs.people_choices import PeopleNotAsked

PROPOSAL_SECONDS = 600
REMOVED = "remove-old"
REMOVAL_SECONDS = 24 * 3600  # between two removals of what is old

logger = logging.getLogger(__name__)


@job("default")
def route_run(run_id: int) -> None:
    """Open review items for a finished run. Safe to repeat: what has an item is skipped."""
    run = Run.objects.select_related("suite").get(pk=run_id)
    opened = open_items_for_run(run=run, at=timezone.now()) if run_asks_people(run) else 0
    logger.info("review.run_routed run_id=%s opened=%s", run_id, opened)


@job("default")
def route_debates(debate_set_id: int) -> None:
    """Open review items for finished debates. Safe to repeat: what has an item is skipped."""
    debate_set = DebateSet.objects.select_related("rubric").get(pk=debate_set_id)
    opened = open_items_for_debates(debate_set=debate_set, at=timezone.now())
    logger.info("review.debates_routed debate_set_id=%s opened=%s", debate_set_id, opened)


@job("default")
def send_rest_of_run(run_id: int, actor_id: int, agreed: int | None = None) -> None:
    """Send what is unsettled in a run to people, as somebody asked. Safe to repeat: what has an item is skipped."""
    _send_rest(Run.objects.select_related("suite").get(pk=run_id), actor_id, agreed)


@job("default")
def send_rest_of_debates(debate_set_id: int, actor_id: int, agreed: int | None = None) -> None:
    """Send the undecided debates of a set to people, as somebody asked. Safe to repeat, as the job above."""
    _send_rest(DebateSet.objects.select_related("rubric", "run").get(pk=debate_set_id), actor_id, agreed)


def _send_rest(about: Run | DebateSet, actor_id: int, agreed: int | None) -> None:
    try:
        sent = send_rest(about=about, actor=User.objects.get(pk=actor_id), at=timezone.now(), agreed=agreed)
    except (ReviewRefused, PeopleNotAsked) as refusal:  # resumed meanwhile and routed when it ends, or grown
        logger.info("review.rest_not_sent of=%s id=%s reason=%s", about._meta.model_name, about.pk, refusal)
        return
    logger.info("review.rest_sent of=%s id=%s items=%s", about._meta.model_name, about.pk, sent.count)


def launch_rest(*, about: Run | DebateSet, actor: User, agreed: int | None) -> bool:
    """Queue one of the jobs above; False where there is no broker."""
    work = send_rest_of_run if isinstance(about, Run) else send_rest_of_debates
    job_id = f"review-rest-{about._meta.model_name}-{about.pk}-{actor.pk}"
    arguments = (about.pk, actor.pk, agreed)
    return enqueue_once(work, *arguments, job_id=job_id, beside_running=True, failure_ttl=None) is not None


@job("default")
def refresh_benchmark(benchmark_id: int) -> None:
    """Mark items stale whose content changed, and ask again. Safe to repeat: items up to date are left alone."""
    refreshed = refresh_items(benchmark_id=benchmark_id, at=timezone.now())
    logger.info(
        "review.items_refreshed benchmark_id=%s stale=%s asked_again=%s",
        benchmark_id,
        refreshed["stale"],
        refreshed["asked_again"],
    )


@job("default")
def mail_notices(person_id: int) -> None:
    """Mail a person's unread notices in one letter. Safe to repeat: each notice is mailed once."""
    sent = send_waiting_mail(person_id=person_id, at=timezone.now())
    logger.info("review.notices_mailed person_id=%s sent=%s", person_id, sent)


def mail_later() -> int:
    """Queue the letters that waited for the one before to be old enough; called by workers every half minute."""
    people = people_to_mail(at=timezone.now())
    for person_id in people:
        launch(mail_notices, person_id)
    return len(people)


@job("default")
def remove_old() -> None:
    """Remove what is older than the site keeps it. Safe to repeat."""
    logger.info("review.old_removed counts=%s", apply_age_limits(at=timezone.now()))


def remove_old_daily() -> int:
    """Queue the removal once a day, where there is a limit; called by workers every half minute."""
    if not any(map(days_kept, LIMITS)) or cache.get(REMOVED):
        return 0
    is_queued = bool(enqueue_once(remove_old, job_id=REMOVED))
    if is_queued:
        cache.set(REMOVED, True, REMOVAL_SECONDS)
    return int(is_queued)


@job("default")
def propose_golden_wording(proposal_id: int) -> None:
    """Ask a model for better wording. Safe to repeat: a proposal that is there stays, a finished call is reused."""
    proposal = work_on_proposal(proposal_id=proposal_id, at=timezone.now())
    logger.info("review.wording_proposed proposal_id=%s status=%s", proposal_id, proposal.status)


def launch_proposal(proposal_id: int) -> None:
    """Queue the job above once the transaction commits, unless it is queued; `route_pending` finds what was lost."""
    job_id = f"review-wording-{proposal_id}"
    queue = partial(enqueue_once, propose_golden_wording, proposal_id, job_id=job_id)
    transaction.on_commit(partial(queue, job_timeout=PROPOSAL_SECONDS, failure_ttl=None))


def launch(work: Callable[[int], None], subject_id: int) -> None:
    """Queue one of the jobs above once the transaction commits; without a broker `route_pending` finds it later."""
    job_id = f"review-{work.__name__}-{subject_id}"
    queue = partial(enqueue_once, work, subject_id, job_id=job_id, beside_running=True, failure_ttl=None)
    transaction.on_commit(queue)


def route_pending() -> int:
    """Queue the routing of everything that finished unheard; return how much. Called when a worker starts and after."""
    runs = list(unrouted_runs().values_list("pk", flat=True))
    sets = list(unrouted_debate_sets().values_list("pk", flat=True))
    for run_id in runs:
        launch(route_run, run_id)
    for debate_set_id in sets:
        launch(route_debates, debate_set_id)
    for proposal_id in WordingProposal.objects.filter(status=ProposalStatus.WAITING).values_list("pk", flat=True):
        launch_proposal(proposal_id)
    return len(runs) + len(sets)


# what is removed at an age: the setting that holds it in days, and what removes, or only counts, what is older
LIMITS: Mapping[str, tuple[str, Callable[[datetime, bool], int]]] = {
    "texts of calls": (
        "KEEP_CALL_TEXTS_DAYS",
        lambda before, dry: prune_calls(older_than=before, at=timezone.now(), dry_run=dry)[0],
    ),
    "uploads": ("KEEP_UPLOADS_DAYS", lambda before, dry: forget_uploads(older_than=before, dry_run=dry)),
    "notices": ("KEEP_NOTICES_DAYS", lambda before, dry: remove_notices(older_than=before, dry_run=dry)),
}


def days_kept(name: str) -> int:
    """Return for how many days something is kept; 0: for ever."""
    return int(getattr(settings, LIMITS[name][0]))


def apply_age_limits(*, at: datetime, dry_run: bool = False) -> dict[str, int | None]:
    """Remove what is older than its limit, and return by name how much that was; None where there is no limit."""
    removed = {
        name: remove(at - timedelta(days=days), dry_run) if (days := days_kept(name)) else None
        for name, (_, remove) in LIMITS.items()
    }
    if not dry_run and any(removed.values()):
        with transaction.atomic():
            record(None, "retention.applied", "age limits", **removed)
    return removed
