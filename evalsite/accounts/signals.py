"""What this app announces."""

from __future__ import annotations

from django.dispatch import Signal

person_linked = Signal()  # person: User, who signs in by single sign-on from now on; in the transaction of it
person_erased = Signal()  # name: str, by which nothing may be found any more; in the transaction of the erasure
