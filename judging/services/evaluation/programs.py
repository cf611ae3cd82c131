"""Runs submitted programs in the sandbox, behind the interface that graders use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings

from judging.grading.rule_graders.programs import Program, ProgramOutcome
from judging.sandbox.bubblewrap import SandboxProfile
from judging.sandbox.runner import NO_END, SandboxProgram, SandboxRunner
from judging.services.evaluation.core_locks import core_lock


@dataclass(frozen=True, slots=True)
class ConfinedRunner:
    """Runs every program in the sandbox; where there is none, says so instead of running it bare."""

    sandbox: SandboxRunner

    def run(self, program: Program) -> ProgramOutcome:
        """Return what came of a program; never raises for anything it does."""
        sandbox_program = SandboxProgram(
            language=program.language,
            source=program.source,
            timeout_seconds=program.timeout_seconds,
            cleanup_source=program.cleanup_source,
            test_text=program.test_text,
        )
        with core_lock():
            outcome = self.sandbox.run(sandbox_program)
        return ProgramOutcome(
            passed=outcome.passed,
            result_text=outcome.result_text,
            not_run_reason=outcome.not_run_reason,
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            seconds=outcome.seconds,
            environment=outcome.environment,
            ended_early=outcome.result_text == NO_END and program.language != "python",
        )


@lru_cache(maxsize=2)
def program_runner(*, compat: bool) -> ConfinedRunner:
    """Return this process's runner. In compat mode a script that exits early with code 0 passes, as in the original."""
    return ConfinedRunner(SandboxRunner(profile=SandboxProfile(hidden=(settings.BASE_DIR,)), require_end=not compat))
