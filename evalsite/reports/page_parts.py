"""What pages of imports, cases, runs, debates and queues show of reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.utils import timezone

from evalsite.base.json_types import JsonDict
from evalsite.base.page_parts import Facts, add_part, set_row_part, subject_as
from judging.models import Judge, Run

if TYPE_CHECKING:
    from evalsite.review.models import Queue
    from judging.views.cases import ShownCase
    from judging.views.responses import ShownSystem


def add_parts() -> None:
    """Fill the places that pages below leave for reports."""
    add_part("judging.import_actions", "reports/_import_actions.html", subject_as("suite_id"))
    add_part("judging.import_labels", "reports/_import_labels.html", _import_labels)
    add_part("judging.case_responses", "reports/_case_responses.html", _case_responses)
    add_part("judging.run_actions", "reports/_run_actions.html", _run_actions)
    add_part("judging.run_results", "reports/_run_results.html", _run_results)
    add_part("judging.run_results", "reports/_run_gates.html", _run_gates)
    add_part("judging.system", "reports/_system_profile.html", _system_profile)
    add_part("judging.judges_tabs", "reports/_judges_tab.html", subject_as("tab"))
    add_part("judging.judge_actions", "reports/_judge_actions.html", _judge_actions)
    add_part("judging.judge", "reports/_judge_versions.html", _judge_versions)
    set_row_part("judging.judge_rows", "reports/_judge_row.html", _judge_rows)
    add_part("debate.set_reports", "reports/_set_actions.html", subject_as("debate_set"))
    add_part("debate.experiment_actions", "reports/_experiment_actions.html", subject_as("experiment"))
    add_part("review.queue_figures", "reports/_queue_figures.html", subject_as("queue"))
    add_part("review.queue_pace", "reports/_queue_pace.html", _queue_pace)
    add_part("review.run_people", "reports/_run_labels.html", subject_as("run"))


def _queue_pace(queue: Queue) -> JsonDict:
    from evalsite.reports.actions.adjudications import REPORT  # late, as below
    from evalsite.reports.selectors.pace import pace_of_queue
    from evalsite.reports.services.charts import burn_down_chart
    from evalsite.review.selectors.screens.pages import remembered

    pace = remembered("pace", queue, lambda: pace_of_queue(queue, at=timezone.now()))
    tables = [(table.name, table.title) for table in REPORT.tables]
    return {"queue": queue, "pace": pace, "chart": burn_down_chart(pace), "adjudications": tables}


def _import_labels(ids: list[int]) -> JsonDict:
    from evalsite.review.models import LabelTable  # late, as below

    return {"tables": LabelTable.objects.filter(pk__in=ids or ()).order_by("pk")}


def _system_profile(shown: ShownSystem) -> JsonDict | None:
    from evalsite.reports.views.systems import profile_shown  # late, as below

    return profile_shown(shown)


def _case_responses(shown: ShownCase) -> JsonDict:
    from evalsite.reports.views.results import answers_of  # late, as below

    return answers_of(shown)


def _run_actions(run: Run) -> JsonDict:
    from evalsite.reports.selectors.comparison_urls import run_comparison_url  # late, as below

    return {"run": run, "compare_url": run_comparison_url(run)}


def _run_gates(run: Run) -> JsonDict | None:
    from evalsite.reports.views.gates import gates_of_run  # late, as below

    return gates_of_run(run)


def _judge_actions(judge: Judge) -> JsonDict | None:
    from evalsite.reports.selectors.comparison_urls import judge_versions_url  # late, as below

    address = judge_versions_url(judge)
    return {"compare_url": address} if address else None


def _judge_versions(judge: Judge) -> JsonDict | None:
    from evalsite.reports.views.judges import figures_of  # late, as below

    return figures_of(judge)


def _judge_rows(rows: list[tuple[Judge, object, bool]]) -> Mapping[int, Facts]:
    from evalsite.reports.views.judges import newest_figures  # late, as below

    return newest_figures([judge for judge, _, _ in rows])


def _run_results(run: Run) -> JsonDict | None:
    from evalsite.reports.views.runs import results_of  # late: what computes reports takes long to load

    return results_of(run)
