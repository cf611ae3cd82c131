"""Roles as groups: viewer, annotator, researcher, admin. A researcher may do what viewers and annotators may.

The same permissions say which scope a token of the API needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from django.contrib.auth.models import Group, Permission, User


class Role(StrEnum):
    """What a person may do; the values are the groups' names."""

    VIEWER = "viewer"
    ANNOTATOR = "annotator"
    RESEARCHER = "researcher"
    ADMIN = "admin"


class Scope(StrEnum):
    """What a token may be used for, as far as its person's role allows it."""

    READ = "read"
    ANNOTATE = "annotate"
    RUN = "run"
    ADMIN = "admin"

    @property
    def words(self) -> str:
        """What it is good for."""
        return {
            "read": "lists, details and reports",
            "annotate": "what annotators do",
            "run": "what researchers do",
            "admin": "what admins do, and tokens",
        }[self.value]


PERSONAL_PERMISSIONS = ("api.add_apitoken",)  # of every role
VIEWER_PERMISSIONS = (
    "judging.view_benchmark",
    "judging.view_run",
    "judging.view_judge",
    "debate.view_debateset",
    "reports.view_snapshot",
)
ANNOTATOR_PERMISSIONS = ("review.view_queue", "review.add_annotation", "review.change_annotation")
RESEARCHER_PERMISSIONS = (
    *VIEWER_PERMISSIONS,
    "judging.add_upload",
    "judging.add_suite",
    "judging.add_run",
    "judging.change_run",
    "judging.view_modelendpoint",
    "judging.add_judge",
    "debate.add_debateset",
    "review.adjudicate",
    "review.add_queue",
    "review.change_queue",
    "reports.add_sharelink",
    "reports.add_savedview",
    "reports.add_storedgate",
)
ADMIN_PERMISSIONS = (
    "judging.delete_benchmark",
    "judging.add_modelendpoint",
    "judging.change_modelendpoint",
    "auth.view_user",
    "auth.add_user",
    "auth.change_user",
    "accounts.view_auditentry",
    "api.add_webhook",
)
PERMISSIONS: dict[Role, tuple[str, ...]] = {
    Role.VIEWER: PERSONAL_PERMISSIONS + VIEWER_PERMISSIONS,
    Role.ANNOTATOR: PERSONAL_PERMISSIONS + ANNOTATOR_PERMISSIONS,
    Role.RESEARCHER: PERSONAL_PERMISSIONS + ANNOTATOR_PERMISSIONS + RESEARCHER_PERMISSIONS,
    Role.ADMIN: PERSONAL_PERMISSIONS + ANNOTATOR_PERMISSIONS + RESEARCHER_PERMISSIONS + ADMIN_PERMISSIONS,
}


def scope_of(permission: str) -> Scope:
    """Return the scope that a token needs to do what takes this permission; what only reads needs `read`."""
    if permission in ANNOTATOR_PERMISSIONS:
        return Scope.ANNOTATE
    return Scope.RUN if permission in RESEARCHER_PERMISSIONS else Scope.ADMIN


def sync_groups() -> None:
    """Make the groups hold just the permissions above."""
    by_name = {
        f"{permission.content_type.app_label}.{permission.codename}": permission
        for permission in Permission.objects.select_related("content_type")
    }
    for role, names in PERMISSIONS.items():
        group, _ = Group.objects.get_or_create(name=role)
        group.permissions.set(by_name[name] for name in names if name in by_name)


def set_role(*, user: User, role: Role | None) -> None:
    """Give `user` this role and no other, or none. Admins may open Django's own admin pages and the job queue."""
    user.groups.set(Group.objects.filter(name=role))
    user.is_staff = role == Role.ADMIN
    user.save(update_fields=["is_staff"])


def highest(names: Iterable[str]) -> Role | None:
    """Return the highest role among group names."""
    group_names = set(names)
    return next((role for role in reversed(Role) if role in group_names), None)


def role_of(user: User) -> Role | None:
    """Return the user's role; admin for a superuser, None for somebody without a group."""
    if user.is_superuser:
        return Role.ADMIN
    return highest(user.groups.values_list("name", flat=True))
