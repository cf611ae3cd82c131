"""Finds work that nobody does any more: after a lost worker, a lost broker, or a restart."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from judging.models import Lease, Run, RunTask, TaskStatus
from judging.services.tasks import leases
from judging.states import ACTIVE


def unfinished_runs() -> Sequence[Run]:
    """Take lapsed claims back and return the active runs that no live claim works on and whose time has come."""
    leases.return_lapsed()
    return list(_due_runs().filter(~Exists(_live_claims())).order_by("pk"))


def waiting_runs() -> Sequence[int]:
    """Return the ids of the active runs that have something to do for one more worker, the oldest first."""
    leases.return_lapsed()
    waiting = RunTask.objects.filter(run=OuterRef("pk"), status=TaskStatus.WAITING)
    runs = _due_runs().filter(Exists(waiting) | ~Exists(_live_claims()))
    return list(runs.order_by("pk").values_list("pk", flat=True))


def _due_runs() -> QuerySet[Run]:
    return Run.objects.filter(Q(resume_at__isnull=True) | Q(resume_at__lte=Now()), status__in=ACTIVE)


def _live_claims() -> QuerySet[Lease]:
    return Lease.objects.filter(run=OuterRef("pk"), expires_at__gte=Now())
