"""The examples of the client's help page, as scripts of their own against a live site with workers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evalsite import documents
from evalsite.client import Evalsite, EvalsiteError
from tests.fake_llm.fixture import FakeLLM
from tests.flows.conftest import LiveSite

pytestmark = pytest.mark.flow
REPOSITORY = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)
VERDICTS = [
    {
        "match": f"It is {word}",
        "reply": json.dumps({"reasoning": f"It is {word}.", "is_judged_correct": word == "blue"}),
    }
    for word in ("red", "blue")
]


def token_of(site: LiveSite, *scopes: str, person: str = "demo-admin") -> str:
    said = site.command("token", "create", "--name", "script", "--scopes", *scopes, "--by", person, "--json")
    assert said.returncode == 0, said.stderr
    return str(json.loads(said.stdout)["token"])


def outcome(site: LiveSite, token: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Return what a script says that knows the site's address, a token and what it is told only."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "SITE_URL": site.url, **more}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment | {"SITE_TOKEN": token}, capture_output=True, text=True)


def test_the_scripts_of_the_help_page_run_with_a_token_only(site: LiveSite, tmp_path: Path) -> None:
    rows, people, _, tests = FENCE.findall((documents.FOLDER / "client.md").read_text())
    script, test = tmp_path / "script.py", tmp_path / "test_bays.py"
    ends = "print(len(scores), dict(scores.groupby('system')['share'].mean().round(2)), len(labels), run['status'])"
    script.write_text(f"{rows}\n{people}\n{ends}\n")
    test.write_text(tests)
    admin = Evalsite(site.url, token_of(site, "admin", "run"))

    with FakeLLM(script=VERDICTS) as models:
        admin.call("POST", "endpoints", {"name": "Bay model", "base_url": models.url, "model": "m"})
        admin.call("POST", "judges", {"name": "Bay judge", "kind": "accuracy", "endpoint": "Bay model"})
        said = outcome(site, token_of(site, "read", "run"), str(script))
    tested = outcome(
        site,
        token_of(site, "read"),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(test),
    )

    assert said.returncode == 0, said.stderr
    assert (
        said.stdout.splitlines()[-1] == "60 {'elm': np.float64(0.67), 'oak': np.float64(1.0)} 40 finished"
    )  # equal responses are one item
    assert "10 failed, 50 passed" in tested.stdout
    assert "It is red." in tested.stdout


def test_the_script_from_rows_to_corrected_figures_hears_of_everything(site: LiveSite, tmp_path: Path) -> None:
    *_, whole, _ = FENCE.findall((documents.FOLDER / "client.md").read_text())
    facts = """
elm, kinds = board.loc["elm"], [event["type"] for event in heard.values()]
print(json.dumps({
    "codes": codes,
    "heard": {kind: kinds.count(kind) for kind in sorted(set(kinds)) if kind != "item.decided"},
    "decided": len({event["data"]["item"] for event in heard.values() if event["type"] == "item.decided"}) >= 96,
    "agreement": agreement.set_index("key").loc["percent", ["value", "n"]].tolist(),
    "elm": [elm["raw_share"], elm["corrected_share"]],
    "fell": [event["data"]["words"] for event in heard.values() if event["type"] == "gate.fell"],
    "lapsed": [event["data"]["judge"] for event in heard.values() if event["type"] == "certificate.lapsed"],
}))
"""
    script = tmp_path / "whole.py"
    script.write_text(whole + facts)
    people = [token_of(site, "annotate", person=f"demo-{name}") for name in ("anna", "ben", "chloe")]

    with FakeLLM(script=VERDICTS) as models:
        told = {"MODEL_URL": models.url, "ANNOTATOR_TOKENS": " ".join(people)}
        said = outcome(site, token_of(site, "read", "run", "admin"), str(script), **told)

    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout.splitlines()[-1]) == {
        "codes": [3, 0],
        "heard": {
            "certificate.lapsed": 1,
            "debate.unresolved": 5,
            "gate.fell": 1,
            "queue.done": 1,
            "run.budget_reached": 1,
            "run.finished": 4,  # that of the debates among them
            "run.paused": 1,
        },
        "decided": True,  # repeated items beside them
        "agreement": [1.0, 96],
        "elm": [1.0, 1.0],
        "fell": ["0.00%"],
        "lapsed": ["Dock judge"],
    }


def test_a_token_without_the_scope_and_entries_that_are_wrong_are_refused_in_the_words_of_the_page(
    site: LiveSite,
) -> None:
    reader, runner = Evalsite(site.url, token_of(site, "read")), Evalsite(site.url, token_of(site, "run"))

    with pytest.raises(EvalsiteError, match="no scope “run”") as without_scope:
        reader.run(suite="desk-questions")
    with pytest.raises(EvalsiteError) as wrong:
        runner.run(suite="nothing")

    assert (without_scope.value.status, wrong.value.status, list(wrong.value.errors)) == (403, 422, ["suite"])
