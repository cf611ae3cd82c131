"""Acts on runs: another name."""

from __future__ import annotations

import pytest

from evalsite.accounts.models import AuditEntry
from judging.models import RunKind
from judging.services.tasks.run_lifecycle import rename_run
from judging.states import RunRefused
from tests import factories

pytestmark = pytest.mark.django_db


def test_rename_run_tells_the_audit_log_the_former_name() -> None:
    ada, run = factories.user("ada"), factories.run(name="#1 Rules, orion")

    rename_run(run_id=run.pk, name="  Orion by\n rules ", actor=ada)
    rename_run(run_id=run.pk, name="Orion by rules", actor=ada)  # nothing to do

    run.refresh_from_db()
    entry = AuditEntry.objects.get(action="run.renamed")
    assert run.name == "Orion by rules"
    assert (entry.actor, entry.subject, entry.subject_id) == (ada, "Orion by rules", run.pk)
    assert entry.detail == {"former name": "#1 Rules, orion"}


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        (RunKind.GRADING, " \n", "Enter a name."),
        (RunKind.DEBATE, "Mine", "The run of a debate set has the name of the set."),
    ],
)
def test_rename_run_refuses(kind: RunKind, name: str, why: str) -> None:
    run = factories.run(name="Before", kind=kind)

    with pytest.raises(RunRefused) as refused:
        rename_run(run_id=run.pk, name=name, actor=None)

    run.refresh_from_db()
    assert (str(refused.value), run.name) == (why, "Before")
