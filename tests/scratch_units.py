"""`systemctl` of a scratch server: starts the units of a folder as processes, whose ids it notes for who ends them.

    python -m tests.scratch_units FOLDER enable --now evalsite-web.socket evalsite-web

Paths of the system lie below the folder. Users of units are not: everything runs as who calls.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

# As systemd hands a socket over: as descriptor 3, with the number of sockets and of the process that they are for.
ACTIVATED = 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3<&0'
PIDS = "pids"
WEB_PORT = "SCRATCH_WEB_PORT"  # in place of the one in the unit of the socket
SYSTEM_PATH = re.compile(r"(?<![\w.}])/(srv|etc|var)/")
CADDY_OPTIONS = "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n"


def moved(text: str, folder: Path) -> str:
    """Return a text with the paths of the system below a folder."""
    return SYSTEM_PATH.sub(rf"{folder}/\1/", text)


def activated(
    command: list[str], listening: socket.socket, log: Path, environment: dict[str, str], folder: Path
) -> subprocess.Popen[bytes]:
    """Start a command with a socket that listens, as systemd does."""
    words = ["sh", "-c", ACTIVATED, "sh", *command]
    with log.open("ab") as file:
        return subprocess.Popen(words, cwd=folder, env=environment, stdin=listening.fileno(), stdout=file, stderr=file)


class Units:
    """The units in the folder of a scratch server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def text(self, name: str) -> str:
        """Return what a unit says, with its instance and with paths of the scratch server."""
        base, _, kind = name.rpartition(".")
        template, at, instance = base.partition("@")
        path = self.folder / "etc" / "systemd" / "system" / f"{template}{at}.{kind}"
        return moved(path.read_text().replace("%i", instance), self.folder)

    def values(self, name: str, key: str) -> list[str]:
        """Return what a unit says about a key, line by line."""
        return re.findall(rf"^{key}=(.*)$", self.text(name), flags=re.MULTILINE)

    def start(self, name: str) -> None:
        """Start a service. A socket is opened with the service that needs it; a timer needs its service to be there."""
        if name.endswith((".socket", ".timer")):
            self.text(f"{name.rpartition('.')[0]}.service")
            return
        name = f"{name}.service"
        environment = dict(os.environ)
        for given in self.values(name, "EnvironmentFile"):
            lines = Path(given).read_text().splitlines()
            environment |= {key: value for key, _, value in (line.partition("=") for line in lines)}
        (directory,) = map(Path, self.values(name, "WorkingDirectory"))
        for command in self.values(name, "ExecStartPre"):
            subprocess.run(command.split(), cwd=directory, env=environment, check=True)
        (command,) = self.values(name, "ExecStart")
        log = self.folder / f"{name}.log"
        sockets = [part for part in self.values(name, "Requires") if part.endswith(".socket")]
        if sockets:
            (address,) = self.values(sockets[0], "ListenStream")
            host, _, port = address.partition(":")
            with socket.create_server((host, int(os.environ.get(WEB_PORT, port))), backlog=4096) as listening:
                self.note(activated(command.split(), listening, log, environment, directory))
        else:
            with log.open("ab") as file:
                self.note(subprocess.Popen(command.split(), cwd=directory, env=environment, stdout=file, stderr=file))

    def start_caddy(self) -> None:
        """Start Caddy with the file of the scratch server, and certificates of its own authority."""
        config = self.folder / "etc" / "caddy" / "Caddyfile"
        config.write_text(CADDY_OPTIONS + config.read_text())
        with (self.folder / "caddy.log").open("ab") as file:
            command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(config)]
            self.note(subprocess.Popen(command, stdout=file, stderr=file))

    def note(self, process: subprocess.Popen[bytes]) -> None:
        """Note a process for who ends them all."""
        with (self.folder / PIDS).open("a") as file:
            file.write(f"{process.pid}\n")


def main(arguments: list[str]) -> int:
    """Do what systemctl is asked for."""
    units = Units(Path(arguments[0]))
    match arguments[1:]:
        case ["daemon-reload"]:
            pass
        case ["restart", "caddy"]:
            units.start_caddy()
        case ["enable", "--now", *names]:
            for name in names:
                units.start(name)
        case _:
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
