from __future__ import annotations

import json
from typing import Any

import pytest

from tests.judging.specs.records.tools.uploads import Fields, kinds, read, stored, told, warned

pytestmark = pytest.mark.backend_free


def _event(kind: str, sample: str = "s.0", **data: Any) -> Fields:
    return {"run_id": "r", "event_id": 0, "sample_id": sample, "type": kind, "data": data}


def _evals(*events: Fields, models: tuple[str, ...] = ("bot",)) -> dict[str, list[Fields]]:
    spec = {"completion_fns": list(models), "base_eval": "closedqa", "eval_name": "closedqa.dev"}
    return {"log.jsonl": [{"spec": spec}, *events, {"final_report": {"accuracy": 1}}]}


def test_a_model_that_graded_the_sample_is_a_judge_and_its_call_no_response() -> None:
    sampling = _event("sampling", prompt="Why?", sampled=["So."])
    grading = _event("sampling", prompt="Grade it", sampled=["Y"])
    files = _evals(sampling, grading, _event("metrics", choice="Y", score=1.0, accuracy=0.5), models=("bot", "judge"))

    found = stored(files)

    assert told(found["responses"], "case", "system", "text") == [("s.0", "bot", "So.")]
    assert told(found["verdicts"], "judge", "value") == [("closedqa", 1.0)]
    assert told(found["scores"], "grader", "value", "scale") == [("accuracy", 0.5, [0, 1])]


def test_a_choice_that_could_not_be_read_is_unparsed() -> None:
    files = _evals(_event("sampling", prompt="Why?", sampled="So."), _event("metrics", choice="__invalid__", score=0))

    assert warned(files) == {"unparsed-verdict": 1}


def test_ideals_stand_in_the_raw_sample_and_errors_are_no_responses() -> None:
    files = _evals(
        _event("raw_sample", input="Why?", ideal=["So", "Thus"]),
        _event("sampling", prompt=[{"role": "user", "content": "Why?"}], sampled=["So", "Hm"]),
        _event("error", "s.1", type="Timeout", message="too slow"),
    )

    found = stored(files)

    assert told(found["cases"], "prompt", "references") == [("Why?", ["So", "Thus"])]
    assert told(found["responses"], "attempt", "text") == [(0, "So"), (1, "Hm")]
    assert warned(files) == {"failed-sample": 1}


def _item(number: int, results: list[Fields], **sample: Any) -> Fields:
    asked = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": f"Why {number}?"}]
    given: Fields = {"input": asked, "output": [{"role": "assistant", "content": f"So {number}."}], "model": "bot"}
    return {
        "object": "eval.run.output_item",
        "id": f"item_{number}",
        "run_id": "run_1",
        "datasource_item_id": number,
        "datasource_item": {"input": f"Why {number}?", "ground_truth": "So."},
        "results": results,
        "sample": given | {"finish_reason": "stop", "usage": {"completion_tokens": 2}, "error": None} | sample,
    }


def test_output_items_of_the_evals_api_bring_cases_responses_scores_and_verdicts() -> None:
    reply = [{"role": "assistant", "content": "Good. 6"}]
    check: Fields = {
        "name": "String check-a2486074-d803-4445-b431-ad2262e85d47",
        "score": 1.0,
        "passed": True,
        "sample": None,
    }
    model = {"name": "Tone", "score": 6, "passed": True, "sample": {"output": reply, "model": "grader"}}
    items = [
        _item(0, [check, model]),
        _item(1, [check | {"score": 0.0, "passed": False}], error={"code": "rate_limit", "message": "too many"}),
    ]
    files = {"items.json": json.dumps({"object": "list", "data": items, "has_more": False})}

    found = stored(files)

    assert kinds(files) == ["openai-eval-items"]
    assert told(found["cases"], "id", "references") == [("0", ["So."]), ("1", ["So."])]
    assert [turn["role"] for turn in found["cases"][0]["messages"]] == ["system", "user"]
    assert told(found["responses"], "case", "system", "text", "stop") == [("0", "bot", "So 0.", "stop")]
    assert told(found["scores"], "grader", "value", "scale") == [("String check", 1.0, [0, 1])]
    assert told(found["verdicts"], "judge", "value", "scale", "reason") == [("Tone", 6.0, [None, None], "Good. 6")]
    assert warned(files) == {"failed-sample": 1, "scale-unknown": 1}


def _reply(id_: str, body: Fields, status: int = 200) -> Fields:
    return {"id": "x", "custom_id": id_, "response": {"status_code": status, "body": body}, "error": None}


def test_batches_of_the_responses_api_are_joined_with_their_requests() -> None:
    requests = [
        {
            "custom_id": "a",
            "method": "POST",
            "url": "/v1/responses",
            "body": {"instructions": "Be dry.", "input": "Why?"},
        },
        {"custom_id": "b", "method": "POST", "url": "/v1/responses", "body": {"input": "How?"}},
        {"custom_id": "c", "method": "POST", "url": "/v1/responses", "body": {"input": "Who?"}},
    ]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]}
    call = {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "1"}
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    results = [
        _reply("b", {"model": "m", "output": [{"type": "reasoning", "summary": []}, said], **incomplete}),
        _reply("a", {"model": "m", "output": [call, said], "usage": {"output_tokens": 3}}),
        {"id": "x", "custom_id": "c", "response": None, "error": {"code": "batch_expired", "message": "expired"}},
    ]
    files = {"out.jsonl": results, "in.jsonl": requests}

    found = stored(files)

    assert kinds(files) == ["batch-results", "batch-requests"]
    assert told(found["cases"][0]["messages"], "role", "text") == [("system", "Be dry."), ("user", "Why?")]
    assert told(found["responses"], "case", "text", "stop") == [("b", "So.", "max_output_tokens"), ("a", "So.", None)]
    assert [turn["text"] for turn in found["responses"][1]["messages"]] == ["\n[calls look({})]", "So."]
    assert warned(files) == {"failed-sample": 1, "cut-off": 1}


def test_several_choices_are_attempts_and_a_refusal_is_a_text() -> None:
    choices = [
        {"index": 1, "message": {"role": "assistant", "content": None, "refusal": "No."}, "finish_reason": "stop"},
        {"index": 0, "message": {"role": "assistant", "content": "So."}, "finish_reason": "stop"},
    ]
    files = {"c.jsonl": [{"id": "a", "prompt": "Why?"}], "o.jsonl": [_reply("a", {"model": "m", "choices": choices})]}

    assert told(stored(files)["responses"], "attempt", "text") == [(0, "So."), (1, "No.")]


def test_anthropic_requests_have_their_system_text_apart_and_pictures_as_base64() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}}
    params = {"system": [{"type": "text", "text": "Be dry."}], "messages": [{"role": "user", "content": [picture]}]}
    files = {"in.jsonl": [{"custom_id": "a", "params": params}]}

    assert told(stored(files)["cases"][0]["messages"], "role", "text") == [("system", "Be dry."), ("user", "[image]")]


def test_a_request_without_a_question_is_named() -> None:
    files = {"in.jsonl": [{"custom_id": "a", "url": "/v1/embeddings", "body": {"input": "Why?"}}]}

    assert "asks nothing" in str(read(files).findings.as_tuple()[0])


def test_rows_for_fine_tuning_give_references_unless_their_last_turn_is_not_learnt() -> None:
    asked = {"role": "user", "content": "Why?"}
    rows: list[Fields] = [
        {"messages": [asked, {"role": "assistant", "content": "So."}], "tools": [{"type": "function"}]},
        {"messages": [asked | {"content": "How?"}, {"role": "assistant", "content": "Thus.", "weight": 0}]},
    ]

    assert told(stored({"t.jsonl": rows})["cases"], "prompt", "references") == [("Why?", ["So."]), ("How?", [])]
    assert warned({"t.jsonl": rows}) == {"last-turn-as-reference": 1}


def test_preferred_outputs_are_gold_preferences() -> None:
    def said(text: str) -> list[Fields]:
        return [{"role": "assistant", "content": text}]

    asked = {"messages": [{"role": "user", "content": "Why?"}], "tools": [], "parallel_tool_calls": True}
    files = {"d.jsonl": [{"input": asked, "preferred_output": said("So."), "non_preferred_output": said("Hm.")}]}

    found = stored(files)

    assert told(found["preferences"], "a", "b", "choice", "kind") == [
        ("preferred_output", "non_preferred_output", "A", "gold")
    ]
    assert warned(files) == {"systems-from-header": 2}
