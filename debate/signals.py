"""What the debate app announces. Every signal carries ids only."""

from __future__ import annotations

from django.dispatch import Signal

debate_unresolved = Signal()  # debate_id: int; it ended without a verdict, in its transaction
debates_finished = Signal()  # debate_set_id: int
labels_changed = Signal()  # debate_ids: list[int], whose outside labels are new, changed or gone; in their transaction
