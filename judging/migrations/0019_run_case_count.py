"""Notes of each planned run how many cases its tasks are about: pages counted them anew, for seconds at a million."""

from typing import Any

from django.db import migrations, models


def count(apps: Any, schema_editor: Any) -> None:
    runs = apps.get_model("judging", "Run").objects
    tasks = apps.get_model("judging", "RunTask").objects.filter(response__isnull=False).order_by()
    for pk in list(runs.filter(kind="grading", planned_at__isnull=False).values_list("pk", flat=True)):
        cases = tasks.filter(run_id=pk).values("response__prompt").distinct().count()
        runs.filter(pk=pk).update(case_count=cases)


class Migration(migrations.Migration):
    dependencies = [("judging", "0018_anchor_runs")]

    operations = [
        migrations.AddField("run", "case_count", models.PositiveIntegerField(null=True)),
        migrations.RunPython(count, migrations.RunPython.noop, elidable=True),
    ]
