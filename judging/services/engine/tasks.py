"""Takes tasks from the queue of a run and carries their conversations on."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial

from django.db import InterfaceError, OperationalError

from judging.llm.chat import ChatReply
from judging.models import RunTask
from judging.services.calls.conversations import ActiveTask, repeated
from judging.services.calls.ledger import CallRecord
from judging.services.engine.result_store import ResultStore
from judging.services.tasks import leases
from judging.services.tasks.executors import Crash, ReadyTask
from judging.services.transactions import persistently

logger = logging.getLogger(__name__)

CLAIM_SIZE = 200  # at most
AHEAD_SECONDS = 0.3  # of work claimed beyond what the threads hold
BEGIN_SECONDS = 0.1  # of beginning conversations in one step, since rules may take their time
MAX_TRIES = 5  # a task that so many workers died with is given up


class TaskWork(ResultStore):
    """Claims tasks, begins their conversations, and hands them the replies that they wait for."""

    def _claim(self) -> None:
        count = self._free_capacity()
        if self.stopping or self.exhausted or not count:
            return
        without = self.endpoints.evaluators_on(self.blocked())
        try:
            blocked = self.endpoints.systems_on(self.blocked())
            claim = partial(leases.claim_tasks, lease=self.lease, most=count, without=without, unasked=blocked)
            tasks = persistently(claim)
        except leases.LeaseLost:
            self._stop("lost")
            return
        self.exhausted = not tasks
        self.to_begin.extend(self._prepared(tasks))

    def _free_capacity(self) -> int:
        """Return how many tasks to claim now: enough to keep every thread busy until the next claim, and no more, so
        that other workers on the run are left their share of its end. 0: half of what is claimed ahead is left yet."""
        spare = max(2, self.options.threads, int(self._rate * AHEAD_SECONDS))
        busy = len(self.active_tasks) + len(self.to_begin) - len(self.suspects)  # those wait for what others meet
        free_capacity = self.options.threads + spare - busy
        return min(free_capacity, CLAIM_SIZE) if free_capacity >= spare // 2 else 0

    def _prepared(self, tasks: Sequence[RunTask]) -> list[tuple[RunTask, ReadyTask]]:
        """Return the tasks with their conversations; those that workers died with too often are given up."""
        eligible = [task for task in tasks if task.tries < MAX_TRIES]
        for task in tasks:
            if task.tries >= MAX_TRIES:
                self._fail(task, "tried-too-often")
        try:
            return self._prepare(eligible) if eligible else []
        except (OperationalError, InterfaceError):
            raise
        except Exception:  # one of them cannot be read
            logger.exception("judging.claim_crashed run_id=%s", self.run.pk)
        return [pair for task in eligible for pair in self._prepare_alone(task)]

    def _prepare(self, tasks: Sequence[RunTask]) -> list[tuple[RunTask, ReadyTask]]:
        by_id = {task.pk: task for task in tasks}
        prepared = persistently(partial(self.executor.prepare, run=self.run, tasks=tasks))
        return [(by_id[ready.task_id], ready) for ready in prepared]

    def _prepare_alone(self, task: RunTask) -> list[tuple[RunTask, ReadyTask]]:
        try:
            return self._prepare([task])
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            logger.exception("judging.task_crashed task_id=%s", task.pk)
            self._fail(task, "crashed")
            return []

    def _fail(self, task: RunTask, kind: str) -> None:
        logger.warning("judging.task_given_up task_id=%s kind=%s", task.pk, kind)
        self.finished.append(([], task, Crash(kind)))

    def _begin(self) -> None:
        until = time.monotonic() + BEGIN_SECONDS
        while self.to_begin and not self.stopping and time.monotonic() < until:
            task, prepared = self.to_begin.popleft()
            active = self.active_tasks[task.pk] = ActiveTask(task, prepared.conversation, prepared.endpoint)
            self._advance(active, None)

    def _advance(self, active: ActiveTask, replies: tuple[ChatReply, ...] | None) -> None:
        try:
            requests = next(active.conversation) if replies is None else active.conversation.send(replies)
        except StopIteration as end:
            self._end(active, end.value)
            return
        except Exception:  # one poisoned task must not take the others down; it is stored as failed
            logger.exception("judging.task_crashed task_id=%s", active.task.pk)
            self._end(active, Crash())
            return
        if not requests:  # it waits for work of its own, such as a program under test
            self.dormant.append(active)
            return
        active.expect(len(requests))
        self.to_ask.extend(
            (active, index, repeated(request, active.task, self.run)) for index, request in enumerate(requests)
        )

    def _look_again(self) -> None:
        if self.stopping:
            return
        dormant, self.dormant = self.dormant, []
        for active in dormant:
            if self._holds(active):
                self._advance(active, ())

    def _end(self, active: ActiveTask, result: object) -> None:
        self.finished.append(([record for record in active.records if record is not None], active.task, result))
        self._ended += 1
        del self.active_tasks[active.task.pk]

    def _deliver(self, recipients: Sequence[tuple[ActiveTask, int]], record: CallRecord) -> None:
        for active, index in recipients:
            if self._holds(active) and active.add_reply(index, record):
                self._advance(active, tuple(reply for reply in active.replies if reply is not None))
