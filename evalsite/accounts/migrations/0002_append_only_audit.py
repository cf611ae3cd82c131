"""Lets nothing change or delete an entry of the audit log: not a page, a command or a statement slipped into one."""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

TABLE = "accounts_auditentry"
REFUSAL = "The audit log is append-only."
INSTALL = {
    "sqlite": [
        f"CREATE TRIGGER {TABLE}_{act} BEFORE {act.upper()} ON {TABLE} BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
        for act in ("update", "delete")
    ],
    "postgresql": [
        f"CREATE FUNCTION {TABLE}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation'; END $$",
        f"CREATE TRIGGER {TABLE}_keep BEFORE UPDATE OR DELETE ON {TABLE} "
        f"FOR EACH ROW EXECUTE FUNCTION {TABLE}_refuse()",
    ],
}
REMOVE = {
    "sqlite": [f"DROP TRIGGER {TABLE}_{act}" for act in ("update", "delete")],
    "postgresql": [f"DROP TRIGGER {TABLE}_keep ON {TABLE}", f"DROP FUNCTION {TABLE}_refuse()"],
}


def install(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in INSTALL[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def remove(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in REMOVE[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunPython(install, remove)]
