"""`debate_set`: what can be done with sets of debates."""

from __future__ import annotations

from debate.actions.debate_sets import DEBATE_SETS
from evalsite.base.actions.commands import NounCommand


class Command(NounCommand):
    """Import or delete labels of debates, list sets, or show one; `run_debates` starts them."""

    help = __doc__
    noun = DEBATE_SETS
