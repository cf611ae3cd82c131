"""How rows of this app are named: suites, rubrics and prompts by what they belong to, others by their names."""

from __future__ import annotations

from django.db.models import QuerySet

from evalsite.base.actions.declarations import Reference
from evalsite.base.command_base import BadInput, listed, look_up, numbered_row, pick
from evalsite.base.http import whole_number
from judging.models import Benchmark, Case, Judge, ModelEndpoint, PromptVersion, Rubric, Run, Suite, System
from judging.selectors.endpoints import active_judges


def find_suite(suites: QuerySet[Suite], text: str, *, option: str = "") -> Suite:
    """Return a suite by number, by the slug or name of its benchmark (the newest), or by slug@number.

    Raises:
        BadInput: there is none; the message lists slugs.
    """
    suites = suites.select_related("benchmark").order_by("-number", "-pk")
    name, _, number = text.rpartition("@")
    edition = whole_number(number)
    if name and edition is not None:
        suites = suites.filter(number=edition)
    else:
        name = text
        numbered = numbered_row(suites, text)
        if numbered is not None:
            return numbered
    benchmarks = Benchmark.objects.filter(pk__in=suites.order_by().values("benchmark")).order_by("slug")
    benchmark = pick(benchmarks, name, names_of=lambda row: (row.slug, row.name), what="suite", option=option)
    suite = suites.filter(benchmark=benchmark).first()
    assert suite is not None, "benchmarks without a suite are not offered"
    return suite


def find_case(cases: QuerySet[Case], text: str) -> Case:
    """Return a case by number, or by its suite and its key: SUITE:KEY.

    Raises:
        BadInput: there is none.
    """
    numbered = numbered_row(cases, text)
    if numbered is not None:
        return numbered
    name, _, key = text.partition(":")
    suite = find_suite(Suite.objects.all(), name)
    case = cases.filter(links__suite=suite, key=key).first()
    if case is None:
        raise BadInput(f"{suite} has no case {key!r}.")
    return case


def find_rubric(rubrics: QuerySet[Rubric], text: str) -> Rubric:
    """Return a rubric by number, by slug (the newest version), by slug@version or by name.

    Raises:
        BadInput: there is none; the message lists slugs.
    """
    slug, _, version = text.partition("@")
    rubrics = rubrics.order_by("-version", "-pk")
    named = rubrics.filter(slug=slug)
    if version:
        named = named.filter(version=whole_number(version) or 0)
    return named.first() or look_up(rubrics if not version else named, text, what="rubric", fields=("slug", "name"))


def find_prompt(versions: QuerySet[PromptVersion], text: str) -> PromptVersion:
    """Return an edited prompt by number, by the name of its version, or by PROMPT/VERSION where several have that name.

    Raises:
        BadInput: there is none, or several; the message lists them.
    """
    numbered = numbered_row(versions, text)
    named = list(versions.filter(label=text).order_by("name"))
    if numbered is not None and not named:
        return numbered
    if len(named) > 1:
        raise BadInput(f"“{text}” is the name of several. {listed(map(_in_full, named))} Name one of them.")
    return pick(
        versions.order_by("name", "label"),
        text,
        names_of=lambda version: (_in_full(version), version.label),
        what="prompt version",
    )


def _in_full(version: PromptVersion) -> str:
    return f"{version.name}/{version.label}"


CASE = Reference("case", finder=find_case)
SUITE = Reference("suite", finder=find_suite, rows=Suite.objects.all)
RUBRIC = Reference("rubric", finder=find_rubric, rows=Rubric.objects.all)
PROMPT_VERSION = Reference("prompt version", finder=find_prompt, rows=PromptVersion.objects.all)
RESPONSE = Reference("response", ())
VERDICT = Reference("verdict", ())
RUN = Reference("run", rows=lambda: Run.objects.select_related("suite__benchmark"))
SYSTEM = Reference("system", rows=System.objects.all)
JUDGE = Reference("judge", rows=lambda: Judge.objects.select_related("endpoint"))
ACTIVE_JUDGE = Reference("active judge", rows=active_judges)
ENDPOINT = Reference("active endpoint", rows=lambda: ModelEndpoint.objects.filter(is_active=True))
