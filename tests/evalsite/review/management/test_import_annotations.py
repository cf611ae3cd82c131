"""Annotations restored by command."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from evalsite.accounts.roles import Role
from evalsite.review.models import Annotation
from tests import factories
from tests.evalsite.review.exchanged import busy_queue, emptied, exported
from tests.judging.management.test_run_commands import refusal, run_command

pytestmark = pytest.mark.django_db


def test_import_annotations_command_checks_then_imports(tmp_path: Path) -> None:
    queue = busy_queue()
    path = tmp_path / "answers.xlsx"
    path.write_bytes(exported(queue, "xlsx"))
    emptied(queue)
    User.objects.filter(username="eve").update(username="eva")

    check, take = ("queue", "check-annotations", queue.slug), ("queue", "import-annotations", queue.slug)
    file, people = ("--file", path), ("--people", "eve=eva")

    unknown = refusal(*take, *file)
    dry = run_command(*check, *file, *people)
    assert Annotation.objects.count() == 0
    told = run_command(*take, *file, *people)

    assert "There is no account 'eve'" in unknown
    assert told == dry | {"people_added": []}
    assert (told["queue"], told["answers"]) == (queue.slug, 9)
    assert Annotation.objects.count() == 9
    assert "cannot be read" in refusal(*take, "--file", tmp_path / "none.csv")
    assert "There is no queue “nowhere”" in refusal("queue", "import-annotations", "nowhere", *file)
    assert refusal(*take, *file, "--people", "eve").startswith("--people: Write NAME=USER")


def test_only_an_admin_adds_people(tmp_path: Path) -> None:
    queue = busy_queue()
    path = tmp_path / "answers.csv"
    path.write_bytes(exported(queue, "csv"))
    emptied(queue)
    User.objects.filter(username="eve").update(username="eva")
    factories.user("root", Role.ADMIN)
    take = ("queue", "import-annotations", queue.slug, "--file", path, "--create-people", "--by")

    refused, told = refusal(*take, "rita"), run_command(*take, "root")

    assert refused.startswith("--create-people: Only an admin can add people.")
    assert told["people_added"] == ["eve"]
