"""`judge`: what can be done with judges."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from judging.actions.judges import JUDGES
from judging.management.run_progress import wait_for_run


class Command(NounCommand):
    """Set up, change, retire, restore or delete judges, list them, or show one."""

    help = __doc__
    noun = JUDGES
    waits = staticmethod(lambda started, bar: wait_for_run(started.pk, bar=bar))
