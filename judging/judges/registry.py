"""The kinds of judges by name. A new kind is one module with its `KIND`, and its name in `KINDS`.

Judges of other tools have a kind too, which is not among those that new judges can have.
"""

from __future__ import annotations

from collections.abc import Mapping

from judging.judges.judge_kinds import JudgeKind
from judging.judges.kinds import (
    accuracy,
    custom,
    generic,
    imported,
    integrity,
    level_cascade,
    pairwise,
    panel,
    relevance,
)
from judging.judges.subjects import BadPrompt

KINDS: dict[str, JudgeKind] = {
    module.KIND.name: module.KIND
    for module in (
        custom,
        generic,
        level_cascade,
        relevance,
        accuracy,
        integrity,
        pairwise,
    )
}
KINDS[panel.NAME] = panel.panel_kind(lambda name: judge_kind(name))
EDITABLE: Mapping[str, str] = {prompt: kind.name for kind in KINDS.values() for prompt in kind.prompts}
COMPARING = frozenset(kind.name for kind in KINDS.values() if "pair" in kind.needs)  # two responses, as debates do


def check_judge_prompt(name: str, text: str) -> None:
    """Accept an edited text for a shipped file. Raises: BadPrompt, as its judge does."""
    kind = KINDS[EDITABLE[name]]
    options = {**kind.prompts[name], "prompt_text": text}
    kind.prompt_hash(options)
    if refusal := kind.refusal(options):
        raise BadPrompt(refusal)


class UnknownJudge(LookupError):
    """There is no judge of this name."""


def judge_kind(name: str) -> JudgeKind:
    """Return the judge of a name.

    Raises:
        UnknownJudge: there is none.
    """
    if name == imported.NAME:
        return imported.KIND
    if name not in KINDS:
        raise UnknownJudge(f"There is no judge {name!r}; there are {', '.join(KINDS)}.")
    return KINDS[name]
