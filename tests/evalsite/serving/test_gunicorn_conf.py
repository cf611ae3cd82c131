"""The configuration of the web server, with the real one: clients that stop half-way hold nobody up for long."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from evalsite.serving import gunicorn_conf
from evalsite.serving.supervisor import answers, web_command
from tests.judging.services.own_site import REPOSITORY


@pytest.fixture
def address(own_database: str, tmp_path: Path) -> Iterator[str]:
    """Return where one process of two threads serves a site."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found = f"127.0.0.1:{probe.getsockname()[1]}"
    environment = {**os.environ, "EVALSITE_DATA_DIR": str(tmp_path), "EVALSITE_DATABASE_URL": own_database}
    environment |= {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    with (tmp_path / "web.log").open("wb") as log:
        command = [*web_command(address=found, web_processes=1), "--threads", "2"]
        server = subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 90
        while not answers(found):
            assert time.monotonic() < deadline, (tmp_path / "web.log").read_text()
            time.sleep(0.1)
        yield found
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_clients_that_stop_half_way_hold_a_thread_for_seconds_only(address: str) -> None:
    host, _, port = address.partition(":")
    stalled = [socket.create_connection((host, int(port))) for _ in range(2)]
    for client in stalled:
        client.sendall(b"GET /login/ HTTP/1.1\r\nHost: ")
    time.sleep(0.5)

    answer = requests.get(f"http://{address}/login/", timeout=gunicorn_conf.SILENCE_SECONDS + 30)

    assert answer.status_code == 200
    for client in stalled:
        client.close()
