"""An answer stripped of the phrases that models put around it, before it is compared with a reference.

Source: the cleaning step of Lunar-Bench, whose order and oddities it keeps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

REASONED_PROMPT = "COT"
PREFIXES = (
    "answer is:", "answer:", "the answer is:", "the final answer is ", "expert answer:",
    "答案是：", "答案：", "答案是", "答案", "好的，答案是：", "好的，答案是", "了解，答案是：", "了解，答案是",
)  # fmt: skip
_MARKER = re.compile(r"Final Answer:(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class CleanedAnswer:
    """`formatted_ok` is False only where the prompt asked for a final-answer marker and there is none."""

    text: str
    formatted_ok: bool = True


def clean_answer(raw: str, prompt_version: str) -> CleanedAnswer:
    """Return the answer itself: after the first `Final Answer:` of a COT run, without one prefix, bullet and quotes."""
    answer, formatted_ok = raw.strip(), True
    if prompt_version == REASONED_PROMPT:
        match = _MARKER.search(answer)
        formatted_ok = match is not None
        answer = match[1].strip() if match else answer
    prefix = next((prefix for prefix in PREFIXES if answer.lower().startswith(prefix)), "")
    answer = answer[len(prefix) :].strip()
    for bullet in ("- ", "* "):
        answer = answer.removeprefix(bullet).strip()
    if len(answer) > 1 and answer[0] == answer[-1] and answer[0] in "\"'":
        answer = answer[1:-1].strip()
    if len(answer) > 1 and answer[-1] in ".。":
        answer = answer[:-1].strip()
    for quote in ("> ", ">"):
        answer = answer.removeprefix(quote).strip()
    return CleanedAnswer(answer.strip(), formatted_ok)
