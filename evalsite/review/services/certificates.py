"""Stores the outcome of the alternative annotator test for a version of a judge."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.json_types import JsonDict
from evalsite.review.models import Certificate
from judging.judges.versions import JudgeVersion


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """What a certificate says."""

    annotators: str
    passed: bool
    items: int
    figures: JsonDict


@transaction.atomic
def issue_certificate(
    *, name: str, version: JudgeVersion, outcome: TestOutcome, actor: User | None, at: datetime
) -> Certificate:
    """Store the outcome for this version, in place of an earlier one."""
    certificate, _ = Certificate.objects.update_or_create(
        version_key=version.key,
        defaults={
            "version": version.to_json(),
            "evaluator_name": name,
            "annotators": outcome.annotators,
            "passed": outcome.passed,
            "items": outcome.items,
            "figures": outcome.figures,
            "issued_by": actor,
            "issued_at": at,
        },
    )
    record(
        actor,
        "certificate.issued",
        NamedSubject(name, certificate.pk),
        passed=outcome.passed,
        annotators=outcome.annotators,
        items=outcome.items,
        version=version.key[:12],
    )
    return certificate
