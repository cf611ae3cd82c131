"""A small suite scored by rules, whose every figure can be worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from evalsite.accounts.roles import Role
from judging.models import Case, Run, RunEvaluator, Suite, System
from tests import factories


@dataclass(frozen=True)
class Scored:
    """Four cases (two of each scenario) and three systems.

    Shares by case:  ada 1, 1, 1, 0.5;  bob 0, 1, 0, 0;  cy 1, 0, undecided, no response.
    """

    suite: Suite
    cases: list[Case]
    run: Run
    rules: RunEvaluator
    ada: System
    bob: System
    cy: System


SHARES: dict[str, list[float | None]] = {"ada": [1, 1, 1, 0.5], "bob": [0, 1, 0, 0], "cy": [1, 0, None]}


@pytest.fixture
def scored() -> Scored:
    benchmark = factories.benchmark(slug="sums", name="Sums")
    cases = [
        factories.case(
            prompt=factories.prompt(benchmark=benchmark, key=f"case-{number}"),
            scenario="easy" if number <= 2 else "hard",
            lang="python" if number % 2 else "sql",
            grading={"keywords": ["yes"]},
        )
        for number in range(1, 5)
    ]
    suite = factories.suite(cases=cases)
    run = factories.run(suite=suite, name="First run", status="finished", total=11, done=10, failed=1)
    rules = factories.evaluator(run=run, total=11, done=10, failed=1)
    systems = {name: factories.system(name) for name in SHARES}
    run.systems.set(systems.values())
    for name, shares in SHARES.items():
        for case, share in zip(cases, shares, strict=False):
            factories.score(
                evaluator=rules, response=factories.response(prompt=case.prompt, system=systems[name]), share=share
            )
    return Scored(suite, cases, run, rules, systems["ada"], systems["bob"], systems["cy"])


@pytest.fixture
def researcher(client):  # type: ignore[no-untyped-def]  # pytest-django's client
    """Return a client that a researcher has signed in with."""
    client.force_login(factories.user("rita", Role.RESEARCHER))
    return client
