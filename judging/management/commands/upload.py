"""`upload`: what can be done with uploads."""

from __future__ import annotations

from evalsite.base.actions.commands import NounCommand
from judging.actions.uploads import UPLOADS


class Command(NounCommand):
    """Check, confirm, cancel, discard or undo uploads, list them, or show one; `import` takes files from the disk."""

    help = __doc__
    noun = UPLOADS
    needs_broker = True
