"""Links from pages of imports, runs, debates and queues to their reports."""

from __future__ import annotations

from debate.models import DebateSet, Experiment
from evalsite.base.page_parts import Facts, add_part
from evalsite.review.models import Queue
from judging.models import Run


def add_parts() -> None:
    """Fill the places that pages below leave for reports."""
    add_part("judging.import_actions", "reports/_import_actions.html", _suite_id)
    add_part("judging.run_actions", "reports/_run_actions.html", _run)
    add_part("debate.set_reports", "reports/_set_actions.html", _set)
    add_part("debate.experiment_actions", "reports/_experiment_actions.html", _experiment)
    add_part("review.queue_figures", "reports/_queue_figures.html", _queue)
    add_part("review.run_people", "reports/_run_labels.html", _run)


def _suite_id(suite_id: int) -> Facts:
    return {"suite_id": suite_id}


def _run(run: Run) -> Facts:
    return {"run": run}


def _set(debate_set: DebateSet) -> Facts:
    return {"debate_set": debate_set}


def _experiment(experiment: Experiment) -> Facts:
    return {"experiment": experiment}


def _queue(queue: Queue) -> Facts:
    return {"queue": queue}
