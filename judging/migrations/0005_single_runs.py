"""A judge tried on one response is a kind of run of its own, so that lists and reports leave it out by an index."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

KINDS = [("grading", "Grading"), ("esi", "ESI"), ("debate", "Debate"), ("single", "One response")]


def name_singles(apps: Any, schema_editor: Any) -> None:
    apps.get_model("judging", "Run").objects.filter(kind="grading", options__single=True).update(kind="single")


def unname_singles(apps: Any, schema_editor: Any) -> None:
    apps.get_model("judging", "Run").objects.filter(kind="single").update(kind="grading")


class Migration(migrations.Migration):
    dependencies = [("judging", "0004_index_criteria")]
    operations = [
        migrations.AlterField(
            model_name="run",
            name="kind",
            field=models.CharField(choices=KINDS, default="grading", max_length=20),
        ),
        migrations.RunPython(name_singles, unname_singles),
    ]
