"""One migrated, empty database for a whole run of the suite; what needs a database of its own copies it.

To copy takes a tenth of a second on either backend, to migrate takes many: only the first process that asks does that,
and on SQLite only the first run since a migration or a library changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from psycopg import Connection

REPOSITORY = Path(__file__).resolve().parent.parent
KEPT = Path(tempfile.gettempdir()) / f"evalsite-test-templates-{os.getuid()}"  # migrated databases of earlier runs
FOLDER = Path(os.environ.get("EVALSITE_TEST_SUITE_DIR", ""))  # of the process that started the run: all share it
SHARED_DEMO = FOLDER / "shared-demo.json"  # a running demo that all processes of the run share
IS_MADE = FOLDER / "migrated"  # exists once the template may be copied
URL = os.environ.get("EVALSITE_DATABASE_URL", "")
ON_POSTGRES = URL.startswith("postgres")
TEMPLATE = f"test_{urlsplit(URL).path[1:]}_template" if ON_POSTGRES else str(FOLDER / "template.sqlite3")
OLDER = f"{TEMPLATE}_older"  # with the tables of version 0.1.0
OLDER_IS_MADE = FOLDER / "older-migrated"
REFERENCE_TABLES = ("django_content_type", "auth_permission", "auth_group", "auth_group_permissions")


def open_test_database() -> None:
    """Make this process's test database, migrated and empty, and let Django use it from now on."""
    from django.conf import settings
    from django.db import connection

    make_template()
    name = str(connection.settings_dict["TEST"]["NAME"])
    copy_template(name)
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name


def make_template() -> None:
    """Migrate an empty database, unless another process of this run has done so."""
    from django.db import connection

    with alone("migrating"):
        if IS_MADE.exists():
            return
        kept = None if ON_POSTGRES else KEPT / f"{_made_from()}.sqlite3"
        if kept is not None and kept.exists():
            shutil.copyfile(kept, TEMPLATE)
        else:
            own = connection.settings_dict["TEST"]["NAME"]
            connection.settings_dict["TEST"]["NAME"] = TEMPLATE
            connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            connection.settings_dict["TEST"]["NAME"] = own
            _let_the_audit_log_be_emptied()
            connection.close()  # a database that somebody uses cannot be copied
        if kept is not None and not kept.exists():
            KEPT.mkdir(exist_ok=True)
            whole = shutil.copyfile(TEMPLATE, KEPT / f"{uuid.uuid4().hex}.part")
            whole.rename(kept)
        IS_MADE.touch()


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Let one process of this run at a time do something."""
    with (FOLDER / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _made_from() -> str:
    """Return a digest of all that a migrated database depends on: our code that migrates, and the libraries."""
    digest = hashlib.sha256((REPOSITORY / "requirements-dev.txt").read_bytes())
    for app in ("evalsite", "judging", "debate"):
        for path in sorted((REPOSITORY / app).rglob("*.py")):
            if {"migrations", "models", "models.py", "new_tables.py", "roles.py", "states.py"} & set(path.parts):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _let_the_audit_log_be_emptied() -> None:
    """Take the triggers away that keep its entries: tests remove the rows that they have made."""
    from django.db import connection

    append_only = import_module("evalsite.accounts.migrations.0002_append_only_audit")
    with connection.cursor() as cursor:
        for statement in append_only.REMOVE[connection.vendor]:
            cursor.execute(statement)


def copy_template(name: str, template: str = TEMPLATE) -> None:
    """Put a migrated, empty database under `name`: a path on SQLite, a database's name on PostgreSQL."""
    if not ON_POSTGRES:
        shutil.copyfile(template, name)
        return
    with server() as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


class Emptier:
    """Removes every row that a test has stored for good; what `migrate` puts there stays.

    Django's own flush truncates every table and makes all permissions anew, which takes longer than most tests.
    """

    def __init__(self) -> None:
        from django.db import connection

        names = connection.introspection.django_table_names(only_existing=True, include_views=False)
        self._tables = sorted(set(names) - set(REFERENCE_TABLES))
        self._reference = _reference_rows()

    def empty(self, *, flush: Callable[[], None]) -> None:
        """Empty the tables; where a test changed what stays, too, let Django's `flush` make that anew."""
        from django.db import connection, transaction

        with transaction.atomic(), connection.cursor() as cursor:  # foreign keys are looked at when it commits
            for name in filled_tables(self._tables):
                cursor.execute(f'DELETE FROM "{name}"')
        if _reference_rows() != self._reference:
            flush()
            self._reference = _reference_rows()


def filled_tables(names: Iterable[str]) -> list[str]:
    """Return which of these tables have rows; most tests fill few."""
    from django.db import connection

    asked = (f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM \"{name}\")" for name in names)
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(asked))
        return [name for (name,) in cursor.fetchall()]


def _reference_rows() -> list[list[tuple[object, ...]]]:
    """Return what the tables hold that `migrate` fills."""
    from django.db import connection

    found = []
    with connection.cursor() as cursor:
        for name in REFERENCE_TABLES:
            cursor.execute(f'SELECT * FROM "{name}" ORDER BY id')
            found.append(cursor.fetchall())
    return found


def address_of_test_database() -> str:
    """Return the address of this process's test database, for processes that a test starts."""
    from django.db import connection

    name = str(connection.settings_dict["NAME"])
    return urlunsplit(urlsplit(URL)._replace(path=f"/{name}")) if ON_POSTGRES else f"sqlite:///{name}"


def drop(name: str) -> None:
    """Remove a database from the server, whoever still uses it; a file goes with its folder."""
    if ON_POSTGRES:
        with server() as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextmanager
def own_database(folder: Path) -> Iterator[str]:
    """Yield the address of a migrated database for one site, on the backend under test."""
    url = make_own_database(folder)
    try:
        yield url
    finally:
        drop_own_database(url)


def make_own_database(folder: Path) -> str:
    """Make a migrated database for one site and return its address."""
    if not ON_POSTGRES:
        copy_template(str(folder / "site.sqlite3"))
        return f"sqlite:///{folder}/site.sqlite3"
    name = f"evalsite_test_{uuid.uuid4().hex[:12]}"
    copy_template(name)
    return urlunsplit(urlsplit(URL)._replace(path=f"/{name}"))


@contextmanager
def empty_database(folder: Path) -> Iterator[str]:
    """Yield the address of a database without tables."""
    name = f"evalsite_test_{uuid.uuid4().hex[:12]}"
    if not ON_POSTGRES:
        yield f"sqlite:///{folder}/{name}.sqlite3"
        return
    _make_empty(name)
    try:
        yield urlunsplit(urlsplit(URL)._replace(path=f"/{name}"))
    finally:
        drop(name)


def drop_own_database(url: str) -> None:
    """Remove what `make_own_database` made."""
    drop(urlsplit(url).path[1:])


def _make_empty(name: str) -> None:
    """Make a database without tables; SQLite makes a file by itself."""
    if ON_POSTGRES:
        with server() as administrator:
            administrator.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            administrator.execute(f'CREATE DATABASE "{name}"')


@contextmanager
def older_database(folder: Path) -> Iterator[None]:
    """Let Django use a database of its own with the tables of version 0.1.0, whose migrations go step by step."""
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor
    from django.db.migrations.loader import MigrationLoader

    used = connection.settings_dict["NAME"]
    name = f"evalsite_test_{uuid.uuid4().hex[:12]}" if ON_POSTGRES else str(folder / "older.sqlite3")
    connection.close()
    with alone("older"):
        if not OLDER_IS_MADE.exists():
            _make_empty(OLDER)
            connection.settings_dict["NAME"] = OLDER
            executor = MigrationExecutor(connection)
            executor.loader = MigrationLoader(connection, replace_migrations=False)
            executor.migrate([(app, "0001_initial") for app in ("judging", "debate", "review")])
            connection.close()
            OLDER_IS_MADE.touch()
    copy_template(name, OLDER)
    connection.settings_dict["NAME"] = name
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = used
        drop(name)


@contextmanager
def server() -> Iterator[Connection]:
    """Yield a connection to the server on which the tests make their databases."""
    import psycopg

    with psycopg.connect(URL, autocommit=True) as connection:
        yield connection
