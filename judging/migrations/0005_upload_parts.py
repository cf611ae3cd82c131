"""The bytes of uploads move from the data folder into the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import migrations, models, transaction

PART_BYTES = 2**20


def move_files(apps: Any, schema_editor: Any) -> None:
    """Copy what this machine's data folder holds, and remove it there once the copy is committed."""
    folder = Path(settings.DATA_DIR) / "uploads"
    parts = apps.get_model("judging", "UploadPart")
    moved = []
    for upload in apps.get_model("judging", "Upload").objects.exclude(status="done").order_by("pk"):
        path = folder / upload.bytes_name
        if not path.is_file():
            continue
        data = path.read_bytes()
        for number, start in enumerate(range(0, len(data), PART_BYTES)):
            part = data[start : start + PART_BYTES]
            parts.objects.create(name=upload.bytes_name, number=number, data=part, created_at=upload.created_at)
        moved.append(path)

    def remove() -> None:
        for path in moved:
            path.unlink(missing_ok=True)

    transaction.on_commit(remove, using=schema_editor.connection.alias)


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0004_calls_sent_and_endpoint_fields"),
    ]

    operations = [
        migrations.CreateModel(
            name="UploadPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=300)),
                ("number", models.PositiveIntegerField()),
                ("data", models.BinaryField()),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("name", "number"), name="upload_part_once")],
            },
        ),
        migrations.RenameField(model_name="upload", old_name="path", new_name="bytes_name"),
        migrations.RunPython(move_files, migrations.RunPython.noop),
    ]
