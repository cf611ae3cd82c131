"""`share`: what can be done with links that share a leaderboard."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from evalsite.reports.actions.publications import LINKS


class Command(NounCommand):
    """Make links to leaderboards for people without an account, revoke them, list them, or show one."""

    help = __doc__
    noun = LINKS
