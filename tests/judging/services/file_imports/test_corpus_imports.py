"""Every shape of the corpus is stored as its preview shows it, and a second time changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalsite.base.types import JsonDict
from evalsite.management.import_command import read_paths
from judging.models import Upload
from judging.services.file_imports.imports import check_import, store_checked
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.rubrics import RubricOrigin
from tests.content import stored_document
from tests.factories import NOON

pytestmark = pytest.mark.django_db
SHAPES = Path(__file__).resolve().parents[2] / "specs" / "records" / "shapes"
FOLDERS = sorted(path.parent for path in SHAPES.glob("*/expected.json"))


def sorted_rows(document: JsonDict) -> JsonDict:
    """Return a document as JSON gives it back, with the rows of each part in one order."""
    plain: JsonDict = json.loads(json.dumps(document))
    return {part: sorted(rows, key=lambda row: json.dumps(row, sort_keys=True)) for part, rows in plain.items()}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_an_import_stores_what_its_preview_shows(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    files = read_paths(sorted((folder / "files").iterdir()))

    checked = check_import(files=files, options=ImportOptions())

    if "refusal" in expected:
        assert checked.errors != ()
        assert (checked.intake.collected, Upload.objects.count()) == (None, 0)
        return
    assert (checked.errors, checked.intake.collected is None) == ((), False)
    assert checked.intake.collected is not None
    shown = sorted_rows(checked.intake.collected.document())
    store_checked(checked=checked, origin=RubricOrigin("corpus", None, NOON))
    assert sorted_rows(stored_document(Upload.objects.get())) == shown
    again = check_import(files=files, options=ImportOptions())
    assert (again.errors, again.changes_nothing) == ((), True)


def test_the_corpus_is_whole() -> None:
    assert len(FOLDERS) == 81
