"""`view`: what can be done with saved views of results."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from evalsite.reports.actions.publications import VIEWS


class Command(NounCommand):
    """Save views of results, delete them, list them, or show one."""

    help = __doc__
    noun = VIEWS
