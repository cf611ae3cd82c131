"""Other wordings of a judge's prompt: the question for one, what is read of the reply, and the changes by line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from judging.judges.questions import reask
from judging.judges.subjects import as_data, fill, load_prompt
from judging.llm.chat import ChatReply, ChatRequest, Conversation, Message, ReplyStatus

MOST_DISAGREEMENTS = 20
MOST_CHARACTERS = 1_500  # of each text of a disagreement
MOST_TOKENS = 4_096
LONGEST = 40_000  # characters of a proposed prompt
UNREADABLE = "Write the whole prompt between <prompt> and </prompt>."
_PROMPT = re.compile(r"<prompt>(.*?)</prompt>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JudgeDisagreement:
    """A response on which a judge and people differ, with the reasons of both."""

    question: str
    response: str
    people: str
    people_reasons: str
    judge: str
    judge_reasons: str


@dataclass(frozen=True, slots=True)
class ProposedWording:
    """The proposed prompt; empty with the problem in words where none could be read."""

    text: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class WordingLine:
    """A line as it is and as proposed; None: it is not there. `place` numbers the changes, None: nothing changes."""

    before: str | None
    after: str | None
    place: int | None = None


def wording_request(prompt: str, disagreements: Sequence[JudgeDisagreement], rules: Sequence[str]) -> ChatRequest:
    """Return the question for a better wording; all texts are data that cannot end their own frame."""
    sections = [
        as_data(_quoted(disagreement), f"DISAGREEMENT {n}")
        for n, disagreement in enumerate(disagreements[:MOST_DISAGREEMENTS], 1)
    ]
    values = {
        "prompt": as_data(prompt, "PROMPT"),
        "disagreements": "\n\n".join(sections) or "There are no disagreements.",
        "rules": as_data("\n".join(rules), "RULES") if rules else "People noted no rules.",
    }
    return ChatRequest((Message("user", fill(load_prompt("proposal"), values)),), max_tokens=MOST_TOKENS)


def _quoted(disagreement: JudgeDisagreement) -> str:
    rows = (
        ("Question", disagreement.question),
        ("Response", disagreement.response),
        ("People's label", disagreement.people),
        ("People's reasons", disagreement.people_reasons),
        ("Judge's label", disagreement.judge),
        ("Judge's reasons", disagreement.judge_reasons),
    )
    return "\n".join(f"{name}: {text[:MOST_CHARACTERS]}" for name, text in rows if text)


def propose_wording(request: ChatRequest) -> Conversation[ProposedWording]:
    """Ask, ask once more where no prompt can be read, and return what is proposed."""
    (reply,) = yield (request,)
    proposal = read_wording(reply)
    if proposal.text or reply.status in (ReplyStatus.FAILED, ReplyStatus.REFUSED):
        return proposal
    (reply,) = yield (reask(request, reply, UNREADABLE),)
    return read_wording(reply)


def read_wording(reply: ChatReply) -> ProposedWording:
    """Return the prompt that a reply holds, the last where there are several."""
    if reply.status is not ReplyStatus.FINISHED:
        reason = reply.error_text or reply.error_kind or "The reply was cut off or refused."
        return ProposedWording("", f"The model did not propose a wording: {reason}")
    prompts = _PROMPT.findall(reply.text)
    text = prompts[-1].strip() if prompts else ""
    if not text:
        return ProposedWording("", "The reply of the model holds no prompt between <prompt> and </prompt>.")
    if len(text) > LONGEST:
        return ProposedWording("", f"The proposed prompt has more than {LONGEST:,} characters.")
    return ProposedWording(text.replace("\r\n", "\n"))


def wording_lines(before: str, after: str) -> tuple[WordingLine, ...]:
    """Return both prompts line by line; each changed, added or removed line is a change of its own."""
    lines: list[WordingLine] = []
    changes = 0
    for old, new in _line_pairs(before.splitlines(), after.splitlines()):
        if old == new:
            lines.append(WordingLine(old, new))
        else:
            lines.append(WordingLine(old, new, changes))
            changes += 1
    return tuple(lines)


def _line_pairs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    for _, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        yield from zip_longest(before[start:end], after[new_start:new_end])


def accepted_wording(before: str, after: str, accepted: Collection[int]) -> str:
    """Return the prompt with the accepted changes alone."""
    lines = []
    for line in wording_lines(before, after):
        text = line.after if line.place is None or line.place in accepted else line.before
        if text is not None:
            lines.append(text)
    return "\n".join(lines)
