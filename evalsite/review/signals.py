"""What this package announces to its own jobs, to reports and to webhooks."""

from __future__ import annotations

from django.dispatch import Signal

notices_left = Signal()  # person_id: there is something to mail
item_decided = Signal()  # item_id: int; people decided on a label, in their transaction
queue_done = Signal()  # queue_id: int; no item of it is open any more, in the transaction of the last one
labels_imported = Signal()  # final labels came out of a table from elsewhere, or went with it
