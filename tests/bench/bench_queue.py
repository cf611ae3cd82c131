"""Times a review queue of 100,000 items, and drains one of 2,000 with 50 people at once over real HTTP.

    python -m tests.bench.bench_queue [--items 100000] [--people 50] [--drain 2000] [--quorum 3] [--think 1 3]

Alone: server time of `next` and of `submit + next` (one request), against 50 ms at p95. Under load: the same by
50 signed-in sessions that think for 1 to 3 s, through gunicorn, against 250 ms at p95; some of them vanish in the
middle of an item, some answer late. Afterwards the database is asked whether every item has exactly its answers, by as
many people, and whether a draft was lost. Runs on SQLite and, where EVALSITE_DATABASE_URL names one, on PostgreSQL.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

from tests.bench.queue_rows import fill_queue
from tests.bench.sites import ONE_BACKEND, each_backend, say, start_django

ALONE_MS, LOADED_MS = 50.0, 250.0
LEASE_SECONDS = 20  # short, so that slots of people who vanished come back within the bench
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main() -> None:
    """Measure on each backend in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--drain", type=int, default=2_000)
    parser.add_argument("--quorum", type=int, default=3)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--think", type=float, nargs=2, default=(1.0, 3.0))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--loaded-seconds", type=float, default=60.0, help="of load on the long queue")
    options = parser.parse_args()
    if ONE_BACKEND not in os.environ:
        os.environ["EVALSITE_REVIEW_LEASE_SECONDS"] = str(LEASE_SECONDS)
        sys.exit(each_backend("tests.bench.bench_queue"))
    sys.exit(0 if measure(options) else 1)


def measure(options: argparse.Namespace) -> bool:
    """Print every figure of one backend and return whether all are within their limits."""
    start_django()
    import logging

    logging.disable(logging.WARNING)
    backend = os.environ[ONE_BACKEND]
    started = time.perf_counter()
    long_queue = fill_queue(options.items, quorum=options.quorum, name="Long queue")
    say(f"{backend}: {options.items:,} items loaded in {time.perf_counter() - started:.0f} s")
    passed = alone(long_queue.slug, options.requests)
    with Site(options.workers) as site:
        Crowd(site, long_queue.slug, options, vanishing=0.0).work(seconds=8)  # each process compiles its templates
        crowd = Crowd(site, long_queue.slug, options, vanishing=0.0)
        crowd.work(seconds=options.loaded_seconds)
        passed &= crowd.tell(f"{options.people} people on {options.items:,} items", limit_ms=LOADED_MS)
        if options.drain:
            short = fill_queue(options.drain, quorum=options.quorum, name="Short queue")
            drain = Crowd(site, short.slug, options, vanishing=0.02)
            drain.work(seconds=3600)
            passed &= drain.tell(f"{options.people} people drain {options.drain:,} items", limit_ms=LOADED_MS)
            passed &= check_drained(short.pk, options, drain)
    return passed


def percentiles(times: list[float]) -> tuple[float, float]:
    """Return p50 and p95 in milliseconds."""
    ranked = sorted(times)
    return ranked[len(ranked) // 2] * 1000, ranked[min(len(ranked) - 1, int(len(ranked) * 0.95))] * 1000


def tell_times(name: str, times: list[float], limit_ms: float) -> bool:
    """Print one line and return whether p95 is within the limit."""
    if not times:
        say(f"  FAIL  {name}: nothing was measured")
        return False
    middle, high = percentiles(times)
    passes = high <= limit_ms
    verdict = "pass" if passes else "FAIL"
    say(f"  {verdict}  {name:<44} p50 {middle:6.1f} ms  p95 {high:6.1f} ms  of {len(times):,}  (limit {limit_ms:.0f})")
    return passes


def alone(slug: str, requests: int) -> bool:
    """Time one person's requests in this process: the server's work without the network."""
    from django.test import Client
    from django.urls import reverse

    from evalsite.accounts.roles import Role
    from evalsite.review.models import Assignment
    from tests import factories

    client = Client(headers={"HX-Request": "true", "host": "127.0.0.1"})
    person = factories.user("alone", Role.ANNOTATOR)
    client.force_login(person)
    next_times, submit_times = [], []
    next_url = reverse("review:item-next", args=[slug])
    for number in range(requests + 10):
        started = time.perf_counter()
        answer = client.post(next_url)
        taken = time.perf_counter()
        claim = Assignment.objects.filter(annotator=person, status="leased").latest("claimed_at")
        values = {"token": str(claim.token), "label": "1", "note": "as it says"}
        sent = time.perf_counter()
        done = client.post(reverse("review:item-annotate", args=[claim.item_id]), values)
        ended = time.perf_counter()
        if answer.status_code != 200 or done.status_code != 200:
            raise SystemExit(f"next {answer.status_code}, submit {done.status_code}")
        if number >= 10:  # the first ones compile templates
            next_times.append(taken - started)
            submit_times.append(ended - sent)
    passed = tell_times("alone: next", next_times, ALONE_MS)
    return tell_times("alone: submit and next", submit_times, ALONE_MS) and passed


class Site:
    """gunicorn with this backend's database, as `make serve` starts it, without workers for jobs."""

    def __init__(self, workers: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "gunicorn", "evalsite.wsgi:application", "--bind", f"127.0.0.1:{self.port}"]
        command += ["--workers", str(workers), "--threads", "4", "--log-level", "error", "--timeout", "120"]
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


@dataclass
class Crowd:
    """People who answer a queue at the same time, each in a thread with a session of their own."""

    site: Site
    slug: str
    options: argparse.Namespace
    vanishing: float  # share of items that a person leaves in the middle
    next_times: list[float] = field(default_factory=list)
    submit_times: list[float] = field(default_factory=list)
    server_errors: int = 0
    vanished: int = 0
    late_refused: int = 0
    accepted: int = 0
    drafts: dict[tuple[str, int], str] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)

    def work(self, *, seconds: float) -> None:
        """Let everybody work until nothing is left for them, or the time is over."""
        cookies = sessions(self.options.people)
        until = time.monotonic() + seconds
        people = [threading.Thread(target=self._person, args=(name, cookie, until)) for name, cookie in cookies]
        for person in people:
            person.start()
        for person in people:
            person.join()

    def _person(self, name: str, cookie: str, until: float) -> None:
        try:
            Annotator(self, name, cookie).work(until)
        except Exception as error:
            self.trouble.append(f"{name}: {type(error).__name__} {error}")

    def tell(self, name: str, *, limit_ms: float) -> bool:
        """Print the figures and return whether they are within the limits."""
        passed = tell_times(f"{name}: next", self.next_times, limit_ms)
        passed &= tell_times(f"{name}: submit and next", self.submit_times, limit_ms)
        clean = not self.server_errors and not self.trouble
        say(
            f"  {'pass' if clean else 'FAIL'}  {self.accepted:,} answers, {self.vanished} vanished, "
            f"{self.late_refused} late refused with their text, {self.server_errors} answers of 5xx {self.trouble[:3]}"
        )
        return passed and clean


class Annotator:
    """One person's session: takes items, thinks, types a draft, answers."""

    def __init__(self, crowd: Crowd, name: str, cookie: str) -> None:
        import requests

        self.crowd, self.name = crowd, name
        self.random = random.Random(name)
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.cookies.set("sessionid", cookie)
        page = self.session.get(f"{crowd.site.url}/review/", timeout=60)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"|"X-CSRFToken": ?"([^"]+)"', page.text)
        csrf = (token[1] or token[2]) if token else ""
        self.headers = {"HX-Request": "true", "X-CSRFToken": csrf, "Referer": crowd.site.url}

    def post(self, path: str, values: dict[str, str], times: list[float] | None = None) -> str:
        """Send a form as htmx does, and return the fragment."""
        started = time.perf_counter()
        answer = self.session.post(
            self.crowd.site.url + path, data=values, headers=self.headers, timeout=120, allow_redirects=False
        )
        if times is not None:
            times.append(time.perf_counter() - started)
        if answer.status_code >= 500:
            self.crowd.server_errors += 1
        elif answer.status_code >= 400:
            self.crowd.trouble.append(f"{self.name}: {path} {answer.status_code}")
        return answer.text

    def work(self, until: float) -> None:
        """Answer until nothing is left; people do not all arrive in the same instant."""
        time.sleep(self.random.uniform(0, self.crowd.options.think[1]))
        panel = self.post(f"/review/queues/{self.crowd.slug}/next/", {}, self.crowd.next_times)
        while time.monotonic() < until:
            found = re.search(r'action="/review/items/(\d+)/annotate/"', panel)
            token = re.search(r'name="token" value="([^"]+)"', panel)
            if not found or not token:
                if "wait for other people" in panel or "answered" in panel or "Nothing" in panel:
                    if self._is_drained():
                        return
                    time.sleep(1.0)
                    panel = self.post(f"/review/queues/{self.crowd.slug}/next/", {}, self.crowd.next_times)
                    continue
                raise RuntimeError(f"unexpected page: {panel[:300]!r}")
            panel = self._answer(int(found[1]), token[1])

    def _is_drained(self) -> bool:
        page = self.session.get(f"{self.crowd.site.url}/review/queues/{self.crowd.slug}/", timeout=120).text
        return self._nothing_open(page)

    def _nothing_open(self, page: str) -> bool:
        with DRAINED_LOCK:
            from django.db import connection

            from evalsite.review.models import Queue

            left = Queue.objects.values_list("open_count", flat=True).get(slug=self.crowd.slug)
            connection.close()
        return bool(page) and not left

    def _answer(self, item: int, token: str) -> str:
        low, high = self.crowd.options.think
        note = f"{self.name} on {item}: the first step is right"
        time.sleep(self.random.uniform(low, high) / 2)
        self.post(f"/review/items/{item}/draft/", {"token": token, "label": "1", "note": note})
        time.sleep(self.random.uniform(low, high) / 2)
        if self.random.random() < self.crowd.vanishing:
            return self._vanish(item, token, note)
        values = {"token": token, "label": self.random.choice(("1", "1", "0", "-1")), "note": note}
        answer = self.post(f"/review/items/{item}/annotate/", values, self.crowd.submit_times)
        self.crowd.accepted += 1
        return answer

    def _vanish(self, item: int, token: str, note: str) -> str:
        """Leave for longer than a lease; then half of them send their answer late."""
        self.crowd.vanished += 1
        time.sleep(LEASE_SECONDS + 3)
        self.crowd.drafts[self.name, item] = note
        if self.random.random() < 0.5:
            answer = self.post(f"/review/items/{item}/annotate/", {"token": token, "label": "1", "note": note})
            if "not counted" in answer or "no longer hold" in answer or "took over" in answer:
                self.crowd.late_refused += 1
                if note not in answer:
                    self.crowd.trouble.append(f"{self.name}: the late answer's text is not on the page")
            else:
                self.crowd.drafts.pop((self.name, item))
        return self.post(f"/review/queues/{self.crowd.slug}/next/", {}, self.crowd.next_times)


DRAINED_LOCK = threading.Lock()


def sessions(people: int) -> list[tuple[str, str]]:
    """Return a name and a session cookie for each annotator, made on the first call."""
    from django.contrib.auth.models import User
    from django.test import Client

    from evalsite.accounts.roles import Role
    from tests import factories

    found = []
    for number in range(people):
        name = f"annotator-{number}"
        person = User.objects.filter(username=name).first() or factories.user(name, Role.ANNOTATOR)
        client = Client()
        client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        found.append((name, client.cookies["sessionid"].value))
    return found


def check_drained(queue_id: int, options: argparse.Namespace, crowd: Crowd) -> bool:
    """Ask the database whether every item got exactly its answers, and every draft of the vanished is still there."""
    from django.db.models import Count

    from evalsite.review.models import Annotation, Assignment, ReviewItem

    items = ReviewItem.objects.filter(queue_id=queue_id)
    wrong = items.annotate(n=Count("annotations"), people=Count("annotations__annotator", distinct=True)).exclude(
        n=options.quorum, people=options.quorum
    )
    twice = (
        Annotation.objects.filter(queue_id=queue_id).values("item", "annotator").annotate(n=Count("pk")).filter(n__gt=1)
    )
    lost = 0
    for (name, item), note in crowd.drafts.items():
        claim = Assignment.objects.filter(item_id=item, annotator__username=name).first()
        answered = Annotation.objects.filter(item_id=item, annotator__username=name, note=note).exists()
        lost += not answered and (claim is None or claim.draft.get("note") != note)
    good = not wrong.count() and not twice.count() and not lost
    say(
        f"  {'pass' if good else 'FAIL'}  {items.count():,} items: {wrong.count()} without exactly {options.quorum} "
        f"answers by {options.quorum} people, {twice.count()} twice to one person, {lost} drafts lost"
    )
    return good


if __name__ == "__main__":
    main()
