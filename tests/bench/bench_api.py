"""The API under load: 10,000 responses upserted, 100,000 scores streamed, and a page that a client polls.

    python -m tests.bench.bench_api

Everything runs in one process, so that its processor time is that of the site, workers included; and so is the memory
that streaming takes, which is printed for a tenth of the rows and for all. Bars: 5 s for the first import, 10 ms a
poll, and no more than 64 MB above what the first tenth of the rows takes. A fresh database each, as in other benches.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from typing import Any

from tests.bench.sites import ONE_BACKEND, each_backend, say, start_django

RESPONSES, SYSTEMS, SCORES, POLLS = 10_000, 10, 100_000, 50
IMPORT_BAR, POLL_BAR_MS, MEMORY_BAR_MB = 5.0, 10.0, 64.0


def main() -> None:
    """Measure on each backend in a process of its own, since settings are read once."""
    if ONE_BACKEND in os.environ:
        sys.exit(0 if measure() else 1)
    sys.exit(each_backend("tests.bench.bench_api"))


def measure() -> bool:
    """Print each figure beside its bar, and return whether all hold."""
    start_django()
    import logging

    logging.disable(logging.WARNING)
    from django.conf import settings

    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nobody listens: jobs are done here, and no request is held up
    from tests.bench.page_rows import load_run

    load_run(SCORES // 3)  # three judges
    client, suite = _client(), _computed()
    first, again = (_import(client) for _ in range(2))
    say(f"  {_mark(first <= IMPORT_BAR)}  {RESPONSES:,} responses imported: processor {first:.1f} s")
    say(f"        the same again, all stored: processor {again:.1f} s")
    held = _stream(client, suite)
    poll = _poll(client)
    say(f"  {_mark(poll <= POLL_BAR_MS)}  a poll of a run: processor {poll:.1f} ms")
    return first <= IMPORT_BAR and held and poll <= POLL_BAR_MS


def _mark(holds: bool) -> str:
    return "pass" if holds else "FAIL"


def _client() -> Any:
    from django.contrib.auth.models import User
    from django.test import Client
    from django.utils import timezone

    from evalsite.accounts.roles import Scope
    from evalsite.api.tokens import make_token

    owner = User.objects.get(username="bench-admin")
    text = make_token(owner=owner, name="bench", scopes=Scope, days=1, at=timezone.now()).secret
    return Client(headers={"authorization": f"Bearer {text}"}, SERVER_NAME="127.0.0.1")


def _computed() -> int:
    """Compute the results of the suite that is loaded, and return its number."""
    from judging.models import Suite
    from tests.bench.bench_pages import compute_results

    suite = Suite.objects.get()
    compute_results(suite.pk)
    return suite.pk


def _import(client: Any) -> float:
    """Return the processor seconds of an upload, its check and its import."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    from judging.jobs import work_import
    from judging.models import Response, Upload

    rows = (
        {"id": f"case-{n}", "question": f"Question {n}?", "system": f"model {m}", "response": f"Answer {m} to {n}."}
        for n in range(RESPONSES // SYSTEMS)
        for m in range(SYSTEMS)
    )
    content = "\n".join(map(json.dumps, rows)).encode()
    started = time.process_time()
    file = SimpleUploadedFile("rows.jsonl", content)
    made = client.post("/api/v1/uploads", {"uploaded": file, "benchmark": "Uploaded"}).json()
    work_import(made["id"])
    client.post(f"/api/v1/uploads/{made['id']}/confirm", content_type="application/json")
    work_import(made["id"])
    seconds = time.process_time() - started
    upload = Upload.objects.get(pk=made["id"])
    assert upload.status == "done", (upload.status, upload.problems)
    assert Response.objects.filter(prompt__benchmark__name="Uploaded").count() == RESPONSES
    return seconds


def _stream(client: Any, suite: int) -> bool:
    """Stream all scores of a suite, and print how the memory grows from the first tenth of them to the last."""
    answer = client.get(f"/api/v1/reports/results?suite={suite}&table=rows&format=jsonl&query=columns%3Djudges")
    assert answer.status_code == 200, answer.status_code
    lines, started, early = 0, time.process_time(), 0.0
    for chunk in answer.streaming_content:
        lines += chunk.count(b"\n")
        if not early and lines >= SCORES / 10:
            early = _megabytes()
    seconds, grown = time.process_time() - started, _megabytes() - early
    holds = grown <= MEMORY_BAR_MB
    say(
        f"  {_mark(holds)}  {lines:,} scores streamed: processor {seconds:.1f} s, {grown:+.0f} MB after the first tenth"
    )
    return holds and lines > 0.9 * SCORES


def _megabytes() -> float:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _poll(client: Any) -> float:
    """Return the processor milliseconds of one look at a run."""
    from judging.models import Run

    Run.objects.update(status="running")
    address = f"/api/v1/runs/{Run.objects.get().pk}"
    assert client.get(address).status_code == 200
    started = time.process_time()
    for _ in range(POLLS):
        client.get(address)
    return 1000 * (time.process_time() - started) / POLLS


if __name__ == "__main__":
    main()
