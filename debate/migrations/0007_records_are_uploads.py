"""Recorded debates come in as uploads of judging. Files that were never confirmed lived for a day; theirs go."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def drop_bytes(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Remove the bytes of files that nobody confirmed."""
    apps.get_model("judging", "UploadPart").objects.filter(name__startswith="records/").delete()


class Migration(migrations.Migration):
    dependencies = [("debate", "0006_blind_labels"), ("judging", "0019_run_case_count")]
    operations = [
        migrations.RunPython(drop_bytes, migrations.RunPython.noop),
        migrations.DeleteModel(name="RecordUpload"),
    ]
