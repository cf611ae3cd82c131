"""A database server and a broker that are restarted under a worker: it waits for them and goes on by itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import databases
from tests.evalsite.serving.worked_site import WorkedSite
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.own_site import REPOSITORY, own_site
from tests.own_postgres import OwnPostgres
from tests.own_redis import OwnRedis

CASES = 60


@pytest.fixture
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnPostgres]:
    if not databases.ON_POSTGRES:
        pytest.skip("SQLite has no server to restart")
    made = OwnPostgres(tmp_path_factory.mktemp("postgres"))
    yield made
    made.close()


def test_a_worker_outlives_restarts_of_postgresql_and_redis(
    tmp_path: Path, postgres: OwnPostgres, redis_server: OwnRedis, fake_llm: FakeLLM
) -> None:
    fake_llm.config(latency=60)
    with own_site(tmp_path, postgres.url, redis_url=redis_server.url) as site:
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, check=True, env=site.environment, cwd=REPOSITORY)
        run = site.ask("make", fake_llm.url, CASES)
        worked = WorkedSite(site)
        try:
            worked.wait_until(lambda: fake_llm.stats()["calls"] >= 15, "a run in the middle")
            postgres.crash()
            redis_server.kill()
            redis_server.start()
            postgres.start()
            site.close()  # what it asks with has lost its connection
            site.ask("state", run, "--lapse")
            worked.wait_until(lambda: site.ask("state", run)["status"] == "finished", "the end of the run")
            is_the_same = worked.worker.poll() is None
            end = site.ask("state", run)
        finally:
            worked.close()

    assert is_the_same
    assert (end["counts"], end["verdicts"], end["leases"]) == ([CASES, CASES, 0], {"ok": CASES}, 0)
