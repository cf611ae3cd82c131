"""Stores the outcome of the alternative annotator test for a version of a judge."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.json_types import JsonDict
from evalsite.review.models import Certificate
from judging.judges.versions import JudgeVersion


@transaction.atomic
def issue_certificate(
    *, name: str, version: JudgeVersion, outcome: JsonDict, actor: User | None, at: datetime
) -> Certificate:
    """Store the outcome (annotators, passed, items, figures) for this version, in place of an earlier one."""
    certificate, _ = Certificate.objects.update_or_create(
        version_key=version.key,
        defaults={
            "version": version.to_json(),
            "evaluator_name": name,
            **outcome,
            "issued_by": actor,
            "issued_at": at,
        },
    )
    said = {key: outcome[key] for key in ("passed", "annotators", "items")}
    record(actor, "certificate.issued", NamedSubject(name, certificate.pk), **said, version=version.key[:12])
    return certificate
