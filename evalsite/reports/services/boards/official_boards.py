"""The official board of a suite: which graders and judges its board shows first, as a researcher decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.reports.models import OfficialBoard
from judging.models import Suite


@transaction.atomic
def pin_board(*, suite: Suite, graders: Sequence[int], actor: User, at: datetime) -> None:
    """Make the columns of these graders, named by their evaluators, the official board of a suite."""
    fields = {"evaluators": list(graders), "pinned_by": actor, "pinned_at": at}
    OfficialBoard.objects.update_or_create(suite=suite, defaults=fields)
    record(actor, "board.pinned", suite, graders=list(graders))


@transaction.atomic
def unpin_board(*, suite: Suite, actor: User) -> None:
    """Leave a suite without an official board."""
    OfficialBoard.objects.filter(suite=suite).delete()
    record(actor, "board.unpinned", suite)
