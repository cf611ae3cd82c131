"""The demo: its people, its benchmark with answers and rubrics, imported as a person would, and the work on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from debate.jobs import launch_debates
from debate.services.set_plans import DebateWish, create_debate_set
from evalsite.accounts.roles import Role
from evalsite.accounts.services import PersonDetails, create_person, issue_password
from evalsite.base.rows import Issued
from evalsite.base.types import JsonDict
from evalsite.review.selectors.audits import AuditSubject, subject_of_debates, subject_of_run
from evalsite.review.services.run_referrals import plan_audit
from judging import jobs
from judging.models import Judge, ModelEndpoint, Rubric, Run, RunKind, Suite, System
from judging.services.file_imports.imports import store_import
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.staged_rubrics import Watch, unwatched
from judging.services.judges import LENSES, endpoint_name, judge_name
from judging.services.runs.new_runs import create_run, plan_tasks
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan

DATA = Path(__file__).resolve().parent / "data"
BENCHMARK = "Desk questions"
LEVELS = "Desk question levels"
CRITERIA = "Desk question criteria"
SYSTEMS = ("willow-large", "alder-medium", "moss-small")  # strong, middling, weak; no real models

FILES = {
    "suite.yaml": ImportOptions(benchmark=BENCHMARK),
    "responses.jsonl": ImportOptions(benchmark=BENCHMARK),
    "levels.xlsx": ImportOptions(benchmark=BENCHMARK, rubric=LEVELS),
    "criteria.yaml": ImportOptions(benchmark=BENCHMARK, rubric=CRITERIA),
}


@dataclass(frozen=True, slots=True)
class DemoContent:
    """What the demo's files became."""

    suite: Suite
    levels: Rubric
    criteria: Rubric
    systems: tuple[System, ...]
    is_new: bool  # False: every file was stored already


@transaction.atomic
def load_content(*, actor: User | None, at: datetime, watch: Watch = unwatched) -> DemoContent:
    """Import the demo's files; equal files change nothing."""
    results = []
    for number, (name, options) in enumerate(FILES.items()):
        watch("files of the demo imported", number, len(FILES))
        results.append(_store(name, options, actor, at))
    suite = results[0]
    names = {system.name: system for system in System.objects.filter(name__in=SYSTEMS)}
    return DemoContent(
        suite=Suite.objects.get(pk=suite["suite"]["id"]),
        levels=Rubric.objects.get(pk=results[2]["rubrics"][0]["id"]),
        criteria=Rubric.objects.get(pk=results[3]["rubrics"][0]["id"]),
        systems=tuple(names[name] for name in SYSTEMS),
        is_new=any(result["changed"] for result in results),
    )


def _store(name: str, options: ImportOptions, actor: User | None, at: datetime) -> JsonDict:
    files = [(name, (DATA / name).read_bytes())]
    return store_import(files=files, options=options, source=name, actor=actor, at=at)


PEOPLE = (
    (PersonDetails("demo-admin", "Ada", "Admin"), Role.ADMIN),
    (PersonDetails("demo-researcher", "Rosa", "Researcher"), Role.RESEARCHER),
    (PersonDetails("demo-anna", "Anna", "Annotator"), Role.ANNOTATOR),
    (PersonDetails("demo-ben", "Ben", "Annotator"), Role.ANNOTATOR),
    (PersonDetails("demo-chloe", "Chloe", "Annotator"), Role.ANNOTATOR),
)


def admit_people() -> list[Issued[User]]:
    """Make the demo's people, or give those that exist new passwords, and return the passwords in clear."""
    existing = {person.username: person for person in User.objects.filter(username__startswith="demo-")}
    return [
        issue_password(person=existing[details.username], actor=None)
        if details.username in existing
        else create_person(details=details, role=role, actor=None)
        for details, role in PEOPLE
    ]


def role_in_demo(username: str) -> Role:
    """Return the role that the demo gave this person."""
    return next(role for details, role in PEOPLE if details.username == username)


RUN_NAME = "Demo: rules and lexical baselines"
DEBATES_NAME = "Demo debates: helpfulness"  # annotators see it, so it names no system
AUDITED_CASES = 1  # with three responses; the site's minimum would send all of so small a set to people
AUDITED_DEBATES = 3  # one a case


@transaction.atomic
def start_work(*, content: DemoContent, actor: User | None, at: datetime) -> bool:
    """Launch the first run and the first debates over the demo's suite; return False where it had a run before."""
    if Run.objects.filter(suite=content.suite, kind__in=RunKind.values).exists():
        return False
    run = create_run(plan=_plan(content), actor=actor, at=at)
    plan_tasks(run_id=run.pk, at=at)  # the audit draws from them
    _plan_audit(subject_of_run(run), AUDITED_CASES, actor, at)
    jobs.launch_run(run_id=run.pk, waiting=run.total)
    debate_set = create_debate_set(wish=_wish(content), actor=actor, at=at)
    launch_debates([debate_set])
    _plan_audit(subject_of_debates(debate_set), AUDITED_DEBATES, actor, at)
    return True


def _plan_audit(subject: AuditSubject, cases: int, actor: User | None, at: datetime) -> None:
    plan_audit(subject=subject, size=cases, actor=actor, at=at)


def _plan(content: DemoContent) -> RunPlan:
    judges = {judge.name: judge for judge in Judge.objects.select_related("endpoint")}
    levels = [
        EvaluatorChoice(judge=judges[judge_name("level_cascade", lens)], rubric=content.levels) for lens in LENSES
    ]
    criteria = EvaluatorChoice(judge=judges[judge_name("generic", LENSES[-1])], rubric=content.criteria)
    return RunPlan(
        suite=content.suite,
        systems=content.systems,
        evaluators=[EvaluatorChoice(), *levels, criteria],
        name=RUN_NAME,
    )


def _wish(content: DemoContent) -> DebateWish:
    strong, middling, _ = content.systems
    endpoints = {row.name: row for row in ModelEndpoint.objects.all()}
    return DebateWish(
        suite=content.suite,
        system_a=strong,
        system_b=middling,
        rubric=content.criteria,
        criterion="helpfulness",
        endpoints=[endpoints[endpoint_name(lens)] for lens in LENSES],
        name=DEBATES_NAME,
    )
