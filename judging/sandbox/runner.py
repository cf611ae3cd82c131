"""Runs submitted programs and functions in the sandbox, says how they ended, and which toolchains it has."""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from judging.sandbox.bubblewrap import (
    PROGRAM_PATH,
    Limits,
    SandboxProfile,
    ToolMissing,
    can_watch,
    inside_file,
    source_folder,
)
from judging.sandbox.confined import DENIED, Confined, SeccompUnavailable, Stop, run_confined
from judging.sandbox.endings import Token, new_token
from judging.sandbox.languages import LANGUAGES, Language, Library, find_language

OUTPUT_KIB_READ = 1024  # kept while running, so that the marker is found behind long output
OUTPUT_CHARS_SHOWN = 65_536
LONGEST_TIMEOUT_SECONDS = 600.0
NO_END = "failed: the program ended before its tests had finished"
STOPPED = {
    Stop.CPU: "time out",
    Stop.WALL: "time out",
    Stop.MEMORY: "failed: used more than {limits.memory_mib} MiB of memory",
    Stop.OUTPUT: "failed: wrote more than {limits.flood_mib} MiB of output",
    Stop.PROCESSES: "failed: started more than {limits.processes} processes",
    Stop.FILES: "failed: created more than {limits.files} files",
}


class ProgramLike(Protocol):
    """What the runner reads of a whole program: prelude, answer and test, already put together.

    `test_text` is what closes `source` and is not of the response. Without `timeout_seconds` it has its language's own.
    """

    @property
    def language(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def test_text(self) -> str: ...
    @property
    def timeout_seconds(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class SandboxOutcome:
    """How a program ended. `passed` is None exactly when `not_run_reason` says why it was not run."""

    passed: bool | None
    result_text: str
    not_run_reason: str
    stdout: str
    stderr: str
    seconds: float  # wall clock
    stopped_by: str = ""  # "", cpu, wall, memory, processes, output or files
    environment: Mapping[str, str] = field(default_factory=dict)  # tool or library -> version; the sandbox's profile


@dataclass(frozen=True, slots=True)
class SandboxRunner:
    """Runs programs here, in the sandbox or not at all.

    `require_end` is the site's own stricter rule: a program passes only if it also reaches its end, so `exit(0)` in a
    response fails. Without it (compat) the exit code decides, as in InfiBench. Python programs must reach their end in
    both. Response and test share one process, so a response that knows this site may print the token by itself:
    `judging.grading.unit_tests` flags what looks for it.
    """

    limits: Limits = field(default_factory=Limits)
    profile: SandboxProfile = field(default_factory=SandboxProfile)
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
        limits = self._limits(language, program.timeout_seconds)
        try:
            with new_token() as token:
                result = run_script(
                    _script(language, token, required=self.require_end),
                    self._files(program, language, token),
                    profile=language_profile(language, self.profile),
                    limits=limits,
                    token=token.descriptor,
                    parent=self.scratch_parent,
                )
        except SandboxNotStarted as error:
            return _not_run(f"The sandbox did not start: {error}")
        return _excused(self._judge(result, language, limits, token), language, program)

    def _files(self, program: ProgramLike, language: Language, token: Token) -> dict[str, str]:
        source, ending = program.source, language.ending
        if language.name == "php" and "<?" not in source:
            source = "<?php\n" + source
        beside = {name: inside_file(name) for name in language.inside}
        if ending is None or not self.require_end:
            return {language.file: source, **beside}
        return {language.file: ending.added_to(source, program.test_text, token), **ending.files(token), **beside}

    def _why_not(self, language: Language) -> str:
        status = sandbox_status(self.profile.uid)
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

    def _judge(self, result: Confined, language: Language, limits: Limits, token: Token) -> SandboxOutcome:
        if language.ending is None:
            stdout, report = _split_report(result, token)
            passed = report.get("passed") is True and result.exit_code == 0
            failure = f"failed: {report['error']}" if report.get("error") else NO_END
        else:
            stdout, reached = _split_end(_decoded(result.stdout), token)
            passed = result.exit_code == 0 and (reached or not self.require_end)
            failure = _failure(result, stdout) if result.exit_code else NO_END
        stderr = _decoded(result.stderr)
        text = _passed(language, stdout, stderr) if passed else failure
        if result.stopped_by:
            text = STOPPED[result.stopped_by].format(limits=limits)
        return SandboxOutcome(
            passed=passed,
            result_text=_shown(text),
            not_run_reason="",
            stdout=_shown(stdout),
            stderr=_shown(stderr),
            seconds=result.seconds,
            stopped_by=result.stopped_by.value if result.stopped_by else "",
            environment=_environment(language, limits),
        )


def _not_run(reason: str) -> SandboxOutcome:
    return SandboxOutcome(None, "", reason, "", "", 0.0)


def _script(language: Language, token: Token, *, required: bool) -> str:
    ending = language.ending if required else None
    build, main = (ending.build, ending.main) if ending else ("", language.main)
    return token.fill(language.script.replace("{ending}", build).replace("{main}", main))


def _environment(language: Language, limits: Limits) -> dict[str, str]:
    """Return what a result depends on beside the program: versions as they are installed here, and the sandbox."""
    status = available_languages()[language.name]
    return {language.name: status.version or "", **status.library_versions, "sandbox": profile_summary(limits)}


def _excused(outcome: SandboxOutcome, language: Language, program: ProgramLike) -> SandboxOutcome:
    """Return "not run" for a failed program that needs a library this machine lacks: not the response failed.

    The test needs what it mentions; a response needs only what the program failed for.
    """
    if outcome.passed:
        return outcome
    absent = available_languages()[language.name].missing_libraries
    output = f"{outcome.result_text}\n{outcome.stderr}"
    for library in language.libraries:
        if library.name not in absent:
            continue
        if re.search(library.mention, program.test_text) or _failed_for(library, program.source, output):
            reason = (
                f"The program uses {library.name}, which is not installed on this machine: install {library.install}."
            )
            return replace(outcome, passed=None, result_text="", not_run_reason=reason)
    return outcome


def _failed_for(library: Library, source: str, output: str) -> bool:
    name = re.escape(library.name)
    lacks = (
        rf"No module named '{name}\b|\b{name} is not installed here|Cannot find module '{name}\b"
        rf"|no package called .{name}\b|\b{name}/\S*: No such file"
    )
    return bool(re.search(library.mention, source) and re.search(lacks, output))


def _split_report(result: Confined, token: Token) -> tuple[str, dict[str, object]]:
    stdout, separator, report = _decoded(result.stdout).rpartition(f"\n{token.text}")
    if not separator:
        return report, {}
    try:
        return stdout, dict(json.loads(report))
    except (ValueError, TypeError):
        return stdout, {}


def _split_end(stdout: str, token: Token) -> tuple[str, bool]:
    return re.sub(rf"{token.text}\n?", "", stdout), token.text in stdout


def _passed(language: Language, stdout: str, stderr: str) -> str:
    if language.ending is None:
        return "passed"
    if stderr:
        return f"passed stderr: {stderr}"
    return f"passed stdout: {stdout}" if stdout else "passed "


def _failure(result: Confined, stdout: str) -> str:
    stderr = _decoded(result.stderr)
    output = f"stderr: {stderr}" if stderr else f"stdout: {stdout}"
    return f"failed: returncode: {result.exit_code} {output}"


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\0", "�")  # PostgreSQL stores no NUL


def _shown(text: str) -> str:
    """Return the head and the tail of long output: a program's last words matter as much as its first."""
    if len(text) <= OUTPUT_CHARS_SHOWN:
        return text
    half = OUTPUT_CHARS_SHOWN // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


logger = logging.getLogger(__name__)

SELF_TEST = """\
grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '[:space:]'
[ -e /etc/passwd ] && echo passwd
[ -e /proc/1/root/etc/passwd ] && echo passwd
(: > /usr/evalsite) 2>/dev/null && echo writes
(: > /src/evalsite) 2>/dev/null && echo writes
exit 0
"""
SELF_TEST_EXPECTED = b"CapEff:0000000000000000NoNewPrivs:1Seccomp:2"
PROBE_LIMITS = Limits(cpu_seconds=20.0, memory_mib=1024)
NAMESPACES_REFUSED = (
    "This machine does not let ordinary users create user namespaces: see the sysctls "
    "kernel.unprivileged_userns_clone, user.max_user_namespaces and "
    "kernel.apparmor_restrict_unprivileged_userns. In a container, Docker's own profile refuses it: where only people "
    "you trust submit code, run a further worker with security_opt: [seccomp=unconfined]."
)


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """Whether programs can be confined here; if not, no program runs."""

    works: bool
    reason: str  # why not, for the reader of the admin page; empty if it works
    identity: str  # which user programs run as

    def __bool__(self) -> bool:
        return self.works


@dataclass(frozen=True, slots=True)
class LanguageStatus:
    """What this machine offers for one language."""

    name: str
    version: str | None  # None: cannot run
    reason: str  # why it cannot run and how to repair that; empty if it can
    missing_libraries: tuple[str, ...] = ()  # failed programs that need one count as not run
    library_versions: Mapping[str, str] = field(default_factory=dict)  # of those that are installed

    @property
    def summary(self) -> str:
        """One line for the admin page."""
        if self.version is None:
            return self.reason
        return self.version + (f" (without {', '.join(self.missing_libraries)})" if self.missing_libraries else "")


@lru_cache(maxsize=8)
def sandbox_status(uid: int | None = None) -> SandboxStatus:
    """Return whether the sandbox holds here, by running a self-test in it once per process."""
    profile = SandboxProfile() if uid is None else SandboxProfile(uid=uid)
    stepped_down = os.geteuid() == 0
    identity = f"uid {profile.owner}, stepped down from root" if stepped_down else f"uid {profile.owner}"
    reason = _why_not(profile)
    if reason:
        logger.warning("sandbox.unavailable reason=%s", reason)
    return SandboxStatus(not reason, reason, identity)


@lru_cache(maxsize=1)
def available_languages() -> dict[str, LanguageStatus]:
    """Return every declared language with its version, or why it cannot run; asks inside, once per process."""
    status = sandbox_status()
    if not status:
        return {language.name: LanguageStatus(language.name, None, status.reason) for language in LANGUAGES}
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return {language_status.name: language_status for language_status in pool.map(probe, LANGUAGES)}


def forget_toolchains() -> None:
    """Look again at the next question: something was installed."""
    sandbox_status.cache_clear()
    available_languages.cache_clear()


def probe(language: Language) -> LanguageStatus:
    """Return what is installed for `language`, seen from inside."""
    missing = [tool for tool in language.tools if shutil.which(tool, path=PROGRAM_PATH) is None]
    if missing:
        reason = f"not installed: {', '.join(missing)} not found in {PROGRAM_PATH}; install {language.install}"
        return LanguageStatus(language.name, None, reason)
    nonce = secrets.token_hex(8)
    checks = "".join(
        f"\necho; echo {nonce} {library.name}; ({library.version}) 2>/dev/null" for library in language.libraries
    )
    result = run_script(
        f"{language.version} 2>&1{checks}",
        {},
        profile=language_profile(language, SandboxProfile()),
        limits=PROBE_LIMITS,
    )
    text, *libraries = result.stdout.decode("utf-8", "replace").split(nonce)
    version = re.search(r"\d+(?:\.\d+)+", text)
    if version is None:
        output = (text or result.stderr.decode("utf-8", "replace")).strip()[:300]
        return LanguageStatus(language.name, None, f"does not start: {output}; install {language.install}")
    versions = dict(_library_version(section) for section in libraries)
    absent = tuple(name for name, installed in versions.items() if not installed)
    return LanguageStatus(
        language.name, version[0], "", absent, {name: installed for name, installed in versions.items() if installed}
    )


def _library_version(text: str) -> tuple[str, str]:
    name, _, version = text.strip().partition("\n")
    return name.strip(), version.strip()[:60]


@lru_cache(maxsize=64)
def profile_summary(limits: Limits) -> str:
    """Return what confines a program with these limits: the figures, and a hash over calls refused and limits."""
    digest = hashlib.sha256(repr((DENIED, limits)).encode()).hexdigest()[:8]
    return f"{limits.cpu_seconds:g} s CPU, {limits.wall_seconds:g} s, {limits.memory_mib} MiB, profile {digest}"


def language_profile(language: Language, profile: SandboxProfile) -> SandboxProfile:
    """Return `profile` with what a language needs to see."""
    readable = tuple(path for pattern in language.readable for path in sorted(glob.glob(pattern)))
    return replace(profile, readable=readable, environment=language.environment)


def run_script(
    script: str,
    files: dict[str, str],
    *,
    profile: SandboxProfile,
    limits: Limits,
    token: int | None = None,
    parent: Path | None = None,
) -> Confined:
    """Run a shell script in the sandbox with `files` at /src, as a child of a shell that is the sandbox's process 1.

    It inherits the open file `token` under the same number.

    Raises:
        SandboxNotStarted: the sandbox could not be built, so the script's first word was never read.
        SandboxFailed: a process survived.
    """
    started = secrets.token_hex(8)
    command = ["/bin/sh", "-c", f"echo {started} >&2\n(\n{script}\n)\nexit $?"]
    try:
        with source_folder(files, owner=profile.owner, parent=parent) as source:
            result = run_confined(command, source=source, profile=profile, limits=limits, token=token)
    except (ToolMissing, SeccompUnavailable, OSError) as error:
        raise SandboxNotStarted(str(error)) from error
    head, marker, stderr = result.stderr.partition(f"{started}\n".encode())
    if not marker or head:
        raise SandboxNotStarted(
            result.stderr.decode("utf-8", "replace").strip()[:500] or "bubblewrap printed no message"
        )
    return replace(result, stderr=stderr)


class SandboxNotStarted(RuntimeError):
    """The sandbox could not be built; nothing was run."""


def _why_not(profile: SandboxProfile) -> str:
    if not can_watch():
        return "The kernel does not list the children of processes (CONFIG_PROC_CHILDREN, or no /proc)."
    try:
        result = run_script(SELF_TEST, {}, profile=profile, limits=Limits(cpu_seconds=5.0))
    except SandboxNotStarted as error:
        hint = f" {NAMESPACES_REFUSED}" if re.search("namespace|uid map|Operation not permitted", str(error)) else ""
        return f"The sandbox does not start: {error}{hint}"
    except subprocess.SubprocessError as error:
        return f"The sandbox does not end: {error}"
    if result.stdout.strip() != SELF_TEST_EXPECTED:
        return f"The sandbox is not secure: its self-test reported {result.stdout.decode('utf-8', 'replace')[:200]!r}."
    return ""
