"""`import`: one JSON object, exit code 2 with the page's words, nothing stored in a dry run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from judging.models import Prompt, Response, Rubric, Suite
from tests import factories, image_files
from tests.judging import import_files

pytestmark = pytest.mark.django_db


def run(name: str, *arguments: object, **options: Any) -> dict[str, Any]:
    out = io.StringIO()
    call_command(name, *map(str, arguments), as_json=True, stdout=out, stderr=io.StringIO(), **options)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def write(folder: Path, file: import_files.File) -> Path:
    path = folder / file[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file[1])
    return path


def test_import_of_a_suite_prints_what_it_stored(tmp_path: Path) -> None:
    result = run("import", write(tmp_path, import_files.suite()))

    suite = Suite.objects.get()
    assert result["suite"] == {"id": suite.pk, "name": "Capitals v1", "created": True, "cases": 2}
    assert (result["changed"], result["dry_run"]) == (True, False)


def test_import_of_a_suite_dry_run_stores_nothing(tmp_path: Path) -> None:
    result = run("import", write(tmp_path, import_files.suite()), "--dry-run")

    assert (result["would_change"], result["changed"], Suite.objects.count()) == (True, False, 0)


def test_import_in_the_name_of_a_person_is_theirs_and_nobodys_who_may_not(tmp_path: Path) -> None:
    ada = factories.user("ada", Role.RESEARCHER)
    factories.user("ben", Role.ANNOTATOR)
    file = write(tmp_path, import_files.suite())

    with pytest.raises(BadInput, match="“ben” may not do this"):
        run("import", file, "--by", "ben")
    run("import", file, "--by", "ada")

    assert list(Suite.objects.values_list("created_by", "benchmark__created_by")) == [(ada.pk, ada.pk)]


def test_import_of_a_suite_reads_a_folder_and_names_a_new_benchmark(tmp_path: Path) -> None:
    write(tmp_path, ("suite.yaml", b"cases: [cases/eval_a.yaml]"))
    write(tmp_path, ("cases/eval_a.yaml", b"id: a\nprompt: Why?\ntype: t\nlang: l\ngrading: {keywords: [x]}"))

    result = run("import", tmp_path, "--benchmark", "Whys")

    assert result["benchmark"]["name"] == "Whys"


def test_import_of_a_suite_finds_the_images_that_rows_name_beside_their_file(tmp_path: Path) -> None:
    write(tmp_path, ("images/1.png", image_files.image()))
    row = b'{"id": 1, "question": "What?", "image": "images/1.png", "answer": "Red"}'

    run("import", write(tmp_path, ("QA.jsonl", row)))

    assert [image["name"] for image in Prompt.objects.get().images] == ["images/1.png"]


def test_import_finds_the_images_that_rows_name_in_another_folder_of_the_upload(tmp_path: Path) -> None:
    rows = b'{"id": 1, "question": "What?", "image": "q1.png"}\n{"id": 2, "question": "Who?", "image": "q2.png"}'
    write(tmp_path, ("q_images/q1.png", image_files.image()))
    write(tmp_path, ("q_images/q2.png", image_files.image()))
    write(tmp_path, ("QA.jsonl", rows))

    run("import", tmp_path)

    assert [image["name"] for row in Prompt.objects.order_by("key") for image in row.images] == ["q1.png", "q2.png"]
    write(tmp_path, ("more/q1.png", image_files.image()))
    both = f"{tmp_path.name}/more/q1.png, {tmp_path.name}/q_images/q1.png"
    with pytest.raises(BadInput, match=rf"The image q1\.png of Case 1 is in several folders: {both}\."):
        run("import", tmp_path)


def test_import_takes_every_kind_and_changes_nothing_twice(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, import_files.suite()),
        write(tmp_path, import_files.responses()),
        write(tmp_path, import_files.workbook()),
        write(tmp_path, ("criteria.yaml", import_files.CRITERIA)),
    ]

    first = [run("import", path)["changed"] for path in paths]
    second = [run("import", path)["changed"] for path in paths]

    assert (first, second) == ([True] * 4, [False] * 4)
    assert (Response.objects.count(), Rubric.objects.count()) == (2, 2)


def test_import_of_responses_takes_a_system_and_a_suite(tmp_path: Path) -> None:
    run("import", write(tmp_path, import_files.suite()))
    rows = b'{"case_id": "france", "response": "Paris"}'

    run("import", write(tmp_path, ("r.jsonl", rows)), "--system", "eve", "--suite", Suite.objects.get().pk)

    assert Response.objects.get().system.name == "eve"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (("bad.yaml", b"cases: [7]"), "bad.yaml, line 1, cases.0.: "),
        (("bad.csv", b"a,b\n1,2\n"), "bad.csv: which column holds the prompt or the id of the case"),
        (import_files.responses(), "No benchmark here has these cases"),
        (("r.xlsx", b"no workbook"), "r.xlsx"),
        (("c.yaml", b"criteria: {}"), "The file contains no criteria"),
    ],
)
def test_import_refuses_bad_input_with_exit_code_2(tmp_path: Path, file: import_files.File, message: str) -> None:
    with pytest.raises(BadInput, match=message) as refusal:
        run("import", write(tmp_path, file))

    assert refusal.value.returncode == 2
    assert (Suite.objects.count(), Rubric.objects.count(), Response.objects.count()) == (0, 0, 0)


def test_import_says_an_only_error_once(tmp_path: Path) -> None:
    said = io.StringIO()

    with pytest.raises(BadInput) as refusal:
        call_command("import", str(write(tmp_path, ("answers.csv", b"id,model,answer\nq1,oak,4"))), stderr=said)

    assert str(refusal.value) == (
        "No benchmark here has these cases (q1). Choose the benchmark, or import its suite first. If a column here "
        "holds what is asked, say --map prompt=COLUMN."
    )
    assert said.getvalue() == ""


def test_import_tells_files_of_one_name_apart_by_their_folders(tmp_path: Path) -> None:
    row = b'{"id": "q1", "prompt": "Which river?", "response": "The Elbe."}'
    oak, elm = (write(tmp_path, (f"{name}/answers.jsonl", row)) for name in ("oak", "elm"))

    apart = run("import", oak, elm, "--dry-run")["stored"]
    once = run("import", oak, oak.parent, "--dry-run")["stored"]

    assert (apart["systems"], len(apart["responses"]), len(once["responses"])) == (["elm", "oak"], 2, 1)


def test_import_of_a_suite_refuses_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no such file or folder"):
        run("import", tmp_path / "nothing")


def test_import_of_a_suite_does_not_follow_links_out_of_the_folder(tmp_path: Path) -> None:
    secret = write(tmp_path / "outside", ("secret.txt", b"secret"))
    write(tmp_path / "in", ("s.yaml", b"cases: [{id: a, prompt_path: secret.txt, grading: {keywords: [x]}}]"))
    (tmp_path / "in" / "secret.txt").symlink_to(secret)

    with pytest.raises(BadInput, match="not in the upload"):
        run("import", tmp_path / "in")


def test_lint_suite_counts_warnings_and_refuses_errors(tmp_path: Path) -> None:
    fine = run("lint_suite", write(tmp_path, import_files.suite()))

    assert (fine["errors"], fine["warnings"]) == (0, len(fine["problems"]))
    with pytest.raises(BadInput, match="line 1"):
        run("lint_suite", write(tmp_path, ("bad.yaml", b"cases: [7]")))
    assert Suite.objects.count() == 0


@pytest.mark.shared_data
def test_import_of_responses_takes_model_answers_and_their_criteria(shared_data: Path) -> None:
    folder = shared_data / "debate" / "original"

    answers = run("import", folder / "scaleeval")
    criteria = run("import", folder / "criteria")

    assert (answers["responses"]["new"], len(criteria["rubrics"])) == (240, 4)
    assert [problem.partition(": ")[2] for problem in answers["problems"]][:1] == [
        "Results of judges and debates beside ScaleEval's responses were passed over. "
        "Import the same folder under Debates for them."
    ]


def test_import_refuses_other_formats_in_words(tmp_path: Path) -> None:
    path = write(tmp_path, ("old.xls", b"\xd0\xcf\x11\xe0" + bytes(600)))

    with pytest.raises(BadInput, match=r"This is an old Excel workbook \(\.xls\), which is not read\."):
        run("import", path)


def test_import_of_a_rubric_reads_a_table_with_tabs(tmp_path: Path) -> None:
    run("import", write(tmp_path, import_files.suite()))

    result = run("import", write(tmp_path, ("levels.tsv", b"query id\t25\t50\nfrance\t(1) a\t(1) b\n")))

    assert [rubric["name"] for rubric in result["rubrics"]] == ["levels v1"]


def test_import_of_a_suite_finds_the_files_that_a_suite_names_beside_it(tmp_path: Path) -> None:
    write(tmp_path, ("infi/suite.yaml", b"cases: [cases/eval_a.yaml]"))
    case = (
        b"id: a\nprompt_path: p.txt\ntype: t\nlang: python\ngrading:\n  customized: {module: cases.grade_a, func: f}\n"
    )
    write(tmp_path, ("infi/cases/eval_a.yaml", case))
    write(tmp_path, ("infi/cases/p.txt", b"Why?"))
    write(tmp_path, ("infi/cases/grade_a.py", b"def f(x): return 1, 1, ''"))
    write(tmp_path, ("infi/broken.yaml", b"a: ["))  # not named, so not read

    result = run("import", tmp_path / "infi" / "suite.yaml")

    assert result["suite"]["cases"] == 1
    assert run("lint_suite", tmp_path / "infi" / "suite.yaml")["errors"] == 0


def test_import_of_a_suite_does_not_leave_the_folder_of_the_suite(tmp_path: Path) -> None:
    write(tmp_path, ("secret.yaml", b"id: a\nprompt: Why?\n"))
    path = write(tmp_path, ("infi/suite.yaml", b"cases: [../secret.yaml, link.yaml]"))
    (tmp_path / "infi" / "link.yaml").symlink_to(tmp_path / "secret.yaml")

    with pytest.raises(BadInput, match=r"leads outside the uploaded files.*\(1 more error\.\)"):
        run("import", path)


def test_import_takes_any_mixture_of_kinds_at_once(tmp_path: Path) -> None:
    files = [import_files.suite(), import_files.responses(), ("criteria.yaml", import_files.CRITERIA)]

    result = run("import", *(write(tmp_path, file) for file in reversed(files)))

    assert (result["kinds"], result["responses"]["new"]) == (["suite", "criteria", "table"], 2)
    assert [rubric["name"] for rubric in result["rubrics"]] == ["criteria v1"]


def test_import_takes_answers_beside_questions_for_responses_once_that_is_said(tmp_path: Path) -> None:
    run("import", write(tmp_path, import_files.suite()))
    path = write(tmp_path, ("answers.csv", b"id,question,answer\nfrance,What is the capital of France?,Paris\n"))

    result = run("import", path, "--system", "ada", "--map", "response=answer")

    assert (result["responses"]["new"], result["benchmark"]["name"]) == (1, "Capitals")
    assert Response.objects.get().system.name == "ada"


def test_import_names_a_rubric(tmp_path: Path) -> None:
    run("import", write(tmp_path, import_files.suite()))

    result = run("import", write(tmp_path, import_files.workbook()), "--rubric", "Steps")

    assert [rubric["name"] for rubric in result["rubrics"]] == ["Steps v1"]


def test_import_refuses_a_kind_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--kind: There is no kind “questions”\. Choose one of the list\."):
        run("import", write(tmp_path, import_files.suite()), "--kind", "questions")


def test_lint_suite_prints_problems_without_a_file_as_sentences(tmp_path: Path) -> None:
    path = write(tmp_path, ("a.yaml", b"id: a\nprompt: Why?\n"))
    out = io.StringIO()

    call_command("lint_suite", str(path), stdout=out)

    assert out.getvalue().splitlines()[0] == (
        "There is no suite file; the one case file is taken. "
        "Add a suite file to define order, weights and the attempt mode."
    )


def test_import_of_responses_takes_what_columns_are(tmp_path: Path) -> None:
    run("import", write(tmp_path, import_files.suite()))
    path = write(tmp_path, ("t.csv", b"Where;What;By\nfrance;Paris;ada\n"))
    run("import", path, "--columns", "case=Where", "--columns", "response=What", "--map", "system=By")

    assert list(Response.objects.values_list("prompt__key", "system__name", "text")) == [("france", "ada", "Paris")]


def test_import_of_a_suite_takes_what_columns_are(tmp_path: Path) -> None:
    path = write(tmp_path, ("t.csv", b"Where;What\nfrance;Why?\n"))

    run("import", path, "--map", "case=Where", "--map", "prompt=What")

    assert list(Suite.objects.get().cases.values_list("key", "prompt__text")) == [("france", "Why?")]


@pytest.mark.parametrize("mapping", ["case", "case=", "colour=What", "=What"])
def test_import_of_responses_refuses_a_map_that_is_none(tmp_path: Path, mapping: str) -> None:
    with pytest.raises(
        BadInput, match=r"--columns: A column cannot be .* Choose one of these: case, case-path, prompt"
    ):
        run("import", write(tmp_path, import_files.responses()), "--map", mapping)
