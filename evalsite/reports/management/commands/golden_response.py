"""`golden_response`: what can be learned from the labelled responses of golden sets."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from evalsite.reports.actions.golden import GOLDEN_ITEMS


class Command(NounCommand):
    """Add responses of golden sets to the examples of judges, note rules, doubt labels, list responses, or show one."""

    help = __doc__
    noun = GOLDEN_ITEMS
