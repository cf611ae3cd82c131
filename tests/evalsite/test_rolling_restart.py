"""The web server is stopped and started again behind a socket that stays: every request meanwhile is answered."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.evalsite.test_deploy import DEPLOY
from tests.scratch_units import activated

REPOSITORY = DEPLOY.parents[1]
AT_ONCE = 4


def _started(listening: socket.socket, log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    unit = (DEPLOY / "systemd" / "evalsite-web.service").read_text()
    command = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).partition("=")[2].split()
    return activated([sys.executable, *command[1:]], listening, log, environment, REPOSITORY)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGTERM)
    server.wait(timeout=60)


@pytest.mark.flow
@pytest.mark.timeout(300)
def test_no_request_is_lost_while_the_web_server_is_started_again(tmp_path: Path) -> None:
    statuses: list[int | str] = []
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listening:
        port = listening.getsockname()[1]

        def ask() -> None:
            """Ask as a proxy does, on a connection of its own each time."""
            while not is_over.is_set():
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
                try:
                    connection.request("GET", "/livez", headers={"Connection": "close"})
                    statuses.append(connection.getresponse().status)
                except OSError as error:
                    statuses.append(repr(error))
                finally:
                    connection.close()
                time.sleep(0.02)

        clients = [threading.Thread(target=ask) for _ in range(AT_ONCE)]
        own = {"EVALSITE_DATA_DIR": str(tmp_path), "EVALSITE_SECRET_KEY": "only-for-tests", "EVALSITE_DATABASE_URL": ""}
        environment = os.environ | own | {"DJANGO_SETTINGS_MODULE": "evalsite.settings"}
        server = _started(listening, tmp_path / "web.log", environment)
        for client in clients:
            client.start()
        answered: list[int] = []
        try:
            for _ in range(2):
                while len(statuses) < (answered[-1] if answered else 0) + 100:
                    assert server.poll() is None, (tmp_path / "web.log").read_text()
                    time.sleep(0.1)
                _stop(server)
                answered.append(len(statuses))
                server = _started(listening, tmp_path / "web.log", environment)
            while len(statuses) < answered[-1] + 100:
                time.sleep(0.1)
        finally:
            is_over.set()
            for client in clients:
                client.join()
            _stop(server)

    assert [status for status in statuses if status != 200] == []
    assert len(answered) == 2
