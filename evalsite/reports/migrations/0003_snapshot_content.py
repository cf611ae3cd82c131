"""Calls what a cached report holds its content."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reports", "0002_forget_cached_reports")]

    operations = [migrations.RenameField("snapshot", "payload", "content")]
