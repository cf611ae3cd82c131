"""Makes sets of debates that belong together: all pairs of several systems, or one criterion in six conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_DOWN, Decimal
from itertools import combinations

from django.contrib.auth.models import User
from django.db import transaction

from debate.models import Experiment, ExperimentKind
from debate.protocol.options import DebateOptions
from debate.protocol.setups import Method
from debate.protocol.variants import FILE_SUFFIXES, Perturbation
from debate.selectors.criteria import criterion_names
from debate.services.pairs import DebateWish
from debate.services.set_plans import DebatesRefused, create_debate_set
from judging.models import System

FEWEST_SYSTEMS, MOST_SYSTEMS = 3, 12
CENT = Decimal("0.000001")
_NUMBERED = re.compile(r"\A(?P<base>.+)-1\Z")


@dataclass(frozen=True, slots=True)
class VariantText:
    """One condition of a criterion: the stored criterion that is read, and whether its text is already perturbed."""

    perturbation: Perturbation
    criterion: str
    is_given: bool

    @property
    def words(self) -> str:
        return "intact" if self.perturbation is Perturbation.NONE else str(self.perturbation)


@transaction.atomic
def create_round_robin(*, wish: DebateWish, systems: Sequence[System], actor: User | None, at: datetime) -> Experiment:
    """Store a set for each pair of these systems, as `wish` says otherwise; what is compared in it is passed over.

    A budget is shared out evenly. Two systems that have answered no case together are left out and named.

    Raises:
        DebatesRefused: too few or too many systems, nothing to compare, or what `create_debate_set` refuses.
    """
    chosen = list(dict.fromkeys(systems))
    if not FEWEST_SYSTEMS <= len(chosen) <= MOST_SYSTEMS:
        raise DebatesRefused(f"Choose {FEWEST_SYSTEMS} to {MOST_SYSTEMS} systems; {len(chosen)} were chosen.")
    wishes = round_robin_wishes(wish, chosen)
    if not wishes:
        raise DebatesRefused(f"No two of these systems have responses to the same case of {wish.suite}.")
    compared = {(each.system_a, each.system_b) for each in wishes}
    left_out = [f"{a} and {b}" for a, b in combinations(chosen, 2) if (a, b) not in compared]
    experiment = Experiment.objects.create(
        kind=ExperimentKind.ROUND_ROBIN,
        name=(wish.name or f"All pairs of {len(chosen)} systems, {wish.criterion}")[:200],
        options={"systems": [system.name for system in chosen], "left_out": left_out},
        created_at=at,
    )
    for each in wishes:
        create_debate_set(wish=each, actor=actor, at=at, experiment=experiment)
    return experiment


def round_robin_wishes(wish: DebateWish, systems: Sequence[System]) -> list[DebateWish]:
    """Return a wish for all pairs of these systems that have answered a case together, the budget shared out."""
    pairs = [(a, b) for a, b in combinations(systems, 2) if replace(wish, system_a=a, system_b=b).pairs]
    budget = _share(wish.budget, len(pairs))
    return [replace(wish, system_a=a, system_b=b, budget=budget, name="") for a, b in pairs]


@transaction.atomic
def create_robustness(*, wish: DebateWish, seed: int, use_given: bool, actor: User | None, at: datetime) -> Experiment:
    """Store a set of single judgements for each condition of the wished criterion: intact, and perturbed in five ways.

    All chosen endpoints judge on their own, with the same orders in all conditions. With `use_given` the perturbed
    texts are those that the rubric brings along (`helpfulness-2` to `-6`), as far as it does; others come from `seed`.

    Raises:
        DebatesRefused: no judge, more than the method allows, or what `create_debate_set` refuses.
    """
    if not wish.endpoints:
        raise DebatesRefused("Choose at least one judge.")
    wishes = robustness_wishes(wish, seed=seed, use_given=use_given)
    perturbations = [each.options.perturbation.value for each in wishes if each.options.perturbation_is_given]
    experiment = Experiment.objects.create(
        kind=ExperimentKind.ROBUSTNESS,
        name=(wish.name or f"Robustness of {wish.criterion}: {wish.system_a} vs {wish.system_b}")[:200],
        options={"criterion": wish.criterion, "seed": seed, "given": perturbations},
        created_at=at,
    )
    for each in wishes:
        create_debate_set(wish=each, actor=actor, at=at, experiment=experiment)
    return experiment


def robustness_wishes(wish: DebateWish, *, seed: int, use_given: bool) -> list[DebateWish]:
    """Return a wish for each condition of the wished criterion, the budget shared out."""
    variants = variants_of(names=criterion_names(wish.rubric), criterion=wish.criterion, use_given=use_given)
    budget = _share(wish.budget, len(variants))
    return [
        replace(
            wish,
            criterion=variant.criterion,
            options=_options_of(wish, variant, seed),
            budget=budget,
            name=f"{wish.system_a} vs {wish.system_b}, {wish.criterion} · {variant.words}",
        )
        for variant in variants
    ]


def variants_of(*, names: Sequence[str], criterion: str, use_given: bool) -> list[VariantText]:
    """Return the six conditions of a criterion; `names` are the criteria of its rubric."""
    numbered = _NUMBERED.match(criterion)
    base = numbered["base"] if numbered else criterion
    variants = []
    for suffix, perturbation in FILE_SUFFIXES.items():
        name = f"{base}-{suffix}"
        if use_given and perturbation is not Perturbation.NONE and name in names:
            variants.append(VariantText(perturbation, name, is_given=True))
        else:
            variants.append(VariantText(perturbation, criterion, is_given=False))
    return variants


def _options_of(wish: DebateWish, variant: VariantText, seed: int) -> DebateOptions:
    return replace(
        wish.options,
        method=Method.SINGLE if len(wish.endpoints) == 1 else Method.MULTI_JUDGE,
        samples=1,
        perturbation=variant.perturbation,
        perturbation_seed=seed,
        perturbation_is_given=variant.is_given,
        shown_criterion=wish.criterion,
        order_key=wish.criterion,
    )


def _share(budget: Decimal | None, parts: int) -> Decimal | None:
    return None if budget is None or not parts else (budget / parts).quantize(CENT, rounding=ROUND_DOWN)
