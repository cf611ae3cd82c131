"""The one way into the audit log."""

from __future__ import annotations

import pytest

from evalsite.accounts.audit import NamedSubject, record
from evalsite.accounts.models import AuditEntry
from tests import factories

pytestmark = pytest.mark.django_db


def test_record_names_a_row_a_named_subject_and_a_text() -> None:
    ada, suite = factories.user("ada"), factories.suite(name="Capitals", number=2)

    record(ada, "suite.imported", suite, cases=3, **{"from": "a file"})
    record(None, "report.exported", NamedSubject("x" * 300, 7))
    record(None, "audit.exported", "audit log")

    columns = ("actor", "action", "subject", "subject_id", "detail")
    assert list(AuditEntry.objects.order_by("pk").values_list(*columns)) == [
        (ada.pk, "suite.imported", "Capitals v2", suite.pk, {"cases": 3, "from": "a file"}),
        (None, "report.exported", "x" * 200, 7, {}),
        (None, "audit.exported", "audit log", None, {}),
    ]
