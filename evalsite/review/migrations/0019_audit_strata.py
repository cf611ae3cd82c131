"""Strata of audits: what an earlier run drew from, all its cases at once, is one."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def fill(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Let the stratum of each earlier draw end with the newest of its run's cases."""
    queues, tasks = apps.get_model("review", "Queue"), apps.get_model("judging", "RunTask")
    drawn = queues.objects.filter(run__isnull=False, routed_at__isnull=False)
    for pk, run_id in list(drawn.order_by("pk").values_list("pk", "run_id")):
        newest = tasks.objects.filter(run=run_id).aggregate(newest=models.Max("response__prompt_id"))["newest"]
        if newest is not None:
            queues.objects.filter(pk=pk).update(audit_strata=[newest])


class Migration(migrations.Migration):
    dependencies = [
        ("review", "0018_threshold_tolerance"),
    ]

    operations = [
        migrations.AddField(
            model_name="queue",
            name="audit_strata",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
