"""What the graders of one response share: options, time-limited searches, handlers."""

from __future__ import annotations

from dataclasses import dataclass

from judging.grading.grades import GradingOptions
from judging.grading.rule_graders.custom import Handlers
from judging.grading.rule_graders.regexes import Matcher


@dataclass(frozen=True, slots=True)
class GradingContext:
    """Made for every response, because the matcher counts time-outs."""

    options: GradingOptions
    matcher: Matcher
    handlers: Handlers


def make_context(options: GradingOptions, handlers: Handlers) -> GradingContext:
    """Return a context for one response."""
    matcher = Matcher(timeout_seconds=options.regex_timeout_seconds, timeouts_allowed=options.regex_timeouts_allowed)
    return GradingContext(options, matcher, handlers)
