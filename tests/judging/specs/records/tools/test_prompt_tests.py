from __future__ import annotations

import json
from typing import Any

import pytest

from judging.specs.records.tools.prompt_tests import keyword_rule
from tests.judging.specs.records.tools.uploads import Fields, kinds, read, stored, told, warned

pytestmark = pytest.mark.backend_free


def _row(test: int = 0, prompt: int = 0, **more: Any) -> Fields:
    return {
        "testIdx": test,
        "promptIdx": prompt,
        "vars": {"q": "Why?"},
        "prompt": {"raw": "Say: Why?", "label": "say"},
        "provider": {"id": "p:one", "label": ""},
        "response": {"output": "So."},
        "success": True,
        "score": 1,
        "failureReason": 0,
        "gradingResult": {"pass": True, "score": 1, "reason": "fine"},
    } | more


def _result(kind: str, score: float, **more: Any) -> Fields:
    return {"pass": score > 0, "score": score, "reason": "r", "assertion": {"type": kind}} | more


def test_repeated_tests_are_attempts_of_one_case_in_the_order_of_their_numbers() -> None:
    rows = [_row(3, response={"output": "B"}), _row(1, response={"output": "A"}), _row(2, vars={"q": "How?"})]

    found = stored({"r.jsonl": rows})

    assert told(found["cases"], "id", "prompt") == [("1", "Why?"), ("2", "How?")]
    assert told(found["responses"], "case", "attempt", "text") == [("1", 1, "B"), ("1", 0, "A"), ("2", 0, "So.")]


def test_the_prompts_label_stands_behind_the_provider_where_there_are_several() -> None:
    other = {"raw": "Ask: Why?", "label": "ask"}

    found = stored({"r.jsonl": [_row(), _row(prompt=1, prompt_=1) | {"prompt": other, "promptIdx": 1}]})

    assert found["systems"] == ["p:one (ask)", "p:one (say)"]


def test_tests_in_a_table_are_cases_whose_references_are_what_is_expected() -> None:
    tests = (
        "city,__expected,__expected2,__description,__metric\nRome,Italy,,d,m\nRiga,icontains: latvia,llm-rubric: x,,\n"
    )
    files = {"tests.csv": tests}

    assert kinds(files) == ["promptfoo-tests"]
    assert told(stored(files)["cases"], "id", "prompt", "references", "metadata") == [
        ("0", "Rome", ["Italy"], {"description": "d"}),
        ("1", "Riga", [], {}),
    ]
    assert warned(files) == {"assertion-not-carried": 1}


def test_prompts_without_variables_are_cases_themselves() -> None:
    rows = [_row(vars={}), _row(prompt=1, vars={}) | {"prompt": {"raw": "Other", "label": "Other"}}]

    found = stored({"r.jsonl": rows})

    assert told(found["cases"], "prompt") == [("Say: Why?",), ("Other",)]
    assert found["systems"] == ["p:one"]


@pytest.mark.parametrize(
    ("failure", "count"),
    [
        ({"failureReason": 2, "error": "503"}, 0),
        ({"failureReason": 1, "error": "Expected output to contain x"}, 1),
        ({"failureReason": None, "error": "503", "response": None}, 0),
        ({"failureReason": 0, "response": {"output": None}}, 0),
        ({"failureReason": 0, "response": {"output": ""}}, 1),
    ],
)
def test_only_an_error_is_no_response(failure: Fields, count: int) -> None:
    assert len(stored({"r.jsonl": [_row(**failure)]})["responses"]) == count


def test_assertions_are_graders_and_those_that_ask_a_model_judges() -> None:
    named = _result("llm-rubric", 0.5) | {"assertion": {"type": "llm-rubric", "metric": "tone"}}
    unread = _result("g-eval", 0, metadata={"graderError": True})
    parts = [_result("contains", 1), _result("contains", 0), {"pass": True, "score": 1}, named, unread]
    grading = {"pass": False, "score": 0.5, "reason": "r", "componentResults": parts}

    files = {"r.jsonl": [_row(gradingResult=grading, score=0.5, namedScores={"tone": 0.5, "extra": 1})]}
    found = stored(files)

    assert told(found["scores"], "grader", "value") == [
        ("promptfoo", 0.5),
        ("contains", 1.0),
        ("contains (2)", 0.0),
        ("extra", 1.0),
    ]
    assert told(found["verdicts"], "judge", "value", "scale") == [("tone", 0.5, [0, 1])]
    assert warned(files) == {"unparsed-verdict": 1}


def test_results_of_version_2_are_read_also_from_the_table_alone() -> None:
    row = {name: value for name, value in _row().items() if name not in ("testIdx", "promptIdx", "failureReason")}
    head = {"prompts": [{"label": "say", "provider": "p:one"}], "vars": ["q"]}
    output = {"text": "too short\n---\nSo.", "pass": False, "score": 0, "prompt": "Say: Why?"}
    table = {"head": head, "body": [{"outputs": [output], "vars": ["Why?"]}]}

    for results in ({"version": 2, "results": [row]}, {"version": 2, "table": table}):
        found = stored({"r.json": json.dumps({"results": results})})

        assert told(found["responses"], "case", "system", "text") == [("0", "p:one", "So.")]


def test_cells_of_old_csv_files_have_their_status_before_the_text() -> None:
    text = 'q,[p:one] say\nWhy?,[PASS] So.\nHow?,"[FAIL] (0.00) short\n---\nThus."\nWho?,[ERROR] 503\n'

    found = stored({"r.csv": text})

    assert kinds({"r.csv": text}) == ["promptfoo-csv"]
    assert told(found["responses"], "system", "text") == [("p:one", "So."), ("p:one", "Thus.")]
    assert told(found["scores"], "value") == [(1.0,), (0.0,)]


def test_metrics_of_csv_files_belong_to_the_block_on_their_left() -> None:
    text = (
        "q,[a] say,Status,Score,Named Scores,Metric: tone,Grader Reason,Comment,[b] say,Status,Score\n"
        'Why?,So.,PASS,0.75,"{""tone"":0.5}",0.50,fine,,Thus.,FAIL,0.00\n'
    )

    assert told(stored({"r.csv": text})["scores"], "system", "grader", "value") == [
        ("a", "promptfoo", 0.75),
        ("a", "tone", 0.5),
        ("b", "promptfoo", 0.0),
    ]


def test_configurations_give_cases_with_rules() -> None:
    config = {
        "prompts": ["{{q}}"],
        "defaultTest": {"vars": {"tone": "dry"}, "assert": [{"type": "is-json"}, {"type": "cost", "threshold": 1}]},
        "tests": [
            {"vars": {"q": ["Why?", "How?"]}, "assert": [{"type": "contains", "value": "{{q}}", "weight": 2}]},
            {"vars": {"q": "Who?"}, "options": {"disableDefaultAsserts": True}, "assert": [{"type": "javascript"}]},
        ],
    }

    reading = read({"c.json": json.dumps(config)})

    assert reading.collected is not None
    cases = [case for _, case in reading.collected.cases]
    assert [(case.key, case.prompt) for case in cases] == [
        ("0", "tone: dry\nq: Why?"),
        ("1", "tone: dry\nq: How?"),
        ("2", "tone: dry\nq: Who?"),
    ]
    rules = [{"content": {"json": "whole"}}, {"content": "How?", "weight": 2.0}]
    assert cases[1].grading == {"keywords": rules}
    assert cases[2].grading == {}
    assert warned({"c.json": json.dumps(config)}) == {"assertion-not-carried": 2}


@pytest.mark.parametrize(
    ("kind", "value", "rule"),
    [
        ("icontains-any", ["a", "b"], {"content": {"or": ["a", "b"]}, "to_lower": True}),
        ("contains-all", "a, b", {"content": {"and": ["a", "b"]}}),
        ("equals", 4, {"content": {"content": r"\A4\Z", "regex": True}}),
        ("not-contains", "a.b", {"content": {"content": r"\A(?![\s\S]*(?:a\.b))", "regex": True}}),
        ("not-equals", "a", {"content": {"content": r"\A(?!\Aa\Z)", "regex": True}}),
        ("regex", "[", None),
        ("equals", {"a": 1}, None),
        ("contains", "file://x.txt", None),
        ("contains", "{{ other | upper }}", None),
        ("llm-rubric", "good", None),
        ("is-json", {"type": "object"}, None),
    ],
)
def test_keyword_rule_says_the_same_or_nothing(kind: str, value: object, rule: Fields | None) -> None:
    assert keyword_rule(kind, {"type": kind, "value": value}, {}) == rule


def _run(*cases: Fields, **more: Any) -> dict[str, str]:
    run = {"testCases": list(cases), "conversationalTestCases": [], "hyperparameters": {"model": "bot"}} | more
    return {".latest_test_run.json": json.dumps({"testRunData": run})}


def _case(**more: Any) -> Fields:
    return {"name": "test_case_0", "input": "Why?", "actualOutput": "So.", "metricsData": []} | more


def test_metrics_without_a_model_are_scores_and_those_with_one_verdicts() -> None:
    metrics = [
        {"name": "Length", "score": 0.5, "threshold": 0.5, "success": True, "reason": "r"},
        {"name": "Relevancy", "score": 0.7, "evaluationModel": "judge-x", "reason": "fits"},
        {"name": "Faith", "score": None, "evaluationModel": "judge-x", "error": "no JSON"},
    ]
    files = _run(_case(metricsData=metrics))

    assert told(stored(files)["scores"], "grader", "value") == [("Length", 0.5)]
    assert told(stored(files)["verdicts"], "judge", "value", "reason") == [("Relevancy", 0.7, "fits")]
    assert warned(files) == {"unparsed-verdict": 1}


def test_a_conversation_is_a_case_of_its_user_turns_and_one_whole_response() -> None:
    turns = [{"role": role, "content": text} for role, text in (("user", "Hi"), ("assistant", "Yo"), ("user", "And?"))]
    case = {"name": "c", "turns": [*turns, {"role": "assistant", "content": "Bye"}], "expectedOutcome": "Parted"}

    found = stored(_run(conversationalTestCases=[case]))

    assert told(found["cases"][0]["messages"], "role", "text") == [("user", "Hi"), ("user", "And?")]
    assert found["cases"][0]["references"] == ["Parted"]
    assert [turn["text"] for turn in found["responses"][0]["messages"]] == ["Hi", "Yo", "And?", "Bye"]


def test_names_that_several_cases_have_are_no_ids() -> None:
    found = stored(_run(_case(name="test_it"), _case(name="test_it", input="How?")))

    assert told(found["cases"], "id", "prompt") == [("1", "Why?"), ("2", "How?")]
    assert found["cases"][0]["metadata"] == {"name": "test_it"}


def test_two_metrics_of_one_name_are_two_graders() -> None:
    metric = {"name": "Length", "score": 0.5}

    assert told(stored(_run(_case(metricsData=[metric, metric])))["scores"], "grader") == [
        ("Length",),
        ("Length (2)",),
    ]


def test_a_run_that_names_no_model_is_refused_until_the_person_names_it() -> None:
    files = _run(_case(), hyperparameters=None)

    assert "--system" in str(read(files).findings.as_tuple()[0].hint)
    assert stored(files, system="mine")["systems"] == ["mine"]


def test_a_missing_output_is_no_response_and_an_empty_one_is() -> None:
    missing = {key: value for key, value in _case(name="a").items() if key != "actualOutput"}

    assert told(stored(_run(missing, _case(name="b", actualOutput="")))["responses"], "case", "text") == [("b", "")]


def test_old_results_name_provider_and_prompt_by_what_they_display() -> None:
    rows = [
        {
            "prompt": {"raw": f"{prompt} {body}", "display": f"[{provider}] {prompt} {{{{body}}}}"},
            "vars": {"body": body},
            "response": {"output": f"{provider}: {prompt} {body}"},
            "success": True,
        }
        for body in ("hi", "bye")
        for prompt in ("Say", "Sing")
        for provider in ("oak", "elm")
    ]

    document = stored({"output.json": json.dumps({"version": 1, "results": rows, "stats": {}})})

    assert told(document["responses"], "case", "system", "attempt", "text") == [
        (str(case), f"{provider} ({prompt} {{{{body}}}})", 0, f"{provider}: {prompt} {body}")
        for case, body in enumerate(("hi", "bye"))
        for prompt in ("Say", "Sing")
        for provider in ("oak", "elm")
    ]


def test_results_of_several_runs_go_on_with_their_attempts() -> None:
    def results(text: str, id_: str) -> str:
        row = {"id": id_, "testIdx": 0, "promptIdx": 0, "prompt": {"raw": "Say hi", "label": "Say {{body}}"}}
        row |= {"provider": {"id": "oak"}, "vars": {"body": "hi"}, "response": {"output": text}, "success": True}
        return json.dumps({"results": {"version": 3, "results": [row]}})

    files = {"1.json": results("Hi.", "a"), "2.json": results("Hello.", "b"), "3.json": results("Hi.", "a")}

    assert told(stored(files)["responses"], "case", "system", "attempt", "text") == [
        ("0", "oak", 0, "Hi."),
        ("0", "oak", 1, "Hello."),
    ]
