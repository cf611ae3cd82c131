"""Runs submitted programs and functions in the sandbox and says how they ended."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from judging.sandbox.bubblewrap import Walls
from judging.sandbox.confined import Confined, Stop
from judging.sandbox.languages import PYTHON, Language, find_language
from judging.sandbox.limits import Limits
from judging.sandbox.toolchains import (
    SandboxNotStarted,
    available_languages,
    language_walls,
    run_script,
    sandbox_status,
)

OUTPUT_KIB_READ = 1024  # kept while running, so that the marker is found behind long output
OUTPUT_CHARS_TOLD = 65_536
LONGEST_TIMEOUT_SECONDS = 600.0
NO_END = "failed: the program ended before its tests had finished"
STOPPED = {
    Stop.CPU: "time out",
    Stop.WALL: "time out",
    Stop.MEMORY: "failed: used more than {limits.memory_mib} MiB of memory",
    Stop.OUTPUT: "failed: wrote more than {limits.flood_mib} MiB of output",
    Stop.FILES: "failed: created more than {limits.files} files",
}


class ProgramLike(Protocol):
    """What the runner reads of a program."""

    @property
    def language(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def timeout_seconds(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class SandboxProgram:
    """A whole program: prelude, answer and test, already put together."""

    language: str
    source: str
    timeout_seconds: float | None = None  # None: the language's own
    cleanup_source: str | None = None  # never needed: every program gets an empty folder that vanishes with it


@dataclass(frozen=True, slots=True)
class SandboxOutcome:
    """How a program ended. `passed` is None exactly when `not_run_reason` says why it was not run."""

    passed: bool | None
    result_text: str
    not_run_reason: str
    stdout: str
    stderr: str
    seconds: float  # wall clock
    cpu_seconds: float = 0.0
    stopped_by: str = ""  # "", cpu, wall, memory, output or files


@dataclass(frozen=True, slots=True)
class FunctionOutcome:
    """What a function that came with a suite returned, as JSON, or why there is no result."""

    result_json: str | None
    error: str
    not_run_reason: str
    stdout: str
    stderr: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SandboxRunner:
    """Runs programs here, in the sandbox or not at all.

    `require_end` is the site's own stricter rule: a script passes only if it also reaches its last line, so `exit(0)`
    in an answer fails. Without it (compat) the exit code decides, as in InfiBench. Python programs must reach their end
    in both. Neither can catch an answer that forges the marker: answer and test share one process.
    """

    limits: Limits = field(default_factory=Limits)
    walls: Walls = field(default_factory=Walls)
    require_end: bool = True
    scratch_parent: Path | None = None  # where source folders are made; the system's temporary folder by default

    def run(self, program: ProgramLike) -> SandboxOutcome:
        """Return how `program` ended; never raises for what the program does."""
        language = find_language(program.language)
        if language is None:
            return _not_run(f"There is no sandbox for programs in {program.language!r}.")
        reason = self._why_not(language)
        if reason:
            return _not_run(reason)
        nonce = secrets.token_hex(16)
        limits = self._limits(language, program.timeout_seconds)
        source = _prepared(program.source, language, nonce if self.require_end else None)
        try:
            ended = run_script(
                language.script.format(nonce=nonce),
                {language.file: source},
                walls=language_walls(language, self.walls),
                limits=limits,
                inside=language.inside,
                parent=self.scratch_parent,
            )
        except SandboxNotStarted as error:
            return _not_run(f"The sandbox did not start: {error}")
        outcome = self._judge(ended, language, limits, nonce, marked=nonce in source)
        return _excused(outcome, language, program.source)

    def run_many(self, programs: Sequence[ProgramLike], max_workers: int | None = None) -> list[SandboxOutcome]:
        """Return the outcomes of `programs` in their order, running as many at once as there are cores."""
        return _in_parallel(self, programs, max_workers)

    def run_python_function(
        self, source: str, function: str, payload_json: str, timeout_seconds: float = 10.0
    ) -> FunctionOutcome:
        """Return what `function` of `source` makes of the positional arguments in `payload_json`, a JSON list.

        Post handlers and custom metrics that come with a suite run here and nowhere else.
        """
        reason = self._why_not(PYTHON)
        if not reason and not function.isidentifier():
            reason = f"{function!r} is not the name of a function."
        if reason:
            return FunctionOutcome(None, "", reason, "", "", 0.0)
        nonce = secrets.token_hex(16)
        limits = self._limits(PYTHON, timeout_seconds)
        try:
            ended = run_script(
                f"exec python3 -s -B /src/call_function.py {nonce} {function}",
                {"program.py": source, "payload.json": payload_json},
                walls=language_walls(PYTHON, self.walls),
                limits=limits,
                inside=("call_function.py",),
                parent=self.scratch_parent,
            )
        except SandboxNotStarted as error:
            return FunctionOutcome(None, "", f"The sandbox did not start: {error}", "", "", 0.0)
        stdout, report = _split_report(ended, nonce)
        failure = (
            _text_of_stop(ended, limits) if ended.stopped_by else report.get("error", f"{function} did not return")
        )
        result = None if failure else json.dumps(report["result"])
        return FunctionOutcome(result, str(failure), "", _shown(stdout), _shown(_decoded(ended.stderr)), ended.seconds)

    def _why_not(self, language: Language) -> str:
        status = sandbox_status(self.walls.uid)
        if not status:
            return status.reason
        return available_languages()[language.name].reason

    def _limits(self, language: Language, timeout_seconds: float | None) -> Limits:
        seconds = language.timeout_seconds if timeout_seconds is None else timeout_seconds
        return replace(
            self.limits,
            cpu_seconds=min(max(seconds, 0.1), LONGEST_TIMEOUT_SECONDS),
            memory_mib=max(self.limits.memory_mib, language.memory_mib),
            scratch_mib=max(self.limits.scratch_mib, language.scratch_mib),
            output_kib=OUTPUT_KIB_READ,
        )

    def _judge(
        self, ended: Confined, language: Language, limits: Limits, nonce: str, *, marked: bool
    ) -> SandboxOutcome:
        if language is PYTHON:
            stdout, report = _split_report(ended, nonce)
            passed = report.get("passed") is True and ended.exit_code == 0
            failure = f"failed: {report['error']}" if report.get("error") else NO_END
        else:
            stdout, reached = _split_marker(_decoded(ended.stdout), nonce)
            passed = ended.exit_code == 0 and (reached or not marked)
            failure = _failure(ended, stdout) if ended.exit_code else NO_END
        stderr = _decoded(ended.stderr)
        text = _passed(language, stdout, stderr) if passed else failure
        if ended.stopped_by:
            text = _text_of_stop(ended, limits)
        stopped_by = ended.stopped_by.value if ended.stopped_by else ""
        return SandboxOutcome(
            passed, _shown(text), "", _shown(stdout), _shown(stderr), ended.seconds, ended.cpu_seconds, stopped_by
        )


def run_many(
    programs: Sequence[ProgramLike], max_workers: int | None = None, *, runner: SandboxRunner | None = None
) -> list[SandboxOutcome]:
    """Return the outcomes of `programs` in their order, running as many at once as there are cores."""
    return _in_parallel(runner or SandboxRunner(), programs, max_workers)


def _in_parallel(
    runner: SandboxRunner, programs: Iterable[ProgramLike], max_workers: int | None
) -> list[SandboxOutcome]:
    with ThreadPoolExecutor(max_workers=max_workers or os.cpu_count() or 1) as pool:
        return list(pool.map(runner.run, programs))


def _not_run(reason: str) -> SandboxOutcome:
    return SandboxOutcome(None, "", reason, "", "", 0.0)


def _prepared(source: str, language: Language, nonce: str | None) -> str:
    """Return the program with the statement that says its end was reached, before an exit that closes it."""
    if language.name == "php" and "<?" not in source:
        source = "<?php\n" + source
    marker = language.marker
    if nonce is None or marker is None or re.search(marker.impossible, source):
        return source
    statement = marker.statement.replace("{nonce}", nonce)
    kept, _, last = source.rstrip().rpartition("\n")
    if re.fullmatch(marker.last_exit, last.strip()):
        return f"{kept}{statement}\n{last}\n"
    return f"{source}{statement}\n"


def _excused(outcome: SandboxOutcome, language: Language, source: str) -> SandboxOutcome:
    """Return "not run" for a failed program that needs a library this machine lacks: not the answer failed."""
    if outcome.passed:
        return outcome
    absent = available_languages()[language.name].missing_libraries
    for library in language.libraries:
        if library.name in absent and re.search(library.mention, source):
            reason = f"The program uses {library.name}, which is not installed here: get it with {library.install}."
            return replace(outcome, passed=None, result_text="", not_run_reason=reason)
    return outcome


def _split_report(ended: Confined, nonce: str) -> tuple[str, dict[str, object]]:
    stdout, found, report = _decoded(ended.stdout).rpartition(f"\n{nonce}")
    if not found:
        return report, {}
    try:
        return stdout, dict(json.loads(report))
    except (ValueError, TypeError):
        return stdout, {}


def _split_marker(stdout: str, nonce: str) -> tuple[str, bool]:
    return re.sub(rf"{nonce}\n?", "", stdout), nonce in stdout


def _text_of_stop(ended: Confined, limits: Limits) -> str:
    return STOPPED[ended.stopped_by].format(limits=limits) if ended.stopped_by else ""


def _passed(language: Language, stdout: str, stderr: str) -> str:
    if language is PYTHON:
        return "passed"
    if stderr:
        return f"passed stderr: {stderr}"
    return f"passed stdout: {stdout}" if stdout else "passed "


def _failure(ended: Confined, stdout: str) -> str:
    stderr = _decoded(ended.stderr)
    said = f"stderr: {stderr}" if stderr else f"stdout: {stdout}"
    return f"failed: returncode: {ended.exit_code} {said}"


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\0", "�")  # PostgreSQL stores no NUL


def _shown(text: str) -> str:
    """Return the head and the tail of long output: a program's last words matter as much as its first."""
    if len(text) <= OUTPUT_CHARS_TOLD:
        return text
    half = OUTPUT_CHARS_TOLD // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
