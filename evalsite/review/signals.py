"""What this room announces to its own jobs."""

from __future__ import annotations

from django.dispatch import Signal

notices_left = Signal()  # queue_id: there is something to mail
