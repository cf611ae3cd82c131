"""The demo's people. Their passwords are made up at every start and printed once."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User

from evalsite.accounts.roles import Role
from evalsite.accounts.services import IssuedPassword, PersonDetails, create_person, issue_password


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """One person of the demo."""

    details: PersonDetails
    role: Role


PEOPLE = (
    DemoPerson(PersonDetails("demo-admin", "Ada", "Admin"), Role.ADMIN),
    DemoPerson(PersonDetails("demo-researcher", "Rosa", "Researcher"), Role.RESEARCHER),
    DemoPerson(PersonDetails("demo-anna", "Anna", "Annotator"), Role.ANNOTATOR),
    DemoPerson(PersonDetails("demo-ben", "Ben", "Annotator"), Role.ANNOTATOR),
    DemoPerson(PersonDetails("demo-chloe", "Chloe", "Annotator"), Role.ANNOTATOR),
)


def admit_people() -> list[IssuedPassword]:
    """Make the demo's people, or give those that exist new passwords, and return the passwords in clear."""
    existing = {person.username: person for person in User.objects.filter(username__startswith="demo-")}
    return [
        issue_password(person=existing[demo_person.details.username], actor=None)
        if demo_person.details.username in existing
        else create_person(details=demo_person.details, role=demo_person.role, actor=None)
        for demo_person in PEOPLE
    ]


def role_in_demo(username: str) -> Role:
    """Return the role that the demo gave this person."""
    return next(demo_person.role for demo_person in PEOPLE if demo_person.details.username == username)
