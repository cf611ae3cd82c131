"""What a judge said, after its reply was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from evalsite.base.json_types import JsonObject

# Raised by every change of how a reply is read. 2: only behind thinking, analysis and quotations; 3: <reasoning> too.
PARSER_VERSION = 3


class VerdictStatus(StrEnum):
    """`ok` and `repaired` carry a value; the others never do, and never count as zero."""

    OK = "ok"
    REPAIRED = "repaired"  # read by a lenient rule; the flags name it
    REFUSED = "refused"
    UNPARSED = "unparsed"
    FAILED = "failed"  # no reply could be had


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """One judge's reading of one subject."""

    status: VerdictStatus
    value: JsonObject | None = None  # e.g. {"score": 50}; {"nodes": {"100.1": True}}; {"preference": 1}
    rationale: str = ""
    flags: tuple[str, ...] = ()
    confidence: float | None = None  # 0..1; measured (order swap, samples, label probabilities), never self-reported
    reason: str = ""  # why there is no value
    raw: tuple[str, ...] = field(default_factory=tuple)  # raw replies, in the order received
