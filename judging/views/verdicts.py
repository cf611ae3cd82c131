"""The page of a verdict: the request, the replies, and how they were read."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.http import Http404, HttpResponse
from django.shortcuts import render

from evalsite.base.http import PageRequest, get_view
from evalsite.base.json_types import JsonDict
from judging.judges.words import STATUS_WORDS, flag_in_words
from judging.models import Call, Response, Score, Verdict
from judging.selectors.runs import read_verdict
from judging.services.evaluation.comparisons import BASELINE_RESPONSE
from judging.specs.rubrics.outlines import outline_of_data
from judging.views.score_pages import score_page


@get_view("judging.view_run")
def verdict_detail(request: PageRequest, verdict_id: int) -> HttpResponse:
    """Show a verdict with the exact messages sent and the raw replies."""
    verdict = read_verdict(verdict_id)
    if verdict is None:
        raise Http404("There is no such verdict.")
    return render(request, "judging/verdict_detail.html", reading_of(verdict))


@dataclass(frozen=True, slots=True)
class ShownVote:
    """The vote of a member of a panel, as the page shows it."""

    judge: str
    status: str
    share: float | None  # of a full score
    says: str
    rationale: str
    flags: list[str]


def votes_of(verdict: Verdict) -> list[ShownVote]:
    """Return the votes of a panel's members in their order; none of another judge's."""
    score: Score | None = getattr(verdict, "score", None)
    shares = (score.detail.get("votes") or {}) if score is not None else {}
    return [
        ShownVote(
            vote["judge"],
            vote["status"],
            shares.get(vote["judge"]),
            vote["reason"] or STATUS_WORDS.get(vote["status"], ""),
            vote["rationale"],
            [flag_in_words(flag) for flag in vote["flags"]],
        )
        for vote in verdict.votes
    ]


def reading_of(verdict: Verdict) -> JsonDict:
    """Return what pages show of a verdict: its calls, how it was read, what it scored."""
    past = list(verdict.past.order_by("-pk"))
    call_ids = verdict.call_ids + [pk for earlier in past for pk in earlier.call_ids]
    calls_by_id = Call.objects.select_related("endpoint", "prompt").in_bulk(call_ids)
    calls = [calls_by_id[pk] for pk in verdict.call_ids if pk in calls_by_id]
    costs = [call.cost for call in calls if call.cost is not None]
    score: Score | None = getattr(verdict, "score", None)
    value = dict(verdict.value) if isinstance(verdict.value, dict) else {}
    other_id = value.pop(BASELINE_RESPONSE, None)
    return {
        "verdict": verdict,
        "score": score_page(score) if score else None,
        "score_flags": [flag_in_words(flag) for flag in score.flags] if score else [],
        "says": STATUS_WORDS.get(verdict.status, ""),
        "flags": [flag_in_words(flag) for flag in verdict.flags],
        "votes": votes_of(verdict),
        "value": outline_of_data("", value).children if value else (),
        "other": Response.objects.filter(pk=other_id).first() if other_id else None,
        "calls": calls,
        "earlier_tries": [
            {
                "verdict": earlier,
                "calls": [calls_by_id[pk] for pk in earlier.call_ids if pk in calls_by_id],
                "says": STATUS_WORDS.get(earlier.status, ""),
            }
            for earlier in past
        ],
        "cost": sum(costs, Decimal(0)) if len(costs) == len(calls) else None,
        "seconds": sum(call.seconds for call in calls),
        "paid_before": sum(call.run_id != verdict.run_id for call in calls),
    }
