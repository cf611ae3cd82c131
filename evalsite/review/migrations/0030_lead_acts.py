"""What leads do with items: an order of their own, and a word index of what came in files."""

from __future__ import annotations

from importlib import import_module

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

TABLE, WORDS = "review_material", "{row}question || ' ' || {row}response_a || ' ' || {row}response_b"
text_search = import_module("judging.migrations.0023_text_search")


def add(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Index what is asked and shown of each material."""
    text_search.index_words(schema_editor, TABLE, WORDS, fields="question, response_a, response_b", where="")


def remove(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Take the index away."""
    text_search.drop_words(schema_editor, TABLE)


class Migration(migrations.Migration):
    dependencies = [("judging", "0042_owners"), ("review", "0029_gold_items")]

    operations = [
        migrations.RemoveIndex(model_name="reviewitem", name="item_next"),
        migrations.RemoveIndex(model_name="reviewitem", name="item_random"),
        migrations.RemoveIndex(model_name="reviewitem", name="item_given"),
        migrations.AddField(
            model_name="reviewitem", name="precedence", field=models.SmallIntegerField(default=0)
        ),
        migrations.AddIndex(
            model_name="reviewitem",
            index=models.Index(
                fields=["queue", "status", "-precedence", "-priority", "shuffle", "id"], name="item_next"
            ),
        ),
        migrations.AddIndex(
            model_name="reviewitem",
            index=models.Index(fields=["queue", "status", "-precedence", "shuffle", "id"], name="item_random"),
        ),
        migrations.AddIndex(
            model_name="reviewitem",
            index=models.Index(fields=["queue", "status", "-precedence", "id"], name="item_given"),
        ),
        migrations.RunPython(add, remove),
    ]
