"""What a verdict is worth: computed, and computed again with other options, without asking the judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class JudgeScore:
    """An exact score and the most it could be; `value` is None where the verdict does not give one."""

    value: Fraction | None
    full: Fraction
    flags: tuple[str, ...] = ()
    detail: Mapping[str, object] = field(default_factory=dict)  # e.g. {"deciding_level": 50}
