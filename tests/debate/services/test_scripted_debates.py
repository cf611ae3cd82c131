"""Debates over real answers with scripted agents, in both modes, with workers killed in the middle."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from debate.protocol.setups import RoundMode
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.own_site import OwnSite, fake_key, own_site

pytestmark = [pytest.mark.shared_data, pytest.mark.flow]

AGENTS = ("first", "second", "third")
REFUSAL = "I apologize, but I cannot judge these submissions."
NONSENSE = "Bananas are yellow, and the moon is not."
# What each agent answers in the independent round and in every round after it. The last entry goes on to the end.
SCRIPTS: dict[str, dict[str, list[str]]] = {
    "at once": {"first": ["1"], "second": ["1"], "third": ["1"]},
    "after a round": {"first": ["1", "2"], "second": ["2", "2"], "third": ["0", "2"]},
    "never": {"first": ["1"], "second": ["2"], "third": ["0"]},
    "refuses": {"first": ["1"], "second": ["1"], "third": [REFUSAL]},
    "nonsense": {"first": [NONSENSE, "2"], "second": ["2"], "third": ["2"]},
}
# (status, by position as shown, round agreed in, discussion rounds held, statements, calls)
IMPLIED: dict[str, tuple[str, int | None, int | None, int, int, int]] = {
    "at once": ("agreed", 1, 0, 0, 3, 3),
    "after a round": ("agreed", 2, 1, 1, 6, 6),
    "never": ("unresolved", None, None, 2, 9, 9),
    "refuses": ("unresolved", None, None, 2, 9, 12),  # each refusal is asked for once more
    "nonsense": ("agreed", 2, 1, 1, 6, 7),  # so is nonsense
}


def kind_of(question: str, questions: list[str]) -> str:
    """Return what happens to a question: the five kinds in turn, equal questions alike."""
    return list(SCRIPTS)[questions.index(question) % len(SCRIPTS)]


def rules_for(questions: list[str]) -> list[dict[str, str]]:
    """Return the fake server's rules: by agent, question and round, the latest round first."""
    rules = []
    for question in dict.fromkeys(questions):
        for agent, said in SCRIPTS[kind_of(question, questions)].items():
            for number in range(len(said) - 1, -1, -1):
                heading = rf".*Your task, Speaker \d, discussion round [{number}-9]" if number else ""
                text = said[number] if len(said[number]) > 1 else f"I have weighed both.\n\n{said[number]}"
                rules.append({"model": agent, "match": re.escape(question) + heading, "reply": text})
    return rules


class DebateSite:
    """A site of its own, whose debates are made and read by `debate_process`."""

    def __init__(self, site: OwnSite) -> None:
        self.site = site

    def ask(self, *arguments: object) -> Any:
        """Return what a command of `debate_process` returns."""
        return self.site.ask(*arguments, module="tests.debate.services.debate_process")

    def kill_at(self, run: int, fake: FakeLLM, calls: int) -> tuple[float, set[str]]:
        """Kill a worker once so many calls were answered; return when, and the calls that the ledger holds."""
        fake.config(hold_after=calls + 50)  # however late the kill comes, the run has not ended
        worker = self.site.start_worker(run, threads=8)
        deadline = time.monotonic() + 300
        while fake.stats()["calls"] < calls:
            assert time.monotonic() < deadline, "the worker asks nothing"
            time.sleep(0.01)
        worker.kill()
        at = time.monotonic()  # the fake server's log tells the same clock
        fake.config(hold_after=0)
        stored = self.ask("state", run, "--lapse")
        assert stored["status"] == "running"
        return at, {fake_key(messages, model=model) for model, messages in stored["finished"]}


@pytest.mark.parametrize(
    "mode", [RoundMode.SEQUENTIAL, pytest.param(RoundMode.SIMULTANEOUS, marks=pytest.mark.slow)], ids=str
)
def test_scripted_debates_end_as_implied_though_workers_are_killed(
    mode: RoundMode, tmp_path: Path, own_database: str, shared_data: Path
) -> None:
    with own_site(tmp_path, own_database) as site:
        debates = DebateSite(site)
        made = debates.ask("make", "http://127.0.0.1:9/v1", shared_data / "debate" / "original", mode)
        run, questions = made["run"], made["questions"]
        with FakeLLM(latency=15, script=rules_for(questions)) as fake:
            debates.ask("point", fake.url)
            kills = [debates.kill_at(run, fake, 120), debates.kill_at(run, fake, 300)]
            site.start_worker(run, threads=8).ended()
            end, log, stats = debates.ask("state", run), fake.log(), fake.stats()

    kinds = [kind_of(question, questions) for question in questions]
    assert set(kinds) == set(SCRIPTS)
    assert end["outcomes"] == [
        [status, in_system_space(shown, order), agreed, held, order]
        for (status, shown, agreed, held, _, _), order in zip(
            (IMPLIED[kind] for kind in kinds), (row[-1] for row in end["outcomes"]), strict=True
        )
    ]
    assert (end["status"], end["counts"], end["leases"]) == ("finished", [len(kinds), len(kinds), 0], 0)
    assert end["statements"] == sum(IMPLIED[kind][4] for kind in kinds)
    assert end["calls_made"] == len(end["finished"]) == sum(IMPLIED[kind][5] for kind in kinds)
    assert all(stored for _, stored in kills)
    assert [line["key"] for at, stored in kills for line in log if line["t"] > at and line["key"] in stored] == []
    assert stats["calls"] >= end["calls_made"]  # calls in flight when a worker died were answered to nobody


def in_system_space(shown: int | None, order: int) -> int | None:
    """Return which system a verdict by place is for: order 0 showed A first."""
    if shown is None:
        return None
    return 1 if (shown == 1) == (order == 0) else -1
