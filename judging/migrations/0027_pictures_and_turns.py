"""Images, stored once each, and the images and turns of prompts and responses.

On SQLite Django would copy tables to add such columns, and the triggers that index their words would be lost.
"""

from __future__ import annotations

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

COLUMNS = ("images", "messages")


def add(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Add the columns to tables that have triggers on SQLite."""
    for name in ("Prompt", "Response"):
        model = apps.get_model("judging", name)
        for column in COLUMNS:
            if schema_editor.connection.vendor == "sqlite":
                schema_editor.execute(
                    f"ALTER TABLE {model._meta.db_table} ADD COLUMN {column} text NOT NULL DEFAULT '[]'"
                    f" CHECK (JSON_VALID({column}) OR {column} IS NULL)"
                )
            else:
                field = _field()
                field.set_attributes_from_name(column)
                field.model = model
                schema_editor.add_field(model, field)


def remove(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Take the columns away."""
    for name in ("Prompt", "Response"):
        for column in COLUMNS:
            schema_editor.execute(f"ALTER TABLE {apps.get_model('judging', name)._meta.db_table} DROP COLUMN {column}")


def _field() -> models.JSONField:
    return models.JSONField(db_default=models.Value([], models.JSONField()), default=list)


class Migration(migrations.Migration):
    dependencies = [("judging", "0026_usage_details_and_prices")]

    operations = [
        migrations.CreateModel(
            name="Picture",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("media_type", models.CharField(max_length=20)),
                ("data", models.BinaryField()),
                ("created_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="BatchPicture",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=64)),
                ("media_type", models.CharField(max_length=20)),
                ("data", models.BinaryField()),
                (
                    "batch",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="judging.importbatch"),
                ),
            ],
        ),
        *(
            migrations.AddField(model_name=model, name=column, field=models.JSONField(default=list))
            for model in ("batchcase", "batchresponse")
            for column in COLUMNS
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add, remove)],
            state_operations=[
                migrations.AddField(model_name=model, name=column, field=_field())
                for model in ("prompt", "response")
                for column in COLUMNS
            ],
        ),
    ]
