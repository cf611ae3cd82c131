"""The site's settings as tests use them: a made-up secret, fast passwords, everything else from the environment.

Each process that runs tests has a data folder, and so an embedded broker, of its own; on an external Redis it has a
database number of its own. Processes that tests start find the same in their environment.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FIRST_REDIS_DATABASE = 12  # Redis has 16; flows use 8 to 11
EXTERNAL_BROKER = os.environ.get("EVALSITE_REDIS_URL", "")

os.environ.setdefault("EVALSITE_SECRET_KEY", "only-for-tests")


def _redis_url(number: int) -> str:
    if not EXTERNAL_BROKER.startswith("redis://"):
        return EXTERNAL_BROKER
    return f"{EXTERNAL_BROKER.rsplit('/', 1)[0]}/{FIRST_REDIS_DATABASE + number % 4}"


if "EVALSITE_TEST_SUITE_DIR" not in os.environ:  # this process starts the run: what it starts finds all this set
    os.environ["EVALSITE_DATA_DIR"] = os.environ["EVALSITE_TEST_SUITE_DIR"] = tempfile.mkdtemp(prefix="evalsite-test-")
    os.environ["EVALSITE_TEST_PROCESS"] = "0"
    if EXTERNAL_BROKER:
        os.environ["EVALSITE_REDIS_URL"] = _redis_url(0)
    atexit.register(shutil.rmtree, os.environ["EVALSITE_TEST_SUITE_DIR"], ignore_errors=True)

from evalsite.settings import *  # noqa: E402, F403 - a settings module is a namespace

WHITENOISE_USE_FINDERS = False  # each client of a test would look every file up; flows see them served
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
_DATABASE: dict[str, Any] = DATABASES["default"]  # noqa: F405
_SITE_DATABASE = _DATABASE["NAME"]
if not _DATABASE["ENGINE"].endswith("sqlite3"):
    _DATABASE["OPTIONS"]["options"] += " -c synchronous_commit=off"  # no test pulls the plug


def _test_database(folder: Path, number: int) -> dict[str, object]:
    if _DATABASE["ENGINE"].endswith("sqlite3"):
        # A file, as on a real site: threads of one test then wait for each other instead of failing on a shared cache.
        return {"NAME": folder / "test.sqlite3"}
    return {"NAME": f"test_{_SITE_DATABASE}_{number}"}


_DATABASE["TEST"] = _test_database(DATA_DIR, int(os.environ["EVALSITE_TEST_PROCESS"]))  # noqa: F405


@contextmanager
def apart(number: int) -> Iterator[None]:
    """Let a process that was forked with these settings loaded have a data folder, database and broker of its own."""
    from django.conf import settings

    from evalsite.serving.locations import broker_url

    with tempfile.TemporaryDirectory(prefix="evalsite-", ignore_cleanup_errors=True) as name:
        folder, external = Path(name), _redis_url(number)
        os.environ |= {"EVALSITE_DATA_DIR": name, "EVALSITE_TEST_PROCESS": str(number), "PYTEST_DEBUG_TEMPROOT": name}
        if external:
            os.environ["EVALSITE_REDIS_URL"] = external
        settings.DATA_DIR, settings.EXTERNAL_REDIS_URL = folder, external
        settings.REDIS_URL = external or broker_url(folder)
        for queue in settings.RQ_QUEUES.values():
            queue["URL"] = settings.REDIS_URL
        settings.DATABASES["default"]["TEST"] |= _test_database(folder, number)
        yield
