"""Indexes the words of prompts and responses: GIN on PostgreSQL, FTS5 kept in step by triggers on SQLite."""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

BATCH = 5000  # rows that are indexed at once
WIDE = r"([\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef])"
SIGNS = r"[!-/:-@\[-`{-~]+"

# table: its words, and the rows that PostgreSQL indexes; SQLite keeps old texts too, and leaves them out when it reads
INDEXED = {
    "judging_prompt": ("{row}text || ' ' || {row}context", ""),
    "judging_response": ("{row}text", "WHERE superseded_at IS NULL"),
}
FUNCTION = f"""
    CREATE FUNCTION evalsite_words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
    SELECT to_tsvector('pg_catalog.simple'::regconfig, regexp_replace(
        regexp_replace(left($1, 200000), '{SIGNS}', ' ', 'g'), '{WIDE}', ' \\1 ', 'g'))
    $body$
"""  # noqa: S608 - our own characters


def add(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Make the indexes and fill them."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(FUNCTION, params=None)
        schema_editor.execute("SET LOCAL maintenance_work_mem = '512MB'")
    for table, (words, where) in INDEXED.items():
        index_words(schema_editor, table, words, fields="text, context" if "context" in words else "text", where=where)


def index_words(schema_editor: BaseDatabaseSchemaEditor, table: str, words: str, *, fields: str, where: str) -> None:
    """Index the words of a table, and keep the index in step with these fields."""
    if schema_editor.connection.vendor == "postgresql":
        shown = words.format(row="")
        schema_editor.execute(f"CREATE INDEX {table}_words ON {table} USING gin (evalsite_words({shown})) {where}")
        return
    new, old = (f"evalsite_words({words.format(row=row)})" for row in ("new.", "old."))
    forget = f"INSERT INTO {table}_words ({table}_words, rowid, words) VALUES ('delete', old.id, {old});"
    store = f"INSERT INTO {table}_words (rowid, words) VALUES (new.id, {new});"
    index = "fts5(words, content='', tokenize='unicode61 remove_diacritics 0')"
    schema_editor.execute(f"CREATE VIRTUAL TABLE {table}_words USING {index}")
    for act, what in (("insert", store), ("delete", forget), (f"update OF {fields}", forget + store)):
        name = f"{table}_words_{act.split()[0]}"
        schema_editor.execute(f"CREATE TRIGGER {name} AFTER {act} ON {table} BEGIN {what} END")
    _fill(schema_editor, table, words.format(row=""))


def _fill(schema_editor: BaseDatabaseSchemaEditor, table: str, words: str) -> None:
    """Index the rows that are there, a batch at a time."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"SELECT COALESCE(MAX(id), 0) FROM {table}")  # noqa: S608 - our own table
        last = cursor.fetchone()[0]
        for first in range(0, last, BATCH):
            rows = f"SELECT id, evalsite_words({words}) FROM {table} WHERE id > %s AND id <= %s"  # noqa: S608
            cursor.execute(f"INSERT INTO {table}_words (rowid, words) {rows}", [first, first + BATCH])  # noqa: S608


def remove(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Take the indexes away."""
    for table in INDEXED:
        drop_words(schema_editor, table)
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION evalsite_words(text)")


def drop_words(schema_editor: BaseDatabaseSchemaEditor, table: str) -> None:
    """Take the index of a table away."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX {table}_words")
        return
    for act in ("insert", "delete", "update"):
        schema_editor.execute(f"DROP TRIGGER {table}_words_{act}")
    schema_editor.execute(f"DROP TABLE {table}_words")


class Migration(migrations.Migration):
    dependencies = [("judging", "0022_run_tags_and_archive")]

    operations = [migrations.RunPython(add, remove)]
