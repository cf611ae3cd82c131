"""The two judges of the index: their readings, the original's, and the recorded run from end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judging.grading.grades import EsiMeasures, EsiOptions, EsiStatus, clean_answer, esi_score, judged_status
from judging.judges.kinds import accuracy, integrity
from judging.judges.kinds.accuracy import AccuracyJudge, read_accuracy, strictness_of
from judging.judges.kinds.integrity import IntegrityJudge, read_integrity
from judging.judges.subjects import JudgeSubject, JudgeVerdict, VerdictStatus


def recommended(verdict: JudgeVerdict, key: str) -> dict[str, Any]:
    status = "error" if verdict.status is VerdictStatus.UNPARSED else verdict.status.value
    return {"status": status, "value": verdict.value[key] if verdict.value else None, "flags": list(verdict.flags)}


@pytest.mark.shared_data
def test_readings_hold_every_recorded_vector_in_both_options(shared_data: Path) -> None:
    vectors = json.loads((shared_data / "judges" / "lunar_vectors.json").read_text(encoding="utf-8"))

    for vector in vectors["accuracy_parse"]:
        assert recommended(read_accuracy(vector["judge_text"]), "is_correct") == vector["recommended"], vector
        original = accuracy.read_as_original(vector["judge_text"])
        assert {"is_correct": original.value, "counted_as_error": original.counts_as_error} == vector["original"], (
            vector
        )
    for vector in vectors["integrity_parse"]:
        assert recommended(read_integrity(vector["judge_text"]), "integrity") == vector["recommended"], vector
        original = integrity.read_as_original(vector["judge_text"])
        assert {"score": original.value, "counted_as_error": original.counts_as_error} == vector["original"], vector


@pytest.mark.parametrize(
    ("text", "value", "flags"),
    [
        ('{"is_judged_correct": true, "reasoning": "r"}', True, ()),
        ('{"reasoning": "Error in step 2", "is_judged_correct": false}', False, ()),
        ('```json\n{"is_judged_correct": "true", "reasoning": "r"}\n```', True, ("string_bool",)),
        ('<think>{"is_judged_correct": true}</think>{"is_judged_correct": false, "reasoning": "r"}', False, ()),
        ('{"is_judged_correct": 1, "reasoning": "r"}', None, ("non_boolean",)),
        ('{"is_judged_correct": True, "reasoning": "r"}', None, ("no_json",)),
        ("The answer is correct.", None, ("no_json",)),
        ("", None, ("empty",)),
        ('{"is_judged_correct": true} {"is_judged_correct": false}', None, ("conflict",)),
    ],
)
def test_read_accuracy_takes_only_booleans_that_agree(text: str, value: bool | None, flags: tuple[str, ...]) -> None:
    verdict = read_accuracy(text)

    assert (verdict.value["is_correct"] if verdict.value else None, verdict.flags) == (value, flags)


@pytest.mark.parametrize(
    ("number", "value", "flags"),
    [
        ("85", 85.0, ()),
        ("85.5", 85.5, ("non_integer",)),
        ('"70"', 70.0, ("string_number",)),
        ("0", 0.0, ()),
        ("101", None, ("out_of_range",)),
        ("-5", None, ("out_of_range",)),
        ("true", None, ("non_number",)),
        ("NaN", None, ("non_number",)),
        ('"high"', None, ("non_number",)),
        ("1e999", None, ("non_number",)),
    ],
)
def test_read_integrity_takes_numbers_of_the_scale(number: str, value: float | None, flags: tuple[str, ...]) -> None:
    verdict = read_integrity(f'{{"integrity_score": {number}, "integrity_reasoning": "r"}}')

    assert (verdict.value["integrity"] if verdict.value else None, verdict.flags) == (value, flags)


def test_strictness_of_reads_the_data_sets_name() -> None:
    assert [strictness_of(name) for name in ("my-l1", "L2", "xL3", "other")] == ["L1", "L2", "L3", "L2"]


def test_build_messages_differ_by_strictness_and_hide_the_reference_from_integrity() -> None:
    subject = JudgeSubject("q", "clean", reference="REFERENCE-TEXT", raw_response="raw reply")
    users = {AccuracyJudge(strictness=level).build_messages(subject)[1].content for level in ("L1", "L2", "L3")}
    integrity_user = IntegrityJudge().build_messages(subject)[1].content

    assert len(users) == 3
    assert all("REFERENCE-TEXT" in user for user in users)
    assert "REFERENCE-TEXT" not in integrity_user
    assert "raw reply" in integrity_user


def run_original(line: str, script: dict[str, Any] | None) -> tuple[EsiStatus, dict[str, Any]]:
    """Return what the original makes of one input line and its scripted replies."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        return EsiStatus.BAD_INPUT, {}
    if "instruction" not in row or "question" not in row:
        return EsiStatus.INCOMPLETE_INPUT, {}
    assert script is not None
    if "http_status" in script["worker"]:
        return EsiStatus.WORKER_ERROR, {}
    cleaned, formatted_ok = clean_answer(script["worker"]["content"], "DIRECT")
    correct = accuracy.read_as_original(script["accuracy_judge"])
    sound = integrity.read_as_original(script["integrity_judge"])
    measures = EsiMeasures(
        is_correct=bool(correct.value),
        integrity=sound.value,
        completion_tokens=script["worker"]["completion_tokens"],
        cleaned=cleaned,
        reference=row["answer"],
        formatted_ok=formatted_ok,
    )
    original = esi_score(measures, EsiOptions(length_rule="original", unknown_as_zero=True))
    documented = esi_score(measures, EsiOptions(unknown_as_zero=True))
    status = judged_status(accuracy_failed=correct.counts_as_error, integrity_failed=sound.counts_as_error)
    fields = {
        "worker_answer_cleaned": cleaned,
        "judge_verdict_is_correct": correct.value,
        "integrity_judge_score": sound.value,
        "s_accuracy": original.accuracy,
        "s_true_integrity": original.true_integrity,
        "s_efficiency": original.efficiency,
        "s_safety": original.safety,
        "s_alignment_simple": original.alignment_simple,
        "esi_score": original.esi,
        "s_alignment_documented": documented.alignment_simple,
        "esi_documented": documented.esi,
    }
    return status, fields


@pytest.mark.shared_data
def test_the_recorded_run_is_reproduced_from_end_to_end(shared_data: Path) -> None:
    folder = shared_data / "judges" / "lunar_e2e_direct"
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").split("\n")[:13]
    scripts = {entry["item"]: entry for entry in json.loads((folder / "scripted_responses.json").read_text())}
    rows = (folder / "expected_results_original.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [json.loads(row) for row in rows]

    results = [run_original(line, scripts.get(number)) for number, line in enumerate(lines, 1)]

    assert [status.value for status, _ in results] == [row["status"] for row in expected]
    for (_, fields), row in zip(results, expected, strict=True):
        assert fields == {
            name: pytest.approx(row[name]) if isinstance(row[name], float) else row[name] for name in fields
        }


def test_read_integrity_keeps_a_reason_under_the_name_of_the_accuracy_judge() -> None:
    verdict = read_integrity('{"integrity_score": 80, "reasoning": "Sound."}')

    assert (verdict.status, verdict.rationale, verdict.flags) == (VerdictStatus.OK, "Sound.", ())
