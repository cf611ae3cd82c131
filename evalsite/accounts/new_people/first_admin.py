"""The first admin of a new site, who shows the code that only its operator reads."""

from __future__ import annotations

import logging

from django.contrib.auth.models import User
from django.db import transaction
from django.db.migrations.recorder import MigrationRecorder
from django.utils.crypto import constant_time_compare, salted_hmac

from evalsite.accounts.audit import record
from evalsite.accounts.models import Organisation
from evalsite.accounts.roles import Role
from evalsite.accounts.services import PersonDetails, create_person
from evalsite.base.refusals import Refused

CODE_LENGTH = 24  # hexadecimal digits: 96 bits

logger = logging.getLogger(__name__)


class SetupRefused(Refused):
    """The site is set up already, or the code is wrong."""


def is_new() -> bool:
    """Return whether nobody has an account."""
    return not User.objects.exists()


def setup_code() -> str:
    """Return the code of this database: made of the site's secret and of when its first table was made."""
    first = MigrationRecorder.Migration.objects.order_by("pk").values_list("applied", flat=True).first()
    made = first.isoformat() if first else ""
    return salted_hmac("evalsite.setup", made, algorithm="sha256").hexdigest()[:CODE_LENGTH]


def tell_code() -> None:
    """Print the code in the log of the server, where a stranger does not read it."""
    logger.warning("accounts.setup_code code=%s", setup_code())


@transaction.atomic
def set_up(*, code: str, details: PersonDetails, password: str, organisation: str) -> User:
    """Make the first admin and keep whose site it is.

    Raises:
        SetupRefused: the code is wrong, or somebody was faster.
        PersonRefused: the password is too weak.
    """
    if not constant_time_compare(code.strip().lower(), setup_code()):
        raise SetupRefused("This is not the code in the log of the web server.", field="code")
    # whoever comes second waits here, and finds an account
    name_organisation(organisation)
    if not is_new():
        raise SetupRefused("The site has an admin already. Sign in.")
    person = create_person(details=details, role=Role.ADMIN, actor=None, password=password).person
    record(person, "site.set_up", organisation or "site")
    return person


def name_organisation(name: str) -> None:
    """Keep whose site it is."""
    Organisation.objects.update_or_create(pk=1, defaults={"name": name})
