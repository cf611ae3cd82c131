"""The files for servers: units that systemd takes, and proxies that tell the site who asks, each run for real."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands

DEPLOY = Path(__file__).resolve().parents[2] / "evalsite" / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
FORGED = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https", "Host": "evals.example.org"}


def test_systemd_takes_every_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    for unit in UNITS:
        text = unit.read_text().replace("/srv/evalsite/.venv/bin/python", str(python))
        (tmp_path / unit.name).write_text(text)
    verified = [str(tmp_path / unit.name.replace("@", "@calls")) for unit in UNITS]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *verified], capture_output=True, text=True, check=False
    )

    ours = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "evalsite" in line]
    assert (ours, done.returncode) == ([], 0)


def test_units_call_commands_that_exist_and_what_starts_a_service_has_one() -> None:
    texts = {unit.name: unit.read_text() for unit in UNITS}
    called = {name for text in texts.values() for name in re.findall(r"manage\.py (\w+)", text)}
    starters = {name for name in texts if name.endswith((".timer", ".socket"))}

    assert called == {"init_site", "work", "backup", "prune_calls"}
    assert called <= set(get_commands())
    assert {f"{name.rpartition('.')[0]}.service" for name in starters} <= texts.keys()


class Echo(BaseHTTPRequestHandler):
    """Stands for the site: keeps the headers that it is sent."""

    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        """Keep them."""
        self.seen.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def echoing() -> Iterator[tuple[int, list[dict[str, str]]]]:
    """Yield the port of a server, and the headers of what it was asked."""
    seen: list[dict[str, str]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OwnEcho", (Echo,), {"seen": seen}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], seen
    finally:
        server.shutdown()
        server.server_close()


def asked_through(command: list[str], port: int, folder: Path) -> int:
    """Start a proxy, ask through it as a client that lies about itself, end it, and return the status."""
    environment = os.environ | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    log = folder / "proxy.log"
    with log.open("wb") as file:
        proxy = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        deadline = time.monotonic() + 30
        while True:
            assert proxy.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            with suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                connection.request("GET", "/", headers=FORGED)
                return connection.getresponse().status
            time.sleep(0.1)
    finally:
        proxy.terminate()
        proxy.wait(timeout=20)


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def test_nginx_tells_the_site_who_connects_last_and_how(tmp_path: Path) -> None:
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    if not Path(nginx).exists():
        pytest.skip("nginx is not installed")
    port, plain = free_port(), free_port()
    with echoing() as (site, seen):
        text = (DEPLOY / "nginx.conf").read_text()
        text = re.sub(r"^ *ssl_.*\n", "", text, flags=re.M)  # the certificate is the operator's
        text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port}").replace(
            "listen 80", f"listen 127.0.0.1:{plain}"
        )
        text = text.replace("127.0.0.1:8000", f"127.0.0.1:{site}")
        temporary = "".join(
            f"{name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        config = tmp_path / "nginx.conf"
        head = f"daemon off; pid {tmp_path}/pid; error_log stderr; events {{}}"
        config.write_text(f"{head} http {{ access_log off; {temporary}\n{text}}}")
        status = asked_through([nginx, "-p", str(tmp_path), "-c", str(config)], port, tmp_path)

    assert status == 200
    assert {name: seen[0][name] for name in ("host", "x-forwarded-for", "x-forwarded-proto")} == {
        "host": "evals.example.org",
        "x-forwarded-for": "6.6.6.6, 127.0.0.1",  # the site takes the last one that is no proxy of its own
        "x-forwarded-proto": "http",
    }
    assert re.fullmatch("[0-9a-f]{32}", seen[0]["x-request-id"])


def test_caddy_tells_the_site_who_connects_and_how(tmp_path: Path) -> None:
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("Caddy is not installed")
    port = free_port()
    with echoing() as (site, seen):
        text = (DEPLOY / "Caddyfile").read_text().replace("127.0.0.1:8000", f"127.0.0.1:{site}")
        config = tmp_path / "Caddyfile"
        config.write_text("{\n\tadmin off\n}\n" + text.replace("evals.example.org", f"http://evals.example.org:{port}"))
        status = asked_through([caddy, "run", "--adapter", "caddyfile", "--config", str(config)], port, tmp_path)

    assert status == 200
    assert {name: seen[0][name] for name in ("host", "x-forwarded-for", "x-forwarded-proto")} == {
        "host": "evals.example.org",
        "x-forwarded-for": "127.0.0.1",
        "x-forwarded-proto": "http",
    }
