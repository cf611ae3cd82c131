"""What a figure means in words, why it is undefined, and when to distrust it."""

from __future__ import annotations

from judging.statistics.estimates import Estimate

NO_PAIRS = "No item has two or more annotations, so agreement cannot be computed."
ONE_LABEL = "The scale declares a single label, so agreement beyond chance has no meaning."
SAME_LABEL = "Everyone chose the same label; chance-corrected agreement is undefined."  # kappa and alpha are 0/0
NO_VALUES = "The labels are not numbers; interval and ratio agreement need a number for each label."
NEGATIVE_RATIO = "Ratio agreement needs numbers that are not negative."

HIGH_AGREEMENT = 0.8
PREVALENCE_GAP = 0.2  # between AC1 and kappa
FEW_ITEMS = 30


def describe_reliability(estimate: Estimate) -> str:
    """Say what a chance-corrected agreement allows (Krippendorff's .667 and .8), judged by the interval's lower end.

    The lower end decides because a figure of .82 known to within ±.1 does not yet show that .8 is reached.
    """
    if estimate.value is None:
        return estimate.reason
    floor = estimate.value if estimate.low is None else estimate.low
    if estimate.value <= 0:
        words = "No better than chance: these labels cannot be used as they are."
    elif floor >= 0.8:
        words = "Reliable: conclusions may rest on these labels."
    elif floor >= 0.667:
        words = "Good enough for tentative conclusions."
    elif estimate.value >= 0.667:
        words = "Possibly usable, but the interval extends below 0.667: more items are needed."
    else:
        words = "Too low for conclusions: improve the guidelines or adjudicate the disagreements."
    return words + _caution(estimate)


def _caution(estimate: Estimate) -> str:
    if estimate.n < FEW_ITEMS:
        noun = "item" if estimate.n == 1 else "items"
        return f" Based on only {estimate.n} {noun}."
    return ""


def prevalence_warning(percent: Estimate, kappa: Estimate, ac1: Estimate) -> str:
    """Return a sentence when kappa is low only because one label dominates, else an empty string.

    Source: Feinstein and Cicchetti 1990 (the paradox), Gwet 2008 (AC1 beside it).
    """
    if percent.value is None or ac1.value is None or percent.value < HIGH_AGREEMENT:
        return ""
    share = f"{percent.value:.0%} of annotations agree"
    if kappa.value is None:
        return f"{share}, but kappa is undefined because one label was used throughout; read AC1 ({ac1.value:.2f})."
    if ac1.value - kappa.value < PREVALENCE_GAP:
        return ""
    return (
        f"{share}, yet kappa is {kappa.value:.2f}: one label dominates, and kappa counts most agreement as chance. "
        f"Read AC1 ({ac1.value:.2f}) as well."
    )
