"""Every judge that asks a model, by the prompt that it sends, so that a new kind is held to what all are held to."""

from __future__ import annotations

from judging.judges.questions import AskingJudge
from judging.judges.registry import KINDS


def asking_judges() -> dict[str, AskingJudge]:
    """Return a judge for each editable prompt of each kind."""
    judges: dict[str, AskingJudge] = {}
    for kind in KINDS.values():
        for prompt, options in kind.prompts.items():
            judge = kind.build(options)
            assert isinstance(judge, AskingJudge)
            judges[prompt] = judge
    return judges
