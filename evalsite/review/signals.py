"""What this package announces to its own jobs and to reports."""

from __future__ import annotations

from django.dispatch import Signal

notices_left = Signal()  # person_id: there is something to mail
labels_imported = Signal()  # final labels came out of a table from elsewhere, or went with it
