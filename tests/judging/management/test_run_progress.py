"""Waiting for runs from the command line."""

from __future__ import annotations

import pytest

from judging.management.run_progress import wait_for_run
from judging.models import RunKind
from judging.states import RunStatus
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("status", [RunStatus.PAUSED, RunStatus.FINISHED, RunStatus.CANCELLED])
def test_wait_for_run_returns_a_run_that_nobody_works_on(status: RunStatus) -> None:
    run = factories.run(status=status)

    assert wait_for_run(run.pk).status == status


def test_wait_for_run_works_through_a_run_where_no_worker_lives() -> None:
    run = factories.run(kind=RunKind.GRADING)  # without tasks: ended by whoever looks at it

    assert wait_for_run(run.pk).status == RunStatus.FINISHED
