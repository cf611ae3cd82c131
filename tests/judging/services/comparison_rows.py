"""Runs of a judge that compares each response with a baseline's, for tests of the engine and of pages."""

from __future__ import annotations

from typing import Any

from judging.judges.kinds.custom import KIND
from judging.models import Judge, Run, Suite, System
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from tests import factories
from tests.factories import NOON

# The shape of a published pairwise prompt, in words of our own: two assistants, a marked verdict at the end.
PAIRWISE = """Two assistants, A and B, replied to a user. Decide whose reply serves the user better.
The order of the replies says nothing. Explain first. Then end with "[[A]]" if A is better, "[[B]]" if B is better,
or "[[C]]" if neither is.
[User] {{ question }}
[Reply of A] {{ response | data }}
[Reply of B] {{ response_b | data }}"""
LABELS = "A = 1\nC = 0.5\nB = 0"
READ = {"system_text": "", "reply": "pattern", "reply_key": r"\[\[([ABC])\]\]", "labels_text": LABELS}
TIE = "Neither is better.\n[[C]]"


def comparing_judge(*, url: str, **options: Any) -> Judge:
    """Return a judge with the pairwise prompt on the endpoint at `url`."""
    chosen = KIND.new_options() | READ | {"prompt_text": PAIRWISE} | options
    endpoint = factories.endpoint(base_url=url, model="fake")
    return factories.judge(name=f"pair {Judge.objects.count()}", kind="custom", options=chosen, endpoint=endpoint)


def replied_suite(cases: int, **replies: str) -> tuple[Suite, dict[str, System]]:
    """Return a suite whose every case each of these systems replied to as said, with the case's number."""
    owner = factories.benchmark()
    suite = factories.suite(cases=[factories.case(benchmark=owner) for _ in range(cases)])
    systems = {name: factories.system(name) for name in replies}
    for number, case in enumerate(suite.cases.order_by("links__position")):
        for name, system in systems.items():
            factories.response(prompt=case.prompt, system=system, text=f"{replies[name]} {number}.")
    return suite, systems


def compare(suite: Suite, systems: list[System], baseline: System | None, judge: Judge) -> Run:
    """Return a queued run of the judge over the responses of the systems."""
    plan = RunPlan(suite=suite, systems=systems, evaluators=[EvaluatorChoice(judge=judge)], baseline=baseline)
    return create_run(plan=plan, actor=None, at=NOON)


def compared_run(*, url: str, cases: int) -> Run:
    """Return a queued run of the judge over one system and a baseline."""
    suite, systems = replied_suite(cases, base="Plain reply", other="Other reply")
    return compare(suite, list(systems.values()), systems["base"], comparing_judge(url=url))
