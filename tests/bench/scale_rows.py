"""A site with years of work in it, written by SQL in some minutes: 110 runs over 11 suites, PostgreSQL only.

Half of the responses belong to one large suite, the rest to ten others. Run 1 judges the large suite with two judges;
every thirteenth run, and the last but one, judges a whole smaller suite with three; all others judge a few of its
cases. One reply in 97 could not be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from django.db.backends.utils import CursorWrapper

    from judging.models import Judge, RunEvaluator, Suite

RUNS = 110
SYSTEMS = 20
JUDGES = 3
SMALL_SUITES = 10
BIG_RUNS = frozenset({*range(13, 110, 13), 105, 109} - {104, 91})  # eight of them; 105 is deep, 109 is new
UNREAD = 97  # one reply in so many
AT = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
TEXT = "An answer of some length that says what it has to say. " * 5
RATIONALE = "The response answers what was asked, but it names no source for its second claim. " * 2


@dataclass(frozen=True)
class SuiteRows:
    """A suite and its responses, whose keys follow one another: case by case, system by system."""

    suite: Suite
    first_response: int
    responses: int


def load_site(responses: int) -> None:
    """Write that many responses and three times as many tasks, verdicts, scores and calls; and an admin."""
    from django.db import connection

    from evalsite.accounts.roles import Role
    from tests import factories

    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        if cursor.fetchone() == (True,):
            cursor.execute(
                "SET session_replication_role = replica"
            )  # keys are right by construction: checks take hours
        try:
            suites = _write_suites(cursor, responses)
            judges = _judges()
            for number in range(1, RUNS + 1):
                _write_run(cursor, number, suites, judges, responses)
            _finish(cursor)
        finally:
            cursor.execute("RESET session_replication_role")
    admin = factories.user("bench-admin", Role.ADMIN)
    admin.is_superuser = True
    admin.save()


def pages(responses: int) -> dict[str, str]:
    """Return the pages to time of the site that `load_site` wrote."""
    from judging.models import Case, Judge, Run, System

    judge, case = Judge.objects.order_by("pk")[0], Case.objects.filter(suites__isnull=False).order_by("pk")[0]
    runs = list(Run.objects.filter(name__startswith="Run ").select_related("suite__benchmark").order_by("name"))
    suite, system = runs[0].suite, System.objects.order_by("pk")[0]
    largest, deep, newest_big, newest = (f"/runs/{runs[number - 1].pk}/" for number in (1, 105, 109, 110))
    last = runs[104].evaluators.order_by("-position")[0]
    return {
        "home": "/",
        "largest run": largest,
        "largest, half-way": f"{largest}?page={runs[0].total // 100}",
        "largest, last page": f"{largest}?page={runs[0].total // 50}",
        "run 105": deep,
        "run 105, failed": f"{deep}?status=failed",
        "run 105, one judge": f"{deep}?evaluator={last.pk}",
        "newest big run": newest_big,
        "newest run": newest,
        "runs": "/runs/",
        "audit, largest run": f"/review/audits/runs/{runs[0].pk}/",
        "audit, run 105": f"/review/audits/runs/{runs[104].pk}/",
        "endpoints": "/endpoints/",
        "system": f"/systems/{system.pk}/",
        "system, deep": f"/systems/{system.pk}/?page={responses // SYSTEMS // 100}",
        "suite": f"/suites/{suite.pk}/",
        "suite, search": f"/suites/{suite.pk}/?q=question+24",
        "benchmark": f"/benchmarks/{suite.benchmark.slug}/",
        "leaderboards": "/reports/leaderboards/",
        "leaderboard": f"/reports/leaderboards/{suite.pk}/",
        "share links": f"/reports/shares/?suite={suite.pk}",
        "judges": "/reports/judges/",
        "results": f"/reports/results/{suite.pk}/",
        "results, differ": f"/reports/results/{suite.pk}/?show=differ",
        "results, judges": f"/reports/results/{suite.pk}/?columns=judges&show=differ",
        "results, worst": f"/reports/results/{suite.pk}/?sort=0&page=40",
        "results, send": f"/reports/results/{suite.pk}/send/?show=low&most=0.01",
        "board": f"/reports/leaderboards/{suite.pk}/board/",
        "charts": f"/reports/leaderboards/{suite.pk}/charts/",
        "case": f"/cases/{case.pk}/",
        "judge": f"/judges/{judge.pk}/",
        "judge's figures": f"/reports/judges/detail/?{urlencode({'name': judge.name})}",
        "spend": "/reports/spend/",
        "jobs": "/jobs/",
        "search": "/search/?q=answer",
    }


def _finish(cursor: CursorWrapper) -> None:
    """Set what a site's own services and its database's upkeep would have set."""
    cursor.execute(
        "INSERT INTO judging_callhour (endpoint_id, hour, calls, errors, cost, seconds)"
        " SELECT endpoint_id, date_trunc('hour', finished_at), count(*), 0, sum(cost), sum(seconds)"
        " FROM judging_call GROUP BY 1, 2"
    )
    for table in ("prompt", "case", "response", "runtask", "verdict", "score", "call"):
        name = f"judging_{table}"
        cursor.execute(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), (SELECT max(id) FROM {name}))")
    cursor.execute("VACUUM ANALYZE")


def _write_suites(cursor: CursorWrapper, responses: int) -> list[SuiteRows]:
    """Write the large suite and the small ones with their cases, and a response of every system to each case."""
    from judging.models import Suite
    from tests import factories

    systems = [factories.system(f"system {number:02d}").pk for number in range(SYSTEMS)]
    made = []
    case, response = 1, 1
    for number in range(SMALL_SUITES + 1):
        cases = responses // 2 // SYSTEMS // (SMALL_SUITES if number else 1)
        benchmark = factories.benchmark(slug=f"bench-{number}", name=f"Bench {number}")
        suite = Suite.objects.create(
            benchmark=benchmark,
            number=1,
            name=benchmark.name,
            content_hash=f"{number:064x}",
            case_count=cases,
            created_at=AT,
        )
        bounds: dict[str, Any] = {
            "first": case,
            "last": case + cases - 1,
            "benchmark": benchmark.pk,
            "suite": suite.pk,
            "at": AT,
        }
        for statement in SUITE_ROWS:
            cursor.execute(statement, bounds)
        cursor.execute(RESPONSE_ROWS, bounds | {"response": response, "systems": systems, "n": SYSTEMS, "text": TEXT})
        made.append(SuiteRows(suite, response, cases * SYSTEMS))
        case, response = case + cases, response + cases * SYSTEMS
    return made


SUITE_ROWS = (
    "INSERT INTO judging_prompt (id, benchmark_id, key, content_hash, text, context, context_role)"
    " SELECT n, %(benchmark)s, 'case-' || lpad(n::text, 6, '0'), lpad(to_hex(n), 64, '0'), 'Question ' || n || '?',"
    " '', '' FROM generate_series(%(first)s, %(last)s) n",
    "INSERT INTO judging_case (id, prompt_id, key, content_hash, reference, scenario, question_type, lang, grading,"
    " handlers, metadata, source_path, created_at)"
    " SELECT n, n, 'case-' || lpad(n::text, 6, '0'), lpad(to_hex(n), 64, '0'), '',"
    " (ARRAY['code', 'mathematics', 'open questions', 'summaries'])[n %% 4 + 1], '',"
    " CASE WHEN n %% 3 = 0 THEN 'de' ELSE 'en' END, '{}', '{}', '{}', '', %(at)s"
    " FROM generate_series(%(first)s, %(last)s) n",
    "INSERT INTO judging_suitecase (suite_id, case_id, position, weight)"
    " SELECT %(suite)s, n, n - %(first)s, 1 FROM generate_series(%(first)s, %(last)s) n",
)
RESPONSE_ROWS = (
    "INSERT INTO judging_response (id, prompt_id, system_id, attempt, text, text_hash, metadata, source, imported_at)"
    " SELECT %(response)s + (p - %(first)s) * %(n)s + s - 1, p, (%(systems)s::bigint[])[s], 0, %(text)s,"
    " repeat('0', 64), '{}', '', %(at)s"
    " FROM generate_series(%(first)s, %(last)s) p CROSS JOIN generate_series(1, %(n)s) s"
    " ORDER BY p, s"
)


def _judges() -> list[Judge]:
    from tests import factories

    return [factories.judge(name=f"Judge {number}") for number in range(JUDGES)]


def _write_run(
    cursor: CursorWrapper, number: int, suites: list[SuiteRows], judges: list[Judge], responses: int
) -> None:
    """Write a finished run with a task, a call, a verdict and a score for each of its judges and responses."""
    from judging.models import System
    from tests import factories

    rows = suites[0] if number == 1 else suites[1 + number % SMALL_SUITES]
    whole = number == 1 or number in BIG_RUNS
    count = rows.responses if whole else responses * 264 // 100_000 // SYSTEMS * SYSTEMS
    asked = judges[:2] if number == 1 else judges
    at = AT + timedelta(hours=number)
    run = factories.run(
        suite=rows.suite,
        name=f"Run {number:03d}",
        status="finished",
        total=count * len(asked),
        done=count * len(asked),
        calls_made=count * len(asked),
        created_at=at,
        planned_at=at,
        case_count=count // SYSTEMS,
        started_at=at,
        finished_at=at,
    )
    run.systems.set(System.objects.all())
    for judge in asked:
        evaluator = factories.evaluator(
            run=run, kind="judge", name=judge.name, judge=judge, position=judges.index(judge), total=count, done=count
        )
        _write_results(cursor, evaluator, rows.first_response, count)


def _write_results(cursor: CursorWrapper, evaluator: RunEvaluator, first: int, count: int) -> None:
    from judging.models import RunTask

    assert evaluator.judge is not None
    last = RunTask.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    values: dict[str, Any] = {
        "last": last,
        "run": evaluator.run_id,
        "evaluator": evaluator.pk,
        "endpoint": evaluator.judge.endpoint_id,
        "place": evaluator.position,
        "response": first,
        "count": count,
        "unread": UNREAD,
        "at": evaluator.run.created_at,
        "text": TEXT,
        "rationale": RATIONALE,
    }
    for statement in RESULT_ROWS:
        cursor.execute(statement, values)
    failed = sum((last + n) % UNREAD == 0 for n in range(1, count + 1))
    for row in (evaluator, evaluator.run):
        row.done, row.failed = row.done - failed, row.failed + failed
        row.save()


RESULT_ROWS = (
    "INSERT INTO judging_runtask (id, run_id, evaluator_id, response_id, status, tries, retries, failure_kind)"
    " SELECT %(last)s + n, %(run)s, %(evaluator)s, %(response)s + n - 1,"
    " CASE WHEN (%(last)s + n) %% %(unread)s = 0 THEN 'failed' ELSE 'done' END, 1, 0,"
    " CASE WHEN (%(last)s + n) %% %(unread)s = 0 THEN 'unparsed' ELSE '' END"
    " FROM generate_series(1, %(count)s) n",
    "INSERT INTO judging_call (id, key, endpoint_id, run_id, status, request, text, finish_reason, prompt_tokens,"
    " completion_tokens, cut_tokens, cost, prices, reply_head, label_logprobs, error_kind, error_text, provider_text,"
    " attempts, seconds, finished_at)"
    " SELECT %(last)s + n, lpad(to_hex(%(last)s + n), 64, '0'), %(endpoint)s, %(run)s, 'finished',"
    " jsonb_build_object('model', 'fake', 'messages', %(text)s), %(rationale)s, 'stop', 700 + n %% 50, 90, 0,"
    " 0.000400, '{}', '{}', '{}', '', '', '', 1, 0.5 + n %% 100 / 100.0, %(at)s + n * interval '10 milliseconds'"
    " FROM generate_series(1, %(count)s) n",
    "INSERT INTO judging_verdict (id, task_id, run_id, evaluator_id, response_id, status, value, rationale, flags,"
    " reason, call_ids, parser_version, created_at)"
    " SELECT %(last)s + n, %(last)s + n, %(run)s, %(evaluator)s, %(response)s + n - 1,"
    " CASE WHEN (%(last)s + n) %% %(unread)s = 0 THEN 'unparsed' ELSE 'ok' END,"
    " CASE WHEN (%(last)s + n) %% %(unread)s = 0 THEN NULL ELSE"
    " jsonb_build_object('score', ((%(response)s + n)::bigint * 7919 + %(place)s * 104729) %% 101) END,"
    " %(rationale)s, '[]', '', jsonb_build_array(%(last)s + n), 1, %(at)s"
    " FROM generate_series(1, %(count)s) n",
    'INSERT INTO judging_score (id, run_id, evaluator_id, response_id, verdict_id, status, value, "full", share,'
    " detail, flags, created_at)"
    " SELECT v.id, v.run_id, v.evaluator_id, v.response_id, v.id,"
    " CASE WHEN v.value IS NULL THEN 'incomplete' ELSE 'complete' END, (v.value->>'score')::float / 100, 1,"
    " (v.value->>'score')::float / 100, '{}', '[]', v.created_at"
    " FROM judging_verdict v WHERE v.evaluator_id = %(evaluator)s AND v.id > %(last)s ORDER BY v.id",
)
