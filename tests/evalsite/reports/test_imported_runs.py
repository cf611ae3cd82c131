"""Imported runs in every page, report, audit and export: they count as own runs do, and say where they come from."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.reports.jobs import refresh_run
from evalsite.reports.services.judge_reports import compute_judges
from evalsite.reports.services.leaderboards import board_of_run, compute_leaderboard
from evalsite.review.jobs import route_pending, route_run
from evalsite.review.models import Provenance, ReviewItem
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.audits import subject_of_run
from evalsite.review.services.decisions import keep_final_label
from evalsite.review.services.run_referrals import plan_audit
from judging.models import Judge, Run, RunEvaluator, Verdict
from judging.specs.records.neutral import Choice, Giver, PreferenceRecord, ScoreRecord, VerdictRecord
from judging.specs.types import GRADES
from tests import factories
from tests.evalsite.reports.open_pages import opened, some_of_each, view_of
from tests.factories import NOON
from tests.imported_logs import LOG, ReadLog
from tests.sizes import IS_WHOLE, sized

pytestmark = pytest.mark.django_db
ABOUT = ("/runs/", "/reports/", "/verdicts/", "/responses/", "/cases/", "/judges/", "/systems/", "/audits/")


def mixed_log() -> ReadLog:
    """Return a log with everything that logs have: two graders, four judges, a comparison, turns, unread replies."""
    log = ReadLog()
    for number, response in enumerate(log.responses):
        take = log.collector
        take.score(ScoreRecord(response, "contains", number % 2, (0, 1), "Why.", metadata={"a": [1]}, place=LOG))
        take.score(ScoreRecord(response, "brevity", number * 7, place=LOG))
        value = None if number == 5 else number % 5 + 1
        take.verdict(VerdictRecord(response, "helper", value, (1, 5), "Since.", "helpfulness", place=LOG))
        take.verdict(VerdictRecord(response, "graded_qa", "CPIN"[number % 4], GRADES, place=LOG))
        take.verdict(VerdictRecord(response, "turns", 7, (1, 10), turn=1 + number % 2, place=LOG))
        take.verdict(VerdictRecord(response, "bare", number, place=LOG))
    for alpha, beta in zip(log.responses[::2], log.responses[1::2], strict=True):
        log.collector.preference(
            PreferenceRecord(alpha, beta, Choice.B, Giver.JUDGE, "pairs", 0.9, is_flipped=alpha == 1, place=LOG)
        )
    return log


@pytest.mark.sized
def test_every_page_and_export_of_an_imported_run_opens(researcher: Client) -> None:
    _, (run,) = mixed_log().store()
    refresh_run(run.pk)
    pages = [
        *("home", "judging:run-list", "judging:judge-list"),
        *("reports:leaderboard-list", "reports:judge-list", "reports:spend-report", "review:queue-list"),
    ]
    of_suite = ("board-detail", "results-detail", "leaderboard-detail", "leaderboard-breakdown", "charts-detail")
    starts = [reverse(page) for page in pages]
    starts += [reverse(f"reports:{page}", args=[run.suite_id]) for page in of_suite]
    starts += [run.get_absolute_url(), run.suite.get_absolute_url()]
    starts += [judge.get_absolute_url() for judge in Judge.objects.all()]
    verdicts = list(Verdict.objects.all())
    if not IS_WHOLE:
        verdicts = [*{(verdict.evaluator_id, verdict.status): verdict for verdict in verdicts}.values()]
    starts += [verdict.get_absolute_url() for verdict in verdicts]
    starts += [f"{run.get_absolute_url()}?failure=unparsed", f"{run.get_absolute_url()}?status=done"]
    for row in run.evaluators.all():
        starts += [f"{run.get_absolute_url()}?evaluator={row.pk}"]
        starts += [f"{reverse('reports:leaderboard-detail', args=[run.suite_id])}?evaluator={row.pk}"]
        starts += [f"{reverse('reports:leaderboard-breakdown', args=[run.suite_id])}?evaluator={row.pk}"]

    for row in run.evaluators.filter(kind="judge"):
        starts += [f"{reverse('reports:judge-detail')}?{urlencode({'name': row.name})}"]

    follows = some_of_each(_kind, sized(1, whole=1000))
    assert opened(researcher, starts, lambda page, link: page in starts and follows(page, link)) == {}


def _kind(link: str) -> str:
    """Return what pages like this one have in common: the view, what is asked of it, and of which grader or judge.

    In the gate pages of all graders are alike; those that the test begins with are of each.
    """
    name, words, query = view_of(link)
    of = [query.get(key, "") for key in ("evaluator", "grader", "name")] if IS_WHOLE else []
    return " ".join([name, words, *sorted(query), *of]) if link.startswith(ABOUT) else ""


def test_pages_say_where_figures_were_imported_from(researcher: Client) -> None:
    _, (run,) = mixed_log().store()
    refresh_run(run.pk)
    helper = run.evaluators.get(name="helper · helpfulness")
    suite, judge = run.suite_id, Judge.objects.get(name="helper")
    verdict = Verdict.objects.filter(evaluator=helper)[0]
    pages = [
        run.get_absolute_url(),
        judge.get_absolute_url(),
        verdict.get_absolute_url(),
        verdict.response.get_absolute_url(),
        reverse("reports:board-detail", args=[suite]),
        f"{reverse('reports:leaderboard-detail', args=[suite])}?evaluator={helper.pk}",
        reverse("reports:leaderboard-list"),
        reverse("reports:judge-list"),
    ]

    for page in pages:
        assert "mported from promptfoo 0.123" in researcher.get(page).content.decode(), page


def test_an_imported_run_and_its_judges_offer_nothing_that_asks(researcher: Client) -> None:
    _, (run,) = mixed_log().store()
    judge = Judge.objects.get(name="helper")

    page = researcher.get(run.get_absolute_url()).content.decode()
    retry = researcher.post(reverse("judging:run-retry", args=[run.pk]), follow=True).content.decode()
    create = researcher.get(f"{reverse('judging:run-create')}?suite={run.suite_id}").content.decode()

    assert "Retry failed" not in page
    assert "New run like this" not in page
    assert "nobody can be asked again" in retry
    assert "helper" not in create
    for name in ("try", "update", "export"):
        assert researcher.get(reverse(f"judging:judge-{name}", args=[judge.pk])).status_code == 404


def test_boards_have_the_means_of_an_imported_grader_and_judge() -> None:
    _, (run,) = mixed_log().store()
    grader, helper = run.evaluators.get(name="contains"), run.evaluators.get(name="helper · helpfulness")
    unknown = run.evaluators.get(name="brevity")

    # contains gives alpha 0, 0, 0 and beta 1, 1, 1; helper gives alpha 1, 3, 5 of 5 and beta 2, 4 and one unread
    assert means(grader) == {"alpha": 0.0, "beta": 1.0}
    assert means(helper) == {"alpha": pytest.approx(0.6), "beta": pytest.approx(0.6)}
    assert means(unknown) == {"alpha": None, "beta": None}


def means(evaluator: RunEvaluator) -> dict[str, float | None]:
    """Return the mean that a board shows of each system."""
    content = board_of_run(evaluator)
    return {row["system"]: row["figures"]["raw"]["value"] for row in content["rows"]}


def test_an_imported_run_asks_nobody_by_itself() -> None:
    _, (run,) = mixed_log().store()

    assert route_pending() == 0
    route_run(run.pk)

    assert ReviewItem.objects.count() == 0


def test_an_audit_of_an_imported_run_corrects_its_board_and_measures_its_judge() -> None:
    log = ReadLog(suite=factories.suite(cases=30))
    for number, response in enumerate(log.responses):
        log.collector.verdict(
            VerdictRecord(response, "helper", number % 5 + 1, (1, 5), criterion="helpfulness", place=LOG)
        )
        log.collector.score(ScoreRecord(response, "brevity", number, place=LOG))
    _, (run,) = log.store()
    helper = run.evaluators.get(kind="judge")

    plan_audit(subject=subject_of_run(run), size=25, actor=None, at=NOON)
    route_run(run.pk)
    items = ReviewItem.objects.filter(criterion="helpfulness").select_related("subject")
    for item in items:
        scale = labels_from_json(item.subject.labels)
        assert [(label.value, label.share) for label in scale] == [(str(n), n / 5) for n in range(1, 6)]
        keep_final_label(item=item, label="4", provenance=Provenance.ADJUDICATION, at=NOON)

    assert items.count() == 50  # 25 cases by two systems; the grader's values, whose scale is not known, send nobody
    assert set(ReviewItem.objects.values_list("arm", flat=True)) == {"audit"}
    corrected = {
        row["system"]: row["figures"]["corrected"]["value"] for row in compute_leaderboard(helper.pk, {})["rows"]
    }
    assert corrected == {"alpha": pytest.approx(0.8), "beta": pytest.approx(0.8)}
    (judge,) = (row for row in compute_judges(0, {}).judges if row.name == helper.name)
    assert (judge.caveat, judge.is_baseline, judge.verdicts) == ("imported from promptfoo 0.123", False, 60)
    assert run == Run.objects.get()
