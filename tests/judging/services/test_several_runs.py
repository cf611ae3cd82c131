"""Several runs with the workers of `serve`, of which one works on runs: none holds up another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.own_site import own_site
from tests.judging.services.served_site import served


@pytest.mark.flow
@pytest.mark.backend_free  # a matter of processes
def test_a_run_on_a_fast_endpoint_ends_beside_a_long_one_on_a_slow_endpoint(
    tmp_path: Path, own_database: str, fake_llm: FakeLLM
) -> None:
    with own_site(tmp_path, own_database) as site, FakeLLM(latency=1000) as slow:

        def state(run: int) -> Any:
            return site.ask("state", run)

        long_run = site.ask("make", slow.url, 1000, "", 1)

        with served(site, threads=50) as running:
            running.wait_until(lambda: slow.stats()["calls"] >= 2, "the long run's first calls")
            before = slow.stats()["calls"]
            short_run = site.ask("make", fake_llm.url, 20)  # queued by nobody: the busy worker notices it
            running.wait_until(lambda: state(short_run)["status"] == "finished", "the short run's end")
            meanwhile = slow.stats()["calls"] - before
            going_on = state(long_run)["status"], slow.stats()["max_in_flight"]
            slow.config(latency=1)  # or the last call would be waited for

    assert going_on == ("running", 1)
    assert meanwhile <= 10  # one a second: the short run takes seconds
    assert fake_llm.stats()["calls"] == 20
