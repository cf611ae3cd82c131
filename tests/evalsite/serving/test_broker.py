"""The embedded broker: started, found again, refused, and never stopped under somebody else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings
from redis import Redis

from evalsite.serving import locations
from evalsite.serving.broker import BrokerUnavailable, EmbeddedBroker, ensure_broker

pytestmark = pytest.mark.backend_free


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    one = EmbeddedBroker(tmp_path / "data")
    yield one
    one.stop()


def _client(broker: EmbeddedBroker) -> Redis:
    return Redis(unix_socket_path=str(broker.socket), password=broker.password)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_start_answers_on_a_private_socket_and_nowhere_else(broker: EmbeddedBroker) -> None:
    assert broker.start() is True

    with _client(broker) as client:
        assert client.config_get("port") == {"port": "0"}
    assert broker.socket.stat().st_mode & 0o777 == 0o600
    assert broker.folder.stat().st_mode & 0o777 == 0o700
    assert (broker.folder / "password").stat().st_mode & 0o777 == 0o600


def test_start_finds_a_running_broker_of_another_process(broker: EmbeddedBroker) -> None:
    broker.start()
    pid = broker.pid_file.read_text()

    other = EmbeddedBroker(broker.folder.parent)

    assert other.start() is False
    assert broker.pid_file.read_text() == pid


def test_start_keeps_jobs_over_a_restart(broker: EmbeddedBroker) -> None:
    broker.start()
    with _client(broker) as client:
        client.set("job", "kept")
    broker.stop()
    broker.start()

    with _client(broker) as client:
        assert client.get("job") == b"kept"


def test_start_clears_what_a_killed_broker_left(broker: EmbeddedBroker) -> None:
    broker.start()
    os.kill(int(broker.pid_file.read_text()), signal.SIGKILL)
    time.sleep(0.1)
    assert broker.socket.exists()

    assert EmbeddedBroker(broker.folder.parent).start() is True


def test_start_leaves_a_stranger_alone_that_got_the_old_process_id(broker: EmbeddedBroker) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        locations.private_folder(broker.folder)
        broker.pid_file.write_text(str(stranger.pid))

        assert broker.start() is True
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_is_alive_refuses_a_server_with_another_password(broker: EmbeddedBroker) -> None:
    broker.start()
    impostor = EmbeddedBroker(broker.folder.parent)
    impostor.password = "another"

    with pytest.raises(BrokerUnavailable, match="with another password"):
        impostor.start()


def test_stop_ends_the_server_and_removes_its_traces(broker: EmbeddedBroker) -> None:
    broker.start()
    pid = int(broker.pid_file.read_text())

    broker.stop()

    assert not _is_running(pid)
    assert not broker.socket.exists()
    assert not broker.pid_file.exists()


def test_stop_ends_a_broker_that_another_process_started(broker: EmbeddedBroker) -> None:
    broker.start()

    EmbeddedBroker(broker.folder.parent).stop()

    assert broker.is_alive() is False


def test_broker_works_where_the_data_folder_has_a_long_path(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path / ("a long folder name " * 10))  # far over the kernel's 107 bytes
    try:
        assert broker.start() is True
        assert broker.is_alive() is True
        assert broker.socket.parent.stat().st_mode & 0o777 == 0o700
    finally:
        broker.stop()


def test_start_refuses_a_socket_folder_that_is_open_to_others(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path / ("another long folder " * 10))
    broker.socket.parent.mkdir(mode=0o755, parents=True)
    broker.socket.parent.chmod(0o755)

    with pytest.raises(BrokerUnavailable, match="is accessible to other users"):
        broker.start()

    broker.socket.parent.rmdir()


def test_start_says_why_when_the_server_does_not_come_up(broker: EmbeddedBroker) -> None:
    broker.password = "two words break its configuration"

    with pytest.raises(BrokerUnavailable, match=r"did not start; the reason is in .*broker\.log"):
        broker.start()


@pytest.fixture
def embedded(settings: Settings, tmp_path: Path) -> EmbeddedBroker:
    settings.EXTERNAL_REDIS_URL = ""
    settings.DATA_DIR = tmp_path / "data"
    return EmbeddedBroker(settings.DATA_DIR)


def test_ensure_broker_starts_one_and_stops_it(embedded: EmbeddedBroker) -> None:
    with ensure_broker():
        assert embedded.is_alive() is True

    assert embedded.is_alive() is False


def test_ensure_broker_stops_only_when_the_last_user_ends(embedded: EmbeddedBroker) -> None:
    with ensure_broker():
        with ensure_broker():
            assert embedded.is_alive() is True
        assert embedded.is_alive() is True

    assert embedded.is_alive() is False


def test_ensure_broker_says_when_the_named_redis_does_not_answer(settings: Settings) -> None:
    settings.EXTERNAL_REDIS_URL = "redis://127.0.0.1:9/0"  # the discard port: nothing listens there

    with pytest.raises(BrokerUnavailable, match="EVALSITE_REDIS_URL"), ensure_broker():
        pass


def test_kept_secret_is_made_once_and_is_its_owners(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"

    first = locations.kept_secret(folder, "key", make=lambda: "one")
    second = locations.kept_secret(folder, "key", make=lambda: "two")

    assert (first, second) == ("one", "one")
    assert ((folder / "key").stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [path.name for path in folder.iterdir()] == ["key"]
