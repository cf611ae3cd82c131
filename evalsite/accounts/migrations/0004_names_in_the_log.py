"""Lets the names of somebody who was erased go from the audit log, and nothing else: who did what, when, stays."""

from __future__ import annotations

from importlib import import_module

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

TABLE = "accounts_auditentry"
REFUSAL = "The audit log is append-only."
FIXED = ("id", "at", "actor_id", "action", "subject_id", "address")
INSTALL = {
    "sqlite": [
        f"CREATE TRIGGER {TABLE}_update BEFORE UPDATE ON {TABLE} WHEN NOT (NEW.names_erased_at IS NOT NULL AND "
        f"NEW.names_erased_at IS NOT OLD.names_erased_at AND {' AND '.join(f'NEW.{n} IS OLD.{n}' for n in FIXED)}) "
        f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
        f"CREATE TRIGGER {TABLE}_delete BEFORE DELETE ON {TABLE} BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
    ],
    "postgresql": [
        f"CREATE FUNCTION {TABLE}_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF TG_OP = 'UPDATE' AND NEW.names_erased_at IS NOT NULL AND "
        "NEW.names_erased_at IS DISTINCT FROM OLD.names_erased_at AND "
        f"{' AND '.join(f'NEW.{n} IS NOT DISTINCT FROM OLD.{n}' for n in FIXED)} THEN RETURN NEW; END IF; "
        f"RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation'; END $$",
        f"CREATE TRIGGER {TABLE}_keep BEFORE UPDATE OR DELETE ON {TABLE} "
        f"FOR EACH ROW EXECUTE FUNCTION {TABLE}_refuse()",
    ],
}


def install(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    former = import_module("evalsite.accounts.migrations.0002_append_only_audit")
    former.remove(apps, schema_editor)
    for statement in INSTALL[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def remove(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    former = import_module("evalsite.accounts.migrations.0002_append_only_audit")
    former.remove(apps, schema_editor)
    former.install(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_audit_address")]
    operations = [
        migrations.AddField("auditentry", "names_erased_at", models.DateTimeField(null=True)),
        migrations.RunPython(install, remove),
    ]
