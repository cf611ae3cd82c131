"""The panel: several judges of one kind and scale asked side by side, whose votes a rule combines into one score.

A member is a judge with its own prompt, options and endpoint, frozen with the panel. A member whose reply cannot be
read has no vote: it is left out and counted, never a 0, and with fewer votes than the minimum there is no verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from operator import mul

from evalsite.base.formats import SHARE, ScoreScale
from evalsite.base.types import JsonObject
from judging.judges.judge_kinds import JudgeKind, OptionField, members_of, shipped_kind
from judging.judges.subjects import (
    BadPrompt,
    JudgeProgram,
    JudgeScore,
    JudgeSubject,
    JudgeVerdict,
    VerdictStatus,
    VersionedPrompt,
    addressed,
    converse_together,
)
from judging.llm.chat import Conversation
from judging.specs.types import NodeSpec


class PanelRule(StrEnum):
    """How votes are combined."""

    MEAN = "mean"
    MEDIAN = "median"
    MAJORITY = "majority"
    WEIGHTED = "weighted"
    LOWEST = "min"
    HIGHEST = "max"


def combine_votes(votes: Sequence[Fraction], weights: Sequence[Fraction], rule: PanelRule) -> Fraction | None:
    """Return one value of at least one vote; None where the rule gives none.

    mean: the sum over the number. median: the middle value, of an even number the mean of both middle ones.
    majority: the value with most votes, each vote counting once; two values with equally many are a tie, which has no
    majority, so there is no value. weighted: the sum of weight times value over the sum of weights, which the other
    rules leave aside. min, max: the lowest and the highest value.

    Raises:
        ValueError: there are no votes.
    """
    if not votes:
        raise ValueError("There are no votes to combine.")
    values = sorted(votes)
    match rule:
        case PanelRule.MEAN:
            return sum(values, Fraction(0)) / len(values)
        case PanelRule.MEDIAN:
            return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
        case PanelRule.MAJORITY:
            return _most_frequent(values)
        case PanelRule.WEIGHTED:
            return sum(map(mul, weights, votes), Fraction(0)) / sum(weights)
        case PanelRule.LOWEST:
            return values[0]
        case PanelRule.HIGHEST:
            return values[-1]


def _most_frequent(values: Sequence[Fraction]) -> Fraction | None:
    (first, most), *others = Counter(values).most_common()
    return None if others and others[0][1] == most else first


def votes_range(votes: Sequence[Fraction], full: Fraction) -> Fraction:
    """Return how far the highest vote lies above the lowest, as a part of a full score; 0 without a full score.

    Raises:
        ValueError: there are no votes.
    """
    return (max(votes) - min(votes)) / full if full else Fraction(0)


def majority_of(members: int) -> int:
    """Return the smallest number that is more than half of the members."""
    return members // 2 + 1


NAME = "panel"
DISAGREE, TIED, TOO_FEW = "panel_disagreement", "panel_tied", "panel_too_few"
DISPUTED = frozenset({DISAGREE, TIED})  # flags of scores that people are asked about
MOST_MEMBERS = 15
_WORST_FIRST = (VerdictStatus.FAILED, VerdictStatus.REFUSED, VerdictStatus.UNPARSED)


@dataclass(frozen=True, slots=True)
class PanelMember:
    """One judge of a panel, with the endpoint that it asks; empty for one that calls no model."""

    name: str
    judge: JudgeProgram
    weight: Fraction = Fraction(1)
    endpoint: str = ""

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Return what the member says; a prompt that cannot be filled in for this subject fails this member alone."""
        try:
            verdict: JudgeVerdict = yield from addressed(self.judge.converse(subject), self.endpoint)
            return verdict
        except BadPrompt as problem:
            return JudgeVerdict(VerdictStatus.FAILED, reason=str(problem), flags=("not-asked",))


@dataclass(frozen=True, slots=True)
class PanelJudge(JudgeProgram):
    """Options of the judge. The margin is a part of a full score; None: no disagreement is too large."""

    members: tuple[PanelMember, ...] = ()
    rule: PanelRule = PanelRule.MEAN
    margin: float | None = None
    minimum: int | None = None

    @property
    def needed(self) -> int:
        """The number of votes that a verdict needs: as set, and by default more than half of the members."""
        return majority_of(len(self.members)) if self.minimum is None else min(self.minimum, len(self.members))

    @property
    def prompts(self) -> tuple[VersionedPrompt, ...]:
        """Every text that a member sends, under the member's name."""
        return tuple(
            replace(prompt, name=f"{member.name}: {prompt.name}")
            for member in self.members
            for prompt in member.judge.prompts
        )

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Ask all members side by side, and return their votes as one verdict.

        Of each member everything is kept, with the places of its calls among those of the verdict.
        """
        results, callers = yield from converse_together(
            {member.name: member.converse(subject) for member in self.members}
        )
        verdicts: Mapping[str, JudgeVerdict] = {member.name: results[member.name] for member in self.members}
        votes = tuple(
            {
                "judge": name,
                "status": verdict.status.value,
                "value": verdict.value,
                "rationale": verdict.rationale,
                "flags": list(verdict.flags),
                "reason": verdict.reason,
                "confidence": verdict.confidence,
                "calls": [index for index, caller in enumerate(callers) if caller == name],
            }
            for name, verdict in verdicts.items()
        )
        return replace(panel_verdict(verdicts, self.needed), votes=votes)

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return what the members' votes come to by the rule, with each vote and their range in the detail."""
        values: Mapping[str, JsonObject] = value["votes"]
        scores = {
            member.name: member.judge.score(values[member.name], subject)
            for member in self.members
            if member.name in values
        }
        scored = {name: score for name, score in scores.items() if score.value is not None}
        full = max((score.full for score in scored.values()), default=Fraction(1))
        votes = {name: score.value or Fraction(0) for name, score in scored.items()}
        weights = [member.weight for member in self.members if member.name in votes]
        if len(votes) < max(1, self.needed) or any(score.full != full for score in scored.values()):
            return JudgeScore(None, full, flags=(TOO_FEW,))
        distance = votes_range(tuple(votes.values()), full)
        combined = combine_votes(tuple(votes.values()), weights, self.rule)
        flags = [TIED] if combined is None else []
        flags += [DISAGREE] if self.margin is not None and distance > Fraction(str(self.margin)) else []
        shares = {name: float(vote / full) if full else None for name, vote in votes.items()}
        detail = {"rule": self.rule.value, "votes": shares, "range": float(distance)}
        return JudgeScore(combined, full, flags=tuple(flags), detail=detail)


def panel_verdict(verdicts: Mapping[str, JudgeVerdict], needed: int) -> JudgeVerdict:
    """Return one verdict over those of the members; without `needed` values there is none, and the reason says why."""
    voting = {name: verdict for name, verdict in verdicts.items() if verdict.value is not None}
    failed = {name: verdict for name, verdict in verdicts.items() if verdict.value is None}
    raw = tuple(text for verdict in verdicts.values() for text in verdict.raw)
    if len(voting) < max(1, needed):
        worst = min(failed.values(), key=lambda verdict: _WORST_FIRST.index(verdict.status), default=None)
        status, flags = (VerdictStatus.FAILED, ("not-asked",)) if worst is None else (worst.status, worst.flags)
        reasons = "; ".join(f"{name}: {verdict.reason or verdict.status}" for name, verdict in failed.items())
        reason = f"{len(voting)} of {len(verdicts)} members gave a vote, {max(1, needed)} are needed. {reasons}"
        return JudgeVerdict(status, flags=flags, reason=reason.strip(), raw=raw)
    is_repaired = any(verdict.status is VerdictStatus.REPAIRED for verdict in voting.values())
    doubts = dict.fromkeys(flag for verdict in voting.values() for flag in verdict.flags)
    return JudgeVerdict(
        VerdictStatus.REPAIRED if is_repaired else VerdictStatus.OK,
        value={"votes": {name: verdict.value for name, verdict in voting.items()}},
        rationale="\n\n".join(f"{name}: {verdict.rationale}" for name, verdict in voting.items() if verdict.rationale),
        flags=(*doubts, *(f"no_vote:{name}" for name in failed)),
        raw=raw,
    )


def votes_in_words(votes: Sequence[JsonObject], detail: JsonObject, scale: ScoreScale) -> str:
    """Return a panel's votes for one cell of a table as numbers of its scale: "A: 2; B: no vote"; else nothing."""
    shares = detail.get("votes") or {}
    named_votes = [(str(vote["judge"]), scale.number_of(shares.get(vote["judge"]))) for vote in votes]
    return "; ".join(f"{name}: {'no vote' if vote is None else f'{vote:.6g}'}" for name, vote in named_votes)


def panel_kind(kind_of: Callable[[str], JudgeKind]) -> JudgeKind:
    """Return the kind, whose members are of the kinds that `kind_of` knows by name."""

    def build(options: JsonObject) -> JudgeProgram:
        members = tuple(_member(entry, kind_of) for entry in options["members"] if "judge_kind" in entry)
        return PanelJudge(members, PanelRule(options["rule"]), options["margin"], options["minimum"])

    def needs_by(options: JsonObject) -> frozenset[str]:
        defined = [entry for entry in members_of(options) if "judge_kind" in entry]
        needs = [kind_of(entry["judge_kind"]).needs_with(entry["judge_options"]) for entry in defined]
        return frozenset().union(*needs)

    def rates_on(options: JsonObject, rubric: NodeSpec | None) -> ScoreScale:
        defined = (entry for entry in members_of(options) if "judge_kind" in entry)
        scales = (
            kind_of(entry["judge_kind"]).score_scale(entry.get("judge_options") or {}, rubric) for entry in defined
        )
        return next(scales, SHARE)

    return shipped_kind(NAME, (), _OPTIONS, build, prompts={}, needs_by=needs_by, asks_members=True, rates_on=rates_on)


def _member(entry: JsonObject, kind_of: Callable[[str], JudgeKind]) -> PanelMember:
    judge = kind_of(entry["judge_kind"]).build(entry["judge_options"])
    return PanelMember(entry["judge"], judge, Fraction(str(entry["weight"])), entry.get("endpoint", ""))


_OPTIONS = (
    OptionField(
        "members",
        "members",
        [],
        f"Judges of one kind and scale, 2 to {MOST_MEMBERS}. Weights count under the rule “weighted mean” only.",
        high=MOST_MEMBERS,
    ),
    OptionField(
        "rule",
        "choice",
        PanelRule.MEAN.value,
        "How votes become one score. Majority: the value with most votes; a tie has no majority, so there is no score "
        "and people decide.",
        tuple(rule.value for rule in PanelRule),
        words=("mean", "median", "majority", "weighted mean", "lowest", "highest"),
        affects_calls=False,
    ),
    OptionField(
        "margin",
        "number",
        None,
        "Part of a full score, from 0 to 1. Responses whose highest and lowest vote lie further apart are sent to "
        "review. Empty: none.",
        low=0,
        high=1,
        affects_calls=False,
        label="Margin of disagreement",
    ),
    OptionField(
        "minimum",
        "integer",
        None,
        "Votes that a verdict needs; with fewer, the response is sent to review. Empty: more than half of the members.",
        low=1,
        high=MOST_MEMBERS,
        label="Minimum number of votes",
    ),
)
