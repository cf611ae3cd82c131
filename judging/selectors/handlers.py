"""Reads the functions that came with suites: post handlers and custom metrics."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from judging.models import Case


@dataclass(frozen=True, slots=True)
class HandlerSource:
    """One function's source with the case that names it."""

    case: Case
    module: str
    source: str


def cases_with_handlers() -> QuerySet[Case]:
    """Return the cases of which any suite brought source code, newest first."""
    return Case.objects.exclude(handlers={}).select_related("prompt__benchmark").defer("grading").order_by("-pk")


def handler_sources(cases: list[Case]) -> list[HandlerSource]:
    """Return the sources of these cases by module."""
    return [
        HandlerSource(case, module, str(case.handlers[module])) for case in cases for module in sorted(case.handlers)
    ]
