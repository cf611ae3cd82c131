"""Index runs say what each of their judges looks at, so that people are asked about one thing at a time."""

from __future__ import annotations

from typing import Any

from django.db import migrations

CRITERIA = ("accuracy", "integrity")  # by position


def name_criteria(apps: Any, schema_editor: Any) -> None:
    evaluators = apps.get_model("judging", "RunEvaluator").objects.filter(run__kind="esi", kind="judge", criterion="")
    for position, criterion in enumerate(CRITERIA):
        evaluators.filter(position=position).update(criterion=criterion)


class Migration(migrations.Migration):
    dependencies = [("judging", "0003_esi_and_prompts")]
    operations = [migrations.RunPython(name_criteria, migrations.RunPython.noop)]
