"""What an older site kept in its data folder is in the database after the migration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from judging.models import Upload
from judging.services.file_imports import upload_store
from tests.factories import NOON


@pytest.mark.usefixtures("older_database")
def test_move_files_keeps_the_bytes_of_waiting_uploads(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    before, after = ("judging", "0004_calls_sent_and_endpoint_fields"), ("judging", "0005_upload_parts")
    old = MigrationExecutor(connection)
    old.migrate([before])
    uploads = old.loader.project_state([before]).apps.get_model("judging", "Upload")
    for name, status in (("checked", "checked"), ("done", "done"), ("lost", "failed")):
        path = f"imports/{name}.zip"
        uploads.objects.create(
            file_name=name, path=path, byte_count=3, content_hash=name, status=status, created_at=NOON
        )
        if name != "lost":
            (tmp_path / "uploads" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "uploads" / path).write_bytes(name.encode() * 300_000)
    MigrationExecutor(connection).migrate([after])

    assert upload_store.read_bytes(Upload.objects.get(file_name="checked").bytes_name) == b"checked" * 300_000
    assert [path.name for path in tmp_path.rglob("*.zip")] == ["done.zip"]
