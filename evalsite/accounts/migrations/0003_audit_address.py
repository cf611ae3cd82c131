"""Gives entries of the audit log the address of what they are about."""

from __future__ import annotations

from importlib import import_module

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def install_again(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Forbid changes again: SQLite made the table anew, and its triggers went with the former one."""
    if schema_editor.connection.vendor == "sqlite":
        import_module("evalsite.accounts.migrations.0002_append_only_audit").install(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_append_only_audit")]
    operations = [
        migrations.AddField("auditentry", "address", models.CharField(db_default="", max_length=200)),
        migrations.RunPython(install_again, migrations.RunPython.noop),
    ]
