"""What figures about debates rest on: the rule for an outcome and the reading of verdicts, in words."""

from __future__ import annotations

from debate.protocol.meta.metaeval import OutcomeRule
from debate.protocol.verdicts import VerdictReading
from evalsite.reports.services.paper_tables import Basis
from evalsite.reports.services.payloads import Payload

RULES = {
    OutcomeRule.UNANIMOUS: "all speakers agree",
    OutcomeRule.MAJORITY: "most speakers agree",
    OutcomeRule.MAJORITY_TIE0: "most speakers agree, else a tie",
    OutcomeRule.ADJUDICATED: "all speakers agree, else people's word",
    OutcomeRule.HUMAN: "people's word, for debates that agreed as their audit shows",
}
READINGS = {
    VerdictReading.STRICT: "strict, what the last line says",
    VerdictReading.RECORDED: "as recorded in the files",
    VerdictReading.AUTHOR_COMPAT: "as the original's authors mended it",
}

EVERY_LOOK = "Intervals and p-values of figures from people's labels hold at every look while labels arrive."


def debate_basis(payload: Payload) -> Basis:
    """Return the rule, the reading and the choices of debates that a report on debates was computed with."""
    rule, reading = OutcomeRule(payload["rule"]), VerdictReading(payload["reading"])
    chosen = {name: payload["chosen"][name] for name in ("criterion", "scenario") if payload["chosen"][name]}
    only = "".join(f" Only {name} {value}." for name, value in chosen.items())
    looks = f" {EVERY_LOOK}" if payload["looks"] else ""
    words = f"Outcome of a debate: {RULES[rule]}. Reading of verdicts: {READINGS[reading]}.{only}{looks}"
    return Basis({"rule": rule.value, "reading": reading.value}, words)
