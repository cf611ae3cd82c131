"""Django's configuration of this app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from judging.services.file_imports.file_readers import CheckFiles
    from judging.services.registries import Executor, RecordStore


class DebateConfig(AppConfig):
    """The debate app."""

    name = "debate"
    nouns = {"actions": ("debate_set",)}

    def ready(self) -> None:
        """Make this app hold the debates of runs, and read files of recorded ones; imported when they are used."""
        from debate.models import UPLOAD_KIND
        from judging.models import RunKind
        from judging.services.file_imports.file_readers import add_reader
        from judging.services.registries import add_store, register

        register(RunKind.DEBATE, _executor)
        add_store("debates", _recorded_sets)
        add_reader(UPLOAD_KIND, _record_reader)


def _executor() -> Executor:
    from debate.services.executors import DebateExecutor

    return DebateExecutor()


def _recorded_sets() -> RecordStore:
    from debate.services.record_imports import RECORDED_SETS

    return RECORDED_SETS


def _record_reader() -> CheckFiles:
    from debate.services.record_imports import check_records

    return check_records
