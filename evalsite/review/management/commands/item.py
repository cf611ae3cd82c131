"""`item`: what owners of queues and adjudicators can do with review items."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from evalsite.review.actions.items import ITEMS


class Command(NounCommand):
    """Ask more people about items, give, withdraw, exclude, reopen, look at, adjudicate, list them, or show one."""

    help = __doc__
    noun = ITEMS
