"""Where the site's private files lie: secrets it made up itself and the embedded broker's address."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

LONGEST_SOCKET_PATH = 100  # the kernel allows 107 bytes


def private_folder(path: Path) -> Path:
    """Return the folder, made where it is missing; what is made here its owner alone can enter."""
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def kept_secret(data_dir: Path, name: str, *, make: Callable[[], str]) -> str:
    """Return the secret stored under `name` in the data folder, made once and readable by the owner only."""
    path = data_dir / name
    if not path.exists():
        private_folder(data_dir)
        draft = data_dir / f".{name}-{os.getpid()}-{secrets.token_hex(4)}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(make())
        with contextlib.suppress(FileExistsError):  # another process was first: its secret holds
            os.link(draft, path)
        draft.unlink()
    return path.read_text(encoding="ascii").strip()


def broker_folder(data_dir: Path) -> Path:
    """Return the folder of the embedded broker's data, log and process id."""
    return data_dir / "broker"


def broker_socket(data_dir: Path) -> Path:
    """Return the socket of the embedded broker; in the temporary folder where the data folder's path is too long."""
    path = broker_folder(data_dir) / "broker.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    digest = blake2b(os.fsencode(path), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir()) / f"evalsite-{os.getuid()}-{digest}" / "broker.sock"


def broker_password(data_dir: Path) -> str:
    """Return the embedded broker's password, made at first use."""
    return kept_secret(broker_folder(data_dir), "password", make=lambda: secrets.token_hex(32))


def broker_url(data_dir: Path) -> str:
    """Return the embedded broker's address for redis-py."""
    return f"unix://:{broker_password(data_dir)}@{quote(str(broker_socket(data_dir)))}?db=0"
