"""Times a review queue of 100,000 items, and drains one of 2,000 with 50 people at once over real HTTP.

    python -m tests.bench.bench_queue [--items 100000] [--people 50] [--drain 2000] [--quorum 3] [--think 1 3]

Alone: server time of `next` and of `submit + next` (one request), against 50 ms at p95. Under load: the same by
50 signed-in sessions that think for 1 to 3 s, through gunicorn, against 250 ms at p95, twice: as the person waits for
it (queueing, network and the load generator included) and, for comparison, from the request received by a thread of
the server to its answer sent. Some people vanish in the middle of an item, some answer late. Afterwards the database
is asked whether every item has exactly its answers, by as many people, and whether a draft was lost. Runs on SQLite
and, where EVALSITE_DATABASE_URL names one, on PostgreSQL.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from tests.bench.queue_crowd import LEASE_SECONDS, Crowd, Site
from tests.bench.queue_rows import fill_queue
from tests.bench.sites import ONE_BACKEND, each_backend, say, start_django

ALONE_MS, LOADED_MS = 50.0, 250.0
RETEST_SHARE = 0.05  # what a queue has unless its owner says otherwise


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
    long_queue = fill_queue(options.items, quorum=options.quorum, name="Long queue", retest_share=RETEST_SHARE)
    say(f"{backend}: {options.items:,} items loaded in {time.perf_counter() - started:.0f} s")
    passed = alone(long_queue.slug, options.requests)
    people = sessions(options.people)
    short = fill_queue(options.drain, quorum=options.quorum, name="Short queue") if options.drain else None
    with Site(options.workers) as site:
        Crowd(site, long_queue.slug, options, vanishing=0.0).work(people, seconds=8)  # each process compiles templates
        crowd = Crowd(site, long_queue.slug, options, vanishing=0.0)
        crowd.work(people, seconds=options.loaded_seconds)
        passed &= tell(crowd, f"{options.people} on {options.items:,} items")
        if short is not None:
            drain = Crowd(site, short.slug, options, vanishing=0.02)
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
