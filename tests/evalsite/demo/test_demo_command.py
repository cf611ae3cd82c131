"""`manage.py demo` as a person starts it: ready, working, and gone without a trace."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests

pytestmark = [pytest.mark.flow, pytest.mark.backend_free]
ROOT = Path(__file__).resolve().parents[3]


class Demo:
    """One start of the demo."""

    def __init__(self, data: Path, output: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.data, self.output = data, output
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("EVALSITE_", "DJANGO_"))}
        with output.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "demo", "--port", str(self.port)],
                cwd=ROOT,
                env=kept | {"EVALSITE_DEMO": "1", "EVALSITE_DATA_DIR": str(data)},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_until_ready(self) -> dict[str, str]:
        """Return the printed passwords by user name."""
        deadline = time.monotonic() + 300
        while "demo-chloe" not in (text := self.output.read_text()):
            assert self.process.poll() is None, text
            assert time.monotonic() < deadline, text
            time.sleep(0.2)
        return dict(re.findall(r"^  \w+ +(demo-\w+) +(\S+)$", text, re.MULTILINE))

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with sqlite3.connect(self.data / "evalsite.sqlite3", timeout=20) as database:
            return database.execute(query).fetchall()

    def wait_until_worked(self) -> None:
        deadline = time.monotonic() + 90
        while self.rows("SELECT count(*) FROM judging_run WHERE status = 'finished'") != [(2,)]:
            assert time.monotonic() < deadline, self.output.read_text()[-4000:]
            time.sleep(0.5)

    def processor_seconds(self) -> float:
        """Return what its living processes and those that they have waited for have used of a processor."""
        ticks = 0
        for pid in self.processes():
            with suppress(OSError):  # it has just ended
                after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, after_name[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def processes(self) -> list[int]:
        """Return every process that belongs to this demo."""
        mark = f"EVALSITE_DATA_DIR={self.data}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "var"


@pytest.fixture
def demo(data: Path, tmp_path: Path) -> Iterator[Demo]:
    one = Demo(data, tmp_path / "output")
    yield one
    if one.process.poll() is None:
        one.process.terminate()
        one.process.wait(timeout=30)


def _sign_in(demo: Demo, username: str, password: str) -> requests.Response:
    with requests.Session() as session:
        session.get(f"{demo.url}/login/")
        form = {"username": username, "password": password, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
        return session.post(f"{demo.url}/login/", form, headers={"Referer": demo.url})


def test_demo_works_from_an_empty_folder_and_stops_without_a_trace(demo: Demo, data: Path, tmp_path: Path) -> None:
    passwords = demo.wait_until_ready()
    assert 0 < demo.processor_seconds() < 60  # the promise of a minute, on a machine that does nothing else

    demo.wait_until_worked()
    with urllib.request.urlopen(f"{demo.url}/healthz", timeout=10) as answer:
        health = json.load(answer)
    assert health == {"status": "ok", "database": "ok", "broker": "ok", "workers": "ok"}
    assert demo.rows("SELECT sum(failed), sum(done) FROM judging_run") == [(0, 512)]
    home = _sign_in(demo, "demo-researcher", passwords["demo-researcher"])
    assert (home.status_code, "Finished since yesterday" in home.text) == (200, True)
    assert len(demo.processes()) >= 6  # the supervisor, the broker, two workers, the web server and its processes
    demo.process.send_signal(signal.SIGTERM)
    assert demo.process.wait(timeout=40) == 0
    assert demo.processes() == []
    assert "Traceback" not in demo.output.read_text()

    again = Demo(data, tmp_path / "second output")
    try:
        renewed = again.wait_until_ready()
        assert set(renewed) == set(passwords)
        assert not set(renewed.values()) & set(passwords.values())
        assert again.rows("SELECT count(*) FROM judging_run") == [(2,)]
        assert "Sign in" in _sign_in(again, "demo-anna", passwords["demo-anna"]).text
    finally:
        again.process.send_signal(signal.SIGINT)
        assert again.process.wait(timeout=40) == 0
    assert again.processes() == []
