"""Recorded debates from a browser: an upload like any other, with a preview of its own."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from debate.models import BatchStatement, Debate, DebateSet, OutsideLabel, Statement
from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from judging.models import ImportBatch, Response, Rubric, Suite, Upload, UploadPart
from judging.services.file_imports import uploads
from judging.services.file_imports.uploads import work_upload
from tests import factories
from tests.debate.services.test_record_imports import folder
from tests.factories import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(factories.user(role=Role.RESEARCHER))
    return client


def text_of(response: Any) -> str:
    assert response.status_code == 200, response.status_code
    return " ".join(str(response.content.decode()).split())


def packed_records(more: Mapping[str, str] = MappingProxyType({})) -> io.BytesIO:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in {**folder(), **more}.items():
            archive.writestr(path, text)
    packed.seek(0)
    packed.name = "records.zip"
    return packed


def sent(client: Client) -> Upload:
    client.post(reverse("debate:record-create"), {"file": packed_records()})
    return Upload.objects.get()


def post(client: Client, name: str, upload: Upload) -> None:
    client.post(reverse(f"judging:import-{name}", args=[upload.pk]))


def test_small_records_are_checked_at_once_and_stored_by_a_worker(researcher: Client) -> None:
    upload = sent(researcher)
    preview = text_of(researcher.get(upload.get_absolute_url()))
    stored_early = DebateSet.objects.exists()
    post(researcher, "confirm", upload)
    statuses = [upload.status, *(work_upload(upload_id=upload.pk, now=lambda: NOON) for _ in range(2))]
    done = text_of(researcher.get(upload.get_absolute_url()))

    assert "3 debates, 12 statements in 1 new set" in preview
    assert ("Check again</summary>" in preview, "with other options" in preview, stored_early) == (True, False, False)
    assert statuses == ["checked", "done", "not waiting"]
    assert "3 debates in 1 set imported" in done
    assert DebateSet.objects.get().debates.count() == 3
    assert AuditEntry.objects.get(action="debates.imported").actor == upload.created_by
    assert not UploadPart.objects.exists()


def test_the_same_records_again_change_nothing(researcher: Client) -> None:
    first = sent(researcher)
    post(researcher, "confirm", first)
    work_upload(upload_id=first.pk, now=lambda: NOON)
    researcher.post(reverse("debate:record-create"), {"file": packed_records()})
    second = Upload.objects.latest("pk")

    assert "Everything in this upload is already stored." in text_of(researcher.get(second.get_absolute_url()))
    assert second.preview["changes_nothing"] is True


def test_large_records_are_checked_by_a_worker(researcher: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "CHECK_AT_ONCE_BYTES", 1)

    upload = sent(researcher)
    waiting = text_of(researcher.get(upload.get_absolute_url()))
    status = work_upload(upload_id=upload.pk, now=lambda: NOON)

    assert ('id="import-cancel"' in waiting, 'hx-trigger="every 1s"' in waiting) == (True, True)
    assert (upload.status, status) == ("checking", "checked")


def test_a_file_without_debates_cannot_be_imported(researcher: Client) -> None:
    broken = io.BytesIO(b"not a zip")
    broken.name = "records.zip"
    page = text_of(researcher.post(reverse("debate:record-create"), {"file": broken}, follow=True))
    upload = Upload.objects.get()
    confirm = reverse("judging:import-confirm", args=[upload.pk])

    assert (upload.status, "This upload cannot be imported" in page) == ("refused", True)
    assert "Correct the file and upload it again." in text_of(researcher.post(confirm, follow=True))


def test_a_file_that_cannot_be_read_is_reported_and_the_debates_are_imported(researcher: Client) -> None:
    researcher.post(reverse("debate:record-create"), {"file": packed_records({"criteria/broken.yaml": "a: [1\n"})})
    upload = Upload.objects.get()
    page = text_of(researcher.get(upload.get_absolute_url()))
    post(researcher, "confirm", upload)
    status = work_upload(upload_id=upload.pk, now=lambda: NOON)

    assert (upload.status, status, DebateSet.objects.get().debates.count()) == ("checked", "done", 3)
    assert [problem["file"] for problem in upload.problems if problem["severity"] == "error"] == [
        "criteria/broken.yaml"
    ]
    assert "Files with errors are left out." in page


@pytest.mark.parametrize("moment", range(2, 8))
def test_a_cancelled_import_of_records_stores_nothing_and_can_be_confirmed_again(
    researcher: Client, moment: int
) -> None:
    upload = sent(researcher)
    post(researcher, "confirm", upload)
    told = 0

    def cancelled_now() -> datetime:
        nonlocal told
        told += 1
        if told == moment:
            post(researcher, "cancel", upload)
        return NOON + timedelta(seconds=told)

    stopped = work_upload(upload_id=upload.pk, now=cancelled_now)
    rows = [model._default_manager.count() for model in (Suite, DebateSet, ImportBatch, BatchStatement)]
    post(researcher, "confirm", upload)
    done = work_upload(upload_id=upload.pk, now=lambda: NOON)

    assert (told >= moment, stopped, rows) == (True, "stopped", [0, 0, 0, 0])
    assert (done, DebateSet.objects.get().debates.count()) == ("done", 3)


def changed_records() -> dict[str, str]:
    """Return the records with another reason of one agent."""
    path = "results/x_vs_y/reasoning/multiagent_score/math.jsonl"
    return {path: folder()[path].replace("a on 1 in 0", "a on 1 after all")}


def stored(client: Client, files: Mapping[str, str] = MappingProxyType({})) -> Upload:
    client.post(reverse("debate:record-create"), {"file": packed_records(files)})
    upload = Upload.objects.latest("pk")
    post(client, "confirm", upload)
    work_upload(upload_id=upload.pk, now=timezone.now)
    upload.refresh_from_db()
    return upload


def test_an_undone_import_leaves_nothing_of_its_debates(researcher: Client) -> None:
    first = stored(researcher)
    (kept,) = DebateSet.objects.all()
    second = stored(researcher, changed_records())
    made = Response.objects.count(), Suite.objects.count()

    post(researcher, "undo", second)
    second.refresh_from_db()

    assert (second.status, list(DebateSet.objects.all())) == ("undone", [kept])
    assert (Response.objects.count(), Suite.objects.count()) == made  # the first import brought them
    post(researcher, "undo", first)
    tables = (DebateSet, Debate, Statement, Response, Suite, Rubric)
    assert [model._default_manager.count() for model in tables] == [0] * len(tables)


def test_an_import_whose_debates_people_labelled_is_not_undone(researcher: Client) -> None:
    upload = stored(researcher)
    debate = Debate.objects.order_by("pk")[0]
    label = OutsideLabel.objects.create(debate=debate, rater="ann", verdict=1, source="labels.csv", created_at=NOON)

    post(researcher, "undo", upload)
    upload.refresh_from_db()

    assert (upload.status, DebateSet.objects.count()) == ("done", 1)
    label.delete()
    post(researcher, "undo", upload)
    assert DebateSet.objects.count() == 0


def test_other_records_of_the_same_debates_are_named_before_they_count_twice(researcher: Client) -> None:
    stored(researcher)
    (known,) = DebateSet.objects.all()
    researcher.post(reverse("debate:record-create"), {"file": packed_records(changed_records())})

    page = text_of(researcher.get(Upload.objects.latest("pk").get_absolute_url()))

    assert f"Other records of these debates are stored as set {known.pk}" in page
    assert "undo their import first" in page
