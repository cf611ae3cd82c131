"""`golden`: what can be done with golden sets."""

from __future__ import annotations

import time

from django.utils import timezone

from evalsite.base.actions.commands import NounCommand
from evalsite.reports.actions.golden import GOLDEN_SETS
from evalsite.review.models import ProposalStatus, WordingProposal
from evalsite.review.services.golden import work_on_proposal
from judging.management.run_progress import POLL_SECONDS, wait_for_run, workers_live
from judging.models import Run


def wait_for(started: Run | WordingProposal, *, bar: bool) -> None:
    """Wait until a run or a proposal has ended; where no worker takes it up, it is worked on here."""
    if isinstance(started, Run):
        wait_for_run(started.pk, bar=bar)
        return
    while workers_live("default") and started.status == ProposalStatus.WAITING:
        time.sleep(POLL_SECONDS)
        started.refresh_from_db()
    work_on_proposal(proposal_id=started.pk, at=timezone.now())


class Command(NounCommand):
    """Make golden sets, run judges on them, open their test, have wording proposed, list them, or show one."""

    help = __doc__
    noun = GOLDEN_SETS
    waits = staticmethod(wait_for)
