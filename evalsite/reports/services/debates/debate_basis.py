"""What figures about debates rest on: the rule for an outcome and the reading of verdicts, in words."""

from __future__ import annotations

from debate.protocol.meta.metaeval import OutcomeRule
from debate.protocol.verdicts import VerdictReading
from evalsite.reports.services.report_content import ReportContent

RULES = {
    OutcomeRule.UNANIMOUS: "all agents agree",
    OutcomeRule.MAJORITY: "most agents agree",
    OutcomeRule.MAJORITY_TIE0: "most agents agree, else a tie",
    OutcomeRule.ADJUDICATED: "all agents agree, else the human label",
    OutcomeRule.HUMAN: "the human label; for agreed debates as estimated by their audit",
}
READINGS = {
    VerdictReading.STRICT: "strictly, from the last line only",
    VerdictReading.RECORDED: "as recorded in the files",
    VerdictReading.AUTHOR_COMPAT: "as repaired by the authors of ScaleEval",
}

EVERY_LOOK = "Intervals and p-values of figures from human labels are valid at every look while labels arrive."


def debate_basis(content: ReportContent) -> str:
    """Return the rule, the reading and the choices of debates that a report on debates was computed with."""
    rule, reading = OutcomeRule(content["rule"]), VerdictReading(content["reading"])
    chosen = {name: content["chosen"][name] for name in ("criterion", "scenario") if content["chosen"][name]}
    only = "".join(f" Only {name} {value}." for name, value in chosen.items())
    looks = f" {EVERY_LOOK}" if content["looks"] else ""
    return f"Outcome of a debate: {RULES[rule]}. Verdicts are read {READINGS[reading]}.{only}{looks}"
