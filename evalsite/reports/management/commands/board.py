"""`board`: what can be done with boards of suites."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from evalsite.reports.actions.publications import BOARDS


class Command(NounCommand):
    """Choose the official board of a suite or none, list boards, or show one."""

    help = __doc__
    noun = BOARDS
