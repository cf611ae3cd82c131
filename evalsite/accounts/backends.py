"""Signs people in, and reads who somebody is together with what they may do.

Every request of a signed-in person asks for both; Django's own backend takes three queries for it, this one takes one.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model, QuerySet, TextField
from django.db.models.expressions import RawSQL
from django.http import HttpRequest

from judging.selectors.prepared_queries import PreparedQuery

# Names of permissions hold no commas: Django takes them from labels of applications and names of models.
PERMISSION_NAMES = """
SELECT {joined}(kind.app_label || '.' || permission.codename, ',')
FROM auth_permission permission JOIN django_content_type kind ON kind.id = permission.content_type_id
WHERE permission.id IN (
    SELECT own.permission_id FROM auth_user_user_permissions own WHERE own.user_id = auth_user.id
    UNION ALL
    SELECT held.permission_id FROM auth_group_permissions held
    JOIN auth_user_groups member ON member.group_id = held.group_id WHERE member.user_id = auth_user.id
)
"""


def _person_query(*, user_id: int) -> QuerySet[User]:
    joined = "string_agg" if connection.vendor == "postgresql" else "group_concat"
    names = RawSQL(PERMISSION_NAMES.format(joined=joined), (), TextField())  # noqa: S611 - nothing of it is from outside
    return User.objects.filter(pk=user_id).annotate(permission_names=names)


_PERSON = PreparedQuery(_person_query)


class PeopleBackend(ModelBackend):
    """Django's passwords and permissions; a person of the session comes with their permissions."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:  # type: ignore[override]
        """Return whose name and password these are, where the site takes passwords."""
        return super().authenticate(request, **credentials) if settings.PASSWORDS else None

    def get_user(self, user_id: Any) -> User | None:
        """Return the active person with this key."""
        person = _PERSON.first(user_id=int(user_id))
        return person if person is not None and self.user_can_authenticate(person) else None

    def get_all_permissions(self, user_obj: Any, obj: Model | None = None) -> set[str]:
        """Return what a person may do; asks the database only where `get_user` has not."""
        if user_obj.is_superuser or obj is not None or not hasattr(user_obj, "permission_names"):
            return super().get_all_permissions(user_obj, obj)
        names: str = user_obj.permission_names or ""
        return set(filter(None, names.split(",")))
