"""Lets the systems of earlier ESI runs be asked again: each takes its endpoint and settings from its latest run."""

from django.db import migrations


def take_from_runs(apps, schema_editor):
    """Set what the latest run of each system froze of it, where its endpoint is still there."""
    System = apps.get_model("judging", "System")
    Run = apps.get_model("judging", "Run")
    ModelEndpoint = apps.get_model("judging", "ModelEndpoint")
    endpoints = dict(ModelEndpoint.objects.values_list("name", "pk"))
    for system in System.objects.exclude(asking_key="").filter(endpoint=None).iterator():
        runs = Run.objects.filter(kind="esi", systems=system).order_by("-pk")
        for options in runs.values_list("options", flat=True)[:1]:
            frozen = options.get("workers", {}).get(str(system.pk), {})
            if frozen.get("endpoint") in endpoints:
                system.endpoint_id = endpoints[frozen["endpoint"]]
                system.asking = {name: value for name, value in frozen.items() if name != "endpoint"}
                system.save(update_fields=["endpoint", "asking"])


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0030_systems_that_answer"),
    ]

    operations = [
        migrations.RunPython(take_from_runs, migrations.RunPython.noop, elidable=True),
    ]
