"""Commands about runs, endpoints and single judgements: JSON on stdout, exit code 2 with the page's message."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from judging.judges.answer_prompts import shipped_asking
from judging.models import Lease, Response, Run, RunTask
from judging.services import leases, run_lifecycle
from judging.services.runs.new_runs import plan_tasks
from judging.services.systems import Worker, add_system, set_system_active
from judging.specs.people_choices import AskedPeople
from tests import factories
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.comparison_rows import TIE, comparing_judge, replied_suite
from tests.judging.services.run_rows import HALF, LEVELS, answered_suite, judged_run, level_judge, ruled_run, work

pytestmark = pytest.mark.django_db(transaction=True)


def run_command(name: str, *arguments: object) -> dict[str, Any]:
    """Return what a command prints with --json."""
    out = io.StringIO()
    call_command(name, *map(str, arguments), "--json", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def refusal(name: str, *arguments: object) -> str:
    """Return why a command refuses its input."""
    with pytest.raises(BadInput) as refused:
        call_command(name, *map(str, arguments))
    assert refused.value.returncode == 2
    return str(refused.value)


def test_run_create_waits_and_prints_the_suites_table() -> None:
    suite, (answered,) = answered_suite(
        cases=2, text="Use chmod.", grading={"keywords": ["chmod", "sudo"]}, lang="bash", question_type="code"
    )
    other = factories.system("zeta")
    for case in suite.cases.all():
        factories.response(prompt=case.prompt, system=other, text="Use sudo chmod.")

    result = run_command("run", "create", "--suite", suite.benchmark.slug, "--name", "By command", "--wait")

    # one of two keywords: half a point in each of two cases; the other system has both
    def table(mean: float) -> list[dict[str, Any]]:
        names = (("overall", ""), ("language", "bash"), ("type", "code"), ("metric", "keywords"))
        return [
            {"dimension": kind, "name": name, "mean": mean, "std": 0.0, "full_score": 2.0, "cases": 2, "shown": shown}
            for shown in (f"{mean:.2f} ± 0.00 of 2.00 points, {mean / 2:.1%}",)
            for kind, name in names
        ]

    run = Run.objects.get()
    assert result == {
        "run": run.pk,
        "name": "By command",
        "kind": "grading",
        "tags": [],
        "archived_at": None,
        "suite": str(suite),
        "status": "finished",
        "status_reason": "",
        "resume_at": None,
        "total": 4,
        "done": 4,
        "failed": 0,
        "failures": {},
        "calls_made": 0,
        "calls_reused": 0,
        "spent": "0.000000",
        "budget": None,
        "unpriced_calls": 0,
        "unheard_calls": 0,
        "unheard": "0.000000",
        "figures": [
            {
                "evaluator": "rules",
                "system": system.name,
                "is_baseline": False,
                "scored": 2,
                "unscored": 0,
                "rows": table(mean),
                "left_out": [],
            }
            for system, mean in ((answered, 1.0), (other, 2.0))
        ],
    }


def test_run_create_prints_means_of_judges_and_leaves_failures_out(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply=HALF)
    suite, (system,) = answered_suite(cases=3, lang="bash")
    judge, rubric = level_judge(url=fake_llm.url)
    broken = Response.objects.order_by("pk")[1]
    broken.text = "Broken: [[fake:400]]"
    broken.save()

    result = run_command(
        *("run", "create", "--suite", suite.pk, "--systems", system.name, "--no-rules", "--wait"),
        *("--judges", judge.name, "--rubrics", rubric.slug),
    )

    (figures,) = result["figures"]
    assert (result["status"], result["done"], result["failed"]) == ("finished", 2, 1)
    assert sum(result["failures"].values()) == 1
    assert (figures["scored"], figures["unscored"]) == (2, 1)
    assert [(row["dimension"], row["name"], row["mean"], row["cases"]) for row in figures["rows"]] == [
        ("overall", "", 50.0, 2),  # on the scale of the judge, to 100
        ("language", "bash", 50.0, 2),
        ("type", "", 50.0, 2),
    ]


def test_run_create_counts_the_best_of_groups_of_attempts() -> None:
    suite, (system,) = answered_suite(cases=1, text="nothing", grading={"keywords": ["chmod", "sudo"]}, lang="bash")
    prompt = suite.cases.get().prompt
    for attempt, text in enumerate(("chmod", "sudo chmod", "none"), 1):
        factories.response(prompt=prompt, system=system, attempt=attempt, text=text)
    suite.attempt_reduce_mode = "avg_max_2"
    suite.save()

    result = run_command("run", "create", "--suite", suite.pk, "--wait")

    # attempts have 0, 1/2, 1 and 0: groups of two have bests 1/2 and 1; two values deviate by their gap over root 2
    overall = result["figures"][0]["rows"][0]
    assert (overall["mean"], round(overall["std"], 9)) == (0.75, round(0.5 / 2**0.5, 9))


def test_run_estimate_says_what_a_run_would_cost_without_starting_it(fake_llm: FakeLLM) -> None:
    suite, _ = answered_suite(cases=4)
    judge, rubric = level_judge(url=fake_llm.url)

    result = run_command("run", "estimate", "--suite", suite.pk, "--judges", judge.name, "--rubrics", rubric.pk)

    assert (result["tasks"], result["calls"], result["cost"]) == (4, 4, None)
    assert result["unpriced"] == [f"{judge.name} · {rubric.name}"]
    assert not Run.objects.exists()


def test_an_estimate_says_how_many_responses_a_judge_cannot_be_asked_about(fake_llm: FakeLLM) -> None:
    suite, _ = answered_suite(cases=4)
    endpoint = factories.endpoint(base_url=fake_llm.url, input_price=1, output_price=1)
    factories.judge(name="Exact", kind="accuracy", endpoint=endpoint)
    suite.cases.update(reference="")
    suite.cases.filter(pk=suite.cases.order_by("pk")[0].pk).update(reference="4")

    result = run_command("run", "estimate", "--suite", suite.pk, "--judges", "Exact")

    assert (result["calls"], result["cannot_be_asked"]) == (1, {"Exact": {"responses": 3, "sample": 4}})
    assert [len(result[name].partition(".")[2]) for name in ("cost", "most_cost")] == [6, 6]


def test_run_create_refuses_what_a_page_would_refuse() -> None:
    suite, (system,) = answered_suite()
    judge, rubric = level_judge(url="http://127.0.0.1:9/v1", name="nowhere")
    pair = factories.judge(kind="pairwise", endpoint=judge.endpoint)
    here = ("run", "create", "--suite", suite.pk)

    assert refusal("run", "create", "--suite", "nope").startswith("--suite: There is no suite “nope”.")
    assert refusal("run", "create", "--suite", f"{suite.benchmark.slug}@9").startswith("--suite: There is no suite")
    assert refusal(*here, "--rules").endswith("--rules: No case of this suite has grading rules.")
    assert refusal(*here) == "Choose the rule graders, a judge, or both."
    assert refusal(*here, "--systems", "ghost", "--judges", judge.name).startswith(
        f"--systems: There is no system “ghost”. There are: {system.name}."
    )
    ghost = refusal(*here, "--judges", "ghost")
    assert ghost.startswith("--judges: There is no judge “ghost”. There are: ")
    assert "Choose" not in ghost
    assert refusal(*here, "--judges", judge.name) == (
        f"--rubrics: {judge.name} needs a level rubric; choose one or deselect the judge."
    )
    assert f"--judges: There is no judge “{pair.name}”." in refusal(*here, "--judges", pair.name)
    judged = (*here, "--judges", judge.name, "--rubrics", rubric.slug)
    assert refusal(*judged, "--budget", "much") == "--budget: Enter the budget as a number of dollars."
    assert "the price of nowhere is unknown" in refusal(*judged, "--budget", "1")
    assert refusal(*judged, "--first-attempts", "0") == (
        "--first-attempts: Ensure this value is greater than or equal to 1."
    )
    assert not Run.objects.exists()


def test_run_create_without_waiting_queues_even_where_no_broker_runs() -> None:
    suite, _ = answered_suite(grading={"keywords": ["chmod"]})

    result = run_command("run", "create", "--suite", suite.pk)

    assert (result["status"], result["total"], "figures" in result) == ("queued", 3, False)


def test_run_resume_raises_the_budget_and_waits() -> None:
    run = ruled_run()
    run_lifecycle.pause_run(run_id=run.pk, actor=None)
    Run.objects.update(budget=Decimal(1))

    result = run_command("run", "resume", run.pk, "--budget", "2", "--wait")

    assert (result["status"], result["budget"], result["done"], "figures" in result) == (
        "finished",
        "2.000000",
        3,
        True,
    )


def test_run_retries_what_failed(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply="I would rather not say.")
    run = judged_run(cases=2, url=fake_llm.url)
    work(run)
    fake_llm.config(reply=HALF)

    result = run_command("run", "retry", run.pk, "--wait")

    assert (result["status"], result["done"], result["failed"]) == ("finished", 2, 0)


def test_run_names_what_there_is_and_acts_for_a_person_who_may() -> None:
    run = ruled_run()
    factories.user("ada", Role.RESEARCHER)
    factories.user("vera", Role.VIEWER)

    assert refusal("run", "pause", 999) == f"There is no run “999”. There are: {run.name}."
    assert refusal("run", "pause", run.pk, "--by", "vera") == "“vera” may not do this. Name somebody who may with --by."
    run_command("run", "pause", run.pk, "--by", "ada")

    entry = AuditEntry.objects.get(action="run.paused")
    assert (str(entry.actor), entry.detail) == ("ada", {"through": "command"})


def test_run_create_grades_by_what_is_named_and_refuses_what_is_not_there() -> None:
    suite, (system,) = answered_suite(cases=2, grading={"keywords": ["chmod"]})
    other = factories.system("zeta")
    factories.response(prompt=suite.cases.order_by("pk")[0].prompt, system=other)
    judge, rubric = level_judge()
    named = ("--suite", suite.benchmark.slug, "--systems", system.name)

    estimated = run_command("run", "estimate", *named, "--no-rules", "--judges", judge.name, "--rubrics", rubric.slug)
    made = run_command("run", "create", *named, "--name", "Both", "--judges", judge.name, "--rubrics", rubric.slug)
    unknown = refusal("run", "create", "--suite", suite.pk, "--systems", "nobody")
    nothing = refusal("run", "create", "--suite", suite.pk, "--no-rules")
    no_suite = refusal("run", "create")

    assert (estimated["tasks"], Run.objects.count()) == (2, 1)
    assert (made["name"], made["status"], made["total"]) == ("Both", "queued", 4)
    assert unknown == f"--systems: There is no system “nobody”. There are: {system.name}, zeta."
    assert nothing == "Choose the rule graders, a judge, or both."
    assert no_suite == "--suite: This field is required."


def test_run_lists_page_by_page_and_by_status() -> None:
    runs = [factories.run(name=name, status=status) for name, status in (("a", "paused"), ("b", "finished"))]
    runs.append(factories.run(name="c", status="paused"))

    first = run_command("run", "list", "--rows", 2)
    rest = run_command("run", "list", "--rows", 2, "--after", first["next"])
    paused = run_command("run", "list", "--status", "paused")

    assert [row["name"] for row in first["rows"]] == ["c", "b"]
    assert ([row["name"] for row in rest["rows"]], rest["next"]) == (["a"], None)
    assert [row["name"] for row in paused["rows"]] == ["c", "a"]
    assert refusal("run", "list", "--status", "gone").startswith("--status: Select a valid choice. gone is not one")


def test_resume_runs_takes_up_what_a_lost_worker_left() -> None:
    run, finished = ruled_run(cases=4), ruled_run()
    work(finished)
    run_lifecycle.start_run(run_id=run.pk, at=NOON)
    plan_tasks(run_id=run.pk, at=NOON)
    lost = leases.open_lease(run=run, worker="gone")
    leases.claim_tasks(lease=lost, most=2)
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    result = run_command("resume_runs", "--wait")

    run.refresh_from_db()
    assert (result, run.status, run.done) == ({"runs": [run.pk]}, "finished", 4)
    assert sorted(RunTask.objects.filter(run=run).values_list("tries", flat=True)) == [1, 1, 2, 2]


def test_a_trial_prints_verdict_and_score(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply=HALF)
    answered_suite(cases=3)
    judge, rubric = level_judge(url=fake_llm.url)
    response = Response.objects.order_by("pk")[1]
    command = ("run", "try", "--response", response.pk, "--judge", judge.name, "--rubric", rubric.slug, "--wait")

    result = run_command(*command)

    run, verdict = Run.objects.get(), result["verdict"]
    assert (result["run"], verdict["response"]) == (run.pk, response.pk)
    assert (verdict["status"], verdict["value"], verdict["score"], verdict["full"]) == (
        "ok",
        {"score": 50},
        50.0,
        100.0,
    )
    assert verdict["shown"] == "50.0 of 100"
    assert (run.total, run.done, run.kind, fake_llm.stats()["calls"]) == (1, 1, "single", 1)
    assert (run_command(*command)["verdict"]["score"], fake_llm.stats()["calls"]) == (50.0, 1)  # from the ledger


def test_a_trial_refuses_what_cannot_be_judged() -> None:
    answered_suite()
    judge, _ = level_judge()
    response, loose = Response.objects.order_by("pk")[0], factories.response()
    rubric = factories.rubric(trees={"": LEVELS}, shape="levels")
    here = ("run", "try", "--judge", judge.name, "--response")

    assert refusal(*here, 999_999) == "--response: There is no response 999999."
    assert refusal(*here, response.pk) == f"{judge.name} needs a rubric."
    assert refusal(*here, loose.pk, "--rubric", rubric.pk) == "No suite has the case of this response."
    assert refusal(*here, response.pk, "--rubric", "ghost").startswith("--rubric: There is no rubric “ghost”.")
    assert not Run.objects.exists()


def test_run_create_takes_a_part_of_the_suite_and_keeps_it_in_the_run() -> None:
    suite, _ = answered_suite(cases=6, text="Use chmod.", grading={"keywords": ["chmod"]})
    first = suite.cases.order_by("links__position").values_list("key", flat=True)[0]
    part = ("--suite", suite.pk, "--limit", 2, "--seed", 3)

    estimated = run_command("run", "estimate", *part)
    drawn = Run.objects.get(pk=run_command("run", "create", *part, "--wait")["run"])
    named = run_command("run", "create", "--suite", suite.pk, "--cases", first, "--wait")

    assert (estimated["tasks"], drawn.total, drawn.done, named["done"]) == (2, 2, 2, 1)
    graded = set(drawn.tasks.values_list("response__prompt__cases__key", flat=True))
    assert graded == set(drawn.options["selection"]["drawn"])
    assert {name: drawn.options["selection"][name] for name in ("limit", "seed", "cases", "scenarios")} == {
        "limit": 2, "seed": 3, "cases": [], "scenarios": []
    }  # fmt: skip


def test_run_create_refuses_cases_and_scenarios_that_are_not_there() -> None:
    suite, _ = answered_suite(cases=1, text="Use chmod.", grading={"keywords": ["chmod"]})
    here = ("run", "create", "--suite", suite.pk)

    assert f"--cases: {suite} has no case nope" in refusal(*here, "--cases", "nope")
    assert f"--scenarios: {suite} has no scenario nope" in refusal(*here, "--scenarios", "nope")
    assert refusal(*here, "--limit", 0) == "--limit: Ensure this value is greater than or equal to 1."


AUDIT = ("audit_cases", "audit_annotations_at_most", "annotations_at_most")
PACE = "1 min 00 s per annotation, assumed: nothing like it has been annotated here"


def test_run_estimate_esi_says_how_many_annotations_its_audit_takes(settings: Any) -> None:
    settings.REVIEW_AUDIT_SHARE, settings.REVIEW_AUDIT_MINIMUM = 0.5, 1
    suite, (system,) = answered_suite(cases=4)
    Response.objects.order_by("pk").last().delete()  # type: ignore[union-attr]
    for name in ("worker", "judge"):
        factories.endpoint(name=name)
    judges = ("--accuracy", "judge", "--integrity", "judge")
    here = ("--suite", suite.benchmark.slug, *judges)

    asking = run_command("run", "estimate-esi", *here, "--workers", "worker", "--prompts", "DIRECT", "COT")
    judging = run_command("run", "estimate-esi", *here, "--systems", system.name)
    single = run_command("run", "estimate-esi", *here, "--workers", "worker", "--prompts", "COT")

    # 2 of 4 cases, each with 2 answers under 2 criteria, for 2 people; 2 of the 3 answered cases, with 1 answer each
    # in the worst case all stays open: 4 cases with 2 answers, or 3 answers, under 2 criteria, for 2 people
    assert [tuple(report[name] for name in AUDIT) for report in (asking, judging)] == [(2, 16, 32), (2, 8, 12)]
    assert single["calls"] == 8  # 4 cases, answered and judged once: none has a reference
    assert refusal("run", "create-esi", *here) == (
        "Choose either systems or models to ask, or stored responses, not both."
    )
    assert refusal("run", "create-esi", *judges, "--workers", "worker", "--prompts", "COT") == (
        "--items: Name a suite, or give items, one of them."
    )


def test_run_create_esi_takes_a_system_beside_models() -> None:
    factories.judge(name="strict", kind="accuracy", endpoint=factories.endpoint(name="judge"))
    suite, worker = factories.suite(cases=1), factories.endpoint(name="qwen")
    asking = replace(shipped_asking("COT"), temperature=0.7)
    warm = add_system(name="warm", worker=Worker(worker, asking), description="", actor=None, at=NOON)
    here = ("run", "create-esi", "--suite", suite.pk, "--accuracy", "judge", "--integrity", "judge", "--asked", "warm")

    run_command(*here, "--workers", "qwen", "--prompts", "DIRECT")
    set_system_active(system=warm, is_active=False, actor=None)

    run = Run.objects.get()
    by_prompt = {system.prompt_version: system for system in run.systems.all()}
    assert (by_prompt["COT"], len(by_prompt)) == (warm, 2)
    assert run.options["workers"][str(warm.pk)]["temperature"] == 0.7
    # an endpoint stands for the judge as shipped on it, though another of its kind asks it too
    names = set(run.evaluators.filter(judge__isnull=False).values_list("judge__name", flat=True))
    assert names == {"Accuracy against a reference (judge)", "Reasoning integrity (judge)"}
    assert "--asked: There is no system “warm”." in refusal(*here)


def test_run_estimate_says_how_many_annotations_its_audit_takes(settings: Any) -> None:
    settings.REVIEW_AUDIT_SHARE, settings.REVIEW_AUDIT_MINIMUM = 0.5, 1
    suite, _ = answered_suite(cases=4, grading={"keywords": ["chmod"]})
    here = ("--suite", suite.benchmark.slug)
    ways = ((), ("--audit-percent", "25"), ("--people", "audit"), ("--people", "nobody"))

    estimates = [run_command("run", "estimate", *here, *way) for way in ways]
    for way in ways[1:]:
        run_command("run", "create", *here, *way)

    assert [tuple(report[name] for name in AUDIT) for report in estimates] == [
        (2, 4, 8), (1, 2, 8), (2, 4, 4), (0, 0, 0)
    ]  # fmt: skip
    assert (estimates[0]["people_seconds_at_most"], estimates[0]["people_seconds_per_annotation"]) == (480.0, PACE)
    runs = list(Run.objects.order_by("pk"))
    assert [run.options["audit_share"] for run in runs] == [0.25, None, None]
    assert [AskedPeople.of(run.options).value for run in runs] == ["open", "audit", "nobody"]
    assert refusal("run", "create", *here, "--audit-percent", "500") == (
        "--audit-percent: Ensure this value is less than or equal to 100."
    )


def test_run_create_asks_for_more_than_a_day_of_work_only_where_somebody_agrees() -> None:
    suite, _ = answered_suite(cases=61, systems=4, grading={"keywords": ["chmod"]})  # 244 responses, two people each
    here = ("run", "create", "--suite", suite.benchmark.slug)

    refused = [refusal(*here), refusal(*here, "--agreed", "487")]
    run_command(*here, "--people", "audit")
    run_command(*here, "--agreed", "488")

    assert refused == 2 * [
        f"This asks people for at most 488 annotations (8 h 08 min at {PACE}): more than a day of work (8 h 00 min). "
        "Agree to it beside the estimate (commands and the API: agreed), or ask for less."
    ]
    assert Run.objects.count() == 2


def test_run_create_compares_with_the_baseline_that_it_names(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply=TIE)
    suite, _ = replied_suite(1, base="Plain reply", other="Other reply")
    judge = comparing_judge(url=fake_llm.url)
    arguments = ("--suite", suite.pk, "--judges", judge.name)

    lacking = refusal("run", "create", *arguments)
    estimated = run_command("run", "estimate", *arguments, "--baseline", "base")
    report = run_command("run", "create", *arguments, "--baseline", "base", "--wait")

    assert lacking.endswith("Choose the baseline.")
    assert (estimated["calls"], report["calls_made"], report["total"], report["done"]) == (2, 2, 1, 1)
