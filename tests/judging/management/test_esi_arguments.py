"""Whom `run_suite --kind esi` asks: models with a prompt version, and systems as they are set up."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.base.command_base import BadInput
from judging.judges.answer_prompts import shipped_asking
from judging.models import Run, System
from judging.services.systems import Worker, add_system, set_system_active
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def started(*arguments: Any) -> Run:
    suite = factories.suite(cases=1)
    shared = ("run_suite", "--kind", "esi", "--suite", str(suite.pk), "--accuracy", "judge", "--integrity", "judge")
    call_command(*shared, *arguments, "--json", stdout=io.StringIO(), stderr=io.StringIO())
    return Run.objects.get()


@pytest.fixture
def warm() -> System:
    factories.endpoint(name="judge")
    worker = Worker(factories.endpoint(name="qwen"), replace(shipped_asking("COT"), temperature=0.7))
    return add_system(name="warm", worker=worker, description="", actor=None, at=NOON)


def test_worker_takes_a_system_beside_models(warm: System) -> None:
    run = started("--worker", "warm", "--worker", "qwen=DIRECT")

    by_prompt = {system.prompt_version: system for system in run.systems.all()}
    assert (by_prompt["COT"], len(by_prompt)) == (warm, 2)
    assert run.options["workers"][str(warm.pk)]["temperature"] == 0.7


def test_worker_refuses_what_cannot_be_asked(warm: System) -> None:
    factories.system("imported")
    set_system_active(system=warm, is_active=False, actor=None)

    for worker, words in (
        ("warm", "warm: retired. Restore the system on its page, or choose another."),
        ("imported", "There is no system 'imported' that answers here. Write ENDPOINT=VERSION, or the name of one."),
        ("qwen", "There is no system 'qwen' that answers here. Write ENDPOINT=VERSION, or the name of one."),
        ("nobody=COT", "There is no endpoint 'nobody'."),
    ):
        with pytest.raises(BadInput) as refused:
            started("--worker", worker)
        assert str(refused.value) == words
