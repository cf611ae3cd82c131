"""How many failed sign-ins are too many: by name and address together, and by address alone."""

from __future__ import annotations

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_failure_limit
from axes.models import AccessAttempt
from django.db.models import Sum
from django.http import HttpRequest

from evalsite.base.json_types import JsonDict

ADDRESS_FACTOR = 5  # an office behind one address may fail that many times as often as one person


class SignInHandler(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """Locks out a name at an address, and an address that has failed with many names.

    A name alone is never locked: anybody could keep its owner out.
    """

    def get_failures(self, request: HttpRequest, credentials: JsonDict | None = None) -> int:
        """Return the failures in the terms of the limit for one name at one address."""
        by_pair = int(super().get_failures(request, credentials))
        recent = AccessAttempt.objects.filter(
            ip_address=request.META.get("REMOTE_ADDR"), attempt_time__gte=get_cool_off_threshold(request)
        )
        by_address = recent.aggregate(total=Sum("failures_since_start"))["total"] or 0
        limit = get_failure_limit(request, credentials)
        return limit if by_address >= limit * ADDRESS_FACTOR else by_pair
