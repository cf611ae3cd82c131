"""Makes golden sets."""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.review.models import GoldenItem, GoldenSet
from evalsite.review.questions.scales import labels_to_json
from evalsite.review.sampling import GOLDEN_SHARES, GoldenPart, split_cases
from evalsite.review.selectors.golden.golden_labels import GoldenMaterial
from evalsite.review.states import ReviewRefused
from judging.models import RunEvaluator
from judging.statistics.estimators.strata import FEWEST_CASES, FEWEST_FOR_CLAIMS

FEWEST_GOLDEN = math.ceil(FEWEST_CASES / GOLDEN_SHARES[GoldenPart.TEST])  # labelled cases, so that the test has figures
FEWEST_FOR_KAPPA = math.ceil(FEWEST_FOR_CLAIMS / GOLDEN_SHARES[GoldenPart.TEST])
BATCH = 1_000


def why_too_few(material: GoldenMaterial) -> str:
    """Return what is missing for a golden set in words, with the numbers; empty where it is enough."""
    cases = material.cases
    if cases >= FEWEST_GOLDEN:
        return ""
    left_out = ""
    if material.referred:
        left_out = (
            f" {material.referred:,} labelled responses are left out, because a rule sent them to people after a"
            " verdict; plan a random audit of the run, or include them."
        )
    return (
        f"A golden set needs {FEWEST_GOLDEN} cases with a final blind label, so that its test part has"
        f" {FEWEST_CASES}; there are {cases:,}, so {FEWEST_GOLDEN - cases:,} are missing.{left_out}"
    )


@transaction.atomic
def make_golden_set(
    *, name: str, seed: int, evaluator: RunEvaluator, material: GoldenMaterial, actor: User | None, at: datetime
) -> GoldenSet:
    """Store the labelled responses of an evaluator's suite and criterion, split by case.

    Raises:
        ReviewRefused: too few cases are labelled, or the name is empty or taken.
    """
    name = name.strip()
    if not name:
        raise ReviewRefused("Give the golden set a name.")
    if GoldenSet.objects.filter(name=name).exists():
        raise ReviewRefused(f"There is a golden set {name!r} already. Choose another name.")
    refusal = why_too_few(material)
    if refusal:
        raise ReviewRefused(refusal)
    labels: dict[str, list[str]] = defaultdict(list)
    for row in material.rows:
        labels[row.case_key].append(row.label)
    parts = split_cases(labels, seed=seed)
    golden_set = GoldenSet.objects.create(
        name=name,
        suite=evaluator.run.suite,
        rubric=evaluator.rubric,
        criterion=evaluator.criterion,
        labels=labels_to_json(material.scale),
        seed=seed,
        with_referred=material.with_referred,
        made_by=actor,
        made_at=at,
    )
    GoldenItem.objects.bulk_create(
        [
            GoldenItem(
                golden_set=golden_set,
                subject_id=row.subject_id,
                response_id=row.response_id,
                case_key=row.case_key,
                part=parts[row.case_key],
            )
            for row in material.rows
        ],
        batch_size=BATCH,
    )
    record(actor, "golden.made", NamedSubject(golden_set.name, golden_set.pk), cases=material.cases, seed=seed)
    return golden_set
