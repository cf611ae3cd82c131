"""`benchmark`: what can be done with benchmarks."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from judging.actions.benchmarks import BENCHMARKS


class Command(NounCommand):
    """Delete benchmarks, list them, or show one."""

    help = __doc__
    noun = BENCHMARKS
