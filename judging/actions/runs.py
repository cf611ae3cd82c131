"""What can be done with runs, those of settings files of Lunar-Bench included."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.text import slugify

from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import DELETE, ActionCall, ConfirmForm, NoInput, Noun, PageData
from evalsite.base.http import SentFile
from evalsite.base.tables import ZIP, facts_text
from evalsite.base.types import JsonDict, JsonObject, Refused
from judging.actions.progress import wait_for_run
from judging.actions.prompts import TrialForm
from judging.actions.references import (
    PERSON,
    PROMPT_VERSION,
    RESPONSE,
    RUBRIC,
    RUN,
    SUITE,
    VERDICT,
    declare_co_owners,
    itself,
)
from judging.actions.run_reports import audit_report, estimate_report, in_lines, preview_report, run_facts, run_report
from judging.forms.esi import EsiRunForm, LunarRunsForm
from judging.forms.new_runs import NewRunForm
from judging.forms.runs import RescoreForm, ResumeForm, RunFilterForm, RunForm, RunNameForm
from judging.jobs import launch_rescoring, launch_run, launch_single
from judging.judges.registry import judge_kind
from judging.models import PromptVersion, Response, Rubric, Run, RunKind, Suite, Verdict
from judging.models.runs import ACTIVE
from judging.selectors.runs import list_runs
from judging.services import run_lifecycle
from judging.services.esi_tasks import options_to_json
from judging.services.file_imports.suites import store_suite
from judging.services.judges import ensure_baselines
from judging.services.runs import new_runs
from judging.services.runs.estimates import RunEstimate
from judging.services.runs.lunar_imports import LunarImport, add_missing_endpoints, esi_archive
from judging.services.runs.new_runs import create_run, estimate_new_run, judge_once
from judging.services.runs.people_costs import PeopleCost, check_agreed, people_cost_of_plan
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan, preview_prompt
from judging.services.score_recomputation import begin_index, begin_judge
from judging.specs.lunar_settings import UNUSED
from judging.specs.people_choices import HOW_TO_AGREE


def _rows(_person: object) -> QuerySet[Run]:
    return Run.objects.select_related("suite__benchmark")


RUNS: Noun[Run] = Noun(
    name="run",
    plural="runs",
    help="Start, pause, resume, cancel, retry, rename or archive runs, list them, or show one.",
    reference=RUN,
    rows=_rows,
    view_permission="judging.view_run",
    shown=lambda run: run_report(run.pk, with_figures=False),
    detail=lambda run: run_report(run.pk, with_figures=run.status not in ACTIVE),
    lines=in_lines,
    prepares=ensure_baselines,
    waits=lambda run, bar: wait_for_run(run.pk, bar=bar),
    filter_form=RunFilterForm,
    listed=lambda q, **filters: list_runs(search=q, **filters),
    in_list=run_facts,
    references={
        User: PERSON,
        Suite: SUITE,
        Rubric: RUBRIC,
        PromptVersion: PROMPT_VERSION,
        Response: RESPONSE,
        Verdict: VERDICT,
    },
)
change = partial(RUNS.one, permission="judging.change_run", owned=itself)
declare_co_owners(RUNS, permission="judging.change_run")


@change("pause")
def pause(act: ActionCall[Run, NoInput]) -> Run:
    """Pause a run. Calls in flight are still stored."""
    return run_lifecycle.pause_run(run_id=act.subject.pk, actor=act.actor)


@change("resume", form=ResumeForm, is_long=True)
def resume(act: ActionCall[Run, ResumeForm]) -> Run:
    """Resume a paused run, with a higher budget where one is given."""
    if act.data["budget"] is not None:
        run_lifecycle.set_budget(run_id=act.subject.pk, budget=act.data["budget"], actor=act.actor)
    run = run_lifecycle.resume_run(run_id=act.subject.pk, actor=act.actor)
    launch_run(run_id=run.pk, waiting=run.waiting)
    return run


@change("cancel")
def cancel(act: ActionCall[Run, NoInput]) -> Run:
    """Cancel a run for good. What is finished stays, what waits is cancelled."""
    return run_lifecycle.cancel_run(run_id=act.subject.pk, actor=act.actor, at=act.at)


@change("retry", is_long=True)
def retry(act: ActionCall[Run, NoInput]) -> Run:
    """Try the failed tasks of a run again. What has a verdict with a value is left alone."""
    count = run_lifecycle.retry_failed(run_id=act.subject.pk, actor=act.actor)
    launch_run(run_id=act.subject.pk, waiting=count)
    return act.subject


def _name_form(run: Run, _first: JsonObject, data: PageData | None) -> RunNameForm:
    tags = ", ".join(sorted(tag.name for tag in run.tags.all()))
    return RunNameForm(data, initial={"name": run.name, "tags": tags})


@change("rename", form=RunNameForm, makes_form=_name_form)
def rename(act: ActionCall[Run, RunNameForm]) -> Run:
    """Give a run another name or other tags. The audit log keeps the previous ones."""
    run_lifecycle.rename_run(run_id=act.subject.pk, name=act.data["name"], actor=act.actor)
    return new_runs.tag_run(run_id=act.subject.pk, tags=act.data["tags"], actor=act.actor)


@change("archive")
def archive(act: ActionCall[Run, NoInput]) -> Run:
    """Take a run that has ended or is paused out of lists and leaderboards."""
    return new_runs.archive_run(run_id=act.subject.pk, actor=act.actor, at=act.at)


@change("restore")
def restore(act: ActionCall[Run, NoInput]) -> Run:
    """List an archived run again."""
    return new_runs.restore_run(run_id=act.subject.pk, actor=act.actor)


@change(
    "rescore",
    form=RescoreForm,
    makes_form=lambda run, first, data: RescoreForm(data, run=run, evaluator=first["evaluator"] or ""),
    first_fields={
        "evaluator": forms.CharField(
            required=False, help_text="Name or number of the judge or index. Default: the only one that can be chosen."
        )
    },
    is_long=True,
)
def rescore(act: ActionCall[Run, RescoreForm]) -> Run:
    """Recompute the scores of a run from its stored verdicts with other options. Nothing is sent to a model."""
    run, form = act.subject, act.form
    assert form.evaluator is not None, "a valid form has one"
    if form.is_index:
        begun = begin_index(run_id=run.pk, options=act.data["options"], actor=act.actor, at=act.at)
    else:
        begun = begin_judge(evaluator_id=form.evaluator.pk, options=form.chosen(), actor=act.actor, at=act.at)
    launch_rescoring(begun)
    return run


@change(
    DELETE,
    form=ConfirmForm,
    leads_to="judging:run-list",
    is_offered=lambda run: run.status not in ACTIVE,
)
def delete(act: ActionCall[Run, ConfirmForm]) -> Run:
    """Delete a run with its verdicts and scores for good. Its calls and what they cost stay, and so does its queue."""
    return new_runs.delete_run(run_id=act.subject.pk, actor=act.actor)


SUITE_FIELD = forms.ModelChoiceField(
    Suite.objects.all(), help_text="Number, slug of its benchmark (the newest), or slug@version"
)
OPTIONAL_SUITE = forms.ModelChoiceField(Suite.objects.all(), required=False, help_text=SUITE_FIELD.help_text)
GRADING_FORM: type[NewRunForm] = RunForm
ESI_FORM: type[NewRunForm] = EsiRunForm


def _new_form(_subject: None, first: JsonObject, data: PageData | None) -> NewRunForm:
    return RunForm(data, suite=first["suite"], initial={"rules": True})


new = partial(
    RUNS.new,
    permission="judging.add_run",
    form=GRADING_FORM,
    makes_form=_new_form,
    first_fields={"suite": SUITE_FIELD},
)
new_esi = partial(
    RUNS.new,
    permission="judging.add_run",
    form=ESI_FORM,
    makes_form=lambda _none, first, data: EsiRunForm(data, suite=first["suite"]),
    first_fields={"suite": OPTIONAL_SUITE},
)


@new("create", is_long=True)
def create(act: ActionCall[None, NewRunForm]) -> Run:
    """Start a run: grade the responses of systems to a suite by rules, judges, or both."""
    return started(_plan(act), agreed=act.data["agreed"], actor=act.actor, at=act.at)


def _costs(cost: tuple[RunEstimate, PeopleCost | None]) -> JsonDict:
    return estimate_report(cost[0]) | audit_report(cost[1])


@new("estimate", is_dry=True, shown=_costs, lines=facts_text)
def estimate(act: ActionCall[None, NewRunForm]) -> tuple[RunEstimate, PeopleCost | None]:
    """Say what a run would ask of models and people and what it would cost, without starting it."""
    return _cost(act)


@new_esi("create-esi", is_long=True)
def create_esi(act: ActionCall[None, NewRunForm]) -> Run:
    """Start an ESI run: have models respond to a suite, or take stored responses, and compute the Efficiency, Safety,
    Integrity score of Lunar-Bench.
    """
    return started(_plan(act), agreed=act.data["agreed"], actor=act.actor, at=act.at)


@new_esi("estimate-esi", is_dry=True, shown=_costs, lines=facts_text)
def estimate_esi(act: ActionCall[None, NewRunForm]) -> tuple[RunEstimate, PeopleCost | None]:
    """Say what an ESI run would ask of models and people and what it would cost, without starting it."""
    return _cost(act)


def _cost(act: ActionCall[None, NewRunForm]) -> tuple[RunEstimate, PeopleCost | None]:
    plan = _plan(act)
    return estimate_new_run(plan=plan, threads=settings.CALL_THREADS, at=act.at), people_cost_of_plan(plan)


def started(plan: RunPlan, *, agreed: int | None, actor: User | None, at: datetime) -> Run:
    """Start the run of a plan. Raises: PeopleNotAsked: more than a day of work that nobody agreed to."""
    check_agreed(people_cost_of_plan(plan), agreed, how=HOW_TO_AGREE)
    run = create_run(plan=plan, actor=actor, at=at)
    launch_run(run_id=run.pk, waiting=run.total)
    return run


def _plan(act: ActionCall[None, NewRunForm]) -> RunPlan:
    """Return what was asked for; items that were given are stored as a suite, as the form cannot."""
    if items := act.data.get("items"):
        spec, _ = items
        slug = slugify(spec.name)[:80] or "esi"
        act.form.suite, _ = store_suite(spec=spec, benchmark_slug=slug, actor=act.actor, at=act.at)
    return act.form.plan()


trial = partial(
    RUNS.new,
    permission="judging.add_run",
    form=TrialForm,
    makes_form=lambda _none, first, data: TrialForm(data, response=first["response"]),
    first_fields={
        "response": forms.ModelChoiceField(
            Response.objects.select_related("prompt__benchmark", "system"), help_text="Number of the response."
        )
    },
)


@trial("try", is_long=True)
def try_judge(act: ActionCall[None, TrialForm]) -> Run:
    """Ask a judge about one response, in a run that is part of no report."""
    data = act.data
    choice = EvaluatorChoice(judge=data["judge"], rubric=data["rubric"], options=act.form.prompt_options())
    run = judge_once(response=act.form.judged, choice=choice, budget=data["budget"], actor=act.actor, at=act.at)
    launch_single(run_id=run.pk)
    return run


@trial("preview", is_dry=True, shown=dict, lines=facts_text)
def preview(act: ActionCall[None, TrialForm]) -> JsonDict:
    """Say what a judge would send about one response, without asking it."""
    judge, kind = act.data["judge"], judge_kind(act.data["judge"].kind)
    if not kind.asks_model:
        raise Refused(f"{judge.name} sends nothing: it asks no model itself.")
    options = kind.complete_options(judge.options) | act.form.prompt_options()
    judged = act.form.judged
    preview = preview_prompt(kind=kind, options=options, response=judged, rubric=act.data["rubric"])
    return preview_report(preview, judged)


ADDS = "judging.add_modelendpoint"
ASK_AN_ADMIN = "Only an admin adds endpoints. Ask one to add those marked as new, or to import this file."
KEYS_NOT_READ = (
    "The keys in the file were not read: {}. Set each key as an environment variable of this site, and enter the "
    "variable's NAME as the key variable of the endpoint (endpoint change --key-variable)."
)


def _report(planned: LunarImport) -> JsonDict:
    roles = planned.endpoints.items()
    return {
        "endpoints": [
            {
                "name": endpoint.name,
                "address": endpoint.base_url,
                "model": endpoint.model,
                "key_variable": endpoint.key_variable,
                "roles": [role for role, endpoints in roles if endpoint in endpoints],
                "is_new": endpoint.pk is None,
            }
            for endpoint in planned.all_endpoints
        ],
        "systems": [
            {
                "name": system.name if system else worker.system_name,
                "endpoint": worker.endpoint.name,
                "prompt_version": worker.asking.prompt_version,
                "is_new": system is None,
            }
            for worker, system in planned.systems()
        ],
        "judges": [
            {"kind": kind, "name": judge.name, "endpoint": judge.asked_endpoint.name, "is_new": judge.pk is None}
            for kind, judge in planned.judges.items()
        ],
        "options": options_to_json(planned.options),
        "datasets": [
            {
                "name": dataset.name,
                "path": dataset.path,
                "suite": None if dataset.suite is None else str(dataset.suite),
                "strictness": dataset.strictness,
                "advice": dataset.advice,
            }
            for dataset in planned.datasets
        ],
        "keys_not_read": list(planned.settings.unread),
        "not_used": {name: UNUSED[name] for name in planned.settings.unused},
        "ignored": list(planned.settings.ignored),
        "defaults": list(planned.settings.missing),
    }


def _lines(facts: JsonDict) -> str:
    """Return what there is to know and to do."""
    return "\n".join(
        [
            *(
                f"Endpoint {row['name']}: {_state(row)}, {row['model']} at {row['address']}"
                for row in facts["endpoints"]
            ),
            *(f"System {row['name']}: {_state(row)}" for row in facts["systems"]),
            *(f"Judge {row['name']}: {_state(row)}" for row in facts["judges"]),
            *(f"Data set {row['name']}: {row['advice'] or row['suite']}" for row in facts["datasets"]),
            *(f"{name}: not used, {reason}" for name, reason in facts["not_used"].items()),
            *(f"{name}: ignored, unknown" for name in facts["ignored"]),
            *(f"{name}: not in the file, default" for name in facts["defaults"]),
            *([KEYS_NOT_READ.format(", ".join(facts["keys_not_read"]))] if facts["keys_not_read"] else []),
            *map(in_lines, facts.get("runs", ())),
        ]
    )


def _state(part: JsonDict) -> str:
    return "new" if part["is_new"] else "found"


def _planned(act: ActionCall[None, LunarRunsForm]) -> LunarImport:
    """Return what the file becomes, with the data sets and the suites that were chosen. Raises: Refused."""
    planned: LunarImport = act.data["planned"]
    names = [dataset.name for dataset in planned.datasets]
    suites: dict[str, Suite] = {}
    for text in act.data["suites"] or ():
        name, equals, suite = text.partition("=")
        if not equals or name not in names:
            raise Refused(f"Write DATASET=SUITE. Data sets: {', '.join(names)}.", field="suites")
        suites[name] = SUITE.named(suite)
    chosen = act.data["datasets"] or names
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise Refused(f"There is no data set {unknown[0]!r} to run. There are: {', '.join(names)}.", field="datasets")
    datasets = [
        replace(dataset, suite=suites.get(dataset.name, dataset.suite))
        for dataset in planned.datasets
        if dataset.name in chosen
    ]
    return replace(planned, datasets=datasets)


of_file = partial(RUNS.new, permission="judging.add_run", form=LunarRunsForm, lines=_lines)


@of_file("check-lunar", is_dry=True, shown=_report)
def check_lunar(act: ActionCall[None, LunarRunsForm]) -> LunarImport:
    """Say what a settings.json of Lunar-Bench becomes: endpoints, systems, judges, options and suites."""
    return _planned(act)


@of_file("import-lunar", shown=dict)
def import_lunar(act: ActionCall[None, LunarRunsForm]) -> JsonDict:
    """Add the endpoints that a settings.json of Lunar-Bench names, and start its ESI runs."""
    planned, people = _planned(act), act.form.people_choices()
    lacking = [dataset.advice for dataset in planned.datasets if dataset.advice]
    if act.data["start"] and lacking:
        raise Refused(" ".join([*lacking, "(suites chooses one, datasets leaves others out.)"]))
    if planned.new_endpoints and act.actor is not None and not act.actor.has_perm(ADDS):
        raise Refused(ASK_AN_ADMIN)
    report = _report(planned)
    stored = add_missing_endpoints(planned, actor=act.actor)
    runs = []
    for dataset in planned.datasets if act.data["start"] else ():
        plan = stored.run_plan(dataset, budget=act.data["budget"], original=act.data["original"])
        runs.append(started(replace(plan, **people), agreed=act.data["agreed"], actor=act.actor, at=act.at))
    return report | {"runs": [run_report(run.pk, with_figures=False) for run in runs]}


@RUNS.one(
    "export-esi",
    permission="judging.view_run",
    rows=lambda person: RUNS.rows(person).filter(kind=RunKind.ESI),
    sends_file=[ZIP],
)
def export_esi(act: ActionCall[Run, NoInput]) -> SentFile:
    """Send an ESI run as Lunar-Bench writes one: a ZIP archive of three files for each system."""
    record(act.actor, "report.exported", act.subject, table="esi", format="zip")
    return SentFile(f"{slugify(act.subject.name) or 'esi'}.zip", ZIP, esi_archive(act.subject))
