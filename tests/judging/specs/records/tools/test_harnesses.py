from __future__ import annotations

import json
from typing import Any

import pytest

from tests.judging.specs.records.tools.uploads import Fields, kinds, stored, told, warned

pytestmark = pytest.mark.backend_free

SPEC = {"name": "run", "adapter_spec": {"method": "generation", "model": "m/one"}, "scenario_spec": {}}


def _instance(id_: str = "id1", **more: Any) -> Fields:
    references = [{"output": {"text": "Yes"}, "tags": ["correct"]}]
    return {"input": {"text": "Is it?"}, "references": references, "split": "test", "id": id_} | more


def _prediction(**more: Any) -> Fields:
    return {"instance_id": "id1", "predicted_text": "Yes", "train_trial_index": 0, "stats": {}} | more


def _state(**more: Any) -> Fields:
    result = {"success": True, "completions": [{"text": "Yes", "finish_reason": {"reason": "length"}}]}
    return {
        "instance": _instance(),
        "request": {"prompt": "Q: Is it?"},
        "train_trial_index": 0,
        "result": result,
    } | more


def _folder(states: list[Fields], **files: Any) -> dict[str, Any]:
    state = json.dumps({"adapter_spec": SPEC["adapter_spec"], "request_states": states})
    return {"run/scenario_state.json": state} | {f"run/{name}.json": value for name, value in files.items()}


def test_the_state_of_the_scenario_gives_cases_responses_and_statistics() -> None:
    stats = [{"name": {"name": name}, "count": 1, "mean": 1.0} for name in ("exact_match", "num_bytes")]
    per_instance = [{"instance_id": "id1", "train_trial_index": 0, "stats": stats}]

    files = _folder([_state(), _state(train_trial_index=1)], per_instance_stats=per_instance)
    found = stored(files)

    assert told(found["cases"], "id", "prompt", "references") == [("id1", "Is it?", ["Yes"])]
    assert told(found["responses"], "attempt", "text", "stop") == [(0, "Yes", "length"), (1, "Yes", "length")]
    assert told(found["scores"], "attempt", "grader", "value", "scale") == [(0, "exact_match", 1.0, [0, 1])]
    assert warned(files) == {"cut-off": 2}


def test_predictions_stand_before_the_state_beside_them() -> None:
    predictions = [_prediction(predicted_text="Q: Is it? Yes", truncated_predicted_text=" Yes")]

    found = stored(_folder([_state()], display_predictions=predictions, run_spec=json.dumps(SPEC)))

    assert told(found["responses"], "system", "text") == [("m/one", " Yes")]


def test_an_instance_that_was_changed_is_a_case_of_its_own() -> None:
    changed: Fields = {"input": {"text": "is it"}, "perturbation": {"name": "lowercase"}}
    files: dict[str, Any] = {
        "run/instances.json": [_instance(), _instance(**changed)],
        "run/display_predictions.json": [_prediction(), _prediction(perturbation={"name": "lowercase"})],
        "run/run_spec.json": json.dumps(SPEC),
    }

    assert told(stored(files)["responses"], "case") == [("id1",), ("id1/lowercase",)]


def test_failed_requests_and_requests_for_references_have_no_response() -> None:
    failed = _state(result={"success": False, "error": "timeout", "completions": []})
    separate = _state(instance=_instance("id2"), reference_index=1)

    found = stored(_folder([failed, separate]))

    assert (len(found["cases"]), found["responses"]) == (2, [])


def test_the_folder_names_the_model_where_no_file_does() -> None:
    files: dict[str, Any] = {
        "qa:model=org_one,k=5/instances.json": [_instance()],
        "qa:model=org_one,k=5/display_predictions.json": [_prediction()],
    }

    assert stored(files)["systems"] == ["org_one"]
    assert warned(files) == {"system-from-folder": 1}


FILE = "m/samples_sums_2025-01-01T00-00-00.1.jsonl"


def _row(**more: Any) -> Fields:
    doc = {"question": "1 + 1?", "answer": "2"}
    return {"doc_id": 0, "doc": doc, "target": "2", "arguments": [["Q: 1 + 1?", {}]], "resps": [["2"]]} | more


def _results(**more: Any) -> str:
    return json.dumps({"results": {"sums": {}}, "config": {"model": "hf"}, "versions": {}} | more)


@pytest.mark.parametrize(
    ("results", "system"),
    [
        ({"model_name": "org/tiny", "config": {"model": "hf", "model_args": "pretrained=org/tiny"}}, "org/tiny"),
        ({"model_name": "abcd1234", "config": {"model": "dummy", "model_args": {}}}, "dummy"),
        ({"model_name": "abcd1234", "config": {"model": "hf", "model_args": {"pretrained": "abcd1234"}}}, "abcd1234"),
        ({"model_name": "", "config": {"model": "dummy"}}, "dummy"),
        ({"config": {"model": "hf", "model_args": "dtype=float,pretrained=org/tiny,revision=main"}}, "org/tiny"),
        ({"config": {"model": "local-completions", "model_args": {"base_url": "u", "model": "tiny"}}}, "tiny"),
        ({"config": {}}, "m"),
    ],
)
def test_system_is_the_models_name_or_the_kind_of_model_or_the_folder(results: Fields, system: str) -> None:
    files: dict[str, Any] = {FILE: [_row()], "m/results_2025-01-01T00-00-00.1.json": _results(**results)}

    assert kinds(files) == ["lm-eval", "lm-eval-results"] or kinds(files) == ["lm-eval-results", "lm-eval"]
    assert stored(files)["systems"] == [system]


def test_filters_that_old_versions_do_not_name_are_those_of_the_results() -> None:
    rows = [_row(exact_match=1.0), _row(exact_match=0.0)]
    scores = {"sums": {"exact_match,strict": 1.0, "exact_match,flexible": 0.0}}
    files: dict[str, Any] = {
        FILE: rows,
        "m/results_2025-01-01T00-00-00.1.json": _results(results=scores, model_name="x"),
    }

    assert told(stored(files)["scores"], "grader", "value") == [
        ("exact_match (strict)", 1.0),
        ("exact_match (flexible)", 0.0),
    ]
    assert len(stored(files)["responses"]) == 1


@pytest.mark.parametrize(
    ("doc", "question"),
    [
        ({"problem": "Solve x.", "solution": "2"}, "Solve x."),
        ({"goal": "Open a jar", "sol1": "Twist"}, "Open a jar"),
        ({"other": 3}, "Goal: Open a jar"),
    ],
)
def test_the_question_is_the_documents_own(doc: Fields, question: str) -> None:
    (case,) = stored({FILE: [_row(doc=doc, arguments=[["Goal: Open a jar", {}]])]})["cases"]

    assert case["prompt"] == question


def test_the_likeliest_choice_is_the_response_whatever_form_the_likelihoods_have() -> None:
    doc = {"question": "Largest?", "choices": {"text": ["Sea", "Ocean"], "label": ["A", "B"]}, "answerKey": "B"}
    common: Fields = {"doc": doc, "target": "1", "arguments": [["Largest?", " Sea"], ["Largest?", " Ocean"]]}
    rows = [_row(doc_id=0, resps=[[[-4.5, False]], [[-1.5, True]]], acc=1.0, **common)]
    rows.append(_row(doc_id=1, resps=[["(-1.5, False)"], ["(-3.0, False)"]], acc=0.0, **common))

    found = stored({FILE: rows})

    assert told(found["responses"], "text") == [("Ocean",), ("Sea",)]
    assert told(found["cases"], "references") == [(["Ocean"],), (["Ocean"],)]
    assert told(found["scores"], "grader", "scale") == [("acc", [0, 1]), ("acc", [0, 1])]
    assert warned({FILE: rows}) == {"system-from-folder": 1, "choice-from-likelihood": 2}


def test_repeats_are_attempts_and_values_of_several_responses_are_left_out() -> None:
    rows = [_row(resps=[["2", "3"]], filtered_resps=["2"], filter="maj", metrics=["acc", "pairs"], acc=1, pairs=[1, 2])]

    found = stored({FILE: rows})

    assert told(found["responses"], "attempt", "text") == [(0, "2"), (1, "3")]
    assert told(found["scores"], "grader", "value") == [("acc (maj)", 1.0)]


def test_ids_of_several_tasks_do_not_meet() -> None:
    files = {FILE: [_row()], FILE.replace("sums", "words"): [_row(doc={"question": "Spell it."})]}

    assert sorted(case["id"] for case in stored(files)["cases"]) == ["sums/0", "words/0"]


def test_the_likelihood_of_one_text_is_no_response() -> None:
    found = stored({FILE: [_row(resps=[[[-4.5, True]]], perplexity=[-4.5, 1])]})

    assert (len(found["cases"]), found["responses"], found["scores"]) == (1, [], [])
