"""Registries of what the apps above bring: executors of further kinds of task, and stores of what imports judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from django.contrib.auth.models import User
from django.db.models import Model, QuerySet

from evalsite.base.types import JsonDict
from judging.llm.chat import Conversation
from judging.models import Run, RunKind, RunTask, Suite, Upload

if TYPE_CHECKING:
    from judging.specs.records.collected import Collected


@dataclass(frozen=True, slots=True)
class ReadyTask:
    """A task with the conversation that will work it."""

    task_id: int
    endpoint: str  # name of the endpoint that unaddressed requests go to; empty where none is asked
    conversation: Conversation[Any]


@dataclass(frozen=True, slots=True)
class FinishedTask:
    """A task whose conversation has ended: its result, and the calls it used, in order."""

    task: RunTask
    result: Any
    call_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Crash:
    """The result of a task whose conversation raised: a fault of ours, in the log with its traceback."""

    kind: str = "crashed"


class Executor:
    """Builds conversations for tasks and stores their results. Reports and routing learn of runs by signal."""

    def prepare(self, *, run: Run, tasks: Sequence[RunTask]) -> list[ReadyTask]:
        """Return a conversation for each task, in any order, with a number of queries that does not grow."""
        raise NotImplementedError

    def store(self, *, run: Run, finished: Sequence[FinishedTask], at: datetime) -> None:
        """Store the results inside the writer's transaction."""
        raise NotImplementedError

    def failure(self, result: Any) -> str:
        """Return why a result is of no use ("unparsed", "http-500", ...), or an empty text where it is usable."""
        raise NotImplementedError

    def reset(self, *, run: Run, tasks: QuerySet[RunTask]) -> None:
        """Prepare the subjects of failed tasks for another try. Verdicts on them stay until it supersedes them."""

    def finish(self, *, run: Run, at: datetime) -> None:
        """Do what follows the last task of a run."""

    def cancel(self, *, run: Run, at: datetime) -> None:
        """End what the cancelled tasks of a run are about."""


_EXECUTORS: dict[str, Callable[[], Executor]] = {}


def register(kind: RunKind, load: Callable[[], Executor]) -> None:
    """Make what `load` returns do the tasks of runs of this kind; it is loaded when a task needs it."""
    _EXECUTORS[kind] = load


def load_executors() -> None:
    """Import what every kind of run needs, for a process that forks others."""
    for load in _EXECUTORS.values():
        load()


def executor_for(run: Run) -> Executor:
    """Return the executor of the run's kind; KeyError where no app has registered one."""
    return _EXECUTORS[run.kind]()


class StoreRecords(Protocol):
    """Stores records of one upload, in the transaction of its import, and returns what they became.

    `responses` gives the database's id of a response of `collected`; None where it is not stored. `is_blind`: people
    who labelled saw no verdicts, as the importer says.

    Raises:
        ImportRefused: the records contradict what is stored.
    """

    def __call__(  # noqa: PLR0913 all that an import says
        self,
        *,
        collected: Collected,
        upload: Upload,
        suite: Suite | None,
        responses: Callable[[int], int | None],
        is_blind: bool,
        actor: User | None,
        at: datetime,
    ) -> Sequence[Model]: ...


@dataclass(frozen=True, slots=True)
class RecordStore:
    """What an app above does with its part of the records of an upload."""

    store: StoreRecords
    read: Mapping[str, Callable[[Upload], Iterable[JsonDict]]]  # "labels", ...: stored rows, as in expected.json
    delete: Callable[[Upload, User | None], None]  # undoes the import


_STORES: dict[str, Callable[[], RecordStore]] = {}


def add_store(name: str, load: Callable[[], RecordStore]) -> None:
    """Have the records of imports stored by what `load` returns too; a name is registered once."""
    _STORES[name] = load


def record_stores() -> list[RecordStore]:
    """Return the stores of the apps above, in the order of their registration."""
    return [load() for load in _STORES.values()]
