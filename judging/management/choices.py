"""What commands are told in one argument: several systems, judges or rubrics, a part of a suite, an amount of money."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from django.core.management.base import CommandParser

from evalsite.base.actions.declarations import Reference
from evalsite.base.command_base import BadInput
from evalsite.base.json_types import JsonObject
from judging.actions.references import ACTIVE_JUDGE, RUBRIC, SYSTEM
from judging.models import Judge, ModelEndpoint, Rubric, Suite, System
from judging.selectors.selections import check_selection
from judging.specs.selections import CaseSelection, SelectionRefused, names_in

SYSTEM_OR_ENDPOINT = Reference("system or endpoint", rows=lambda: System.objects.select_related("endpoint"))

if TYPE_CHECKING:
    from judging.services.runs.run_plans import EvaluatorChoice


def systems_of(text: str, *, suite: Suite) -> list[System]:
    """Return systems by name or id, or with "all" every system with responses to the suite."""
    answering = System.objects.filter(
        responses__prompt__cases__links__suite=suite, responses__superseded_at__isnull=True
    ).distinct()
    if text.strip() == "all":
        return list(answering.order_by("name"))
    return [SYSTEM.named(name) for name in names(text)]


def judges_of(text: str) -> list[Judge]:
    """Return judges in use by name or id."""
    return [ACTIVE_JUDGE.named(name) for name in names(text)]


def evaluators_of(judges: str, rubrics: str) -> list[EvaluatorChoice]:
    """Return judges, each with the rubrics that it uses."""
    from judging.forms.runs import pair_judges
    from judging.judges.registry import COMPARING

    chosen_judges, chosen_rubrics = judges_of(judges), rubrics_of(rubrics)
    pairwise = [judge.name for judge in chosen_judges if judge.kind in COMPARING]
    if pairwise:
        raise BadInput(f"{', '.join(pairwise)} compares two responses; use debate_set create.")
    chosen, lacking = pair_judges(chosen_judges, chosen_rubrics)
    if lacking:
        raise BadInput(f"{lacking[0].name} needs a suitable rubric; name one with --rubrics.")
    unused = [str(rubric) for rubric in chosen_rubrics if not any(choice.rubric == rubric for choice in chosen)]
    if unused:
        raise BadInput(f"No selected judge uses {', '.join(unused)}.")
    return chosen


def add_baseline(parser: CommandParser) -> None:
    """Add the argument that names what judges compare with."""
    parser.add_argument(
        "--baseline",
        default="",
        help="system whose stored responses judges with response_b in their prompt compare with",
    )


def baseline_of(name: str) -> System | None:
    """Return the system of this name; None for an empty text."""
    return SYSTEM.named(name) if name else None


def stored_and_asked_systems(text: str) -> tuple[list[System], list[System]]:
    """Return the systems of these names whose stored responses count, and those to be asked; the name of an endpoint
    stands for the system that asks it the plain question."""
    from judging.services.systems import plain_system

    stored: list[System] = []
    asked: list[System] = []
    for name in names(text):
        system = System.objects.select_related("endpoint").filter(name=name).first()
        endpoint = ModelEndpoint.objects.filter(name=name, is_active=True).first() if system is None else None
        if endpoint is not None:
            system = plain_system(endpoint)
        if system is None:
            system = SYSTEM_OR_ENDPOINT.named(name)
        (asked if system.is_asked_here else stored).append(system)
    return stored, asked


def rubrics_of(text: str) -> list[Rubric]:
    """Return rubrics by id, by slug (the newest version), or by slug@version."""
    return [RUBRIC.named(name) for name in names(text)]


def dollars_of(text: str) -> Decimal | None:
    """Return an amount of US dollars above zero; None for an empty text."""
    if not text:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount <= 0:
        raise BadInput(f"A budget is a number of US dollars above zero, not {text!r}.")
    return amount


def add_selection(parser: CommandParser) -> None:
    """Add the arguments that choose a part of a suite."""
    parser.add_argument("--limit", type=int, help="number of cases, drawn at random with --seed")
    parser.add_argument("--cases", default="", help="only these cases: keys, separated by commas")
    parser.add_argument("--scenarios", default="", help="only these scenarios: names, separated by commas")


def selection_of(options: JsonObject, *, suite: Suite) -> CaseSelection:
    """Return the part of the suite that the arguments of `add_selection` and --seed name."""
    try:
        chosen = CaseSelection(
            cases=names_in(options["cases"]),
            scenarios=names_in(options["scenarios"]),
            limit=options["limit"],
            seed=options["seed"],
        )
        check_selection(suite=suite, selection=chosen)
    except SelectionRefused as refusal:
        raise BadInput(str(refusal)) from refusal
    return chosen


def names(text: str) -> list[str]:
    """Return the names in a list separated by commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
