"""A panel's members: their votes, agreement with each other and with people, and the effective number of judges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from evalsite.reports.selectors.judges.judge_rows import rows_of_members
from evalsite.reports.selectors.judges.people_columns import PeopleComparison, PeopleReader, compared_with_people
from evalsite.reports.services.report_content import ReportContent, figure
from judging.judges.kinds.panel import members_of
from judging.judges.replies.reply_rows import ReplyRows, record_of
from judging.models import RunEvaluator
from judging.statistics.effective_judges import FEWEST, correlation_of, effective_judges
from judging.statistics.estimates import Floats, Ints, undefined
from judging.statistics.estimators.agreement_columns import NONE, audit_alone, share_equal_of
from judging.statistics.estimators.differences import case_means
from judging.statistics.estimators.strata import census_mean
from judging.statistics.intervals import share_of_cases
from judging.statistics.judge_quality import reply_rates

NO_LABELS = "No audited vote of this member has a final human label yet."
NO_VOTES = "This member gave no vote."
NO_COMMON = "They voted on no response in common."
ERRORS, SCORES = "errors", "votes"  # what the effective number of judges is computed from


def panel_part(rows: Sequence[RunEvaluator], reader: PeopleReader) -> ReportContent | None:
    """Return the figures of the members of one version of a panel, over all its runs; None for another judge."""
    members = members_of(rows[0].options.get("judge_options") or {})
    if not members:
        return None
    by_run = {row.pk: rows_of_members(row, len(members)) for row in rows}
    replies = [
        {pk: member_rows[member_index] for pk, member_rows in by_run.items()} for member_index in range(len(members))
    ]
    people = [compared_with_people(rows, rows_by_run, reader) for rows_by_run in replies]
    votes, cases = _votes([list(rows_by_run.values()) for rows_by_run in replies])
    return {
        "members": [
            {
                "name": member["judge"],
                "weight": member["weight"],
                "model": member.get("model", ""),
                **_member(list(rows_by_run.values()), comparison),
            }
            for member, rows_by_run, comparison in zip(members, replies, people, strict=True)
        ],
        "pairs": [
            {"first": members[first]["judge"], "second": members[second]["judge"], **_pair(votes, cases, first, second)}
            for first, second in combinations(range(len(members)), 2)
        ],
        "effective": _effective(votes, _errors(people)),
    }


def _member(parts: Sequence[ReplyRows], people: PeopleComparison) -> ReportContent:
    record = record_of(parts)
    statuses = [status for status, n in record.statuses.items() for _ in range(n)]
    shares = np.concatenate([part.shares for part in parts])
    cases = np.concatenate([part.prompts for part in parts])
    voted = ~np.isnan(shares)
    means = list(case_means(shares[voted].tolist(), cases[voted].tolist()).values())
    labelled = people.audited & (people.people != NONE)
    audit = (
        share_equal_of(audit_alone(people.columns, people.audited), planned=people.planned).estimate
        if labelled.any()
        else undefined(NO_LABELS)
    )
    return {
        "parsed": figure(reply_rates(statuses).parsed),
        "left_out": len(statuses) - record.statuses["ok"] - record.statuses["repaired"],
        "mean": figure(census_mean(means) if means else undefined(NO_VOTES)),
        "audit": figure(audit),
        "calls": record.spent.calls,
        "cost": record.spent.known_cost,
        "unpriced": record.spent.unpriced,
    }


def _votes(replies: Sequence[Sequence[ReplyRows]]) -> tuple[Floats, Ints]:
    """Return the votes, of shape (responses, members), with the case of each response; the newest run counts.

    All members have a row for every verdict, in the same order; runs are given newest first.
    """
    first = replies[0]
    responses = np.concatenate([part.responses for part in first])
    newest = np.unique(responses, return_index=True)[1]
    votes = np.stack([np.concatenate([part.shares for part in parts])[newest] for parts in replies], axis=1)
    return votes, np.concatenate([part.prompts for part in first])[newest]


def _pair(votes: Floats, cases: Ints, first: int, second: int) -> ReportContent:
    """Return how often two members give the same vote, and how their votes correlate."""
    both = ~np.isnan(votes[:, first]) & ~np.isnan(votes[:, second])
    equal = votes[both, first] == votes[both, second]
    equal_share = share_of_cases(equal.tolist(), cases[both].tolist()) if both.any() else undefined(NO_COMMON)
    return {"equal": figure(equal_share), "correlation": correlation_of(votes[:, first], votes[:, second])}


def _errors(people: Sequence[PeopleComparison]) -> Floats:
    """Return each member's label less people's, of the audited responses; shape (responses, members), NaN: none."""
    errors_of_members: list[dict[int, float]] = []
    for comparison in people:
        shares = np.array([*(np.nan if label.share is None else label.share for label in comparison.scale), np.nan])
        usable = np.flatnonzero(comparison.audited & (comparison.people != NONE) & (comparison.judge >= 0))
        errors = shares[comparison.judge[usable]] - shares[comparison.people[usable]]
        errors_of_members.append(dict(zip(comparison.responses[usable].tolist(), errors.tolist(), strict=True)))
    responses = sorted({pk for errors_of in errors_of_members for pk in errors_of})
    return np.array([[errors_of.get(pk, np.nan) for errors_of in errors_of_members] for pk in responses]).reshape(
        -1, len(people)
    )


def _effective(votes: Floats, errors: Floats) -> ReportContent:
    """Return the effective number of judges: of the errors where enough are known, else of the votes."""
    of_errors = effective_judges(errors)
    result, basis = (of_errors, ERRORS) if of_errors.value is not None else (effective_judges(votes), SCORES)
    return {
        "value": result.value,
        "members": votes.shape[1],
        "correlation": result.correlation,
        "pairs": result.pairs,
        "n": result.n,
        "reason": result.reason,
        "basis": basis,
        "why_not_errors": "" if basis == ERRORS else f"{of_errors.n} of {FEWEST} audited responses: {of_errors.reason}",
    }
