"""What can be done with cases: another grading is tried on what is stored, and kept as a new version of a suite."""

from __future__ import annotations

from functools import partial

from django.db.models import QuerySet

from evalsite.base.actions.declarations import CHANGE, ActionCall, Listing, NoInput, Noun, PageData
from evalsite.base.json_types import JsonDict, JsonObject
from judging.actions.references import CASE, SUITE
from judging.forms.cases import CaseEditForm
from judging.models import Case, Suite
from judging.services.case_edits import save_edit, try_edit
from judging.services.file_imports.suites import StoredSuite, case_spec
from judging.specs.suites.cases_yaml import case_to_yaml


def case_facts(case: Case) -> JsonDict:
    """Return which case it is; each grading of it is a case of its own."""
    names = ("id", "key", "scenario")
    return {name: getattr(case, name) for name in names} | {"benchmark": case.prompt.benchmark.slug}


def _rows(_person: object) -> QuerySet[Case]:
    return Case.objects.select_related("prompt__benchmark")


CASES: Noun[Case] = Noun(
    name="case",
    plural="cases",
    reference=CASE,
    rows=_rows,
    view_permission="judging.view_benchmark",
    shown=case_facts,
    detail=lambda case: case_facts(case) | {"grading": case_to_yaml(case_spec(case))},
    listing=Listing(NoInput, rows=_rows, shown=case_facts),
    references={Suite: SUITE},
)


def _form(case: Case, _first: JsonObject, data: PageData | None) -> CaseEditForm:
    return CaseEditForm(data, case=case)


of_case = partial(
    CASES.one, permission="judging.add_suite", form=CaseEditForm, makes_form=_form, calls_models=True
)  # programs of a grading run meanwhile


@of_case("preview", shown=dict)
def preview(act: ActionCall[Case, CaseEditForm]) -> JsonDict:
    """Say what another grading would do to the scores of all stored responses to a case. Nothing is stored."""
    effect = try_edit(case=act.subject, suite=act.data["suite"], edited=act.form.spec)
    return {"suite": str(act.data["suite"]), "effect": effect}


@of_case(CHANGE, shown=lambda stored: {"suite": str(stored.suite), "stored": stored.created})
def change(act: ActionCall[Case, CaseEditForm]) -> StoredSuite:
    """Store another grading of a case as a new version of its suite. Runs on earlier versions keep their scores."""
    suite = act.data["suite"]
    return save_edit(case=act.subject, suite=suite, edited=act.form.spec, actor=act.actor, at=act.at)
