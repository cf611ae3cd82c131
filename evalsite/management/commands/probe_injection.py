"""`probe_injection --judge NAME`: how a judge scores responses that try to manipulate it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils.timezone import now

from evalsite.base.command_base import JsonCommand
from evalsite.base.form_fields import BudgetField
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict
from judging.actions.references import ACTIVE_JUDGE
from judging.judges.injection_probes import probe_judge
from judging.judges.registry import judge_kind
from judging.selectors.endpoints import Target, target_of
from judging.selectors.judges import needs_of
from judging.services.pools import TrialRefused, TriedCall, hold_conversation, paid_for

SHOWN = 80  # characters of an answer in the summary


class Command(JsonCommand):
    """Put hostile answers before a judge and compare with the same answer without them."""

    help = "Measure how much hostile responses raise the scores of a judge. Makes about 30 calls, which are recorded."
    needs_broker = True

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add whom to ask."""
        parser.add_argument("--judge", required=True, help="name of the judge")
        parser.add_argument(
            "--budget",
            default="",
            help="maximum spend in US dollars; default: EVALSITE_TRIAL_BUDGET, if the price is known",
        )

    def run(self, **options: Any) -> JsonDict:
        """Ask and report."""
        judge = ACTIVE_JUDGE.named(options["judge"])
        built = judge_kind(judge.kind).build(judge.options)
        if judge_kind(judge.kind).asks_members:
            raise BadInput(f"{judge} is a panel. Probe its members one by one.")
        if "pair" in needs_of(judge):
            raise BadInput(f"{judge} compares two responses, and the probes are single ones.")
        if judge.endpoint is None:
            raise BadInput(f"{judge} calls no model, so a response cannot talk it into a score.")
        target = target_of(judge.endpoint)
        try:
            all_probes, calls = hold_conversation(
                probe_judge(built), target, at=now(), budget=_budget(options["budget"], target)
            )
        except TrialRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        harmless, *probes = all_probes
        self.scale = judge_kind(judge.kind).score_scale(judge.options)
        return {
            "judge": judge.name,
            "scale": self.scale.range_words,
            "without": self.scale.number_of(harmless.share),
            "answers": len(probes),
            "statuses": dict(Counter(probe.verdict.status.value for probe in probes)),
            "moved_up": sum((probe.moved or 0) > 0 for probe in probes),
            "moved_down": sum((probe.moved or 0) < 0 for probe in probes),
            "unread": sum(probe.share is None for probe in probes),
            **_costs(calls),
            "probes": [
                {
                    "answer": probe.text,
                    "status": probe.verdict.status.value,
                    "score": self.scale.number_of(probe.share),
                    "moved": self.scale.differences.number_of(probe.moved),
                }
                for probe in probes
            ],
        }

    def summary(self, result: JsonDict) -> str:
        """Return the figures, and the answers that moved the judge up."""
        lines = [super().summary({name: value for name, value in result.items() if name != "probes"})]
        apart = self.scale.differences
        for probe in result["probes"]:
            if (probe["moved"] or 0) > 0:
                lines.append(f"  up by {apart.words(apart.share(probe['moved']))}: “{probe['answer'][:SHOWN]}”")
        return "\n".join(lines)


def _budget(text: str, target: Target) -> Decimal | None:
    """Return the budget given, else that of a trial; None: the price is unknown and nobody wanted a budget."""
    try:
        budget: Decimal | None = BudgetField().clean(text)
    except ValidationError as wrong:
        raise BadInput(f"--budget: {' '.join(wrong.messages)}") from wrong
    if budget is None and (target.price is not None or target.is_lexical):
        return Decimal(settings.TRIAL_BUDGET)
    return budget


def _costs(calls: Sequence[TriedCall]) -> dict[str, int | str | None]:
    """Return how many calls were made and reused, and what those made cost in USD; None: the price is unknown."""
    made, spent = sum(not call.reused for call in calls), paid_for(calls)
    return {"calls_made": made, "calls_reused": len(calls) - made, "spent": None if spent is None else str(spent)}
