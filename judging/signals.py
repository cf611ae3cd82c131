"""The signals by which the bottom layer announces events to those above. Every signal carries ids only."""

from __future__ import annotations

from django.dispatch import Signal

run_finished = Signal()  # run_id: int, kind: str
run_stopped = Signal()  # run_id: int; in the transaction in which a run ended, or paused by itself
content_changed = Signal()  # benchmark_id: int; responses or rubrics were imported that may make review items stale
