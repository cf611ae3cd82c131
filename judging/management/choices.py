"""What command lines name: suites, systems, judges and rubrics, found or refused with what there is."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from judging.management.base import BadInput
from judging.models import Benchmark, Judge, Rubric, Run, Suite, System

SHOWN = 20  # names listed in a refusal


def suite_of(given: str) -> Suite:
    """Return a suite by id, by the slug of its benchmark (the newest), or by slug@number."""
    slug, _, number = given.partition("@")
    suites = Suite.objects.select_related("benchmark")
    found = suites.filter(pk=int(given)) if given.isdigit() else suites.filter(benchmark__slug=slug)
    if number:
        found = found.filter(number=int(number)) if number.isdigit() else Suite.objects.none()
    suite = found.order_by("-number").first()
    if suite is None:
        known = Benchmark.objects.order_by("slug").values_list("slug", flat=True)
        raise BadInput(f"There is no suite {given!r}. Benchmarks: {_list(known)}.")
    return suite


def systems_of(given: str, *, suite: Suite) -> list[System]:
    """Return systems by name, or with "all" every system that answered the suite."""
    answered = System.objects.filter(
        responses__prompt__cases__links__suite=suite, responses__superseded_at__isnull=True
    ).distinct()
    if given.strip() == "all":
        return list(answered.order_by("name"))
    by_name = {system.name: system for system in System.objects.filter(name__in=names(given))}
    missing = [name for name in names(given) if name not in by_name]
    if missing:
        known = answered.order_by("name").values_list("name", flat=True)
        raise BadInput(f"There is no system {_list(missing)}. This suite was answered by: {_list(known)}.")
    return [by_name[name] for name in names(given)]


def judges_of(given: str) -> list[Judge]:
    """Return judges in use by name."""
    judges = Judge.objects.filter(is_active=True, endpoint__is_active=True).select_related("endpoint")
    by_name = {judge.name: judge for judge in judges.filter(name__in=names(given))}
    missing = [name for name in names(given) if name not in by_name]
    if missing:
        known = judges.order_by("name").values_list("name", flat=True)
        raise BadInput(f"There is no judge {_list(missing)} in use. There are: {_list(known)}.")
    return [by_name[name] for name in names(given)]


def rubrics_of(given: str) -> list[Rubric]:
    """Return rubrics by id, by slug (the newest version), or by slug@version."""
    return [_rubric(one) for one in names(given)]


def _rubric(given: str) -> Rubric:
    slug, _, version = given.partition("@")
    found = Rubric.objects.filter(pk=int(given)) if given.isdigit() else Rubric.objects.filter(slug=slug)
    if version:
        found = found.filter(version=int(version)) if version.isdigit() else Rubric.objects.none()
    rubric = found.order_by("-version").first()
    if rubric is None:
        known = Rubric.objects.order_by("slug").values_list("slug", flat=True).distinct()
        raise BadInput(f"There is no rubric {given!r}. There are: {_list(known)}.")
    return rubric


def run_of(given: int) -> Run:
    """Return a run by id."""
    run = Run.objects.filter(pk=given).first()
    if run is None:
        raise BadInput(f"There is no run {given}.")
    return run


def dollars_of(given: str) -> Decimal | None:
    """Return an amount of US dollars above zero; None for an empty text."""
    if not given:
        return None
    try:
        amount = Decimal(given)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount <= 0:
        raise BadInput(f"A budget is a number of US dollars above zero, not {given!r}.")
    return amount


def names(given: str) -> list[str]:
    """Return the names in a list separated by commas, each once."""
    return list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))


def _list(known: Iterable[str]) -> str:
    return ", ".join(list(known)[:SHOWN]) or "none"
