"""An upload's way: checked, confirmed, stored once, or discarded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from judging import signals
from judging.models import Benchmark, ImportStatus, Suite, Upload
from judging.services import uploads
from judging.services.intake import ImportOptions
from judging.services.uploads import UploadRefused
from tests import factories
from tests.judging import import_files

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


@pytest.fixture
def actions() -> Iterator[list[str]]:
    heard: list[str] = []

    def hear(sender: object, action: str, **_: object) -> None:
        heard.append(action)

    signals.acted.connect(hear)
    yield heard
    signals.acted.disconnect(hear)


def noon() -> datetime:
    return factories.NOON


def check(*files: import_files.File, **options: Any) -> Upload:
    return uploads.check_upload(files=files, options=ImportOptions(**options), actor=None, at=factories.NOON)


def test_check_upload_keeps_the_bytes_under_a_name_of_our_own(media: Path) -> None:
    upload = check(("../../evil.yaml", import_files.SUITE))

    kept = [path.relative_to(media).as_posix() for path in media.rglob("*") if path.is_file()]
    assert kept == [upload.path]
    assert uploads.read_files(upload) == [("../../evil.yaml", import_files.SUITE)]


def test_check_upload_notes_the_dry_run_and_stores_nothing_else() -> None:
    upload = check(import_files.suite())

    assert (upload.status, upload.kind, upload.byte_count) == (ImportStatus.CHECKED, "suite", len(import_files.SUITE))
    assert upload.preview["parts"][0]["title"] == "Suite Capitals"
    assert Benchmark.objects.count() == 0


def test_check_upload_notes_errors_with_place_and_hint() -> None:
    upload = check(("bad.yaml", b"cases:\n- 7\n"))

    assert upload.status == ImportStatus.REFUSED
    assert [(p["file"], p["place"], p["severity"]) for p in upload.problems] == [
        ("bad.yaml", "line 2, cases[0]", "error")
    ]


def test_check_upload_refuses_more_bytes_than_the_site_takes(settings: Any, media: Path) -> None:
    settings.UPLOAD_MEGABYTES = 1

    with pytest.raises(UploadRefused, match="this site takes 1 MiB"):
        check(("big.jsonl", b"x" * (2**20 + 1)))

    assert (Upload.objects.count(), list(media.iterdir())) == (0, [])


def test_import_upload_stores_once_however_often_it_is_called(actions: list[str]) -> None:
    upload = uploads.confirm_upload(upload=check(import_files.suite()), actor=None, at=factories.NOON)

    answers = [uploads.import_upload(upload_id=upload.pk, now=noon) for _ in range(2)]

    upload.refresh_from_db()
    assert answers == ["done", "not waiting"]
    assert (upload.status, upload.progress, upload.result["changed"]) == (ImportStatus.DONE, 100, True)
    assert upload.benchmark == Benchmark.objects.get()
    assert actions == ["import.confirmed", "suite.imported"]


def test_import_upload_acts_for_the_person_who_confirmed() -> None:
    ada = factories.user("ada")
    upload = uploads.confirm_upload(upload=check(import_files.suite()), actor=ada, at=factories.NOON)

    uploads.import_upload(upload_id=upload.pk, now=noon)

    assert Suite.objects.get().created_by == ada


def test_import_upload_fails_whole_when_the_database_changed_since_the_check() -> None:
    factories.benchmark(name="Capitals", slug="capitals")
    suite = uploads.confirm_upload(upload=check(import_files.suite()), actor=None, at=factories.NOON)
    uploads.import_upload(upload_id=suite.pk, now=noon)
    answers = uploads.confirm_upload(upload=check(import_files.responses()), actor=None, at=factories.NOON)
    Suite.objects.all().delete()

    status = uploads.import_upload(upload_id=answers.pk, now=noon)

    answers.refresh_from_db()
    assert status == answers.status == ImportStatus.FAILED
    assert "has no suite yet" in answers.result["error"]


def test_import_upload_says_when_its_bytes_are_gone(media: Path) -> None:
    upload = uploads.confirm_upload(upload=check(import_files.suite()), actor=None, at=factories.NOON)
    (media / upload.path).unlink()

    assert uploads.import_upload(upload_id=upload.pk, now=noon) == ImportStatus.FAILED

    upload.refresh_from_db()
    assert upload.result["error"] == "The uploaded bytes are gone. Upload the file again."


def test_confirm_upload_refuses_errors_and_a_second_time() -> None:
    with pytest.raises(UploadRefused, match="has errors"):
        uploads.confirm_upload(upload=check(("bad.yaml", b"cases: [7]")), actor=None, at=factories.NOON)

    upload = uploads.confirm_upload(upload=check(import_files.suite()), actor=None, at=factories.NOON)
    with pytest.raises(UploadRefused, match="confirmed already"):
        uploads.confirm_upload(upload=upload, actor=None, at=factories.NOON)


def test_recheck_upload_reads_the_kept_bytes_with_other_options() -> None:
    upload = check(import_files.suite())

    uploads.recheck_upload(upload=upload, options=ImportOptions(benchmark="Cities"))

    upload.refresh_from_db()
    assert (upload.preview["parts"][0]["into"], upload.options["benchmark"]) == ("Cities", "Cities")


def test_discard_upload_removes_row_and_bytes(
    media: Path, django_capture_on_commit_callbacks: Any, actions: list[str]
) -> None:
    upload = check(import_files.suite())

    with django_capture_on_commit_callbacks(execute=True):
        uploads.discard_upload(upload=upload, actor=None)

    assert (Upload.objects.count(), list(media.rglob("*.zip")), actions) == (0, [], ["import.discarded"])


def test_discard_upload_refuses_while_it_is_imported() -> None:
    upload = uploads.confirm_upload(upload=check(import_files.suite()), actor=None, at=factories.NOON)

    with pytest.raises(UploadRefused, match="being imported"):
        uploads.discard_upload(upload=upload, actor=None)


def test_import_options_survive_their_json() -> None:
    options = ImportOptions(kind="suite", benchmark="b", suite_id=3, system="s", rubric="r", allow_missing_files=True)

    assert ImportOptions.of_json(options.as_json()) == options
    assert ImportOptions.of_json({"unknown": 1}) == ImportOptions()
    assert asdict(options) == options.as_json()
