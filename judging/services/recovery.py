"""Finds work that nobody does any more: after a lost worker, a lost broker, or a restart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Exists, OuterRef

from judging.models import Lease, Run
from judging.services import leases
from judging.states import ACTIVE


def unfinished_runs(*, at: datetime) -> Sequence[Run]:
    """Take lapsed claims back and return the active runs that no live claim works on."""
    leases.return_lapsed(at=at)
    live = Lease.objects.filter(run=OuterRef("pk"), expires_at__gte=at)
    return list(Run.objects.filter(~Exists(live), status__in=ACTIVE).order_by("pk"))
