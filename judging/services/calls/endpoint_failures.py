"""Failures of an endpoint as one worker on a run sees them: when to stop asking, and what to tell people."""

from __future__ import annotations

import math
from dataclasses import dataclass

from judging.llm.chat import ChatReply, ReplyStatus

# The next request will meet these too: a wrong key, a model that is not there, no credit.
HOPELESS = frozenset(
    ["quota", "key", "access", "address", "model", "config", "redirect", "bad-endpoint", "refused-address"]
)
SAME_ERRORS = 5  # in a row, without an answer between them, stop the run
LONGEST_HOLD_SECONDS = 60.0  # a worker keeps a request for so long before it is asked again
REFUSALS = 3  # rounds of "no more calls for now" without an answer from anybody, and the work is put back
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 300.0, 3600.0  # where the endpoint does not say how long


@dataclass(slots=True)
class EndpointFailures:
    """What one endpoint has answered lately. Times are monotonic seconds."""

    kind: str = ""  # the hopeless error that it answers
    text: str = ""
    count: int = 0  # so often in a row
    answered_at: float = -math.inf
    blocked_until: float = -math.inf  # nothing is asked of it before

    def is_hopeless(self, reply: ChatReply) -> bool:
        """Whether every other request will meet this error too."""
        return reply.status == ReplyStatus.FAILED and reply.error_kind in HOPELESS

    def note(self, reply: ChatReply, at: float) -> None:
        """Count a reply."""
        if reply.status != ReplyStatus.FAILED:
            self.kind, self.count, self.answered_at = "", 0, at
        elif reply.error_kind in HOPELESS:
            self.count = self.count + 1 if reply.error_kind == self.kind else 1
            self.kind, self.text = reply.error_kind, reply.error_text

    @property
    def is_broken(self) -> bool:
        return self.count >= SAME_ERRORS

    def sentence(self, name: str) -> str:
        """Return what to tell people about an endpoint that answers nothing else."""
        return (
            f"{name} returned the same error {self.count} times and no reply: {self.text[:160]} "
            "Waiting tasks were not attempted. Correct the endpoint and resume the run, or start one with another."
        )[:300]


def pause_seconds(refused_for: float) -> float:
    """Return how long to leave an endpoint alone that has taken no call for `refused_for` seconds and gives no time."""
    return min(LONGEST_PAUSE_SECONDS, max(SHORTEST_PAUSE_SECONDS, refused_for))
