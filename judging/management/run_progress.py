"""Waits for a run from the command line: workers do it if any are running, otherwise this process."""

from __future__ import annotations

import time

from django.conf import settings
from django.db.models.functions import Now
from django.utils.timezone import now
from django_rq import get_queue
from redis.exceptions import RedisError
from rq import Worker

from judging.management.progress import watched_run
from judging.models import Lease, Run, RunEvaluator
from judging.services.evaluation.score_recomputation import finish_rescoring
from judging.services.runs.run_worker import work_through
from judging.states import ACTIVE

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 10.0  # how long a worker that is said to live may take to start


def wait_for_run(run_id: int, *, bar: bool = False) -> Run:
    """Return the run once it is no longer active. Where no worker takes it up, it is worked through here.

    Both may work at once: claims keep them from doing the same task, and a finished call is never repeated. `bar`
    draws on a terminal how far it is.
    """
    with watched_run(run_id, shown=bar):
        run = _waited_for(run_id)
    for evaluator_id in run.evaluators.filter(options__has_key="rescoring").values_list("pk", flat=True):
        _wait_for_rescoring(evaluator_id)
    return run


def _wait_for_rescoring(evaluator_id: int) -> None:
    """Return once the scores of an evaluator are recomputed: by a worker, or here where none takes them up."""
    begun = RunEvaluator.objects.filter(pk=evaluator_id, options__has_key="rescoring")
    while workers_live("default") and begun.exists():
        time.sleep(POLL_SECONDS)
    finish_rescoring(evaluator_id=evaluator_id, at=now())


def _waited_for(run_id: int) -> Run:
    patience = PATIENCE_SECONDS if workers_live("calls") else 0.0
    idle_since = time.monotonic()
    while True:
        run = Run.objects.get(pk=run_id)
        if run.status not in ACTIVE:
            return run
        postponed = run.resume_at is not None and run.resume_at > now()
        if postponed or Lease.objects.filter(run=run, expires_at__gte=Now()).exists():
            idle_since = time.monotonic()
        elif time.monotonic() - idle_since >= patience:
            work_through(run_id=run_id, threads=settings.CALL_THREADS, now=now)
            idle_since = time.monotonic()
            continue
        time.sleep(POLL_SECONDS)


def workers_live(queue: str) -> bool:
    """Return whether the broker knows of a worker; one that died without notice is found out by waiting."""
    try:
        return Worker.count(queue=get_queue(queue)) > 0
    except (RedisError, OSError):
        return False
