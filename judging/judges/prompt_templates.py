"""Templates of prompts that researchers write: a closed part of Jinja2, run in its sandbox, so that every text ends.

A template may name variables, take their parts, filter, compare, branch, and go through the criteria. It calls nothing,
computes nothing and nests loops only over parts of a criterion. Its text is put together piece by piece, and none that
is longer than `MAX_BOUNDED` ever exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from judging.judges.prompt_texts import CRITERIA, OTHER, BadPrompt, bounded_text

if TYPE_CHECKING:
    from jinja2 import Template  # loaded with the first template: commands without prompts do not wait for it

MAX_TEMPLATE = 100_000  # characters of a template
_OF_RUBRICS = frozenset({"rubric", CRITERIA})


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A template that was checked, and which variables it names."""

    template: Template
    names: frozenset[str]

    @property
    def uses_rubric(self) -> bool:
        return not _OF_RUBRICS.isdisjoint(self.names)

    @property
    def compares(self) -> bool:
        """Whether it shows a second response."""
        return OTHER in self.names

    def fill(self, values: Mapping[str, Any]) -> str:
        """Return the text with these values.

        Raises:
            BadPrompt: it cannot be filled with them, or grows beyond `MAX_BOUNDED`.
        """
        from jinja2 import TemplateError

        try:
            return bounded_text(self.template.generate(values)).strip()
        except BadPrompt:
            raise
        except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
            raise BadPrompt(f"The prompt cannot be filled in for this response: {error}") from None


@lru_cache(maxsize=256)
def read_template(text: str) -> PromptTemplate:
    """Return a template, checked.

    Raises:
        BadPrompt: it is too long, no template, or names or does what is not offered; the message has the line.
    """
    if len(text) > MAX_TEMPLATE:
        raise BadPrompt(f"The prompt has {len(text):,} characters; {MAX_TEMPLATE:,} at most.")
    from judging.judges.prompt_syntax import parsed

    return PromptTemplate(*parsed(text))
