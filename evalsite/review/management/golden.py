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
    golden_set = GoldenSet.objects.select_related("suite", "rubric").filter(name=name).first()
    if golden_set is None:
        names = ", ".join(GoldenSet.objects.order_by("name").values_list("name", flat=True)) or "none yet"
        raise BadInput(f"There is no golden set {name!r}. Golden sets: {names}.")
    return golden_set


def version_of(golden_set: GoldenSet, name_or_key: str) -> GoldenVersion:
    """Return the version on development that a name of a judge (its newest) or the beginning of a key means.

    Raises:
        BadInput: there is none, or several.
    """
    versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
    named = [version for version in versions if version.evaluator.name == name_or_key][:1]
    matching = named or [version for version in versions if name_or_key and version.key.startswith(name_or_key)]
    if len(matching) == 1:
        return matching[0]
    listing = "; ".join(f"{version.evaluator.name} ({version.key[:KEY_SHOWN]})" for version in versions) or "none yet"
    raise BadInput(
        f"{name_or_key!r} matches {len(matching)} versions that were run on development. Versions: {listing}."
    )
