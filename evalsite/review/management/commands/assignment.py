"""`assignment`: what annotators can do with the items that they were given."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from evalsite.review.actions.assignments import ASSIGNMENTS


class Command(NounCommand):
    """Annotate items, skip or flag them, say that one cannot be judged, undo that, reveal, revise, list or show."""

    help = __doc__
    noun = ASSIGNMENTS
