"""What can be done with gates that are kept."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from evalsite.base.actions.declarations import CREATE, DELETE, ActionCall, Listing, NoInput, Noun, Reference
from evalsite.base.json_types import JsonDict
from evalsite.reports.forms import GateForm
from evalsite.reports.models import StoredGate
from evalsite.reports.services.gates import EXIT_HELD, EXIT_NOT_HELD, EXIT_TOO_FEW, RuleStatus
from evalsite.reports.services.stored_gates import check_gate, delete_gate, make_gate
from judging.actions.references import SUITE
from judging.models import Suite

PERMISSION = "reports.add_storedgate"
EXITS = {RuleStatus.HELD: EXIT_HELD, RuleStatus.NOT_HELD: EXIT_NOT_HELD, RuleStatus.TOO_FEW: EXIT_TOO_FEW}


def gate_facts(gate: StoredGate) -> JsonDict:
    """Return what a gate asks for and whether it holds."""
    return {
        "gate": gate.pk,
        "suite": str(gate.suite),
        **{name: getattr(gate, name) for name in ("rule", "mode", "evaluator", "verdict", "words")},
        "exit_code": EXITS[RuleStatus(gate.verdict)],
        "checked_at": gate.checked_at.isoformat(),
        "badge": reverse("reports:gate-badge", args=[gate.badge]),
    }


def _gates(_about: Any) -> QuerySet[StoredGate]:
    return StoredGate.objects.select_related("suite__benchmark").order_by("-pk")


GATES: Noun[StoredGate] = Noun(
    name="gate",
    plural="gates",
    reference=Reference("gate", ()),
    rows=_gates,
    view_permission="reports.view_snapshot",
    shown=gate_facts,
    detail=gate_facts,
    listing=Listing(NoInput, rows=_gates, shown=gate_facts),
    references={Suite: SUITE},
)
change = partial(GATES.one, permission=PERMISSION)


@GATES.new(
    CREATE,
    permission=PERMISSION,
    form=GateForm,
    needs_person=True,
    said=lambda gate: f"The gate is kept: {gate.verdict}.",
)
def create(act: ActionCall[None, GateForm]) -> StoredGate:
    """Keep a rule for the newest board of a suite. It is checked after each run, and webhooks tell when it falls."""
    return make_gate(**act.data, actor=act.person, at=act.at)


@change("check", said=lambda gate: f"{gate.rule}: {gate.verdict}. {gate.words}")
def check(act: ActionCall[StoredGate, NoInput]) -> StoredGate:
    """Look at the newest board now."""
    return check_gate(gate_id=act.subject.pk, at=act.at)


@change(DELETE, leads_to="reports:gate-list", said=lambda gate: f"The gate {gate.rule} is deleted.")
def delete(act: ActionCall[StoredGate, NoInput]) -> StoredGate:
    """Remove a gate. Its badge is not found from now on."""
    delete_gate(gate=act.subject, actor=act.actor)
    return act.subject
