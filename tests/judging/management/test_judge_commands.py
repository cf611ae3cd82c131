"""Commands about judges and prompt versions: what their pages do, and exit code 2 with the page's message."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from judging.judges.judge_kinds import starting_points
from judging.judges.registry import KINDS
from judging.judges.subjects import load_prompt
from judging.models import Judge, PromptVersion, RunEvaluator
from judging.services.judges import save_prompt_version
from tests import factories
from tests.fake_llm.fixture import FakeLLM
from tests.judging.management.test_run_commands import refusal, run_command

pytestmark = pytest.mark.django_db


def _version(name: str = "integrity", label: str = "stern") -> PromptVersion:
    text = f"{load_prompt(name).text}\n\nBe {label}."
    return save_prompt_version(name=name, label=label, text=text, actor=None, at=timezone.now())


OWN = ("judge", "create", "--name", "Own", "--kind", "custom", "--endpoint", "local")


def test_a_judge_is_created_and_only_what_is_given_is_changed() -> None:
    endpoint, version = factories.endpoint(name="local"), _version("accuracy")

    added = run_command(
        *("judge", "create", "--name", "strict", "--kind", "accuracy", "--endpoint", "local"),
        *("--option-strictness", "L3", "--option-max-tokens", "500"),
    )
    changed = run_command("judge", "change", "strict", "--option-strictness", "L1", "--prompt", "stern")

    judge = Judge.objects.get(name="strict")
    assert (added["endpoint"], added["options"]["strictness"]) == ("local", "L3")
    assert changed["options"] == judge.options
    assert (judge.options["strictness"], judge.options["max_tokens"]) == ("L1", 500)
    assert judge.options["prompt_text"] == version.text
    assert judge.endpoint == endpoint


def test_a_judge_starts_from_a_template_and_has_what_is_given_besides() -> None:
    factories.endpoint(name="local")
    start = starting_points()["pair-five-grades"]

    added = run_command(
        *("judge", "create", "--template", "pair-five-grades", "--endpoint", "local", "--no-option-both-orders")
    )

    expected = {**KINDS["custom"].new_options(), **start.options, "both_orders": False}
    assert (added["name"], added["kind"], added["options"]) == (start.title, "custom", expected)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--name", "new"], "--kind: Say of which kind the judge is, or give a file or a starting point."),
        (["--name", "new", "--kind", "accuracy"], "--endpoint: This field is required."),
        (["--kind", "accuracy", "--template", "rating-1-10"], "This is a judge of the kind custom."),
        ([*OWN[2:], "--option-reply", "poem"], "--option-reply: Select a valid choice. poem is not one of the"),
        ([*OWN[2:], "--option-strictness", "L3"], "A judge of the kind custom has no field option_strictness. It has:"),
        ([*OWN[2:], "--option-max-tokens", "many"], "--option-max-tokens: Enter a whole number."),
        ([*OWN[2:], "--option-prompt-text", "Rate {{ question }}."], "The prompt does not name {{ response }}"),
        (["--yaml", "name: X\nkind: custom\ncolour: red"], "--yaml: judge.yaml, line 3: There is no field 'colour'"),
    ],
)
def test_a_judge_that_cannot_be_is_refused_in_the_words_of_the_page(arguments: list[str], says: str) -> None:
    factories.endpoint(name="local")

    assert says in refusal("judge", "create", *arguments)
    assert not Judge.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_trial_takes_a_prompt_version(fake_llm: FakeLLM) -> None:
    version = _version("accuracy")
    endpoint = factories.endpoint(base_url=fake_llm.url)
    case = factories.case(reference="42")
    factories.suite(cases=[case])
    response = factories.response(prompt=case.prompt, text="42")
    judge, other = factories.judge(kind="accuracy", endpoint=endpoint), factories.judge(kind="integrity")

    message = refusal("run", "try", "--response", response.pk, "--judge", other.name, "--prompt", "stern")
    result = run_command("run", "try", "--response", response.pk, "--judge", judge.name, "--prompt", "stern")

    assert message == f"--prompt: {other.name} does not use the prompt accuracy."
    frozen = RunEvaluator.objects.get(run=result["run"]).options["judge_options"]
    assert frozen["prompt_text"] == version.text


def test_a_preview_shows_what_the_page_previews() -> None:
    case = factories.case()
    factories.suite(cases=[case])
    response = factories.response(prompt=case.prompt, text="Use chmod.")
    options = KINDS["custom"].new_options() | {"prompt_text": "Rate {{ response }}.", "system_text": ""}
    judge = factories.judge(kind="custom", options=options)

    shown = run_command("run", "preview", "--response", response.pk, "--judge", judge.name)

    assert shown == {
        "response": response.pk,
        "compared_with": None,
        "asked_in_both_orders": False,
        "characters": 16,
        "messages": [{"role": "user", "text": "Rate Use chmod..", "left_out": 0}],
    }
    assert not RunEvaluator.objects.exists()


def test_a_preview_has_the_rubric_that_is_named() -> None:
    case = factories.case()
    factories.suite(cases=[case])
    response = factories.response(prompt=case.prompt, text="Use chmod.")
    for slug in ("old", "new"):
        check = {"key": "c1", "kind": "check", "text": f"It is {slug}."}
        tree = {"kind": "group", "key": "root", "children": [check]}
        factories.rubric(slug=slug, benchmark=case.prompt.benchmark, shape="checklist", trees={"": tree})
    options = KINDS["custom"].new_options() | {"prompt_text": "{{ response }} {{ rubric }}", "system_text": ""}
    judge = factories.judge(kind="custom", options=options)

    shown = [
        run_command("run", "preview", "--response", response.pk, "--judge", judge.name, "--rubric", slug)["messages"]
        for slug in ("old", "new")
    ]

    assert ["It is old." in old["text"] for [old] in shown] == [True, False]
    assert ["It is new." in new["text"] for [new] in shown] == [False, True]


def test_the_file_of_an_export_makes_the_judge_again(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    endpoint = factories.endpoint(name="local")
    options = KINDS["custom"].new_options() | {"prompt_text": "Rate {{ response }}.", "highest": 5}
    factories.judge(name="Helpful", description="It helps.", kind="custom", endpoint=endpoint, options=options)
    path, out = tmp_path / "helpful.yaml", StringIO()

    call_command("judge", "export", "Helpful", "--output", str(path), stdout=out)
    call_command("judge", "export", "Helpful")
    sys.stdout.flush()
    printed = capfdbinary.readouterr().out
    Judge.objects.all().delete()
    added = run_command("judge", "create", "--yaml-file", str(path))

    size = path.stat().st_size
    assert out.getvalue() == f"File: helpful.yaml\nOutput: {path}\nBytes: {size}\n"
    assert printed == path.read_bytes()
    assert (added["name"], added["endpoint"], added["options"]) == ("Helpful", "local", options)
    assert Judge.objects.get().description == "It helps."


def test_export_judge_names_the_judges_that_there_are() -> None:
    factories.judge(name="Helpful")

    assert refusal("judge", "export", "Useful") == "There is no judge “Useful”. There are: Helpful."


def test_a_panel_is_added_from_options_exported_and_added_again_from_its_file(tmp_path: Path) -> None:
    for name in ("ada", "bea", "cyd"):
        factories.judge(name=name, kind="accuracy")
    options = ("--option-members", "ada\nbea = 2\ncyd", "--option-rule", "weighted", "--option-margin", "0.5")

    added = run_command("judge", "create", "--name", "Board", "--kind", "panel", *options)
    file = tmp_path / "board.yaml"
    run_command("judge", "export", "Board", "--output", str(file))
    again = run_command("judge", "create", "--yaml-file", str(file), "--name", "Second board")

    members = [(member["judge"], member["weight"]) for member in added["options"]["members"]]
    assert (members, added["options"]["rule"], added["options"]["margin"], added["endpoint"]) == (
        [("ada", 1), ("bea", 2), ("cyd", 1)],
        "weighted",
        0.5,
        None,
    )
    assert again["options"] == added["options"]


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ("  - judge: ada\n  - judge: bea\n", "There is no judge 'ada'. Set it up first, or correct its name."),
        (
            "  - judge: ada\n    weight: 0\n",
            "--yaml: judge.yaml, line 4: The weight of ada is more than 0 and at most 1,000, not 0.",
        ),
    ],
)
def test_a_panels_file_with_a_wrong_member_says_which(members: str, says: str) -> None:
    assert refusal("judge", "create", "--yaml", f"name: Board\nkind: panel\noptions:\n  members:\n{members}") == says


def test_a_published_prompt_is_taken_once_it_is_said_what_its_placeholders_are() -> None:
    factories.endpoint(name="local")
    text = ("--option-prompt-text", "{question} {answer} {style}", "--placeholders")

    asked = refusal(*OWN, *text[:2])
    unknown = refusal(*OWN, *text, "question=question", "answer=response", "style==", "tone==")
    added = run_command(*OWN, *text, "question=question", "answer=response", "style==")
    again = run_command("judge", "change", "Own", "--option-highest", "5")

    assert asked == (
        "--placeholder-style: Say what {style} is. The prompt has placeholders of another tool. Check what each will"
        " be, then save again: question=question, answer=response, style=?."
    )
    assert unknown == "The prompt has no placeholder {tone}."
    assert added["options"]["prompt_text"] == "{{ question }} {{ response }} {style}"
    assert again["options"] == added["options"] | {"highest": 5}
