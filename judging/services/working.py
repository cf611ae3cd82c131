"""One worker's job on a run: claim, drive the engine, give back, and end the run when it was the last."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from datetime import datetime

from judging import stopping
from judging.models import Run
from judging.selectors.targets import active_targets
from judging.services import leases, planning, pools, running
from judging.services.collecting import calm_collector
from judging.services.engine import Engine, EngineOptions
from judging.services.executors import executor_for
from judging.states import RunRefused

logger = logging.getLogger(__name__)

PAUSES = {
    "budget": "The budget is reached. Raise it or cancel the run.",
    "unpriced": "A price is unknown, so the budget cannot be kept. Enter the endpoint's prices, then resume.",
}


@calm_collector()
def work_through(*, run_id: int, threads: int, now: Callable[[], datetime], apart: bool = False) -> str:
    """Work on a run until nothing waits; return why this worker stopped: not-active or an ending of the engine.

    `apart`: calls are sent from a process of their own, which only a process without other threads may ask for.
    """
    run = running.start_run(run_id=run_id, at=now())
    if run is None:
        return "not-active"
    planning.plan_tasks(run_id=run_id, at=now())
    leases.return_lapsed(at=now(), runs=[run_id])
    lease = leases.open_lease(run=run, worker=f"{socket.gethostname()}:{os.getpid()}", at=now())
    endpoints = active_targets()
    pool = pools.open_pool(targets=endpoints, threads=threads, apart=apart)
    try:
        engine = Engine(
            run=run,
            lease=lease,
            executor=executor_for(run),
            pool=pool,
            targets=endpoints,
            options=EngineOptions(threads=threads, now=now, should_stop=stopping.requested),
        )
        ended = engine.drive()
    finally:
        pool.close()
        leases.close_lease(lease=lease)
    if ended in PAUSES:
        _pause(run, PAUSES[ended])
    running.finish_run_if_complete(run_id=run_id, at=now())
    return ended


def _pause(run: Run, reason: str) -> None:
    try:
        running.pause_run(run_id=run.pk, actor=None, reason=reason)
    except RunRefused:  # another worker paused it, or its owner cancelled it
        logger.info("judging.pause_skipped run_id=%s", run.pk)
