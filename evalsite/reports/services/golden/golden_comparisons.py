"""Two versions of judges on the development part of a golden set, response by response."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalsite.review.models import GoldenSet
from evalsite.review.sampling import GoldenPart, uniform_number
from evalsite.review.selectors.golden.golden_verdicts import GoldenAnswer, golden_answers
from judging.models import RunEvaluator
from judging.statistics.estimates import Estimate
from judging.statistics.estimators.agreement import ComparedItem, agreement_difference
from judging.statistics.estimators.drift import Drift, drift
from judging.statistics.estimators.strata import TooFew


@dataclass(frozen=True, slots=True)
class Flip:
    """A response on which two versions give different labels."""

    before: GoldenAnswer
    after: GoldenAnswer

    @property
    def is_gain(self) -> bool:
        """Whether the second version says what people say, where the first did not."""
        return self.after.agrees

    @property
    def is_loss(self) -> bool:
        return self.before.agrees


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """How the second version's agreement with people differs from the first's."""

    flips: tuple[Flip, ...]  # where both, or one, or neither agrees with people
    responses: int
    difference: Estimate  # of the shares of equal labels; unit: the case
    paired: Drift | TooFew  # of one response a case, drawn at random: McNemar's test needs independent observations

    @property
    def gains(self) -> int:
        return sum(flip.is_gain for flip in self.flips)

    @property
    def losses(self) -> int:
        return sum(flip.is_loss for flip in self.flips)


def compare_versions(golden_set: GoldenSet, before: RunEvaluator, after: RunEvaluator) -> VersionComparison:
    """Return how two versions differ on development. A reply that could not be read agrees with nobody."""
    answers = golden_answers(golden_set, GoldenPart.DEVELOPMENT, [before, after])
    first, second = answers[before.pk], answers[after.pk]
    chosen = _one_a_case(first, golden_set.seed)
    return VersionComparison(
        flips=tuple(Flip(a, b) for a, b in zip(first, second, strict=True) if a.judge != b.judge),
        responses=len(first),
        difference=agreement_difference(_items(second), _items(first)).estimate,
        paired=drift([float(first[n].agrees) for n in chosen], [float(second[n].agrees) for n in chosen]),
    )


def _items(answers: Iterable[GoldenAnswer]) -> list[ComparedItem]:
    codes: dict[str, int] = {}
    return [
        ComparedItem(
            case=answer.case,
            judge=None if answer.judge is None else codes.setdefault(answer.judge, len(codes)),
            people=codes.setdefault(answer.people, len(codes)),
            is_routed=False,
        )
        for answer in answers
    ]


def _one_a_case(answers: Sequence[GoldenAnswer], seed: int) -> list[int]:
    """Return the places of one response to each case, chosen at random."""
    order = sorted(range(len(answers)), key=lambda n: uniform_number("paired", seed, answers[n].response_id))
    return list({answers[n].case: n for n in reversed(order)}.values())
