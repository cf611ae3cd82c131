from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from judging.grading.unit_tests import PRELUDES
from judging.sandbox import runner as sandbox_runner
from judging.sandbox.bubblewrap import Limits, clear_stale_sources, source_folder
from judging.sandbox.languages import LANGUAGES, PYTHON, Language, Library, find_language
from judging.sandbox.runner import (
    LanguageStatus,
    SandboxOutcome,
    SandboxRunner,
    SandboxStatus,
    available_languages,
    sandbox_status,
)
from tests.judging.sandbox.programs import SandboxProgram

PYTHON_PRELUDE, CPP_PRELUDE, R_PRELUDE = ("\n".join(PRELUDES[name]) + "\n" for name in ("python", "cpp", "r"))

# language -> (passes, fails)
PROGRAMS = {
    "python": ("assert __name__ == 'builtins'", "assert 1 == 2, 'no'"),
    "javascript": ("require('assert').equal(1, 1)", "require('assert').equal(1, 2)"),
    "typescript": ("const n: number = 1; if (n !== 1) throw 1;", "throw new Error('no')"),
    "java": (
        "public class Main { public static void main(String[] a) { System.out.println(1); } }",
        "public class Main { public static void main(String[] a) { throw new RuntimeException(); } }",
    ),
    "c++": ("int main() { return 0; }", "int main() { return 3; }"),
    "c#": ("class M { static void Main() { } }", "class M { static int Main() { return 3; } }"),
    "r": (R_PRELUDE + "assert(1 == 1, c(TRUE, TRUE))", R_PRELUDE + "assert(c(TRUE, FALSE))"),
    "go": ("package main\nfunc main() { }", 'package main\nfunc main() { panic("no") }'),
    "c": ("int main(void) { return 0; }", "int main(void) { return 3; }"),
    "rust": ("fn main() { assert_eq!(1, 1); }", "fn main() { assert_eq!(1, 2); }"),
    "ruby": ("raise 'no' unless 1 == 1", "raise 'no'"),
    "php": ("if (1 !== 1) throw new Exception();", "<?php throw new Exception('no');"),
    "bash": ("[ 1 = 1 ]", "[ 1 = 2 ]"),
    "sql": ("CREATE TABLE t (a); SELECT * FROM t;", "SELECT * FROM missing;"),
}


@pytest.fixture
def runner() -> SandboxRunner:
    if not (status := sandbox_status()):
        pytest.skip(status.reason)
    return SandboxRunner()


def _need(language: str) -> LanguageStatus:
    status = available_languages()[language]
    if status.version is None:
        pytest.skip(status.reason)
    return status


def test_languages_are_those_of_the_programs_below() -> None:
    assert [language.name for language in LANGUAGES] == list(PROGRAMS)


@pytest.mark.parametrize("language", PROGRAMS)
def test_run_passes_and_fails_by_the_program(runner: SandboxRunner, language: str) -> None:
    _need(language)
    good, bad = PROGRAMS[language]

    passed, failed = (runner.run(SandboxProgram(language, source)) for source in (good, bad))

    assert (passed.passed, failed.passed, passed.not_run_reason, failed.not_run_reason) == (True, False, "", "")
    assert (passed.result_text[:6], failed.result_text[:7]) == ("passed", "failed:")


@pytest.mark.parametrize(
    ("name", "canonical"), [("cpp", "c++"), ("C/C++", "c++"), ("js", "javascript"), (" CS ", "c#"), ("golang", "go")]
)
def test_find_language_knows_aliases(name: str, canonical: str) -> None:
    language = find_language(name)

    assert language is not None
    assert language.name == canonical


def test_run_says_what_a_python_program_raised(runner: SandboxRunner) -> None:
    outcome = runner.run(SandboxProgram("python", "print('so far')\nraise ValueError('bad')"))

    assert (outcome.passed, outcome.result_text, outcome.stdout) == (
        False,
        "failed: <class 'ValueError'> bad",
        "so far\n",
    )
    assert 'File "/src/program.py", line 2' in outcome.stderr


def test_run_reports_return_code_and_stderr_before_stdout(runner: SandboxRunner) -> None:
    outcome = runner.run(SandboxProgram("bash", "echo out; echo err >&2; exit 3"))

    assert (outcome.passed, outcome.result_text) == (False, "failed: returncode: 3 stderr: err\n")


def test_run_hides_the_marker_from_output(runner: SandboxRunner) -> None:
    outcome = runner.run(SandboxProgram("bash", "echo out"))

    assert (outcome.passed, outcome.result_text, outcome.stdout) == (True, "passed stdout: out\n", "out\n")


def test_run_without_required_end_goes_by_the_exit_code(runner: SandboxRunner) -> None:
    _need("javascript")
    program = SandboxProgram("javascript", "process.exit(0);\nthrow new Error();")

    compat = SandboxRunner(require_end=False).run(program)

    assert (compat.passed, runner.run(program).passed) == (True, False)


def test_run_lets_a_test_close_with_an_exit(runner: SandboxRunner) -> None:
    _need("javascript")

    assert runner.run(SandboxProgram("javascript", "require('assert')(true);\nprocess.exit(0);\n")).passed is True


def test_run_finds_the_marker_behind_long_output(runner: SandboxRunner) -> None:
    outcome = runner.run(SandboxProgram("python", "print('x' * 3_000_000)"))

    assert outcome.passed is True
    assert outcome.stdout.startswith("xxx")
    assert outcome.stdout.endswith("xxx\n")
    assert len(outcome.stdout) < 70_000


def test_run_accepts_the_python_prelude(runner: SandboxRunner) -> None:
    missing = _need("python").missing_libraries
    used = "assert np.arange(3).sum() == 3 and len(pd.DataFrame({'a': [1]})) == 1"

    bare, using = (runner.run(SandboxProgram("python", PYTHON_PRELUDE + text)) for text in ("pass", used))

    assert bare.passed is True
    assert using.passed is (None if {"numpy", "pandas"} & set(missing) else True)


def test_run_accepts_the_cpp_prelude(runner: SandboxRunner) -> None:
    missing = _need("c++").missing_libraries

    outcome = runner.run(SandboxProgram("c++", CPP_PRELUDE + "int main() { cout << vector<int>{1}.size(); }"))

    assert outcome.passed is (None if missing else True)


def test_run_refuses_an_unknown_language(runner: SandboxRunner) -> None:
    outcome = runner.run(SandboxProgram("cobol", "x"))

    assert outcome == SandboxOutcome(None, "", "There is no sandbox for programs in 'cobol'.", "", "", 0.0)


def test_run_excuses_a_failure_that_needs_a_missing_library(
    runner: SandboxRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    languages = {"python": LanguageStatus("python", "3.11", "", ("absentee",))}
    absentee = Library("absentee", r"import absentee", "false", "nowhere")
    monkeypatch.setattr("judging.sandbox.runner.available_languages", lambda: languages)
    monkeypatch.setattr("judging.sandbox.runner.find_language", lambda name: replace(PYTHON, libraries=(absentee,)))

    needed, mentioned, tested, other = (
        runner.run(program)
        for program in (
            SandboxProgram("python", "import absentee"),
            SandboxProgram("python", "'import absentee'; 1 / 0"),
            SandboxProgram("python", "import absentee\nassert f()", test_text="import absentee\nassert f()"),
            SandboxProgram("python", "1 / 0"),
        )
    )

    assert [needed.passed, mentioned.passed, tested.passed, other.passed] == [None, False, None, False]
    assert (
        needed.not_run_reason == "The program uses absentee, which is not installed on this machine: install nowhere."
    )


def test_run_says_what_a_result_depends_on(runner: SandboxRunner) -> None:
    status = _need("python")

    outcome = runner.run(SandboxProgram("python", "pass"))

    assert outcome.environment == {
        "python": status.version,
        **status.library_versions,
        "sandbox": sandbox_runner.profile_summary(replace(Limits(), output_kib=1024)),
    }


def test_run_says_which_libraries_a_result_depends_on(runner: SandboxRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    languages = {"python": replace(_need("python"), library_versions={"numpy": "1.24.2", "pandas": "1.5.3"})}
    monkeypatch.setattr("judging.sandbox.runner.available_languages", lambda: languages)

    environment = runner.run(SandboxProgram("python", "pass")).environment

    assert {name: environment.get(name) for name in ("numpy", "pandas")} == {"numpy": "1.24.2", "pandas": "1.5.3"}


def test_sandbox_profile_changes_with_the_limits() -> None:
    profiles = [sandbox_runner.profile_summary(limits) for limits in (Limits(), Limits(), Limits(files=10))]

    assert profiles[0].startswith("10 s CPU, 22 s, 512 MiB, profile ")
    assert (profiles[0] == profiles[1], profiles[0] == profiles[2]) == (True, False)


def test_run_never_runs_bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("judging.sandbox.runner.sandbox_status", lambda uid: SandboxStatus(False, "no bwrap", "uid 1"))
    witness = tmp_path / "witness"

    outcome = SandboxRunner().run(SandboxProgram("python", f"open({str(witness)!r}, 'w')"))

    assert outcome == SandboxOutcome(None, "", "no bwrap", "", "", 0.0)
    assert not witness.exists()


def test_sandbox_status_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judging.sandbox.bubblewrap.SYSTEM_PATH", "/nowhere")
    sandbox_runner.forget_toolchains()

    status = sandbox_status()

    sandbox_runner.forget_toolchains()
    tool = "setpriv" if os.geteuid() == 0 else "bwrap"
    assert not status
    assert status.reason.startswith(f"The sandbox does not start: {tool} is not installed (Debian package ")


def test_probe_tells_how_to_get_a_missing_language(runner: SandboxRunner) -> None:
    absent = Language("cobol", "main.cob", "exec cobc", ("cobc",), "cobc --version", "Debian package gnucobol")

    status = sandbox_runner.probe(absent)

    assert status == LanguageStatus(
        "cobol",
        None,
        "not installed: cobc not found in /usr/local/bin:/usr/bin:/bin; install Debian package gnucobol",
    )


def test_run_starts_every_program_in_an_empty_folder(runner: SandboxRunner) -> None:
    source = "import os\nassert os.listdir('.') == [] and os.getcwd() == '/box'\nopen('data.xlsx', 'w')"

    assert [runner.run(SandboxProgram("python", source)).passed for _ in range(2)] == [True, True]


def test_walls_hide_a_site_installed_below_usr(runner: SandboxRunner) -> None:
    from judging.sandbox.bubblewrap import SandboxProfile

    hiding = SandboxRunner(profile=SandboxProfile(hidden=(Path("/usr/share/doc"),)))
    program = SandboxProgram("python", "import os; print(os.listdir('/usr/share/doc'))")

    assert hiding.run(program).stdout == "[]\n"


def test_limits_leave_sleepers_more_wall_than_cpu_time() -> None:
    assert Limits(cpu_seconds=10.0).wall_seconds == 22.0  # 2 * 10 + 2


def test_source_folder_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    owner = 61000 if os.geteuid() == 0 else os.geteuid()

    with source_folder({"a.py": "x = '\udc80'"}, owner=owner, parent=tmp_path) as folder:
        assert (folder.stat().st_mode & 0o777, folder.stat().st_uid) == (0o700, owner)
        assert (folder / "a.py").read_text() == "x = '?'"

    assert list(tmp_path.iterdir()) == []


def test_clear_stale_sources_removes_only_what_is_old(tmp_path: Path) -> None:
    old, new, other = (tmp_path / name for name in ("evalsite-sandbox-old", "evalsite-sandbox-new", "other"))
    for folder in (old, new, other):
        folder.mkdir()
    os.utime(old, (0, 0))

    removed = clear_stale_sources(owner=os.geteuid(), at=new.stat().st_mtime + 60, parent=tmp_path)

    assert (removed, sorted(path.name for path in tmp_path.iterdir())) == (1, ["evalsite-sandbox-new", "other"])


def test_python_timeout_is_that_of_the_original() -> None:
    assert (PYTHON.timeout_seconds, [find_language(name).timeout_seconds for name in ("cpp", "ts", "r")]) == (  # type: ignore[union-attr]
        10.0,
        [60.0, 20.0, 20.0],
    )
