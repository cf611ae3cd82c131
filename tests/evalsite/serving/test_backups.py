"""A backup taken while a worker writes is whole, and a site that it is restored to goes on with the work."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests import databases
from tests.evalsite.serving.worked_site import WorkedSite
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.own_site import REPOSITORY, OwnSite, own_site
from tests.own_redis import OwnRedis

CASES = 60
pytestmark = pytest.mark.skipif(
    databases.ON_POSTGRES and not (shutil.which("pg_dump") and shutil.which("pg_restore")),
    reason="PostgreSQL's own tools are not installed",
)


@pytest.fixture
def site(tmp_path: Path, own_database: str) -> Iterator[OwnSite]:
    with own_site(tmp_path, own_database) as made:
        yield made


@pytest.fixture
def empty_site(tmp_path: Path) -> Iterator[OwnSite]:
    folder = tmp_path / "second"
    folder.mkdir()
    with databases.empty_database(folder) as url, own_site(folder, url) as made:
        yield made


def manage(site: OwnSite, *arguments: object, refused: str = "") -> Any:
    command = [sys.executable, "manage.py", *map(str, arguments)]
    done = subprocess.run(command, env=site.environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, refused in done.stderr) == (2 if refused else 0, True), done.stderr
    return json.loads(done.stdout) if "--json" in arguments and not refused else done.stdout


def backup(site: OwnSite, *options: object) -> Any:
    return manage(site, "backup", site.folder / "backups", "--json", *options)


def test_a_backup_in_the_middle_of_a_run_restores_to_a_site_that_finishes_it(
    site: OwnSite, empty_site: OwnSite, fake_llm: FakeLLM, redis_server: OwnRedis
) -> None:
    site.environment["EVALSITE_REDIS_URL"] = empty_site.environment["EVALSITE_REDIS_URL"] = redis_server.url
    fake_llm.config(latency=150)
    run = site.ask("make", fake_llm.url, CASES)
    worked = WorkedSite(site)
    try:
        worked.wait_until(lambda: fake_llm.stats()["calls"] >= CASES // 4, "a quarter of the calls")
        fake_llm.config(latency=2000)  # so that it goes on beside the backup, and beyond
        made = backup(site)
        assert site.ask("state", run)["status"] == "running"
    finally:
        worked.close()
    redis.Redis.from_url(redis_server.url).flushall()  # the other machine has a broker of its own

    fake_llm.config(latency=60)
    restored = manage(empty_site, "restore", made["backup"], "--json")
    manage(empty_site, "migrate", "--verbosity", "0")
    state = empty_site.ask("state", run, "--lapse")  # the claims of the first site's worker, which nobody holds
    stored_then = state["counts"][1]
    worked = WorkedSite(empty_site)
    try:
        end = worked.end_of(run)
    finally:
        worked.close()

    assert [restored[name] for name in ("tables", "rows")] == [made[name] for name in ("tables", "rows")]
    assert state["status"] == "running"
    assert 0 < stored_then < CASES
    assert (end["status"], end["counts"], end["tasks"]) == ("finished", [CASES, CASES, 0], {"done": CASES})
    assert (end["verdicts"], end["scores"]) == ({"ok": CASES}, {"complete": CASES})


def test_only_whole_backups_are_restored_and_only_into_an_empty_database(site: OwnSite, empty_site: OwnSite) -> None:
    made = backup(site)
    path = Path(made["backup"])
    manifest = json.loads((path / "manifest.json").read_text())
    names = sorted(file.name for file in path.iterdir())
    modes = {file.stat().st_mode & 0o077 for file in (path, path / "database")}

    manage(site, "restore", path, refused="The database has tables already.")
    manage(empty_site, "restore", path.parent, refused="is no backup")
    changed = manifest["tables"] | {"auth_group": manifest["tables"]["auth_group"] | {"rows": 5}}
    (path / "manifest.json").write_text(json.dumps(manifest | {"migrations": ["judging.0999_later"]}))
    manage(empty_site, "restore", path, refused="made by a newer version of the site")
    (path / "manifest.json").write_text(json.dumps(manifest | {"tables": changed}))
    manage(empty_site, "restore", path, refused="1 tables are not as they were when the backup was made")
    (path / "manifest.json").write_text(json.dumps(manifest))
    with (path / "database").open("ab") as file:
        file.write(b"x")
    manage(empty_site, "restore", path, refused="is damaged")

    assert names == ["database", "manifest.json"]
    assert modes == {0}
    assert manifest["tables"]["auth_group"]["rows"] == 4
    assert made["rows"] == sum(table["rows"] for table in manifest["tables"].values())


def test_old_backups_go_when_a_new_one_is_there(site: OwnSite) -> None:
    folder = site.folder / "backups"
    for day in ("20260101", "20260102", "20260103"):
        (folder / f"evalsite-{day}T000000Z").mkdir(parents=True)
    (folder / "notes").mkdir()

    made = backup(site, "--keep", 2)

    assert made["removed"] == ["evalsite-20260101T000000Z", "evalsite-20260102T000000Z"]
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["evalsite-20260103T000000Z", Path(made["backup"]).name, "notes"]
    manage(site, "backup", folder, "--keep", 0, refused="from 1 on")
