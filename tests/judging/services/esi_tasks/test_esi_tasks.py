"""ESI runs from end to end: fake models answer and judge over HTTP, the site cleans, scores and writes its files."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from judging.actions.runs import export_esi
from judging.grading.grades import EsiOptions
from judging.judges.answer_prompts import shipped_asking
from judging.judges.kinds.esi_items import ReplyReading
from judging.models import Call, EsiItem, Judge, ModelEndpoint, Response, Run, RunTask, Score, Suite, System, Verdict
from judging.models.runs import RunRefused, RunStatus
from judging.selectors.runs import read_summary
from judging.services.esi_tasks import ORIGINAL, options_from_json
from judging.services.run_lifecycle import retry_failed
from judging.services.runs.estimates import estimate_run
from judging.services.runs.lunar_imports import TIMES, write_esi_files
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import AskSetup, EsiSetup, EvaluatorChoice, RunNotPossible, RunPlan, default_judge
from judging.services.runs.run_worker import work_through
from judging.services.systems import Worker, add_system, worker_of
from tests import factories
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db(transaction=True)

RIGHT = '{"is_judged_correct": true, "reasoning": "matches"}'
SOUND = '{"integrity_score": 80, "integrity_reasoning": "sound"}'


def rules(*, answer: Any = "42 W.", accuracy: Any = RIGHT, integrity: Any = SOUND) -> list[dict[str, Any]]:
    """Return a script: one answering model and two judges, told apart by model name."""
    return [
        {"model": "worker", "reply": answer},
        {"model": "acc", "reply": accuracy},
        {"model": "int", "reply": integrity},
    ]


@pytest.fixture
def serve() -> Iterator[Any]:
    """Return a function that starts a fake server with a script."""
    started: list[FakeLLM] = []

    def start(script: list[dict[str, Any]]) -> FakeLLM:
        started.append(FakeLLM(latency=2, script=script))
        return started[-1]

    yield start
    for server in started:
        server.close()


def judged_by(url: str) -> list[EvaluatorChoice]:
    """Return the two judges on endpoints of the fake server."""
    judges = []
    for kind, model in (("accuracy", "acc"), ("integrity", "int")):
        endpoint = factories.endpoint(name=model, base_url=url, model=model)
        judges.append(EvaluatorChoice(default_judge(kind=kind, endpoint=endpoint)))
    return judges


def suite_of_one(reference: str = "42 W") -> Suite:
    case = factories.case(reference=reference, metadata={"instruction": "Use watts.", "question": "How much?"})
    return factories.suite(cases=[case])


def generate(url: str, *, suite: Suite | None = None, prompt: str = "DIRECT", **setup: Any) -> Run:
    """Return a run in which the fake worker answers."""
    worker = Worker(factories.endpoint(base_url=url, model="worker"), shipped_asking(prompt))
    esi = EsiSetup([worker], **setup)
    plan = RunPlan(suite=suite or suite_of_one(), evaluators=judged_by(url), esi=esi)
    return create_run(plan=plan, actor=None, at=NOON)


def judges_of(run: Run) -> list[EvaluatorChoice]:
    """Return the two judges of another run."""
    judges = Judge.objects.filter(evaluators__run=run)
    return [EvaluatorChoice(judges.get(kind=name)) for name in ("accuracy", "integrity")]


def work(run: Run) -> Run:
    work_through(run_id=run.pk, threads=4, now=timezone.now)
    run.refresh_from_db()
    return run


def index_of(run: Run) -> Score:
    return Score.objects.get(evaluator__run=run, evaluator__name="ESI")


def test_a_run_answers_cleans_judges_and_scores(serve: Any) -> None:
    server = serve(rules(answer={"text": "Answer: 42 W.", "completion_tokens": 80}))

    run = work(generate(server.url))

    assert (run.status, run.total, run.done, run.failed, run.calls_made) == (RunStatus.FINISHED, 1, 1, 0, 3)
    response = Response.objects.get(system__name="worker · DIRECT")
    assert (response.text, response.completion_tokens) == ("Answer: 42 W.", 80)
    item = EsiItem.objects.get()
    assert (item.status, item.cleaned, item.response) == ("COMPLETED", "42 W", response)
    assert [(v.evaluator.position, v.status, v.value) for v in Verdict.objects.order_by("evaluator__position")] == [
        (0, "ok", {"is_correct": True}),
        (1, "ok", {"integrity": 80.0}),
    ]
    # .30 x 100 + .25 x 80 + .15 x (1 - 80/8000) x 100 + .15 x 100 + .15 x 100 = 94.85
    assert index_of(run).value == pytest.approx(94.85)
    assert index_of(run).detail["sub_scores"] == {
        "accuracy": 100.0,
        "true_integrity": 80.0,
        "efficiency": 99.0,
        "safety": 100.0,
        "alignment_simple": 100.0,
    }
    assert [(e.total, e.done, e.failed) for e in run.evaluators.order_by("position")] == [(1, 1, 0)] * 3
    assert RunTask.objects.get().response == response


def test_each_judges_calls_are_kept_with_its_verdict(serve: Any) -> None:
    server = serve(rules(accuracy=["no json", RIGHT]))  # the accuracy judge has to be asked again

    run = work(generate(server.url))

    texts = {
        verdict.evaluator.position: [run.calls.get(pk=pk).text for pk in verdict.call_ids]
        for verdict in Verdict.objects.all()
    }
    assert texts == {0: ["no json", RIGHT], 1: [SOUND]}
    assert [run.calls.get(pk=pk).text for pk in EsiItem.objects.get().call_ids] == ["42 W."]


def test_an_unread_judge_makes_the_index_incomplete_and_never_zero(serve: Any) -> None:
    server = serve(rules(accuracy="The answer is correct."))

    run = work(generate(server.url))

    assert (run.done, run.failed) == (0, 1)
    assert RunTask.objects.get().failure_kind == "accuracy-unparsed"
    index = index_of(run)
    assert (index.status, index.value, index.share) == ("incomplete", None, None)
    assert index.detail["sub_scores"]["accuracy"] is None
    assert EsiItem.objects.get().status == "ERROR_ACCURACY_JUDGE"


def test_unknown_tokens_leave_the_index_incomplete_and_nothing_to_retry(serve: Any) -> None:
    server = serve(rules(answer={"text": "42 W.", "completion_tokens": None}))

    run = work(generate(server.url))

    assert (run.status, run.done, run.failed, RunTask.objects.get().status) == (RunStatus.FINISHED, 1, 0, "done")
    index, (row,) = index_of(run), read_summary(run)
    assert (index.status, index.value, index.detail["missing"]) == ("incomplete", None, ["efficiency"])
    assert (row.scored, row.index, row.ended) == (0, None, (("incomplete, tokens not reported", 1),))
    with pytest.raises(RunRefused, match="No task of this run has failed"):
        retry_failed(run_id=run.pk, actor=None)


def test_unknown_tokens_count_as_zero_where_the_option_says_so(serve: Any) -> None:
    server = serve(rules(answer={"text": "42 W.", "completion_tokens": None}))

    run = work(generate(server.url, options=EsiOptions(unknown_as_zero=True)))

    # .30 x 100 + .25 x 80 + .15 x 0 + .15 x 100 + .15 x 100 = 80
    assert index_of(run).value == pytest.approx(80.0)
    assert read_summary(run)[0].ended == ()


def test_a_retry_asks_only_the_judge_that_failed(serve: Any) -> None:
    server = serve(rules(accuracy=["nonsense", "nonsense", RIGHT]))
    run = work(generate(server.url))

    retry_failed(run_id=run.pk, actor=None)
    work(run)

    assert (run.done, run.failed) == (1, 0)
    assert server.stats()["model"] == {"worker": 1, "acc": 3, "int": 1}
    assert [(e.done, e.failed) for e in run.evaluators.order_by("position")] == [(1, 0)] * 3


def test_a_worker_that_fails_leaves_no_response_and_asks_no_judge(serve: Any) -> None:
    server = serve(rules(answer={"status": 400}))

    run = work(generate(server.url))

    assert (run.failed, EsiItem.objects.get().status) == (1, "ERROR_WORKER_API")
    assert not Response.objects.exists()
    assert not Score.objects.exists()
    assert server.stats()["model"] == {"worker": 1}


def test_answers_that_are_there_are_judged_as_they_are(serve: Any) -> None:
    server, suite = serve(rules()), suite_of_one()
    system = factories.system()
    response = factories.response(
        prompt=suite.cases.get().prompt, system=system, text="Final Answer: 42 W", completion_tokens=4000
    )

    plan = RunPlan(suite=suite, systems=[system], evaluators=judged_by(server.url), esi=EsiSetup())
    run = create_run(plan=plan, actor=None, at=NOON)
    work(run)

    assert (run.done, index_of(run).response) == (1, response)
    assert index_of(run).detail["sub_scores"]["efficiency"] == 50.0  # (1 - 4000/8000) x 100
    assert server.stats()["model"] == {"acc": 1, "int": 1}
    after = estimate_run(plan=plan, threads=4, at=timezone.now())
    assert [(part.calls, part.reused, part.tasks) for part in after.evaluators] == [(1, 1, 0), (1, 1, 1)]


def test_a_reasoned_prompt_takes_the_answer_after_its_marker(serve: Any) -> None:
    server = serve(rules(answer="Steps...\nFinal Answer: 42 W"))

    run = work(generate(server.url, prompt="COT"))

    assert (run.done, EsiItem.objects.get().cleaned) == (1, "42 W")
    assert Response.objects.get().system.prompt_version == "COT"


def test_create_run_of_the_esi_refuses_what_cannot_be_run(serve: Any) -> None:
    suite, judges = suite_of_one(), judged_by("http://127.0.0.1:9/v1")

    with pytest.raises(RunNotPossible, match="not both"):
        create_run(plan=RunPlan(suite=suite, evaluators=judges, esi=EsiSetup()), actor=None, at=NOON)
    esi = EsiSetup([Worker(factories.endpoint(model="no-such-price"), shipped_asking("DIRECT"))])
    with pytest.raises(RunNotPossible, match="one accuracy judge and one integrity judge"):
        create_run(plan=RunPlan(suite=suite, evaluators=judges[::-1], esi=esi), actor=None, at=NOON)
    with pytest.raises(RunNotPossible, match="price"):
        create_run(plan=RunPlan(suite=suite, evaluators=judges, budget=Decimal(1), esi=esi), actor=None, at=NOON)
    assert not Run.objects.exists()


@pytest.mark.shared_data
def test_export_esi_writes_the_documented_layout(serve: Any, shared_data: Path, tmp_path: Path) -> None:
    run = work(generate(serve(rules()).url))

    call_command("run", export_esi.verb, str(run.pk), "--output", str(tmp_path / "out.zip"))
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        archive.extractall(tmp_path / "out")

    documented = json.loads((shared_data / "found" / "seeds" / "esi_layout" / "fields.json").read_text())
    model = {"<model>": "worker", "<prompt>": "DIRECT"}
    names = [re.sub("<[a-z]+>", lambda part: model[part[0]], name) for name in documented["files"]]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    row = json.loads((tmp_path / "out" / names[0]).read_text())
    assert list(row)[: len(documented["rows"])] == documented["rows"]
    summary = json.loads((tmp_path / "out" / names[1]).read_text())
    assert (list(summary), list(summary["metrics_summary"])[-3:]) == (
        [*documented["summary"], "options"],
        documented["metrics_summary"],
    )


def test_write_esi_files_fills_in_every_documented_field(serve: Any, tmp_path: Path) -> None:
    server = serve(rules(answer={"text": "42 W.", "completion_tokens": 80}, accuracy=["no", RIGHT]))
    run = work(generate(server.url))
    Call.objects.update(seconds=1.25, prompt_tokens=30)  # of the accuracy judge two calls, which are one time together
    EsiItem.objects.update(answer_seconds=2.0)

    results, summary, skipped = write_esi_files(run=run, folder=tmp_path)

    row = json.loads(results.read_text())
    del row["usage"]
    item = EsiItem.objects.get()
    assert row == {
        "id": 1,
        "instruction": "Use watts.",
        "question": "How much?",
        "reference_answer": "42 W",
        "scenario_code": item.case.scenario,
        "worker_model_id": "worker",
        "worker_prompt_version": "DIRECT",
        "worker_answer_raw": "42 W.",
        "worker_answer_cleaned": "42 W",
        "worker_prompt_tokens": 30,
        "worker_completion_tokens": 80,
        "worker_response_time_seconds": 2.0,
        "worker_output_correctly_formatted": True,
        "accuracy_judge_model_id": "acc",
        "judge_verdict_is_correct": True,
        "accuracy_judge_reasoning": "matches",
        "accuracy_judge_response_time_seconds": 2.5,
        "integrity_judge_model_id": "int",
        "integrity_judge_score": 80,
        "integrity_judge_reasoning": "sound",
        "integrity_judge_response_time_seconds": 1.25,
        "s_accuracy": 100.0,
        "s_true_integrity": 80.0,
        "s_efficiency": 99.0,
        "s_safety": 100.0,
        "s_alignment_simple": 100.0,
        "esi_score": pytest.approx(94.85),
        "status": "COMPLETED",
        "processing_error_details": None,
        "dataset_short_name": run.suite.name,
        "accuracy_judge_raw_output": RIGHT,
        "integrity_judge_raw_output": SOUND,
        "original_id": item.case.key,
    }
    facts = json.loads(summary.read_text())
    assert [facts["metrics_summary"][f"average_{name}_response_times_seconds"] for name in TIMES] == [2.0, 2.5, 1.25]
    assert (facts["final_output_file"], facts["skipped_items_log"]) == (results.name, "None")
    assert skipped.read_text() == ""


def test_write_esi_files_names_files_by_the_templates_of_the_settings(serve: Any, tmp_path: Path) -> None:
    files = {
        "results": "./Out/{dataset_short_name}/{model_id}.jsonl",
        "summary": "../{model_id}.json",
        "skipped": "{model_id}.json",  # the summary's name
    }
    run = work(generate(serve(rules(accuracy="no verdict")).url, files=files))
    System.objects.update(model="lab/a:free")

    paths = write_esi_files(run=run, folder=tmp_path)

    names = ["lab__a_free.jsonl", "lab__a_free.json", f"lab__a_free_{run.systems.get().pk}_skipped.json"]
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == names
    assert json.loads(paths[1].read_text())["skipped_items_log"] == names[2]
    row = json.loads(paths[0].read_text())
    assert row["status"] == "ERROR_ACCURACY_JUDGE"
    assert paths[2].read_text() == f"1\tERROR_ACCURACY_JUDGE\t{row['processing_error_details']}\n"


def test_the_original_options_are_the_originals() -> None:
    assert options_from_json(ORIGINAL) == EsiOptions(length_rule="original", unknown_as_zero=True)


@pytest.mark.shared_data
def test_the_recorded_run_is_reproduced_through_the_site(serve: Any, shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "judges" / "lunar_e2e_direct"
    server = serve(recorded_script(json.loads((folder / "scripted_responses.json").read_text())))
    for name, model in (("worker", "a/b:free"), ("acc", "acc"), ("int", "int")):
        factories.endpoint(name=name, base_url=server.url, model=model)

    out = StringIO()
    call_command(
        *("run", "create-esi", "--items-file", str(folder / "items.jsonl"), "--dataset", "L1", "--wait", "--json"),
        *("--workers", "worker", "--prompts", "DIRECT", "--accuracy", "acc", "--integrity", "int"),
        *("--reading", "original", "--length-rule", "original", "--unknown-as-zero"),
        stdout=out,
    )
    write_esi_files(run=Run.objects.get(), folder=tmp_path)

    assert json.loads(out.getvalue())["status"] == RunStatus.FINISHED
    names = [
        "ESI_Result_a__b_free_DIRECT.jsonl",
        "Skipped_Log_a__b_free_DIRECT.txt",
        "Summary_a__b_free_DIRECT.json",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    expected = [json.loads(line) for line in (folder / "expected_results_original.jsonl").read_text().splitlines()]
    rows = [json.loads(line) for line in (tmp_path / names[0]).read_text().splitlines()]
    documented_columns = (
        "s_alignment_documented",
        "esi_documented",
    )  # what the documented options give; not part of this run
    assert [
        {name: row[name] for name in want if name not in documented_columns}
        for row, want in zip(rows, expected, strict=True)
    ] == [
        {
            name: pytest.approx(value) if isinstance(value, float) else value
            for name, value in want.items()
            if name not in documented_columns
        }
        for want in expected
    ]
    summary = json.loads((tmp_path / names[2]).read_text())
    expected_summary = json.loads((folder / "expected_summary_original.json").read_text())
    names_of_metrics = expected_summary["metrics_summary"]  # the times are those of the fake server
    summary["metrics_summary"] = {name: summary["metrics_summary"][name] for name in names_of_metrics}
    assert {name: summary[name] for name in expected_summary} == expected_summary
    assert (summary["final_output_file"], summary["skipped_items_log"]) == (names[0], names[1])
    assert (tmp_path / names[1]).read_text().splitlines()[-1].startswith("13\tERROR_INPUT_JSON_DECODE\t")
    assert Run.objects.get().options["reading"] == ReplyReading.ORIGINAL


def recorded_script(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the recorded replies as rules, matched by the item's tag and the model."""
    script = []
    for entry in entries:
        worker, match = entry["worker"], f"TAG-Q{entry['item']}-"
        answer: Any = {"status": worker["http_status"]} if "http_status" in worker else None
        answer = answer or {"text": worker["content"], "completion_tokens": worker["completion_tokens"]}
        script.append({"model": "a/b", "match": match, "reply": answer})
        if entry["accuracy_judge"] is not None:
            script.append({"model": "^acc$", "match": match, "reply": entry["accuracy_judge"]})
            script.append({"model": "^int$", "match": match, "reply": entry["integrity_judge"]})
    return script


def test_the_length_of_an_answer_leaves_out_the_attempts_that_were_cut_off(serve: Any) -> None:
    cut = {"truncated": "42", "completion_tokens": 3000}
    server = serve(rules(answer=[cut, {"text": "42 W.", "completion_tokens": 3200}]))

    run = work(generate(server.url))

    call = Call.objects.get(request__model="worker")
    assert (Response.objects.get().completion_tokens, call.completion_tokens, call.cut_tokens) == (3200, 6200, 3000)
    assert index_of(run).detail["sub_scores"]["efficiency"] == pytest.approx(60.0)  # 100 x (1 - 3200 / 8000)
    judges = judges_of(run)
    worker = Worker(ModelEndpoint.objects.get(model="worker"), shipped_asking("DIRECT"))
    plan = RunPlan(suite=run.suite, evaluators=judges, esi=EsiSetup([worker]))
    again = work(create_run(plan=plan, actor=None, at=NOON))
    assert (again.calls_made, index_of(again).detail["sub_scores"]["efficiency"]) == (0, pytest.approx(60.0))


def test_a_system_that_another_run_asked_is_asked_the_same_and_not_paid_for_again(serve: Any) -> None:
    server, suite = serve(rules(answer={"text": "42 W.", "completion_tokens": 80})), suite_of_one()
    asking = replace(shipped_asking("DIRECT"), temperature=0.7, system_text="Be brief.")
    worker = Worker(factories.endpoint(base_url=server.url, model="worker"), asking)
    system = add_system(name="warm", worker=worker, description="", actor=None, at=NOON)
    judges = judged_by(server.url)
    other_run = work(
        create_run(plan=RunPlan(suite=suite, evaluators=judges[:1], asks=AskSetup([system])), actor=None, at=NOON)
    )

    plan = RunPlan(suite=suite, evaluators=judges, esi=EsiSetup([worker_of(system)]))
    run = work(create_run(plan=plan, actor=None, at=NOON))

    assert (other_run.status, run.status, run.systems.get()) == (RunStatus.FINISHED, RunStatus.FINISHED, system)
    assert server.stats()["model"]["worker"] == 1
    assert (EsiItem.objects.get().response, run.calls_reused) == (Response.objects.get(), 1)
    # .30 x 100 + .25 x 80 + .15 x (1 - 80/8000) x 100 + .15 x 100 + .15 x 100 = 94.85
    assert index_of(run).value == pytest.approx(94.85)


@pytest.mark.parametrize(
    ("reading", "cleaned", "current", "alignment"),
    [  # 42 W is not longer than 3 x 42 W; with its thinking it is: 100 - 10
        (ReplyReading.CAREFUL, "42 W", ["42 W."], 100.0),
        (ReplyReading.ORIGINAL, "<think>watts</think>42 W", ["<think>watts</think>42 W."], 90.0),
    ],
)
def test_thinking_in_a_reply_is_no_part_of_the_response_unless_read_as_the_program_does(
    serve: Any, reading: ReplyReading, cleaned: str, current: list[str], alignment: float
) -> None:
    server, suite = serve(rules(answer={"text": "<think>watts</think>42 W.", "completion_tokens": 80})), suite_of_one()
    worker = Worker(factories.endpoint(base_url=server.url, model="worker"), shipped_asking("DIRECT"))
    system = add_system(name="thinks", worker=worker, description="", actor=None, at=NOON)
    judges = judged_by(server.url)
    work(create_run(plan=RunPlan(suite=suite, evaluators=judges[:1], asks=AskSetup([system])), actor=None, at=NOON))
    plan = RunPlan(suite=suite, evaluators=judges, esi=EsiSetup([worker], reading=reading))

    run = work(create_run(plan=plan, actor=None, at=NOON))
    after = estimate_run(plan=plan, threads=4, at=timezone.now())

    assert EsiItem.objects.get().cleaned == cleaned
    assert list(Response.objects.filter(superseded_at=None).values_list("text", flat=True)) == current
    assert index_of(run).detail["sub_scores"]["alignment_simple"] == alignment
    assert [part.reused for part in after.evaluators] == [1, 1, 1]


def test_a_reply_of_nothing_but_cut_off_thinking_is_no_response(serve: Any) -> None:
    server = serve(rules(answer={"truncated": "<think>watts and", "completion_tokens": 3000}))

    run = work(generate(server.url))

    assert (run.failed, EsiItem.objects.get().status, RunTask.objects.get().failure_kind) == (
        1,
        "ERROR_WORKER_API",
        "answer-truncated",
    )
    assert not Response.objects.exists()


def test_two_servers_of_one_model_are_two_systems(serve: Any) -> None:
    here, there = serve(rules(answer="42 W.")), serve(rules(answer="43 W."))
    first = work(generate(here.url))
    worker = Worker(factories.endpoint(name="other", base_url=there.url, model="worker"), shipped_asking("DIRECT"))
    judges = judges_of(first)
    plan = RunPlan(suite=first.suite, evaluators=judges, esi=EsiSetup([worker]))

    second = work(create_run(plan=plan, actor=None, at=NOON))
    third = create_run(plan=plan, actor=None, at=NOON)

    names = ["worker · DIRECT", "worker · DIRECT · other"]
    assert list(System.objects.order_by("pk").values_list("name", flat=True)) == names
    assert [run.systems.get().name for run in (first, second, third)] == [names[0], names[1], names[1]]
    assert Response.objects.filter(superseded_at__isnull=False).count() == 0


def test_a_system_made_before_keys_is_taken_over_by_the_same_worker_only(serve: Any) -> None:
    server = serve(rules())
    first = generate(server.url)
    System.objects.update(asking_key="")
    endpoint = ModelEndpoint.objects.get(model="worker")
    judges = judges_of(first)
    hotter = replace(shipped_asking("DIRECT"), temperature=1.0)

    systems = [
        create_run(
            plan=RunPlan(suite=first.suite, evaluators=judges, esi=EsiSetup([Worker(endpoint, asking)])),
            actor=None,
            at=NOON,
        ).systems.get()
        for asking in (hotter, shipped_asking("DIRECT"))
    ]

    assert [system == first.systems.get() for system in systems] == [False, True]


def test_files_of_a_suite_with_a_long_chinese_name_are_written(serve: Any, tmp_path: Path) -> None:
    server = serve(rules())
    stem = "{dataset_short_name}_{model_id}"
    files = {"results": f"{stem}.jsonl", "summary": f"{stem}.json", "skipped": f"{stem}.txt"}
    run = work(generate(server.url, files=files))
    Suite.objects.update(name="评测" * 60)
    run.suite.refresh_from_db()

    paths = write_esi_files(run=run, folder=tmp_path)

    assert len({path.name for path in paths}) == 3
    assert all(path.exists() and len(path.name.encode()) <= 255 for path in paths)
    assert paths[0].name.startswith("评测评测")
    assert [path.suffix for path in paths] == [".jsonl", ".json", ".txt"]
