from __future__ import annotations

import json

import pytest

from tests.judging.specs.records.tools.uploads import Fields, read, stored, told, warned

pytestmark = pytest.mark.backend_free

TRACE: Fields = {"id": "t1", "timestamp": "x", "name": "faq", "userId": None, "sessionId": None, "latency": 1.2}
TRACE |= {
    "input": {"messages": [{"role": "user", "content": "Ship?"}]},
    "output": {"role": "assistant", "content": "Yes."},
}


def _score(**fields: object) -> Fields:
    return {"id": "s", "traceId": "t1", "source": "API", "name": "n", "dataType": "NUMERIC", "value": None} | fields


def test_scores_are_labels_verdicts_and_scores_by_their_source() -> None:
    scores = [
        _score(
            source="ANNOTATION",
            name="tone",
            dataType="CATEGORICAL",
            value=2,
            stringValue="warm",
            authorUserName="Maja N",
        ),
        _score(source="EVAL", name="help", value=4, comment="Fine."),
        _score(name="length", value=12),
        _score(name="session", value=1, traceId=None, sessionId="s9"),
    ]
    files = {"scores.json": scores, "traces.json": [TRACE]}

    document = stored(files)

    assert told(document["responses"], "system", "text") == [("faq", "Yes.")]
    assert told(document["labels"], "rater", "criterion", "label", "system") == [("Maja N", "tone", "warm", "faq")]
    assert told(document["verdicts"], "judge", "value", "scale", "reason") == [("help", 4.0, [None, None], "Fine.")]
    assert told(document["scores"], "grader", "value") == [("length", 12.0)]
    assert warned(files) == {"scale-unknown": 2, "system-from-name": 1}


def test_scores_inside_traces_are_read_and_columns_of_scores_left_out() -> None:
    trace = TRACE | {"scores": [_score(source="EVAL", name="help", value=1)], "tone": [1]}
    reading = read({"traces.json": [trace, TRACE | {"id": "t2", "output": None}]})

    assert reading.collected is not None
    assert told(reading.collected.document()["verdicts"], "judge", "value", "scale") == [("help", 1.0, [0, 1])]
    assert [(what, why) for what, why, _ in reading.collected.left_out()] == [
        ("column", "tone: who scored is said in the table of scores alone"),
        ("response", "t2: the trace has no output"),
    ]


def test_scores_of_traces_by_name_alone_are_left_out() -> None:
    reading = read({"traces.json": [TRACE | {"scores": {"tone": [1]}}]})

    assert reading.collected is not None
    assert [(what, why) for what, why, _ in reading.collected.left_out()] == [
        ("column", "scores: who scored is said in the table of scores alone")
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"user_input": "Ship?", "response": "Yes.", "faithfulness": 0.9},
        {"record_id": "r", "app_id": "faq", "input": "Ship?", "output": "Yes.", "faithfulness": 0.9},
    ],
)
def test_numbers_that_keep_the_books_of_a_run_are_no_metrics(row: Fields) -> None:
    books = dict.fromkeys(("batch", "seed", "fold", "page", "n_tokens", "cost_usd", "Latency (ms)"), 1)

    assert told(stored({"t.jsonl": [row | books]})["scores"], "grader", "value") == [("faithfulness", 0.9)]


def test_metrics_of_vertex_with_an_explanation_are_judges_of_an_unknown_scale() -> None:
    row = {
        "prompt": "Ship?",
        "response": "Yes.",
        "fluency/explanation": "Short.",
        "fluency/score": 4,
        "bleu/score": 0.5,
    }

    document = stored({"t.jsonl": [row]})

    assert told(document["verdicts"], "judge", "value", "scale", "reason") == [("fluency", 4.0, [None, None], "Short.")]
    assert told(document["scores"], "grader", "value", "scale") == [("bleu", 0.5, [0, 1])]


def test_scores_without_their_traces_name_what_is_missing() -> None:
    reading = read({"scores.json": [_score(value=1)]})

    assert [finding.message for finding in reading.findings.as_tuple()] == [
        "The trace t1 is in no file of this upload."
    ]


def test_items_of_the_api_keep_their_details() -> None:
    item = {
        "id": "i1",
        "status": "ACTIVE",
        "input": {"question": "Q?"},
        "expectedOutput": {"answer": "A"},
        "metadata": {"k": 1},
    }
    files = {"items.json": json.dumps({"data": [item | {"datasetName": "faq"}], "meta": {"page": 1}})}

    assert stored(files)["cases"] == [
        {"id": "i1", "prompt": "Q?", "references": ["A"], "metadata": {"k": 1, "datasetName": "faq"}}
    ]


def test_results_of_an_experiment_are_responses_with_feedback() -> None:
    table = (
        "inputs.question,outputs.answer,error,reference.answer,feedback.correct,execution_time,example_id,id\n"
        "What?,That.,,This.,True,1.5,e1,r1\nWhy?,,Timeout,So.,,2.0,e2,r2\n"
    )

    document = stored({"exp.csv": table})

    assert told(document["cases"], "id", "prompt", "references") == [
        ("e1", "What?", ["This."]),
        ("e2", "Why?", ["So."]),
    ]
    assert told(document["responses"], "system", "text") == [("exp", "That.")]
    assert told(document["scores"], "grader", "value", "scale") == [("correct", 1.0, [0, 1])]
    assert warned({"exp.csv": table}) == {"failed-sample": 1, "system-from-file": 1}


def test_outputs_are_responses_where_the_inputs_have_the_reference() -> None:
    row = {"inputs.question": "Which river?", "inputs.ground_truth": "Elbe", "outputs.answer": "The Oder."}

    document = stored({"flow.jsonl": [row]})

    assert told(document["cases"], "prompt", "references") == [("Which river?", ["Elbe"])]
    assert told(document["responses"], "system", "text") == [("flow", "The Oder.")]


def test_comment_on_feedback_is_no_score() -> None:
    table = "inputs.q,outputs.a,feedback.right,feedback.right.comment,id\nQ?,A.,1,It is.,r1\n"

    document = stored({"exp.csv": table})

    assert told(document["scores"], "grader", "value") == [("right", 1.0)]


def test_feedback_says_who_gave_it() -> None:
    feedback = [
        {"key": "helpful", "score": 1, "comment": "Yes.", "feedback_source": {"type": "model"}},
        {"key": "tone", "value": "warm", "feedback_source": {"type": "app", "user_name": "maja"}},
        {"key": "length", "score": 12, "feedback_source": {"type": "api"}},
    ]
    row: Fields = {"inputs": {"question": "Q?"}, "outputs": {"output": "O"}, "id": "1"}
    row |= {"reference_outputs": {"answer": "R"}, "feedback": feedback, "metadata": {"ls_model_name": "elk"}}

    document = stored({"run.jsonl": [row]})

    assert told(document["verdicts"], "judge", "value", "reason") == [("helpful", 1.0, "Yes.")]
    assert told(document["labels"], "rater", "criterion", "label", "system") == [("maja", "tone", "warm", "elk")]
    assert told(document["scores"], "grader", "scale") == [("length", [None, None])]


def test_messages_of_langchain_are_turns_and_the_last_output_the_reference() -> None:
    serialized = {"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "Hi?"}}
    row: Fields = {
        "id": "1",
        "inputs": {"messages": [[{"type": "system", "content": "Be kind."}, serialized]]},
        "outputs": {"generations": [[{"text": "Hello"}]]},
    }

    case = stored({"data.jsonl": [row]})["cases"][0]

    assert told(case["messages"], "role", "text") == [("system", "Be kind."), ("user", "Hi?")]
    assert case["references"] == ["Hello"]


def test_a_ragas_conversation_ends_with_the_response() -> None:
    turns = [("human", "Hi"), ("ai", "Hello"), ("human", "Hours?"), ("ai", "9 to 5")]
    row = {
        "user_input": [{"content": text, "type": kind} for kind, text in turns],
        "reference": "9-5",
        "rubrics_score": 4,
    }

    document = stored({"r.jsonl": [row]})

    assert told(document["cases"][0]["messages"], "role", "text") == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "Hours?"),
    ]
    assert told(document["responses"], "text") == [("9 to 5",)]
    assert told(document["scores"], "grader", "scale") == [("rubrics_score", [None, None])]
    assert warned({"r.jsonl": [row]}) == {"system-from-file": 1, "scale-unknown": 1}


def test_old_ragas_results_have_answers_as_responses() -> None:
    table = "question,answer,contexts,ground_truth,faithfulness,latency\n"
    table += "What?,None,\"['a', 'b']\",This.,0.5,2\nWhy?,,[],So.,,3\n"

    document = stored({"r.csv": table})

    assert told(document["cases"], "prompt", "references", "context") == [
        ("What?", ["This."], ["a", "b"]),
        ("Why?", ["So."], None),
    ]
    assert told(document["responses"], "text", "metadata") == [("None", {"latency": 2})]
    assert told(document["scores"], "grader", "value") == [("faithfulness", 0.5)]
    assert warned({"r.csv": table}) == {"system-from-file": 1, "null-response": 1}


def test_a_ragas_test_set_becomes_cases() -> None:
    table = "user_input,reference_contexts,reference,synthesizer_name\nWhat?,\"['c']\",This.,single_hop\n"

    assert stored({"r.csv": table})["responses"] == []
    assert warned({"r.csv": table}) == {}


def test_two_versions_of_an_app_are_two_systems_of_one_case() -> None:
    row = {
        "app_name": "desk",
        "record_id": "r1",
        "input": '"How?"',
        "output": '"So."',
        "Relevance": 0.5,
        "Relevance_calls": "[]",
    }
    rows = [row | {"app_version": "v1"}, row | {"app_version": "v2", "record_id": "r2"}]

    document = stored({"t.jsonl": rows})

    assert told(document["cases"], "id", "prompt") == [("1", "How?")]
    assert told(document["responses"], "system", "text") == [("desk v1", "So."), ("desk v2", "So.")]
    assert told(document["scores"], "system", "value") == [("desk v1", 0.5), ("desk v2", 0.5)]


def test_metrics_of_mlflow_are_judges_where_they_have_a_justification() -> None:
    columns = ["question", "outputs", "targets", "latency", "toxicity/v1/score", "ari/v1/score", "tone/v1/score"]
    columns.append("tone/v1/justification")
    data = [["Q1", "O1", "T1", 0.2, 0.01, 7.5, 4, "Fine."], ["Q2", "O2", "T2", 0.3, 0.5, 3.5, None, ""]]

    files = {"t.json": json.dumps({"columns": columns, "data": data})}
    document = stored(files)

    assert told(document["scores"], "grader", "value", "scale") == [
        ("toxicity/v1", 0.01, [0, 1]),
        ("ari/v1", 7.5, [None, None]),
        ("toxicity/v1", 0.5, [0, 1]),
        ("ari/v1", 3.5, [None, None]),
    ]
    assert told(document["verdicts"], "judge", "value", "scale", "reason") == [("tone/v1", 4.0, [1, 5], "Fine.")]
    assert warned(files) == {"scale-unknown": 1, "system-from-file": 1, "unparsed-verdict": 1}


def test_newer_mlflow_has_requests_and_values() -> None:
    row = {
        "trace_id": "t1",
        "request": {"question": "Q?", "context": "C."},
        "response": {"answer": "R."},
        "right/value": True,
    }

    document = stored({"t.jsonl": [row]})

    assert told(document["cases"], "id", "prompt", "context") == [("t1", "Q?", ["C."])]
    assert told(document["responses"], "text") == [("R.",)]
    assert told(document["scores"], "grader", "value", "scale") == [("right", 1.0, [0, 1])]


def test_assessments_of_mlflow_are_what_their_source_says() -> None:
    def assessed(name: str, source: str, **said: object) -> dict[str, object]:
        return {"assessment_name": name, "source": {"source_type": source, "source_id": "ann"}, **said}

    assessments = [
        assessed("exact", "CODE", feedback={"value": True}),
        assessed("polite", "LLM_JUDGE", feedback={"value": "yes"}, rationale="It thanks."),
        assessed("tone", "HUMAN", feedback={"value": "warm"}),
        assessed("expected_response", "HUMAN", expectation={"value": "Ur."}),
        assessed("broken", "LLM_JUDGE", feedback={"error": {"error_code": "TIMEOUT"}}),
    ]
    row = {"trace_id": "t1", "request": {"question": "Q?"}, "response": "R.", "exact/value": True, "spans": [{"a": 1}]}

    for cell in (assessments, str(assessments)):
        document = stored({"t.jsonl": [row | {"assessments": cell}]})

        assert told(document["cases"], "id", "prompt", "references") == [("t1", "Q?", ["Ur."])]
        assert document["cases"][0]["metadata"] == {}
        assert told(document["scores"], "grader", "value") == [("exact", 1.0)]
        assert told(document["verdicts"], "judge", "value", "reason") == [("polite", "yes", "It thanks.")]
        assert told(document["labels"], "rater", "label", "criterion") == [("ann", "warm", "tone")]


def test_evaluators_of_azure_are_judges_where_they_give_a_reason() -> None:
    asked = {"inputs.query": "Q?", "inputs.response": "R.", "inputs.ground_truth": "Ur.", "inputs.context": "C."}
    f1: Fields = {"score": 0.5, "score_result": "pass", "score_reason": None, "score_threshold": 0.5}
    harm: Fields = {"violence": "Very low", "violence_score": 1, "violence_reason": "A fight is told."}
    relevance: Fields = {
        "relevance": 4.0,
        "gpt_relevance": 4.0,
        "relevance_result": "pass",
        "relevance_reason": "It answers.",
    }
    said: dict[str, Fields] = {
        "f1": f1,
        "bleu": {"score": 0.25},
        "harm": harm,
        "relevance": relevance,
        "length": {"words": 12},
    }
    row = asked | {f"outputs.{by}.{name}": value for by, fields in said.items() for name, value in fields.items()}
    files = {"t.json": json.dumps({"rows": [row], "metrics": {"f1.score": 0.5}, "studio_url": None})}

    document = stored(files)

    (case,), (response,) = document["cases"], document["responses"]
    assert (case["prompt"], case["references"], case["context"], case["metadata"]) == ("Q?", ["Ur."], ["C."], {})
    assert (response["text"], response["metadata"]) == (
        "R.",
        {
            "f1.score_result": "pass",
            "f1.score_threshold": 0.5,
            "harm.violence": "Very low",
            "relevance.gpt_relevance": 4.0,
            "relevance.relevance_result": "pass",
        },
    )
    assert told(document["scores"], "grader", "value", "scale") == [
        ("f1.score", 0.5, [0, 1]),
        ("bleu.score", 0.25, [0, 1]),
        ("words", 12.0, [None, None]),
    ]
    assert told(document["verdicts"], "judge", "value", "scale", "reason") == [
        ("violence", 1.0, [0, 7], "A fight is told."),
        ("relevance", 4.0, [1, 5], "It answers."),
    ]
    assert warned(files) == {"scale-unknown": 1, "system-from-file": 1}


def test_a_metric_of_ragas_says_how_it_is_computed() -> None:
    row = {"user_input": "Q?", "response": "R.", "reference": "Ur.", "rouge_score(mode=fmeasure)": 0.5}

    assert told(stored({"t.jsonl": [row]})["scores"], "grader", "value", "scale") == [
        ("rouge_score(mode=fmeasure)", 0.5, [0, 1])
    ]


def test_reports_of_pydantic_evals_have_what_was_said_and_what_failed() -> None:
    def said(value: object, by: str, reason: str | None = None) -> dict[str, object]:
        return {"name": "x", "value": value, "reason": reason, "source": {"name": by, "arguments": None}}

    case = {"name": "one", "inputs": "Q?", "metadata": {"level": 1}, "expected_output": "Ur.", "trace_id": None}
    told_of = {
        "output": "R.",
        "scores": {"overlap": said(0.5, "Overlap")},
        "labels": {"tone": said("warm", "LLMJudge", "It thanks.")},
        "assertions": {"same": said(False, "EqualsExpected")},
    }
    failed = {"name": "two", "inputs": "P?", "metadata": None, "expected_output": None, "error_message": "No model."}
    report = {"name": "oak", "cases": [case | told_of | {"span_id": None}], "failures": [failed], "trace_id": None}

    files = {"r.json": json.dumps(report)}
    document = stored(files)

    assert told(document["cases"], "id", "prompt") == [("one", "Q?"), ("two", "P?")]
    assert (document["cases"][0]["references"], document["cases"][0]["metadata"]) == (["Ur."], {"level": 1})
    assert told(document["responses"], "case", "system", "text") == [("one", "oak", "R.")]
    assert told(document["scores"], "grader", "value", "scale") == [("overlap", 0.5, [0, 1]), ("same", 0.0, [0, 1])]
    assert told(document["verdicts"], "judge", "value", "reason") == [("tone", "warm", "It thanks.")]
    assert warned(files) == {"failed-sample": 1, "scale-unknown": 1}  # that of tone
    data_set = {"name": "Cases", "cases": [case | {"evaluators": []}], "evaluators": ["EqualsExpected"]}
    assert told(stored({"d.json": json.dumps(data_set)})["cases"], "id", "references") == [("one", ["Ur."])]


def test_rows_of_the_dataset_viewer_are_a_table() -> None:
    rows = [{"row_idx": 0, "row": {"question": "Q?", "answer": "A"}, "truncated_cells": []}]
    files = {"rows.json": json.dumps({"features": [{"name": "question"}, {"name": "answer"}], "rows": rows})}

    assert told(stored(files)["cases"], "prompt", "references") == [("Q?", ["A"])]


def test_ragas_takes_each_column_of_numbers_beside_the_sample_for_a_metric() -> None:
    row = {"user_input": "Oslo?", "response": "In Norway.", "domain_specific_rubrics": 4, "my_metric": 0.5, "index": 7}

    document = stored({"r.jsonl": [row]})

    assert told(document["scores"], "grader", "value") == [("domain_specific_rubrics", 4.0), ("my_metric", 0.5)]
    assert document["cases"][0]["metadata"] == {"index": 7}


def test_a_table_with_what_ragas_does_not_write_is_any_table() -> None:
    row = {"user_input": "Q?", "response": "R.", "provider_model": "gpt-4o", "ideal_response": "Ur.", "is_correct": 1}

    document = stored({"t.jsonl": [row]})

    assert told(document["cases"], "prompt", "references") == [("Q?", ["Ur."])]
    assert told(document["responses"], "system", "text") == [("gpt-4o", "R.")]
    assert told(document["scores"], "grader", "value") == [("is_correct", 1.0)]


def test_langfuse_tells_traces_by_the_scores_in_them_too() -> None:
    score = {"name": "ok", "value": 1, "stringValue": "True", "source": "ANNOTATION", "authorUserId": "maja"}
    trace = {"id": "t1", "timestamp": "2026-01-01", "name": "faq", "input": "Ship?", "output": "Yes."}

    document = stored({"t.json": [trace | {"scores": [score]}]})

    assert told(document["labels"], "rater", "label", "criterion", "system") == [("maja", "True", "ok", "faq")]


def test_mlflow_takes_an_answer_beside_outputs_for_the_reference() -> None:
    row = {"question": "Oslo?", "answer": "Norway", "outputs": "In Norway.", "exact_match/v1/score": 0}

    document = stored({"eval_results_table.jsonl": [row]})

    assert told(document["cases"], "prompt", "references") == [("Oslo?", ["Norway"])]
    assert told(document["responses"], "text") == [("In Norway.",)]
