"""Forgets cached reports: their figures come from other estimators now, and their layout has changed."""

from django.db import migrations


def forget_reports(apps, schema_editor):
    apps.get_model("reports", "Snapshot").objects.exclude(kind="label-clock").delete()


class Migration(migrations.Migration):
    dependencies = [("reports", "0001_initial")]

    operations = [migrations.RunPython(forget_reports, migrations.RunPython.noop)]
