"""What containers do before the site starts: make its secrets once, read them, and answer the health check.

container.py make           makes the secrets that are not there yet
container.py run COMMAND    starts a command with them in its environment
container.py probe          ends with 0 while the web server of this container serves pages
"""

from __future__ import annotations

import http.client
import os
import secrets
import sys
from pathlib import Path

NAMES = ("secret-key", "postgres-password", "valkey-password", "metrics-token")
PORT = 8000
SECONDS = 4


def make(folder: Path) -> None:
    """Make each secret that is missing, readable by the owner and the group of the folder."""
    for name in NAMES:
        try:
            opened = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o440)
        except FileExistsError:
            continue
        with os.fdopen(opened, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48))


def environment(folder: Path, given: dict[str, str]) -> dict[str, str]:
    """Return the variables of the site: those given, and from the secrets those that are not."""
    kept = {name: (folder / name).read_text(encoding="ascii").strip() for name in NAMES if (folder / name).exists()}
    made = {}
    if "secret-key" in kept:
        made["EVALSITE_SECRET_KEY"] = kept["secret-key"]
    if "metrics-token" in kept:
        made["EVALSITE_METRICS_TOKEN"] = kept["metrics-token"]
    if "postgres-password" in kept and "CONTAINER_POSTGRES" in given:
        made["EVALSITE_DATABASE_URL"] = (
            f"postgres://evalsite:{kept['postgres-password']}@{given['CONTAINER_POSTGRES']}/evalsite"
        )
    if "valkey-password" in kept and "CONTAINER_VALKEY" in given:
        made["EVALSITE_REDIS_URL"] = f"redis://:{kept['valkey-password']}@{given['CONTAINER_VALKEY']}/0"
    return made | given


def probe(given: dict[str, str]) -> bool:
    """Return whether the web server of this container serves pages."""
    host = given.get("EVALSITE_ALLOWED_HOSTS", "127.0.0.1").split(",")[0].strip()
    port = int(given.get("CONTAINER_PROBE_PORT", PORT))
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        connection.request("GET", "/readyz", headers={"Host": host})
        return connection.getresponse().status == 200
    except OSError:
        return False


def main(arguments: list[str]) -> int:
    """Do what is asked for."""
    folder = Path(os.environ.get("CONTAINER_SECRETS", "/secrets"))
    match arguments:
        case ["make"]:
            make(folder)
        case ["probe"]:
            return 0 if probe(dict(os.environ)) else 1
        case ["run", command, *rest]:
            os.execvpe(command, [command, *rest], environment(folder, dict(os.environ)))  # noqa: S606 - the image's own
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
