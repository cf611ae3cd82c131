"""Arguments by which commands name a golden set and what belongs to it."""

from __future__ import annotations

from evalsite.base.command_base import BadInput
from evalsite.review.models import GoldenSet
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.golden.golden_verdicts import GoldenVersion, golden_versions

KEY_SHOWN = 12


def set_of(name: str) -> GoldenSet:
    """Return the golden set of a name.

    Raises:
        BadInput: there is none.
    """
    found = GoldenSet.objects.select_related("suite", "rubric").filter(name=name).first()
    if found is None:
        known = ", ".join(GoldenSet.objects.order_by("name").values_list("name", flat=True)) or "none yet"
        raise BadInput(f"There is no golden set {name!r}. Golden sets: {known}.")
    return found


def version_of(golden_set: GoldenSet, given: str) -> GoldenVersion:
    """Return the version on development that a name of a judge (its newest) or the beginning of a key means.

    Raises:
        BadInput: there is none, or several.
    """
    versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
    named = [one for one in versions if one.evaluator.name == given][:1]
    found = named or [one for one in versions if given and one.key.startswith(given)]
    if len(found) == 1:
        return found[0]
    known = "; ".join(f"{one.evaluator.name} ({one.key[:KEY_SHOWN]})" for one in versions)
    raise BadInput(
        f"{given!r} matches {len(found)} versions that were run on development. Versions: {known or 'none yet'}."
    )
