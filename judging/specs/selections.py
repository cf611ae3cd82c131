"""Which cases of a suite are taken: named ones, scenarios, a number drawn at random; all where nothing is said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from hashlib import sha256

from evalsite.base.types import JsonDict, JsonObject

MOST_DRAWN = 10_000
SHOWN = 8  # names in a sentence


class SelectionRefused(ValueError):
    """A suite has no such cases or scenarios; the message is for the person who named them."""


@dataclass(frozen=True, slots=True)
class CaseSelection:
    """A part of a suite. Of the cases that are named and of the scenarios named, `limit` are drawn by the seed.

    Raises:
        SelectionRefused: fewer than one case, or more than can be drawn.
    """

    cases: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    drawn: tuple[str, ...] = ()  # the keys that `limit` came to, once they are drawn

    def __post_init__(self) -> None:
        if self.limit is not None and not 1 <= self.limit <= MOST_DRAWN:
            raise SelectionRefused(f"Draw 1 to {MOST_DRAWN:,} cases, not {self.limit:,}; leave it out for all.")

    @property
    def is_all(self) -> bool:
        return not self.cases and not self.scenarios and self.limit is None

    @property
    def keys(self) -> tuple[str, ...]:
        """The only cases that are taken; empty where their keys do not limit them."""
        return self.drawn or self.cases

    @property
    def words(self) -> str:
        """What the part is, for pages; empty for a whole suite."""
        parts = []
        if self.limit is not None:
            parts.append(f"{self.limit} case{'' if self.limit == 1 else 's'} drawn with seed {self.seed}")
        if self.scenarios:
            parts.append(f"scenario{'' if len(self.scenarios) == 1 else 's'} {_few(self.scenarios)}")
        if self.cases:
            parts.append(f"case{'' if len(self.cases) == 1 else 's'} {_few(self.cases)}")
        return " of ".join(parts)

    def part_words(self, *, count: int, total: int) -> str:
        """What the part is once its cases are known, for pages; empty for a whole suite."""
        if self.is_all:
            return ""
        parts = [f"{count:,} of {total:,} case{'' if total == 1 else 's'}"]
        if self.limit is not None:
            parts.append(f"drawn with seed {self.seed}")
        if self.scenarios:
            parts.append(f"scenario{'' if len(self.scenarios) == 1 else 's'} {_few(self.scenarios)}")
        if self.cases:
            parts.append(f"{'among' if self.limit is not None else 'only'} {_few(self.cases)}")
        return ", ".join(parts)

    def to_json(self) -> JsonDict:
        """Return plain data that `selection_from_json` reads back to an equal value."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


ALL_CASES = CaseSelection()


def selection_from_json(data: JsonObject) -> CaseSelection:
    """Return a stored selection; what is missing has its default."""
    fields: JsonDict = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return CaseSelection(**fields)


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a list separated by commas or lines, each once."""
    return tuple(dict.fromkeys(name.strip() for name in re.split(r"[,\n]", text) if name.strip()))


def draw_keys(keys: Iterable[str], *, limit: int | None, seed: int) -> list[str]:
    """Return `limit` of the keys in the order given; the same seed draws the same, and a larger limit adds to them."""
    unique = list(dict.fromkeys(keys))
    if limit is None or limit >= len(unique):
        return unique
    ranked = sorted(unique, key=lambda key: (sha256(f"{seed}|case|{key}".encode()).digest(), key))
    chosen = set(ranked[:limit])
    return [key for key in unique if key in chosen]


def check_names(names: Sequence[str], existing_names: Sequence[str], *, what: str, owner: str) -> None:
    """Pass where all names are known.

    Raises:
        SelectionRefused: names the unknown ones, and what they are close to.
    """
    missing = [name for name in names if name not in set(existing_names)]
    if not missing:
        return
    close = [close_name for name in missing[:SHOWN] for close_name in get_close_matches(name, existing_names, n=1)]
    hint = (
        f"Did you mean {_few(tuple(dict.fromkeys(close)))}?"
        if close
        else f"There are: {_few(existing_names) or 'none'}."
    )
    raise SelectionRefused(f"{owner} has no {what} {_few(missing)}. {hint}")


def _few(names: Sequence[str]) -> str:
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
