"""Finds what finished but was never routed: after a lost broker or worker, or when it finished while none ran."""

from __future__ import annotations

from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet

from debate.models import Debate, DebateSet, DebateStatus
from judging.models import SCORED_KINDS, Run, RunStatus

UNFINISHED = (DebateStatus.WAITING, DebateStatus.RUNNING)


def unheard_runs() -> QuerySet[Run]:
    """Return finished runs with scores that have not been routed since they finished or their audit was planned."""
    never = Q(queue__isnull=True) | Q(queue__routed_at__isnull=True) | Q(queue__routed_at__lt=F("finished_at"))
    never |= Q(queue__routed_at__lt=F("audit_plan__chosen_at"))
    return Run.objects.filter(never, kind__in=SCORED_KINDS, status=RunStatus.FINISHED).order_by("pk")


def unheard_debate_sets() -> QuerySet[DebateSet]:
    """Return debate sets without unfinished debates, not routed since the last one ended or their audit was planned."""
    debates = Debate.objects.filter(debate_set=OuterRef("pk"))
    ended = DebateSet.objects.filter(Exists(debates), ~Exists(debates.filter(status__in=UNFINISHED)))
    ended = ended.filter(Q(run__isnull=True) | Q(run__status=RunStatus.FINISHED))
    ended = ended.annotate(ended_at=Max("debates__finished_at"))
    never = Q(queue__isnull=True) | Q(queue__routed_at__isnull=True) | Q(queue__routed_at__lt=F("ended_at"))
    never |= Q(queue__routed_at__lt=F("audit_plan__chosen_at"))
    return ended.filter(never).order_by("pk")
