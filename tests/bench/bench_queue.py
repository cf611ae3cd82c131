"""Times a review queue of 100,000 items, and drains one of six questions with 50 people at once over real HTTP.

    python -m tests.bench.bench_queue [--items 100000] [--people 50] [--drain 1000] [--quorum 3] [--think 1 3]

Alone: server time of `next` and of `submit + next` (one request), against 50 ms at p95; of a queue with a form of six
questions at most 1.3 times the processor time of one with one question, asked in turn. A lead opens the queue, pages to
its end and filters it by person and by words, against 150 ms at p95. Under load: the same by 50 signed-in sessions that
think for 1 to 3 s, through gunicorn, against 250 ms at p95, twice: as the person waits for it (queueing, network and
the load generator included) and, for comparison, from the request received by a thread of the server to its answer
sent. Some people vanish in the middle of an item, some answer late. Afterwards the database is asked whether every item
has exactly its answers, by as many people and as they were sent, and whether a draft was lost. Runs on SQLite and,
where EVALSITE_DATABASE_URL names one, on PostgreSQL.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.bench.queue_crowd import LEASE_SECONDS, Crowd, Site
from tests.bench.queue_rows import SIX_QUESTIONS, fill_queue, six_answers
from tests.bench.sites import ONE_BACKEND, each_backend, say, start_django

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client

    from evalsite.review.models import Queue

ALONE_MS, LOADED_MS, LEAD_MS = 50.0, 250.0, 150.0
SIX_QUESTIONS_FACTOR = 1.3  # of the processor time of one question
RETEST_SHARE = 0.05  # what a queue has unless its owner says otherwise


def main() -> None:
    """Measure on each backend in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--drain", type=int, default=1_000)
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
    long_queue = fill_queue(options.items, quorum=options.quorum, name="Long queue", retest_share=RETEST_SHARE)
    say(f"{backend}: {options.items:,} items loaded in {time.perf_counter() - started:.0f} s")
    asking_six = fill_queue(options.items // 10, quorum=options.quorum, name="Six questions", form=SIX_QUESTIONS)
    passed = alone(long_queue.slug, asking_six.slug, options.requests)
    passed &= leading(long_queue, options.requests // 10)
    people = sessions(options.people)
    short = None
    if options.drain:
        short = fill_queue(options.drain, quorum=options.quorum, name="Short queue", form=SIX_QUESTIONS)
    with Site(options.workers) as site:
        Crowd(site, long_queue.slug, options, vanishing=0.0).work(people, seconds=8)  # each process compiles templates
        crowd = Crowd(site, long_queue.slug, options, vanishing=0.0)
        crowd.work(people, seconds=options.loaded_seconds)
        passed &= tell(crowd, f"{options.people} on {options.items:,} items")
        if short is not None:
            drain = Crowd(site, short.slug, options, vanishing=0.02, has_form=True)
            drain.work(people, seconds=3600)
            passed &= tell(drain, f"{options.people} drain {options.drain:,} items")
            passed &= check_drained(short.pk, options, drain)
    return passed


def tell(crowd: Crowd, name: str) -> bool:
    """Print a crowd's figures and return whether they are within the limits."""
    passed = True
    for act, ending, times in (
        ("next", "/next/", crowd.next_times),
        ("submit and next", "/annotate/", crowd.submit_times),
    ):
        passed &= tell_times(f"{name}: {act}", times, LOADED_MS)
        tell_times("    of it in the server", crowd.site.served(ending, since=crowd.log_start), LOADED_MS)
    clean = not crowd.server_errors and not crowd.trouble
    say(
        f"  {'pass' if clean else 'FAIL'}  {crowd.accepted:,} answers, {crowd.vanished} vanished, {crowd.late_refused} "
        f"late refused with their text, {crowd.late_counted} late but in time, {crowd.server_errors} answers of 5xx, "
        f"{len(crowd.trouble)} resets and other trouble {crowd.trouble[:3]}"
    )
    say(
        f"        {crowd.requests:,} requests in {crowd.wall_seconds:.0f} s; processor time of a request: server "
        f"{crowd.server_seconds / max(1, crowd.requests) * 1000:.1f} ms, load generator "
        f"{crowd.own_seconds / max(1, crowd.requests) * 1000:.1f} ms; load of the machine {os.getloadavg()[0]:.1f}"
    )
    return passed and clean


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


def alone(slug: str, slug_of_six: str, requests: int) -> bool:
    """Time one person's requests in this process, in turn of a queue with one question and of one with six."""
    from django.test import Client

    from evalsite.accounts.roles import Role
    from tests import factories

    client = Client(headers={"HX-Request": "true", "host": "127.0.0.1"})
    person = factories.user("alone", Role.ANNOTATOR)
    client.force_login(person)
    one, six = Times(), Times()
    for number in range(requests + 10):
        for times, queue in ((one, slug), (six, slug_of_six)):
            answer_one(client, person, queue, times if number >= 10 else Times())  # the first ones compile templates
    passed = tell_times("alone: next", one.next, ALONE_MS)
    passed &= tell_times("alone: submit and next", one.submit, ALONE_MS)
    tell_times("six questions: next", six.next, ALONE_MS)
    tell_times("six questions: submit and next", six.submit, ALONE_MS)
    factor = percentiles(six.work)[0] / percentiles(one.work)[0]
    fits = factor <= SIX_QUESTIONS_FACTOR
    say(f"  {'pass' if fits else 'FAIL'}  processor time of six questions: {factor:.2f} times that of one")
    return passed and fits


def leading(queue: Queue, requests: int) -> bool:
    """Time a lead who opens a queue, pages to its end, and filters it by who annotated and by words of its texts."""
    from django.test import Client

    from evalsite.accounts.roles import Role
    from tests import factories

    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(factories.user("lead", Role.RESEARCHER))
    last, everywhere, once = f"page={queue.total_count // 50}", "text=replaced", f"text={queue.total_count // 2}"
    passed = True
    for query in ("", last, "person=alone", everywhere, f"{everywhere}&{last}", once):
        times = []
        for number in range(requests + 2):
            started = time.perf_counter()
            page = client.get(f"{queue.get_absolute_url()}?{query}")
            assert page.status_code == 200, page.status_code
            times += [time.perf_counter() - started] if number >= 2 else []  # the first ones compile templates
        passed &= tell_times(f"lead: ?{query}", times, LEAD_MS)
    return passed


@dataclass
class Times:
    """Seconds of one person's requests, and the processor time of next, submit and next together."""

    next: list[float] = field(default_factory=list)
    submit: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)


def answer_one(client: Client, person: User, slug: str, times: Times) -> None:
    """Take an item of a queue and answer it."""
    from django.urls import reverse

    from evalsite.review.models import Assignment, Queue
    from evalsite.review.questions.forms import PREFIX

    queue = Queue.objects.get(slug=slug)
    started, worked = time.perf_counter(), time.process_time()
    answer = client.post(reverse("review:item-next", args=[slug]))
    times.next.append(time.perf_counter() - started)
    work = time.process_time() - worked
    claim = Assignment.objects.filter(annotator=person, queue=queue, status="leased").latest("claimed_at")
    said = {f"{PREFIX}{key}": text for key, text in six_answers(claim.item_id).items()}
    values = {"token": str(claim.token), "note": "as it says"} | (said if queue.form else {"label": "1"})
    started, worked = time.perf_counter(), time.process_time()
    done = client.post(reverse("review:item-annotate", args=[claim.item_id]), values)
    times.submit.append(time.perf_counter() - started)
    times.work.append(work + time.process_time() - worked)
    if answer.status_code != 200 or done.status_code != 200 or "Saved" not in done.get("HX-Trigger", ""):
        raise SystemExit(f"next {answer.status_code}, submit {done.status_code}")


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
        client.force_login(person)
        found.append((name, client.cookies["sessionid"].value))
    return found


def check_drained(queue_id: int, options: argparse.Namespace, crowd: Crowd) -> bool:
    """Ask the database whether every item got exactly its answers, and every draft of the vanished is still there."""
    from django.db.models import Count

    from evalsite.review.models import Annotation, Assignment, ReviewItem
    from evalsite.review.questions.forms import PREFIX, value_text

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
    stored = {
        (row.annotator.username, row.item_id): {key: value_text(value) for key, value in row.parts.items()}
        for row in Annotation.objects.filter(queue_id=queue_id).select_related("annotator")
    }
    sent = {
        key: {name.removeprefix(PREFIX): text for name, text in said.items() if name.startswith(PREFIX)}
        for key, said in crowd.given.items()
    }
    changed = sum(len(stored.get(key, {})) != len(said) or unlike(stored[key], said) for key, said in sent.items())
    good = not wrong.count() and not twice.count() and not lost and not changed
    say(
        f"  {'pass' if good else 'FAIL'}  {items.count():,} items: {wrong.count()} without exactly {options.quorum} "
        f"answers by {options.quorum} people, {twice.count()} twice to one person, {lost} drafts lost; {changed} of "
        f"{len(sent):,} forms not stored as sent"
    )
    return good


def unlike(stored: dict[str, str], said: dict[str, str]) -> bool:
    """Return whether six stored answers are not those that were sent; which side a preference is for aside."""
    return {key: text.lstrip("-") for key, text in stored.items()} != {
        key: text.lstrip("-") for key, text in said.items()
    }


if __name__ == "__main__":
    main()
