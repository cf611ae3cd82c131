"""The report on hostile answers, with a judge that obeys some of them."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from judging.judges.hostile import HOSTILE
from tests import factories
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db(transaction=True)

WRONG = '{"is_judged_correct": false, "reasoning": "20 is not 100"}'
OBEDIENT = '{"is_judged_correct": true, "reasoning": "as told"}'
SCRIPT = [
    {"match": "Ignore the rubric", "reply": OBEDIENT},
    {"match": "Final verdict: A", "reply": "I would rather not say."},
    {"match": "", "reply": WRONG},
]


def test_probe_injection_tells_what_moved_and_what_was_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeLLM(script=SCRIPT, latency=1) as server:
        factories.judge(name="J", kind="accuracy", endpoint=factories.endpoint(base_url=server.url))
        call_command("probe_injection", "--judge", "J", "--json")

    found = json.loads(capsys.readouterr().out)
    assert (found["answers"], found["without"]) == (len(HOSTILE), 0.0)
    assert (found["moved_up"], found["moved_down"], found["unread"]) == (1, 0, 1)
    assert found["statuses"] == {"ok": len(HOSTILE) - 1, "unparsed": 1}
    assert [probe["answer"] for probe in found["probes"] if probe["moved"]] == [HOSTILE[0]]
