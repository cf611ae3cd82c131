"""An empty database takes one step an app, one of an earlier version many: both end in the same tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from tests import databases
from tests.evalsite.test_upgrade import schema

VERSION_0_2 = [
    ("accounts", "0002_append_only_audit"),
    ("judging", "0022_run_tags_and_archive"),
    ("debate", "0008_plain_words"),
    ("review", "0015_plain_words"),
    ("reports", "0005_official_board"),
]
STEPS_OF_0_2 = [("judging", "0001_squashed_0022"), ("debate", "0001_squashed_0008"), ("review", "0001_squashed_0015")]
AUDIT = "accounts_auditentry"  # append-only but in tests, which empty their tables
TRIGGERS = {
    "sqlite": "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT event_object_table, trigger_name FROM information_schema.triggers",
}
# there test_upgrade takes a database that 0.2 itself has made to the same tables
slow_on_sqlite = pytest.mark.sized if databases.ON_POSTGRES else pytest.mark.slow


def tables() -> dict[str, Any]:
    """Return columns, constraints and indexes of every table, and the triggers of those that tests leave them."""
    with connection.cursor() as cursor:
        found: dict[str, Any] = {}
        if connection.vendor == "sqlite":
            connection.close()
            found = schema(Path(connection.settings_dict["NAME"]))
        else:
            for table in connection.introspection.table_names(cursor):
                columns = connection.introspection.get_table_description(cursor, table)
                rules = connection.introspection.get_constraints(cursor, table)
                found[table] = (
                    sorted(map(str, columns)),
                    sorted(str(sorted(rule.items(), key=str)) for rule in rules.values()),
                )
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS[connection.vendor])
        triggers = [row for row in cursor.fetchall() if row[0] != AUDIT]
        return found | {"triggers": sorted(map(str, triggers))}


def migrations_to_do() -> list[Any]:
    """Return what `migrate` would apply."""
    executor = MigrationExecutor(connection)
    return executor.migration_plan(executor.loader.graph.leaf_nodes())


@slow_on_sqlite
@pytest.mark.django_db(transaction=True)
def test_a_database_of_0_2_goes_on_to_the_tables_of_a_new_one(tmp_path: Path) -> None:
    new = tables()
    assert migrations_to_do() == []
    with databases.older_database(tmp_path):
        executor = MigrationExecutor(connection)
        executor.loader = MigrationLoader(connection, replace_migrations=False)
        executor.migrate([*VERSION_0_2, *(node for node in executor.loader.graph.leaf_nodes() if node[0] == "auth")])
        for step in STEPS_OF_0_2:
            MigrationRecorder(connection).record_applied(*step)
        User.objects.create(username="of-0.2")
        assert next(s.name for s, _ in migrations_to_do() if s.app_label == "judging") == "0023_text_search"

        call_command("migrate", verbosity=0)

        assert tables() == new
        assert migrations_to_do() == []
        assert [user.username for user in User.objects.all()] == ["of-0.2"]


@pytest.mark.slow  # above, steps of 0.2 are recorded as well
@pytest.mark.django_db(transaction=True)
def test_a_database_at_every_head_has_nothing_to_do(tmp_path: Path) -> None:
    with databases.older_database(tmp_path):
        executor = MigrationExecutor(connection)
        executor.loader = MigrationLoader(connection, replace_migrations=False)
        executor.migrate([node for node in executor.loader.graph.leaf_nodes() if "_squashed_" not in node[1]])
        User.objects.create(username="of-before")
        before = tables()

        assert migrations_to_do() == []
        call_command("migrate", verbosity=0)

        assert tables() == before
        assert [user.username for user in User.objects.all()] == ["of-before"]
        recorded = MigrationRecorder(connection).applied_migrations()
        assert ("judging", "0001_squashed_0042") in recorded
