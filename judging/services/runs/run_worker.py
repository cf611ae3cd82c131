"""One worker's work on runs: every run that waits has an engine, and all engines share one pool of calls.

Each engine does a step in turn and none ever waits, so a slow endpoint, a long run or rules that take their time hold
up no other run. A run whose work is all postponed is let go until its time has come.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings

from evalsite.base.log_lines import logged_with
from judging.llm.pool import SenderLost
from judging.models import Lease, Run
from judging.models.runs import RunRefused
from judging.services import day_budgets, leases, long_jobs, pools, run_lifecycle
from judging.services.day_budgets import RunEndpoints
from judging.services.engine import FLUSH_SECONDS, Engine, EngineOptions
from judging.services.evaluator_tasks import outdated_judges
from judging.services.long_jobs import persistently
from judging.services.pools import OpenPool, PoolShare
from judging.services.registries import executor_for
from judging.services.runs.new_runs import TaskPlanner

logger = logging.getLogger(__name__)

MAX_RUNS = 50  # that a worker has in work at once
LOOK_SECONDS = 1.0  # between two looks for runs that wait
IDLE_SECONDS = 0.05
PAUSES = {
    "budget": "The budget is reached. Raise it or cancel the run.",
    "unpriced": "A price is unknown, so the budget cannot be applied. Enter the prices of the endpoint, then resume.",
}
PROMPT_CHANGED = (
    "An upgrade changed the prompt of {names}. New verdicts would not be comparable with earlier ones. "
    "Cancel this run and start a new one; finished tasks are kept."
)


def work_through(*, run_id: int, threads: int, now: Callable[[], datetime], apart: bool = False) -> str:
    """Work on one run until nothing waits; return why this worker stopped: "not-active", "crashed", or an ending of
    the engine.

    `apart`: calls are sent from a process of their own, which only a process without other threads may ask for.
    """
    run_ids = [run_id]

    def next_runs() -> Sequence[int]:
        return [run_ids.pop()] if run_ids else []

    return _work(next_runs, _options(threads, now), apart=apart).get(run_id, "asked")


def work_on_runs(*, threads: int, now: Callable[[], datetime], apart: bool = False) -> dict[int, str]:
    """Work on every run that waits, new ones included, until none does; return why work on each ended last."""
    return _work(leases.waiting_runs, _options(threads, now), apart=apart)


def _options(threads: int, now: Callable[[], datetime]) -> EngineOptions:
    return EngineOptions(threads=threads, now=now, should_stop=long_jobs.requested, stop_seconds=settings.STOP_SECONDS)


def _work(next_runs: Callable[[], Sequence[int]], options: EngineOptions, *, apart: bool) -> dict[int, str]:
    pool = pools.open_pool(threads=options.threads, apart=apart)
    try:
        return _Worker(pool, next_runs, options).work()
    finally:
        pool.close()


@dataclass(slots=True)
class _Worker:
    """The runs that a worker has in work."""

    pool: OpenPool
    next_runs: Callable[[], Sequence[int]]
    options: EngineOptions
    works: dict[int, _RunWork] = field(default_factory=dict)
    endings: dict[int, str] = field(default_factory=dict)
    looked_at: float = -LOOK_SECONDS
    is_cut_off: bool = False  # the process that sends has ended

    def work(self) -> dict[int, str]:
        """Work until no run waits, this worker is asked to stop, or it cannot send any more."""
        while not self.is_cut_off:
            self._start_waiting_runs()
            for run_id, work in list(self.works.items()):
                self._step(run_id, work)
            if not self.works and not self._start_waiting_runs(at_once=True):
                break
            self._wait()
        return self.endings

    def _start_waiting_runs(self, *, at_once: bool = False) -> bool:
        """Begin with the runs that wait, once a second; return whether any is in work."""
        now = time.monotonic()
        if (at_once or now - self.looked_at >= LOOK_SECONDS) and not long_jobs.requested():
            self.looked_at = now
            for run_id in persistently(self.next_runs):
                if run_id not in self.works and len(self.works) < MAX_RUNS:
                    self._begin(run_id)
            persistently(self.pool.note_learned)
        return bool(self.works)

    def _begin(self, run_id: int) -> None:
        run = persistently(partial(run_lifecycle.start_run, run_id=run_id, at=self.options.now()))
        if run is None:
            self.endings[run_id] = "not-active"
        else:
            self.works[run_id] = _RunWork(run, self.pool.share(), self.options)

    def _step(self, run_id: int, work: _RunWork) -> None:
        work.flush_seconds = FLUSH_SECONDS * max(1.0, len(self.works) / 4)
        try:
            with logged_with(run_id=run_id):
                if not work.step():
                    return
                self.endings[run_id] = work.end()
        except Exception as error:  # a fault in one run's work is no reason to drop the others
            logger.exception("judging.work_crashed run_id=%s", run_id)
            self.endings[run_id] = "crashed"
            work.abandon(type(error).__name__)
        del self.works[run_id]

    def _wait(self) -> None:
        patience = min((work.patience for work in self.works.values()), default=IDLE_SECONDS)
        try:
            self.pool.wait(patience)
        except SenderLost:
            logger.exception("judging.sender_lost runs=%s", len(self.works))
            for run_id, work in list(self.works.items()):
                work.cut_off()
                self._step(run_id, work)
            self.is_cut_off = True


@dataclass(slots=True)
class _RunWork:
    """The work on one run: its tasks are written, then its engine works through them."""

    run: Run
    share: PoolShare
    options: EngineOptions
    planner: TaskPlanner = field(init=False)
    lease: Lease | None = None
    engine: Engine | None = None
    ended: str = ""
    flush_seconds: float = FLUSH_SECONDS

    def __post_init__(self) -> None:
        self.planner = TaskPlanner(self.run.pk)

    @property
    def patience(self) -> float:
        return 0.0 if self.engine is None else self.engine.patience

    def step(self) -> bool:
        """Do what can be done without waiting; return whether the work on the run is over."""
        if self.ended:
            return True
        if self.engine is not None:
            self.engine.flush_seconds = self.flush_seconds
            return self.engine.step()
        if long_jobs.requested():
            self.ended = "asked"
        elif persistently(partial(self.planner.step, at=self.options.now())):
            self._open()
        return bool(self.ended)

    def _open(self) -> None:
        run = persistently(partial(run_lifecycle.start_run, run_id=self.run.pk, at=self.options.now()))
        if run is None:  # somebody paused it meanwhile
            self.ended = "not-active"
            return
        self.run = run
        outdated = persistently(partial(outdated_judges, run))
        if outdated:
            self._pause(PROMPT_CHANGED.format(names=", ".join(outdated))[:300])
            self.ended = "prompt-changed"
            return
        persistently(partial(leases.return_lapsed, runs=[run.pk]))
        worker = leases.worker_name(os.getpid())
        self.lease = persistently(partial(leases.open_lease, run=run, worker=worker))
        self.engine = Engine(
            run=run,
            lease=self.lease,
            executor=executor_for(run),
            calls=self.share,
            endpoints=RunEndpoints(run),
            options=self.options,
        )

    def end(self) -> str:
        """Give back what is left, and let the run pause, wait or finish; return why its work ended."""
        self._close()
        ended, at = self.ended, self.options.now()
        finish = partial(run_lifecycle.finish_run_if_complete, run_id=self.run.pk, at=at)
        if self.engine is not None:
            ended = self.engine.ended
            if ended == "postponed":
                self._postpone(self.engine, at)
            elif ended == "day":
                self._wait_for_next_day(self.engine.reason, at)
            elif ended == "unread" and persistently(finish):
                return ended  # these were the last ones
            elif ended in PAUSES or self.engine.reason:
                self._pause(self.engine.reason or PAUSES[ended], at_budget=ended == "budget")
        persistently(finish)
        return ended

    def cut_off(self) -> None:
        """Note that the process that sends has ended."""
        if self.engine is None:
            self.ended = "cut-off"
        else:
            self.engine.cut_off()

    def abandon(self, error: str) -> None:
        """Store what can be stored after a crash; a claim that cannot be closed lapses by itself."""
        try:
            self._close()
        except Exception:
            logger.exception("judging.work_abandoned run_id=%s", self.run.pk)
        persistently(partial(run_lifecycle.note_crash, run_id=self.run.pk, error=error))

    def _close(self) -> None:
        self.share.leave()
        if self.engine is not None and self.lease is not None:
            unheard = self.engine.finish()
            persistently(partial(leases.close_lease, lease=self.lease, unheard=unheard))

    def _postpone(self, engine: Engine, at: datetime) -> None:
        blocked = engine.blocked()
        name = min(blocked, key=blocked.__getitem__)
        resume_at = at + timedelta(seconds=max(0.0, blocked[name] - time.monotonic()))
        persistently(
            partial(
                run_lifecycle.postpone_run,
                run_id=self.run.pk,
                endpoint=name,
                resume_at=resume_at,
                at=at,
                answered=engine.was_answered,
            )
        )

    def _wait_for_next_day(self, reason: str, at: datetime) -> None:
        resume_at = day_budgets.next_day(at)
        persistently(partial(run_lifecycle.wait_until, run_id=self.run.pk, resume_at=resume_at, reason=reason))

    def _pause(self, reason: str, *, at_budget: bool = False) -> None:
        pause = partial(run_lifecycle.pause_run, run_id=self.run.pk, actor=None, reason=reason, at_budget=at_budget)
        try:
            persistently(pause)
        except RunRefused:  # another worker paused it, or its owner cancelled it
            logger.info("judging.pause_skipped run_id=%s", self.run.pk)
