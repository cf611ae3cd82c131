"""`proposal`: what can be done with wordings that models propose."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from evalsite.reports.actions.golden import PROPOSALS


class Command(NounCommand):
    """Accept lines of proposed wordings, list proposals, or show one."""

    help = __doc__
    noun = PROPOSALS
