"""Every tree of a rubric carries its digest, so that versions are compared without reading the trees."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from django.db import migrations, models

BATCH = 500


def fill_digests(apps: Any, schema_editor: Any) -> None:
    items = apps.get_model("judging", "RubricItem").objects
    batch: list[Any] = []
    for item in items.order_by("pk").only("case_key", "tree").iterator(chunk_size=BATCH):
        text = json.dumps([item.case_key, item.tree], sort_keys=True, separators=(",", ":"))
        item.digest = sha256(text.encode()).hexdigest()
        batch.append(item)
        if len(batch) == BATCH:
            items.bulk_update(batch, ["digest"])
            batch = []
    items.bulk_update(batch, ["digest"])


class Migration(migrations.Migration):
    dependencies = [("judging", "0005_single_runs")]
    operations = [
        migrations.AddField(
            model_name="rubricitem",
            name="digest",
            field=models.CharField(default="", max_length=64),
            preserve_default=False,
        ),
        migrations.RunPython(fill_digests, migrations.RunPython.noop),
    ]
