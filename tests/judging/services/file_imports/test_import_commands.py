"""The command that a page of an import shows."""

from __future__ import annotations

import pytest

from judging.models import Upload
from judging.services.file_imports import uploads
from judging.services.file_imports.import_commands import command_of
from judging.services.file_imports.intake import ImportOptions
from tests import factories
from tests.judging import column_files, import_files

pytestmark = pytest.mark.django_db

FILE = column_files.table([["Question_ID", "The answer", "size"], ["france", "Paris", 3]], name="my table.csv")


def upload_of(*files: import_files.File, **options: object) -> Upload:
    chosen = ImportOptions(**options)  # type: ignore[arg-type]
    return uploads.check_upload(files=files, options=chosen, actor=None, at=factories.NOON)


def test_command_of_names_the_columns_that_are_mapped() -> None:
    upload = upload_of(FILE, system="it's ada")

    assert command_of(upload) == (
        "manage.py import_responses 'my table.csv' --system 'it'\"'\"'s ada' "
        "--map case=Question_ID --map 'response=The answer'"
    )


def test_command_of_names_what_is_kept_or_ignored_only_where_that_was_chosen() -> None:
    upload = upload_of(FILE, columns=(("Question_ID", "detail"), ("The answer", "prompt"), ("size", "detail")))

    assert command_of(upload) == (
        "manage.py import_suite 'my table.csv' --map detail=Question_ID --map 'prompt=The answer'"
    )


def test_command_of_names_no_columns_where_their_names_are_enough() -> None:
    assert command_of(upload_of(import_files.suite())) == "manage.py import_suite capitals.yaml"
    assert command_of(upload_of(import_files.workbook(), rubric="Levels")) == (
        "manage.py import_rubric levels.xlsx --name Levels"
    )


def test_command_of_several_files_is_none() -> None:
    assert command_of(upload_of(import_files.suite(), import_files.responses())) == ""
    assert command_of(upload_of(("notes.txt", b"hello"))) == ""
