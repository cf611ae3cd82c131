from __future__ import annotations

import json

import pytest

from tests.judging.specs.records.tools.uploads import read

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ({"images": [{"id": 1}], "annotations": [{"id": 1}], "categories": [{"id": 1}]}, "COCO annotations"),
        ({"name": "x", "version": "1.0.0", "dependencies": {}}, "program package"),
        ({"architectures": ["Any"], "model_type": "any"}, "settings of a model"),
        ({"$schema": "any", "properties": {}}, "JSON schema"),
        ({"cells": [{"source": []}], "nbformat": 4}, "Jupyter notebook"),
        ([{"data_row": {"id": "d"}, "projects": {}}], "labelling platform"),
        ([{"source": "Why?", "quality": 1, "quality-metadata": {"class-name": "good"}}], "labelling platform"),
        (
            [{"Timestamp": "2024/01/01", "Email Address": "a@x.org", "How good is it? [1]": "Good"}],
            "replies to a survey",
        ),
        ([{"Timestamp": "2024/01/01", "Email Address": "a@x.org", "Rate it": 4, "Why": "So"}], "replies to a survey"),
        ([{"StartDate": "d", "RecordedDate": "d", "ResponseId": "R_1", "Q1": "Good"}], "replies to a survey"),
        (
            {
                f"cases/{n}.yaml": {
                    "full_score": 1.0,
                    "now_score": 0.5,
                    "detail": [{}],
                    "id": n,
                    "prompt_path": "p.txt",
                }
                for n in "12"
            },
            "InfiBench's grader",
        ),
        ([{"entry_type": "attempt", "probe_classname": "dan.Dan", "prompt": "Be.", "outputs": ["No."]}], "of garak"),
        ({"resolved_ids": ["a"], "unresolved_ids": [], "total_instances": 1}, "report of SWE-bench"),
        ({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {}}]}]}]}, "log records of OpenTelemetry"),
        ([{"Submission 1": "a", "Submission 2": "b", "Speaker 1 - Initial Evaluation": {}}], "debate_set import"),
    ],
)
def test_known_files_that_are_not_read_are_refused_by_name(rows: object, name: str) -> None:
    reading = read({"file.json": json.dumps(rows)})

    assert reading.collected is None
    assert [name in finding.message for finding in reading.findings.as_tuple()] == [True]


def test_a_table_that_is_dated_and_asks_nobody_is_no_survey() -> None:
    reading = read({"file.json": json.dumps([{"Timestamp": "2024/01/01", "question": "Name who wrote it."}])})

    assert [taken.shape.kind for taken in reading.taken] == ["table"]


def test_tables_of_promptfoo_with_json_in_their_header_are_refused_with_what_to_bring() -> None:
    reading = read({"output.csv": '"{""raw"": ""Hi"", ""provider"": ""oak""}"\n[PASS] (1.00) Hello.\n'})

    assert [finding.message for finding in reading.findings.as_tuple()] == [
        "this is a table of an old promptfoo, whose header holds JSON, which is not read. Bring the results as JSON: "
        "promptfoo eval -o results.json."
    ]
