"""The web process, the database's connections or the broker die while people annotate: what was accepted stays."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from django.db import connection

from evalsite.review.models import Annotation, Assignment
from evalsite.review.models.items import number_at
from evalsite.serving.supervisor import web_command
from tests import databases
from tests.bench.bench_queue import sessions
from tests.bench.queue_rows import fill_queue
from tests.own_redis import OwnRedis
from tests.sizes import sized

REPOSITORY = Path(__file__).resolve().parents[3]
PEOPLE, BETWEEN, PATIENCE = 4, 15, 300.0


class Site:
    """gunicorn on the database of the test, without any broker unless told."""

    def __init__(self, folder: Path, *, redis_url: str = "redis://127.0.0.1:1/0") -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "EVALSITE_DATA_DIR": str(folder),
        }  # with the secret by which addresses are read here
        address = databases.address_of_test_database()
        self.environment |= {"EVALSITE_DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "evalsite.settings"}
        self.environment |= {"EVALSITE_LOG_LEVEL": "ERROR", "EVALSITE_REDIS_URL": redis_url}
        fill_queue(400, quorum=PEOPLE, name="Kill")
        self.people = sessions(PEOPLE)
        self.start()

    def start(self) -> None:
        command = web_command(address=f"127.0.0.1:{self.port}", web_processes=2)
        command += ["--threads", "2", "--log-level", "critical"]
        self.process = subprocess.Popen(command, cwd=REPOSITORY, env=self.environment, start_new_session=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        pytest.fail("gunicorn did not start")

    def kill(self) -> None:
        """Kill the web server and its workers outright."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Person(threading.Thread):
    """Somebody who answers until told to stop, and remembers what the server accepted."""

    def __init__(self, site: Site, name: str, cookie: str, stop: threading.Event) -> None:
        super().__init__(name=name)
        self.site, self.stop = site, stop
        self.answers: dict[str, str] = {}
        self.drafts: dict[str, str] = {}
        self.failures = 0
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.cookies.set("sessionid", cookie)
        self.headers = {"HX-Request": "true", "Referer": site.url}

    def post(self, path: str, values: dict[str, str]) -> str | None:
        try:
            if "X-CSRFToken" not in self.headers:
                page = self.session.get(f"{self.site.url}/review/", timeout=10).text
                found = re.search(r'"X-CSRFToken": ?"([^"]+)"|name="csrfmiddlewaretoken" value="([^"]+)"', page)
                if found is None:
                    return None
                self.headers["X-CSRFToken"] = found[1] or found[2]
            answer = self.session.post(self.site.url + path, data=values, headers=self.headers, timeout=10)
        except requests.RequestException:
            self.failures += 1
            time.sleep(0.1)
            return None
        if answer.status_code >= 400:
            self.failures += 1
            time.sleep(0.1)
            return None
        return answer.text

    def run(self) -> None:
        while not self.stop.is_set():
            panel = self.post("/review/queues/kill/next/", {}) or ""
            item = re.search(r'action="/review/items/(\w+)/annotate/"', panel)
            token = re.search(r'name="token" value="([^"]+)"', panel)
            if item is None or token is None:
                continue
            key, note = f"{self.name}:{number_at(item[1])}", f"{self.name} writes {time.monotonic()}"
            values = {"token": token[1], "label": "1", "note": note}
            if self.post(f"/review/items/{item[1]}/draft/", values) is not None:
                self.drafts[key] = note
            answer = self.post(f"/review/items/{item[1]}/annotate/", values)
            if answer is not None and f'data-draft-done="item-{item[1]}-' in answer:
                self.answers[key] = note


def check_nothing_lost(people: list[Person]) -> None:
    """Compare what the server accepted with what the database holds."""
    answers = {f"{row.annotator.username}:{row.item_id}": row.note for row in Annotation.objects.all()}
    claims = Assignment.objects.all()
    drafts = {f"{claim.annotator.username}:{claim.item_id}": claim.draft.get("note") for claim in claims}
    for person in people:
        missing = {key: note for key, note in person.answers.items() if answers.get(key) != note}
        assert missing == {}
        unanswered = {key: note for key, note in person.drafts.items() if key not in answers}
        assert {key: drafts.get(key) for key in unanswered} == unanswered


def annotate_while(site: Site, *acts: Callable[[list[Person]], None]) -> list[Person]:
    """Let people work, do each act once they have some more answers, and return the people once they stopped."""
    stop = threading.Event()
    people = [Person(site, name, cookie, stop) for name, cookie in site.people]
    for person in people:
        person.start()
    try:
        for act in acts:
            wait_for_answers(people, more=BETWEEN)
            act(people)
        wait_for_answers(people, more=BETWEEN)
    finally:
        stop.set()
        for person in people:
            person.join()
    return people


def wait_for_answers(people: list[Person], *, more: int) -> None:
    """Wait until the server has accepted so many answers more."""
    wanted = sum(len(person.answers) for person in people) + more
    wait_until(lambda: sum(len(person.answers) for person in people) >= wanted, f"{wanted} answers were not reached")


def wait_until(true: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.02)


@pytest.mark.backend_free  # what was committed stays on either backend
def test_killing_the_web_process_without_a_broker_loses_no_answer_and_no_draft(
    tmp_path: Path, transactional_db: None
) -> None:
    site = Site(tmp_path)

    def again(people: list[Person]) -> None:
        before = sum(person.failures for person in people)
        site.kill()
        wait_until(lambda: sum(person.failures for person in people) > before, "nobody felt the kill")
        site.start()

    try:
        people = annotate_while(site, again)
    finally:
        site.kill()

    assert sum(len(person.answers) for person in people) > 20
    assert sum(person.failures for person in people) > 0  # the kill was felt
    check_nothing_lost(people)


@pytest.mark.backend_free  # brings its own broker
def test_a_broker_that_dies_and_returns_empty_holds_nobody_up(
    tmp_path: Path, transactional_db: None, redis_server: OwnRedis
) -> None:
    site = Site(tmp_path, redis_url=redis_server.url)

    def lose(people: list[Person]) -> None:
        redis_server.kill()  # it keeps nothing

    def restore(people: list[Person]) -> None:
        redis_server.start()

    try:
        people = annotate_while(site, lose, restore)
    finally:
        site.kill()

    assert sum(person.failures for person in people) == 0  # no refusal, no 5xx
    check_nothing_lost(people)


@pytest.mark.sized
def test_a_database_that_drops_its_connections_loses_no_answer_and_no_draft(
    tmp_path: Path, transactional_db: None
) -> None:
    if not databases.ON_POSTGRES:
        pytest.skip("needs a PostgreSQL in EVALSITE_DATABASE_URL; `python -m tests.services` prints one")
    site = Site(tmp_path)
    connection.close()  # or it is cut with them

    def cut(people: list[Person]) -> None:
        name = connection.settings_dict["NAME"]
        with databases.server() as server:
            server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])

    try:
        people = annotate_while(site, *[cut] * sized(2, whole=5))
    finally:
        site.kill()

    assert sum(len(person.answers) for person in people) > 20
    check_nothing_lost(people)
