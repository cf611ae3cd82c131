"""The site's settings as tests use them: a made-up secret, fast passwords, everything else from the environment.

Each process that runs tests has a data folder, and so an embedded broker, of its own; on an external Redis it has a
database number of its own. Processes that tests start find the same in their environment.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

FIRST_REDIS_DATABASE = 12  # Redis has 16; flows use 8 to 11
RUNNER = os.environ.get("PYTEST_XDIST_WORKER", "alone")

os.environ.setdefault("EVALSITE_SECRET_KEY", "only-for-tests")
if os.environ.get("EVALSITE_TEST_RUNNER") != RUNNER:
    os.environ["EVALSITE_TEST_RUNNER"] = RUNNER
    os.environ["EVALSITE_DATA_DIR"] = folder = tempfile.mkdtemp(prefix="evalsite-test-")
    os.environ.setdefault("EVALSITE_TEST_SUITE_DIR", folder)  # the first process's, for what all of a run share
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if os.environ.get("EVALSITE_REDIS_URL", "").startswith("redis://"):
        server = os.environ["EVALSITE_REDIS_URL"].rsplit("/", 1)[0]
        number = int(RUNNER.removeprefix("gw")) if RUNNER.startswith("gw") else 0
        os.environ["EVALSITE_REDIS_URL"] = f"{server}/{FIRST_REDIS_DATABASE + number % 4}"

from evalsite.settings import *  # noqa: E402, F403 - a settings module is a namespace

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
_DATABASE = DATABASES["default"]  # noqa: F405
if _DATABASE["ENGINE"].endswith("sqlite3"):
    # A file, as on a real site: threads of one test then wait for each other instead of failing on a shared cache.
    _DATABASE["TEST"] = {"NAME": DATA_DIR / "test.sqlite3"}  # noqa: F405
else:
    _DATABASE["TEST"] = {"NAME": f"test_{_DATABASE['NAME']}_{RUNNER}"}
    _DATABASE["OPTIONS"]["options"] += " -c synchronous_commit=off"  # no test pulls the plug
