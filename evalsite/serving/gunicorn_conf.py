"""How gunicorn serves the site, however it is started: `gunicorn -c python:evalsite.serving.gunicorn_conf`.

Every name of a setting of gunicorn is one here; what its command line says comes before.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

from django.db import connections

wsgi_app = "evalsite.wsgi:application"
control_socket_disable = True
umask = 0o077  # what the site writes is its owner's
loglevel = "warning"

workers = 2
worker_class = "gthread"
threads = 12  # of each process: that many pages at once, and that many connections to the database
preload_app = True

# A kept connection stays open for longer than anybody thinks over an item: a server that closes it after gunicorn's
# two seconds meets the next request half-way, and the person's answer ends in a reset.
keepalive = 75
graceful_timeout = 5
timeout = 60
SILENCE_SECONDS = 15  # a client that stops in the middle of a request or of an answer holds a thread no longer


def when_ready(server: Any) -> None:
    """Let every connection time out: on Linux those accepted take it over from the socket that listens."""
    for listener in server.LISTENERS:
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            listener.sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", SILENCE_SECONDS, 0))


def pre_fork(server: object, worker: object) -> None:
    """Share no connection to the database with a process that is forked."""
    connections.close_all()
