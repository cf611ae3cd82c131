"""Each tool writes a log of a tiny task itself, which is imported; what is stored is what the tool says of its log.

The tools are installed by `make tool-logs`, each into an environment of its own; the tests of others skip.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from evalsite.accounts.roles import Role, Scope
from evalsite.api.models import TraceSource
from evalsite.api.tokens import make_token
from evalsite.api.traces import QUIET_FOR, store_whole
from evalsite.base.types import JsonDict
from judging.models import Upload
from tests import factories
from tests.content import stored_document
from tests.judging.specs.records.tools.test_traces import heard, said

pytestmark = [pytest.mark.tool_logs, pytest.mark.django_db]

ROOT = Path(__file__).parents[2]
WRITERS = Path(__file__).parent / "writers"
TOOLS = ROOT / ".venv-tools"
PROMPTFOO = {
    "description": "tiny",
    "prompts": ["{{question}}"],
    "providers": [{"id": f"file://{WRITERS}/promptfoo_eval.js", "label": "tiny-model"}],
    "defaultTest": {"options": {"provider": f"file://{WRITERS}/promptfoo_eval.js"}},
    "tests": [
        {
            "vars": {"question": "What is 2 + 3?"},
            "assert": [
                {"type": "contains", "value": "2 + 3"},
                {"type": "equals", "value": "5"},
                {"type": "llm-rubric", "value": "is polite"},
            ],
        },
        {"vars": {"question": "This one fails"}, "assert": [{"type": "contains", "value": "x"}]},
    ],
}


def _written(tool: str, writer: str, *arguments: str, **environment: str) -> JsonDict:
    """Return what a tool says of the log that it writes."""
    python = TOOLS / tool / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{tool} is not installed: make tool-logs")
    argv = [str(python), str(WRITERS / writer), *arguments]
    variables = {**os.environ, **environment}
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, cwd=arguments[0], env=variables, timeout=300
    )
    assert not done.returncode, done.stderr[-2000:]
    said: JsonDict = json.loads(done.stdout.strip().splitlines()[-1])
    return said


def _imported(path: str) -> JsonDict:
    """Import a file or folder into a benchmark of its own and return what is stored."""
    call_command("import", path, "--benchmark", "tiny", "--json", stdout=io.StringIO())
    return stored_document(Upload.objects.latest("pk"))


def _check(stored: JsonDict, said: JsonDict, judges: Sequence[str] = ()) -> None:
    """Compare cases, responses, scores and verdicts with what the tool says of each sample."""
    answered = [sample for sample in said["samples"] if sample["text"] is not None]
    assert {case["id"]: case["prompt"] for case in stored["cases"]} == said["prompts"]
    assert sorted((row["case"], row["attempt"], row["text"]) for row in stored["responses"]) == sorted(
        (row["case"], row["attempt"], row["text"]) for row in answered
    )
    scores = [(row["case"], row["attempt"], name, value) for row in answered for name, value in row["scores"].items()]
    assert sorted(_scored(stored["scores"], "grader")) == sorted(row for row in scores if row[2] not in judges)
    assert sorted(_scored(stored["verdicts"], "judge")) == sorted(row for row in scores if row[2] in judges)


def _scored(rows: Sequence[Mapping[str, Any]], by: str) -> list[tuple[Any, ...]]:
    return [(row["case"], row["attempt"], row[by], row["value"]) for row in rows]


@pytest.mark.parametrize("log_format", ["eval", "json"])
@pytest.mark.parametrize("version", ["inspect", "inspect-older"])
def test_a_log_of_inspect_is_stored_as_inspect_reads_it(tmp_path: Path, version: str, log_format: str) -> None:
    said = _written(version, "inspect_log.py", str(tmp_path), log_format)

    stored = _imported(said["file"])

    assert [len([row for row in said["samples"] if (row["text"] is None) is gone]) for gone in (False, True)] == [4, 2]
    assert stored["systems"] == ["mockllm/model"]
    _check(stored, said, judges=["model_graded_qa"])


def test_a_test_run_of_deepeval_is_stored_as_deepeval_evaluated_it(tmp_path: Path) -> None:
    said = _written("deepeval", "deepeval_run.py", str(tmp_path))

    stored = _imported(said["file"])

    assert stored["systems"] == ["tiny-model"]
    _check(stored, said, judges=["Correctness"])


def test_samples_of_lm_eval_are_stored_as_the_harness_scored_them(tmp_path: Path) -> None:
    said = _written("lm-eval", "lm_eval_run.py", str(tmp_path))

    stored = _imported(said["file"])

    _check(stored, said)


@pytest.mark.parametrize("export", ["JSON", "JSON_MIN", "CSV"])
def test_an_export_of_label_studio_is_stored_with_the_labels_of_its_tasks(tmp_path: Path, export: str) -> None:
    said = _written("label-studio", "label_studio_export.py", str(tmp_path), export)

    stored = _imported(said["file"])

    prompts = {case["id"]: case["prompt"] for case in stored["cases"]}
    texts = {row["case"]: row["text"] for row in stored["responses"]}
    expected = [
        (row["prompt"], row["text"], row["rater"], criterion, label)
        for row in said["labels"]
        for criterion, label in row["labels"].items()
    ]
    labels = [
        (prompts[row["case"]], texts[row["case"]], row["rater"], row["criterion"], row["label"])
        for row in stored["labels"]
    ]
    assert sorted(labels) == sorted(expected)
    assert stored["systems"] == ["tiny-model"]


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
def test_results_of_promptfoo_are_stored_as_promptfoo_writes_them(tmp_path: Path, ending: str) -> None:
    program = TOOLS / "promptfoo" / "node_modules" / ".bin" / "promptfoo"
    node = next(program.parents[1].glob("node-*/bin/node"), None)
    if not program.exists() or node is None:
        pytest.skip("promptfoo is not installed: make tool-logs, where npm is there")
    config, out = tmp_path / "promptfooconfig.json", tmp_path / f"results.{ending}"
    config.write_text(json.dumps(PROMPTFOO))
    environment = {**os.environ, "PROMPTFOO_CONFIG_DIR": str(tmp_path / "home"), "PROMPTFOO_DISABLE_TELEMETRY": "1"}
    environment |= {"PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1"}
    options = ["-c", str(config), "-o", str(out), "--no-cache", "--no-table", "--no-progress-bar"]
    argv = [str(node), str(program), "eval", *options]

    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment, timeout=300)

    assert out.exists(), done.stderr[-2000:]
    stored = _imported(str(out))
    text = "Said: What is 2 + 3?"
    assert [case["prompt"] for case in stored["cases"]] == ["What is 2 + 3?", "This one fails"]
    assert [(row["system"], row["text"]) for row in stored["responses"]] == [("tiny-model", text)]
    whole = pytest.approx((1 + 0 + 0.75) / 3)  # the mean of the three assertions
    if ending == "csv":  # which has the rounded score of each row alone
        assert [(row["grader"], row["value"]) for row in stored["scores"]] == [("promptfoo", 0.58)]
        return
    graded = {row["grader"]: row["value"] for row in stored["scores"]}
    assert graded == {"promptfoo": whole, "contains": 1.0, "equals": 0.0}
    assert [(row["judge"], row["value"], row["reason"]) for row in stored["verdicts"]] == [
        ("llm-rubric", 0.75, "good enough")
    ]


@pytest.mark.parametrize("name", ["traces.pb", "framed.binpb", "traces.json", "traces.jsonl", "spans.jsonl"])
def test_traces_of_the_sdk_of_opentelemetry_are_stored_whole(tmp_path: Path, name: str) -> None:
    told = _written("otel", "otel_traces.py", str(tmp_path))

    stored = _imported(str(tmp_path / name))

    assert heard(stored) == said(told["traces"])


@pytest.mark.parametrize("packing", ["none", "gzip"])
@pytest.mark.django_db(transaction=True)
def test_traces_that_the_exporter_of_opentelemetry_sends_are_stored_whole(
    tmp_path: Path, packing: str, live_server: Any
) -> None:
    person, at = factories.user(role=Role.RESEARCHER), timezone.now()
    token = make_token(owner=person, name="exporter", scopes=[Scope.RUN], days=1, at=at).secret
    variables = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{live_server.url}/v1/traces",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": f"Authorization=Bearer%20{token},Evalsite-Benchmark=Weather%20desk",
        "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": packing,
    }

    told = _written("otel", "otel_traces.py", str(tmp_path), **variables)
    source = TraceSource.objects.get()
    later = timezone.now() + QUIET_FOR
    count = store_whole(source, quiet_since=later - QUIET_FOR, at=later)

    assert (told["sent"], source.benchmark, count) == (["SUCCESS"] * 3, "Weather desk", len(told["traces"]))
    assert heard(stored_document(Upload.objects.get())) == said(told["traces"])
