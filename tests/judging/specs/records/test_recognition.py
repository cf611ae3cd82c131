"""Files that are read with others say so where they come alone; what they hold is never dropped unsaid."""

from __future__ import annotations

import pytest

from judging.specs.files.bundles import Bundle
from judging.specs.records.parts import RecordOptions
from judging.specs.records.recognition import Reading, read_records
from tests.judging.specs.records import corpus
from tests.judging.specs.records.tools import uploads


def reading(folder: str, *names: str) -> Reading:
    """Return what some files of a folder of the corpus hold."""
    (path,) = corpus.folders(word=folder)
    files = [file for file in corpus.sources(path / "files") if any(name in file.path for name in names)]
    assert len(files) == len(names)
    bundle = Bundle({file.path: (path / "files" / file.path).read_bytes() for file in files})
    return read_records(files, bundle, RecordOptions())


@pytest.mark.parametrize(
    ("folder", "name", "sentence"),
    [
        (
            *("06_lm_eval", "results_"),
            "Alone it stores nothing: lm-evaluation-harness: results. Bring it with samples_*.jsonl of the same run.",
        ),
        (
            *("18_helm", "run_spec.json"),
            "Alone it stores nothing: HELM: settings of a run. Bring it with instances.json with "
            "display_predictions.json, or scenario_state.json, of the same run's folder.",
        ),
        (
            *("23_mtbench", "reference_answer"),
            "Alone it stores nothing: MT-Bench: answers of a model. Bring it with question.jsonl of the same set.",
        ),
    ],
)
def test_read_records_refuses_a_companion_that_comes_alone(folder: str, name: str, sentence: str) -> None:
    result = reading(folder, name)

    assert [f"{problem.message} {problem.hint}" for problem in result.findings.as_tuple()] == [sentence]


def test_read_records_names_a_companion_beside_files_of_another_tool() -> None:
    (lm_eval,), (csv,) = corpus.folders(word="06_lm_eval"), corpus.folders(word="66_pandas")
    files = [file for file in corpus.sources(lm_eval / "files") if "results_" in file.path]

    result = read_records([*files, *corpus.sources(csv / "files")], Bundle({}), RecordOptions())

    assert result.collected is not None
    assert result.collected.left_out() == [
        (
            "file",
            "lm-evaluation-harness: results: it belongs to samples_*.jsonl of the same run, which the upload does not "
            "have",
            1,
        )
    ]


def test_read_records_names_references_whose_questions_are_missing() -> None:
    (folder,) = corpus.folders(word="23_mtbench")
    (answers,) = corpus.folders(word="20_mtbench")
    files = [file for file in corpus.sources(folder / "files") if "reference_answer" in file.path]
    files += [file for file in corpus.sources(answers / "files") if "tiny-chat" in file.path]

    result = read_records(files, Bundle({}), RecordOptions())

    assert result.collected is not None
    assert ("reference", "no file of the upload has its question", 1) in result.collected.left_out()


def test_an_error_of_every_row_is_said_once_with_the_first_rows() -> None:
    rows = [{"prompt": f"Question {number}?", "response": "Yes.", "model": "oak", "epoch": -1} for number in range(6)]

    said = [str(problem) for problem in uploads.read({"q.jsonl": rows}).findings.as_tuple()]

    assert said == [
        "q.jsonl, line 1, epoch: The attempt is no whole number from 0: -1. It is so in 6 rows (first: line 1, "
        "epoch, line 2, epoch, line 3, epoch). Other rows come in with --leave-out-bad-rows."
    ]


def test_a_file_that_lacks_one_field_of_a_tool_is_named_as_such() -> None:
    row = {"instruction": "Add.", "output_1": "3", "zq7": "4", "preference": 1.5}

    collected = uploads.read({"annotations.json": [row]}).collected

    assert collected is not None
    details = [detail for kind, _, _, detail in collected.warning_rows() if kind == "fields-missing"]
    assert details == ["AlpacaEval: annotations, without output_2"]


def test_rows_of_a_tool_that_were_written_twice_count_once() -> None:
    label = {"id": 1, "text": "Late.", "label": ["complaint"], "Comments": []}

    result = uploads.read({"mona.jsonl": [label, label], "ivar.jsonl": [label]})

    assert result.collected is not None, result.findings
    assert result.collected.counts["labels"] == 2
    assert result.collected.left_out() == [("row", "an earlier row is the same", 1)]
