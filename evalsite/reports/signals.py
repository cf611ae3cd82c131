"""What reports announce to webhooks."""

from __future__ import annotations

from django.dispatch import Signal

gate_fell = Signal()  # gate_id: int; a gate that held does no longer, in the transaction that notes it
certificate_lapsed = Signal()  # certificate_id: int, name: str, changes: list[str]; the judge is another one now
