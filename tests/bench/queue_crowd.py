"""People who answer a queue over real HTTP, and the web server they use.

The load generator shares the machine with what it measures, so it is kept lean: one plain connection per person, which
is never replaced silently; what the server's user would see as a reset ends that person's work and fails the bench.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from evalsite.review.questions.forms import PREFIX
from evalsite.serving.supervisor import web_command
from tests.bench.queue_rows import six_answers

LEASE_SECONDS = 20  # short, so that slots of people who vanished come back within the bench
LOOKING_AGAIN = 0.1  # share of items that people come back to from the queue's page, as after a break
REPOSITORY = Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")


def _number_of(item: str) -> int:
    """Return the number behind an item's address."""
    from evalsite.review.models.items import number_at  # late: models need settings

    return number_at(item)


class Site:
    """The web server with this backend's database, as `make serve` starts it, without workers for jobs."""

    def __init__(self, workers: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.log = Path(tempfile.mkdtemp(prefix="evalsite-bench-log-")) / "access"
        command = web_command(address=f"127.0.0.1:{self.port}", web_processes=workers)
        command += ["--access-logfile", str(self.log), "--access-logformat", "%(s)s %(D)s %(U)s"]
        self.process = subprocess.Popen(command, cwd=REPOSITORY, env=dict(os.environ))

    def __enter__(self) -> Site:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.1)
        raise SystemExit("gunicorn did not start")

    def __exit__(self, *error: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
        self.log.unlink(missing_ok=True)
        self.log.parent.rmdir()

    def cpu_seconds(self) -> float:
        """Return the processor time of the server's processes so far; 0 where the system does not tell."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        pids = [self.process.pid, *map(int, children.read_text().split())] if children.exists() else []
        ticks = 0
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])  # user and system
        return ticks / TICKS

    def served(self, ending: str, *, since: int) -> list[float]:
        """Return the seconds from a request received to its answer sent, of those to addresses with this ending."""
        with self.log.open() as lines:
            lines.seek(since)
            rows = (line.split() for line in lines)
            return [int(row[1]) / 1e6 for row in rows if len(row) == 3 and row[2].endswith(ending)]


@dataclass
class Crowd:
    """People who answer a queue at the same time, each in a thread with a session of their own."""

    site: Site
    slug: str
    options: argparse.Namespace
    vanishing: float  # share of items that a person leaves in the middle
    has_form: bool = False  # six questions rather than one
    given: dict[tuple[str, int], dict[str, str]] = field(default_factory=dict)  # what was accepted, by person and item
    next_times: list[float] = field(default_factory=list)
    submit_times: list[float] = field(default_factory=list)
    requests: int = 0
    server_errors: int = 0
    vanished: int = 0
    late_refused: int = 0
    late_counted: int = 0
    accepted: int = 0
    drafts: dict[tuple[str, int], str] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    log_start: int = 0
    server_seconds: float = 0.0  # of processor time
    own_seconds: float = 0.0
    wall_seconds: float = 0.0

    def work(self, people: list[tuple[str, str]], *, seconds: float) -> None:
        """Let everybody open the site, then work until nothing is left for them or the time is over."""
        arrived = [Annotator(self, name, cookie) for name, cookie in people]
        self.requests = 0
        self.log_start = self.site.log.stat().st_size if self.site.log.exists() else 0
        server, own, started = self.site.cpu_seconds(), time.process_time(), time.monotonic()
        until = started + seconds
        threads = [threading.Thread(target=self._person, args=(person, until)) for person in arrived]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.server_seconds = self.site.cpu_seconds() - server
        self.own_seconds = time.process_time() - own
        self.wall_seconds = time.monotonic() - started

    def _person(self, person: Annotator, until: float) -> None:
        try:
            person.work(until)
        except Exception as error:
            self.trouble.append(f"{person.name}: {type(error).__name__} {error}")
        finally:
            person.connection.close()


class Annotator:
    """One person's session: takes items, thinks, types a draft, answers."""

    def __init__(self, crowd: Crowd, name: str, cookie: str) -> None:
        self.crowd, self.name = crowd, name
        self.random = random.Random(name)
        self.connection = http.client.HTTPConnection("127.0.0.1", crowd.site.port, timeout=120)
        self.cookies = {"sessionid": cookie}
        page, headers = self._send("GET", "/review/")
        token = re.search(r'"X-CSRFToken": ?"([^"]+)"', page)
        cookie_set = re.search(r"csrftoken=([^;]+)", headers.get("Set-Cookie", ""))
        if token is None or cookie_set is None:
            raise RuntimeError(f"no token on {page[:300]!r}")
        self.cookies["csrftoken"] = cookie_set[1]
        self.headers = {"HX-Request": "true", "X-CSRFToken": token[1], "Origin": f"http://127.0.0.1:{crowd.site.port}"}
        self.headers["Content-Type"] = "application/x-www-form-urlencoded"

    def _send(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[str, http.client.HTTPMessage]:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self.connection.request(method, path, body, {"Cookie": cookie} | (headers or {}))
        answer = self.connection.getresponse()
        text = answer.read().decode()
        self.crowd.requests += 1
        if answer.status >= 500:
            self.crowd.server_errors += 1
        elif answer.status >= 300:
            self.crowd.trouble.append(f"{self.name}: {path} {answer.status}")
        return text, answer.headers

    def post(self, path: str, values: dict[str, str], times: list[float] | None = None) -> tuple[str, str]:
        """Send a form as htmx does; return the fragment and what the toast says."""
        started = time.perf_counter()
        text, headers = self._send("POST", path, urlencode(values), self.headers)
        if times is not None:
            times.append(time.perf_counter() - started)
        told = headers.get("HX-Trigger")
        return text, json.loads(told)["toast"]["text"] if told else ""

    def work(self, until: float) -> None:
        """Answer until nothing is left; people do not all arrive in the same instant."""
        time.sleep(self.random.uniform(0, self.crowd.options.think[1]))
        panel = self._next()
        while time.monotonic() < until:
            found = re.search(r'action="/review/items/(\w+)/annotate/"', panel)
            token = re.search(r'name="token" value="([^"]+)"', panel)
            if found and token:
                panel = self._next() if self.random.random() < LOOKING_AGAIN else self._answer(found[1], token[1])
            elif "All items of this queue" in panel or "waiting for other people" in panel:
                return
            elif "The last items are assigned" in panel:
                time.sleep(self.random.uniform(*self.crowd.options.think))
                panel = self._next()
            else:
                raise RuntimeError(f"unexpected page: {panel[:300]!r}")

    def _next(self) -> str:
        return self.post(f"/review/queues/{self.crowd.slug}/next/", {}, self.crowd.next_times)[0]

    def _answer(self, item: str, token: str) -> str:
        low, high = self.crowd.options.think
        note = f"{self.name} on {item}: the first step is right"
        time.sleep(self.random.uniform(low, high) / 2)
        said = self._said(item)
        self.post(f"/review/items/{item}/draft/", {"token": token, "note": note} | said)
        time.sleep(self.random.uniform(low, high) / 2)
        if self.random.random() < self.crowd.vanishing:
            return self._vanish(item, token, note)
        values = {"token": token, "note": note} | said
        panel, toast = self.post(f"/review/items/{item}/annotate/", values, self.crowd.submit_times)
        if toast == "Saved":
            self.crowd.accepted += 1
            self.crowd.given[self.name, _number_of(item)] = said
        else:
            self.crowd.trouble.append(f"{self.name}: the answer to {item} was refused")
        return panel

    def _said(self, item: str) -> dict[str, str]:
        """Return the fields of this person's answer to an item."""
        if not self.crowd.has_form:
            return {"label": self.random.choice(("1", "1", "0", "-1"))}
        answers = six_answers(_number_of(item) + int(self.name.rpartition("-")[2]))
        return {f"{PREFIX}{key}": text for key, text in answers.items()}

    def _vanish(self, item: str, token: str, note: str) -> str:
        """Leave for longer than a lease; then half of them send their answer late."""
        self.crowd.vanished += 1
        time.sleep(LEASE_SECONDS + 3)
        self.crowd.drafts[self.name, _number_of(item)] = note
        if self.random.random() < 0.5:
            values = {"token": token, "note": note} | self._said(item)
            answer, toast = self.post(f"/review/items/{item}/annotate/", values)
            if toast == "Saved":  # nobody had taken the slot over
                self.crowd.late_counted += 1
            else:
                self.crowd.late_refused += 1
                if note not in answer:
                    self.crowd.trouble.append(f"{self.name}: the late answer's text is not on the page")
        return self._next()
