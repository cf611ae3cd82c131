"""What the form of a new run starts with: the choices of an earlier run, or what an import suggests."""

from __future__ import annotations

from collections.abc import Mapping

from evalsite.base.http import whole_number
from evalsite.base.json_types import JsonDict
from judging.models import ASKING, EvaluatorKind, ImportStatus, Run, RunKind, Suite, System, Upload
from judging.selectors.judges.suggested_judges import suggest_judges
from judging.specs.selections import selection_from_json


def first_choices(query: Mapping[str, str], suite: Suite) -> JsonDict:
    """Return what an address asks for: `like`, a run of this suite, or `import`, an upload that was imported into it.

    Empty where it names neither, or one of another suite.
    """
    run_id, upload_id = whole_number(query.get("like", "")), whole_number(query.get("import", ""))
    if run_id is not None:
        run = Run.objects.filter(pk=run_id, suite=suite, kind=RunKind.GRADING).first()
        return _like(run) if run is not None else {}
    upload = Upload.objects.filter(pk=upload_id, status=ImportStatus.DONE).first() if upload_id is not None else None
    return _for_import(upload, suite) if upload is not None and upload.result.get("suite_id") == suite.pk else {}


def _like(run: Run) -> JsonDict:
    evaluators = list(run.evaluators.all())
    selection, share = selection_from_json(run.options.get("selection") or {}), run.options.get("audit_share")
    asked = run.asked_systems
    return {
        "limit": selection.limit,
        "seed": selection.seed,
        "cases": ", ".join(selection.cases),
        "scenarios": ", ".join(selection.scenarios),
        "systems": [system.pk for system in run.systems.all() if str(system.pk) not in asked],
        "asked": [f"system:{pk}" for pk in asked],
        "attempts": run.options[ASKING]["attempts"] if asked else None,
        "rules": any(one.kind == EvaluatorKind.GRADER for one in evaluators),
        "judges": [one.judge_id for one in evaluators if one.judge_id],
        "baseline": next((one.compared_with_id for one in evaluators if one.compared_with_id), None),
        "rubrics": [one.rubric_id for one in evaluators if one.rubric_id],
        "budget": run.budget,
        "first_attempts": run.options.get("first_attempts"),
        "compat": bool(run.options.get("compat")),
        "fresh": bool(run.options.get("fresh")),
        "asks_nobody": not run.options.get("asks_people", True),
        "audit_percent": None if share is None else 100 * share,
    }


def _for_import(upload: Upload, suite: Suite) -> JsonDict:
    """Return the systems whose responses were imported, all where none were, and the judges that fit."""
    names = upload.result.get("responses", {}).get("systems", [])
    rubrics = [rubric["id"] for rubric in upload.result.get("rubrics", [])]
    suggested = suggest_judges(suite=suite, rubric_ids=rubrics)
    systems = list(System.objects.filter(name__in=names).values_list("pk", flat=True))
    choices: JsonDict = {"judges": list(suggested.judges), "rubrics": list(suggested.rubrics)}
    return choices | ({"systems": systems} if systems else {})
