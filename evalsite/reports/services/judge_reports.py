"""Quality of judges and of agents in debates: readable replies, cost, agreement with people and with debates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from django.db.models import Avg, Count, Q, Sum

from debate.models import Agent, Debate, DebateStatus, Statement
from debate.protocol.figures import agreement_with_outcomes, standing
from debate.protocol.metaeval import DebateVotes, agent_names, debate_votes, independent_votes, leave_one_out
from debate.protocol.setups import Method
from evalsite.base.rows import grouped
from evalsite.base.types import JsonDict
from evalsite.reports.selectors.leaderboards import Options, chosen, work_version
from evalsite.reports.services import judge_rows
from evalsite.reports.services.judge_rows import (
    ComparedVerdict,
    PartComparison,
    PeopleComparison,
    PeopleReader,
    compared_with_people,
    rows_of_judge,
    rows_of_members,
)
from evalsite.reports.services.judge_trust import PairJudgeFigures, compute_judge_trust, lacks_of, over_baselines
from evalsite.reports.services.snapshots import ReportContent, ReportKind, figure
from evalsite.review.questions.forms import value_text
from evalsite.review.questions.scales import MOST_LABELS
from judging.judges.judge_kinds import endpoints_asked, members_of
from judging.judges.reply_rows import JudgeRecord, ReplyRows, Spent, record_of
from judging.llm.endpoints import EndpointKind
from judging.models import Call, Prompt, Run, RunEvaluator
from judging.selectors.judges import score_scale_of, versions_of
from judging.statistics.agreement import Metric, agreement_report, confusion_counts
from judging.statistics.estimates import Estimate, Floats, Ints, census_mean, share_of, share_of_cases, undefined
from judging.statistics.estimators.agreement import (
    NONE,
    ComparedItem,
    audit_alone,
    share_equal,
    share_equal_of,
    shown_kappa_of,
)
from judging.statistics.estimators.boards import case_means, mean_of_cases
from judging.statistics.estimators.judge_bias import rogan_gladen
from judging.statistics.judge_quality import (
    FEWEST,
    correlation_of,
    effective_judges,
    parsed_share,
    position_report,
    why_not_run,
)
from judging.statistics.ratings import RatingTable

NO_LABELS = "No audited vote of this member has a final human label yet."
NO_VOTES = "This member gave no vote."
NO_COMMON = "They voted on no response in common."
ERRORS, SCORES = "errors", "votes"  # what the effective number of judges is computed from
ENDED = (DebateStatus.AGREED, DebateStatus.UNRESOLVED)
HOW_READ = {  # a statement's status in the words used for judges; every other one carries no verdict
    "final_line": "ok",
    "phrase": "repaired",
    "out_of_range_phrase": "repaired",
    "refused": "refused",
    "failed": "failed",
}
POSITION_VOTES = {"1": 1, "2": -1, "0": 0}  # a vote by position, as a preference for the answer shown first


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
        "parsed": figure(parsed_share(record.statuses)),
        "left_out": record.statuses.total() - record.statuses["ok"] - record.statuses["repaired"],
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


STATUSES = ("ok", "repaired", "refused", "unparsed", "failed")
BINS = 10
ITEMS_SHOWN = 100
ONE_ORDER = "This judge was not asked in both orders."
NO_PEOPLE = "No verdict of this judge has a final human label yet that was given blind."
NO_AUDIT = "No audited verdict of this judge has a final human label yet that was given blind."
NO_LOOKS = "This figure has no interval that is valid at every look."
NO_DEBATES = "No agreed debate is about two responses that this judge scored."
NO_OUTCOMES = "No debate of this agent has reached agreement."
NOBODY_ELSE = "The other agents agree in no debate of this agent."
IMPORTED = "Its debates were imported, and imported records contain no calls."
SHARED = "Several agents used this endpoint in the same run, so their calls cannot be separated."
PREFERENCES = {"1": "A better", "0": "tie", "-1": "B better"}


Figures = TypeVar("Figures")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFigures:
    """How the replies of a judge or an agent were read, and what they cost; None where calls cannot be told apart."""

    name: str
    is_baseline: bool
    verdicts: int
    statuses: dict[str, int]  # by the names of STATUSES
    parsed: Estimate
    cost: float | None  # USD
    cost_per_verdict: float | None
    cost_reason: str
    calls: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    unpriced: int | None
    seconds_mean: float | None
    consistency: Estimate
    first_position: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFigures(ReplyFigures):
    """A version of a judge over all its runs."""

    version: str
    model: str
    prompt_hash: str
    criterion: str
    newest_run: int  # minus its number
    caveat: str
    endpoints: list[str]
    runs: int
    first_try: Estimate
    reused: int
    seconds_p95: float | None
    histogram: list[int]
    scale: list[Any] | None
    people: Estimate
    people_audit: Estimate
    people_kappa: Estimate
    test_lacks: str
    parts: JsonDict  # of the version
    debates: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFigures(ReplyFigures):
    """An agent over all its debates."""

    debates_held: int
    outcome: Estimate
    outcome_missing: int
    leave_one_out: Estimate


@dataclass(frozen=True, slots=True)
class JudgesReport:
    """The versions of all judges, and the agents of all debates."""

    judges: list[JudgeFigures]
    pairs: list[PairJudgeFigures]
    agents: list[AgentFigures]
    debates: int
    looks: str


def compute_judges(subject_id: int, options: Options) -> JudgesReport:
    """Return one row per version of a judge, over all grading runs, and one per agent in debates."""
    versions = judge_rows.by_version(judge_rows.judge_evaluators())
    looks = chosen(options, "looks")
    reader = PeopleReader(looks=bool(looks))
    judges = [_judge_row(rows, key, *_compared(rows, reader)) for (_, key), rows in versions.items()]
    work = agent_work()
    ended = ended_debates()
    agent_rows = [_agent_row(agent_work, list(work.values()), ended) for agent_work in work.values()]
    return JudgesReport(
        judges=sorted(judges, key=lambda row: (row.is_baseline, row.name, row.newest_run)),
        pairs=over_baselines(versions, looks),
        agents=sorted(agent_rows, key=lambda row: (row.is_baseline, row.name)),
        debates=len(ended),
        looks=looks,
    )


def compute_judge(subject_id: int, options: Options) -> ReportContent:
    """Return the row of a version of the judge that the option `name` names, with the data behind its figures.

    Without the option `version` it is the version of the newest run.
    """
    name = chosen(options, "name")
    versions = judge_rows.by_version(judge_rows.judge_evaluators(name))
    named = (name, chosen(options, "version"))
    (_, key), rows = (named, versions[named]) if named in versions else next(iter(versions.items()))
    reader = PeopleReader(looks=bool(chosen(options, "looks")))
    record, people, debates, test_lacks = _compared(rows, reader)
    return {
        "panel": panel_part(rows, reader),
        "looks": chosen(options, "looks"),
        "row": asdict(_judge_row(rows, key, record, people, debates, test_lacks)),
        "versions": len(versions),
        "runs": [
            {
                "run_id": row.run_id,
                "run": row.run.name,
                "suite_id": row.run.suite_id,
                "suite": str(row.run.suite),
                "evaluator_id": row.pk,
                "done": row.done,
                "failed": row.failed,
                "options": {key: row.options.get(key) for key in ("judge_kind", "endpoint", "model", "prompt_hash")},
            }
            for row in rows
        ],
        "people": _against_people(people),
        "debates": _against_debates(debates),
        "debates_system_level": _system_level(debates),
    }


def _compared(
    rows: Sequence[RunEvaluator], reader: PeopleReader
) -> tuple[JudgeRecord, PeopleComparison, Sequence[ComparedVerdict], str]:
    """Return the record of a version of a judge over all its runs, others' labels, and why its test cannot be run."""
    replies = rows_of_judge(rows)
    people = compared_with_people(rows, replies, reader)
    debates, key = judge_rows.compared_with_debates(rows), versions_of(rows[:1])[rows[0].pk].key
    if judge_rows.golden_prompts(rows[0].name, key):
        lacks = lacks_of(compute_judge_trust(0, {"name": rows[0].name, "version": key}))
    else:
        lacks = _test_lacks(people, reader)
    return record_of([*replies.values()]), people, debates, lacks


def _judge_row(
    rows: Sequence[RunEvaluator],
    version: str,
    record: JudgeRecord,
    people: PeopleComparison,
    debates: Sequence[ComparedVerdict],
    test_lacks: str,
) -> JudgeFigures:
    spent = record.spent
    return _with_replies(
        JudgeFigures,
        record.statuses,
        record.orders,
        spent,
        no_cost=_why_no_cost(spent),
        name=rows[0].name,
        version=version,
        model=str(rows[0].options.get("model", "")),
        prompt_hash=str(rows[0].options.get("prompt_hash", "")),
        criterion=rows[0].criterion,
        newest_run=-rows[0].run_id,
        is_baseline=any(row.is_baseline for row in rows),
        caveat=next((row.caveat for row in rows if row.caveat), ""),
        endpoints=sorted({name for row in rows for name in endpoints_asked(row.options)}),
        runs=len(rows),
        first_try=_parsed(record.first_tries),
        reused=record.verdicts - record.statuses.total(),
        seconds_p95=spent.seconds_p95,
        histogram=_histogram(record.shares),
        scale=score_scale_of(rows[0]).to_json(),
        people=_with_people(people),
        people_audit=_with_audit(people),
        people_kappa=_kappa(people),
        test_lacks=test_lacks,
        parts=versions_of(rows[:1])[rows[0].pk].to_json(),
        debates=_with_debates(debates),
    )


def _test_lacks(people: PeopleComparison, reader: PeopleReader) -> str:
    """Return why the alternative annotator test cannot be run on the audit of a judge, "" if it can."""
    is_labelled = people.audited & (people.people != NONE) & (people.judge >= 0) & (people.items > 0)
    items = people.items[is_labelled]
    audited = dict(zip(items.tolist(), people.cases[is_labelled].tolist(), strict=True))
    annotations = reader.annotations_of(items)
    count = Counter(annotation.item_id for annotation in annotations)
    shared: dict[str, set[int]] = {}
    for annotation in annotations:
        shared_cases = shared.setdefault(annotation.person, set())
        if count[annotation.item_id] > 1:
            shared_cases.add(audited[annotation.item_id])
    return why_not_run({person: len(cases) for person, cases in shared.items()})


def _agent_row(work: AgentWork, others: Sequence[AgentWork], ended: Sequence[EndedDebate]) -> AgentFigures:
    debates = [debate for debate in ended if work.name in debate.votes.rounds[0]]
    all_votes = [debate.votes for debate in debates]
    outcome, missing = agreement_with_outcomes(
        independent_votes(all_votes, work.name),
        [debate.verdict for debate in debates],
        [debate.case_id for debate in debates],
    )
    alone = leave_one_out(all_votes, work.name).of_resolved
    spent = debate_spending(work, others)
    no_cost = "No price is known." if spent else SHARED if work.run_ids else IMPORTED
    return _with_replies(
        AgentFigures,
        work.how_read,
        work.orders,
        spent,
        no_cost=no_cost,
        name=work.name,
        is_baseline=work.is_baseline,
        debates_held=len(debates),
        outcome=outcome if outcome.n else undefined(NO_OUTCOMES),
        outcome_missing=missing,
        leave_one_out=share_of(int(alone.count), alone.n) if alone.n else undefined(NOBODY_ELSE),
    )


def _with_replies(
    kind: Callable[..., Figures],
    statuses: Counter[str],
    orders: Sequence[tuple[int, int]],
    spent: Spent | None,
    *,
    no_cost: str,
    **own: object,
) -> Figures:
    """Return the figures of a judge or an agent: its own, how its replies were read and what they cost."""
    verdicts, cost = statuses.total(), None if spent is None else spent.cost
    each = float(cost) / verdicts if cost is not None and verdicts else None
    one_order = undefined(ONE_ORDER)
    consistency, first_position = (
        position_report([first for first, _ in orders], [second for _, second in orders])
        if orders
        else (one_order, one_order)
    )
    return kind(
        verdicts=sum(statuses.get(status, 0) for status in STATUSES),
        statuses={status: int(statuses.get(status, 0)) for status in STATUSES},
        parsed=_parsed(statuses),
        cost=None if cost is None else float(cost),
        cost_per_verdict=each,
        cost_reason="" if each is not None else no_cost,
        calls=spent and spent.calls,
        prompt_tokens=spent and spent.prompt_tokens,
        completion_tokens=spent and spent.completion_tokens,
        unpriced=spent and spent.unpriced,
        seconds_mean=spent and spent.seconds_mean,
        consistency=consistency,
        first_position=first_position,
        **own,
    )


def _parsed(statuses: Mapping[str, int]) -> Estimate:
    return parsed_share({status: statuses.get(status, 0) for status in STATUSES})


def _why_no_cost(spent: Spent) -> str:
    if not spent.calls:
        return "No calls were made."
    return "No verdict was given." if not spent.unpriced else "The price or the tokens of its calls are unknown."


def _histogram(shares: Floats) -> list[int]:
    """Return how many shares lie in each tenth of the scale; 1 belongs to the last, what lies outside to the ends."""
    counts, _ = np.histogram(np.clip(shares, 0.0, 1.0), bins=BINS, range=(0.0, 1.0))
    return [int(n) for n in counts]


def _with_people(people: PeopleComparison) -> Estimate:
    """Return the share of all readable verdicts on which people say the same, routed and audited ones weighted."""
    if not len(people.cases):
        return undefined(NO_PEOPLE)
    return share_equal_of(people.columns, planned=people.planned).estimate


def _with_audit(people: PeopleComparison) -> Estimate:
    """Return the same from the audit alone."""
    if not (people.audited & (people.people != NONE)).any():
        return undefined(NO_AUDIT)
    return share_equal_of(audit_alone(people.columns, people.audited), planned=people.planned).estimate


def _kappa(people: PeopleComparison) -> Estimate:
    if not len(people.cases):
        return undefined(NO_PEOPLE)
    return shown_kappa_of(people.columns, labels=len(people.scale), planned=people.planned).estimate


def _with_debates(debates: Sequence[ComparedVerdict]) -> Estimate:
    """Return the share of debates that ended as the judge prefers; the unit is the case."""
    if not debates:
        return undefined(NO_DEBATES)
    values = [float(debate.judge == debate.other) for debate in debates]
    return mean_of_cases(values, [debate.case_id for debate in debates])


def _against_people(people: PeopleComparison) -> ReportContent:
    names, codes = np.unique(np.array(people.scenarios, dtype=np.str_), return_inverse=True)
    columns, planned = people.columns, people.planned
    scenarios = [
        (str(name), share_equal_of(columns.only(codes == code), planned=planned).estimate)
        for code, name in enumerate(names)
    ]
    texts = {label.value: label.text for label in people.scale}
    return _against(people.compared, _with_people(people), scenarios, texts) | {
        "kappa": figure(_kappa(people)),
        "audit": figure(_with_audit(people)),
        "rogan_gladen": _corrected_share(people),
        "parts": _parts_with_people(people),
    }


def _parts_with_people(people: PeopleComparison) -> list[ReportContent]:
    """Return how far judge and people agree on each check and dimension on which people agreed among themselves."""
    by_key: dict[str, list[PartComparison]] = {}
    for row in people.parts:
        for key in row.people:
            if row.judge.get(key) is not None:
                by_key.setdefault(key, []).append(row)
    return [_part_with_people(rows, key) for key, rows in list(by_key.items())[:ITEMS_SHOWN]]


def _part_with_people(rows: Sequence[PartComparison], key: str) -> ReportContent:
    """Return the figures of one part, from the rows that have it; alpha leaves the sample out of account."""
    labelled = [(value_text(row.judge[key]), value_text(row.people[key])) for row in rows]
    is_number = not isinstance(rows[0].people[key], (bool, str))
    labels = sorted({label for pair in labelled for label in pair}, key=float if is_number else None)
    codes_by_label = {label: code for code, label in enumerate(labels)}
    codes = np.array([[codes_by_label[judge], codes_by_label[other]] for judge, other in labelled], dtype=np.int64)
    table = RatingTable(
        items=tuple(map(str, range(len(labelled)))),
        raters=("judge", "people"),
        labels=tuple(labels),
        codes=codes,
        values=tuple(map(float, labels)) if is_number else None,
        raters_known=False,
    )
    metric = Metric.INTERVAL if is_number else Metric.NOMINAL
    items = [
        ComparedItem(row.case_id, codes_by_label[judge], codes_by_label[other], row.is_routed)
        for row, (judge, other) in zip(rows, labelled, strict=True)
    ]
    return {
        "key": key,
        "n": len(labelled),
        "equal": figure(share_equal(items).estimate),
        "alpha": figure(dict(agreement_report(table, metrics=(metric,)).alpha)[metric]),
        "metric": metric.value,
    }


def _corrected_share(people: PeopleComparison) -> ReportContent | None:
    """Return sensitivity, specificity and the share of right answers corrected by them; None but for labels 0 and 1."""
    shares = [label.share for label in people.scale]
    if sorted(shares, key=str) != [0.0, 1.0]:
        return None
    right = np.array([share == 1.0 for share in shares])
    audited = people.audited & (people.people != NONE) & (people.judge >= 0)
    others = ~people.audited & (people.judge >= 0)  # routed ones too, as in the audit
    share, sensitivity, specificity = rogan_gladen(
        right[people.people[audited]].tolist(),
        right[people.judge[audited]].tolist(),
        right[people.judge[others]].tolist(),
        cases=people.cases[audited].tolist(),
        other_cases=people.cases[others].tolist(),
    )
    share = replace(share, low=None, high=None, reason=NO_LOOKS) if people.looks else share
    return {"share": figure(share), "sensitivity": sensitivity, "specificity": specificity}


def _against_debates(debates: Sequence[ComparedVerdict]) -> ReportContent:
    names = sorted({debate.scenario for debate in debates})
    scenarios = [(name, _with_debates([debate for debate in debates if debate.scenario == name])) for name in names]
    return _against(debates, _with_debates(debates), scenarios, PREFERENCES)


def _against(
    compared: Sequence[ComparedVerdict],
    agreement: Estimate,
    scenarios: Sequence[tuple[str, Estimate]],
    texts: Mapping[str, str],
) -> ReportContent:
    """Return agreement in all and by scenario, the labels as a confusion matrix, and the items that differ."""
    both = [row for row in compared if row.judge]
    differing = [row for row in both if row.judge != row.other]
    scale = list(texts)
    if len(scale) > MOST_LABELS:  # scores of 0 to 100: the matrix shows those that were given
        labels = {label for row in both for label in (row.judge, row.other)}
        scale = [label for label in texts if label in labels]
    return {
        "agreement": figure(agreement),
        "labelled": len(both),
        "missing": len(compared) - len(both),
        "scenarios": [{"name": name, **figure(estimate)} for name, estimate in scenarios],
        "labels": [texts[label] for label in scale],
        "counts": confusion_counts([row.judge for row in both], [row.other for row in both], scale),
        "differing": _listed(differing[:ITEMS_SHOWN], texts),
        "n_differing": len(differing),
    }


def _listed(differing: Sequence[ComparedVerdict], texts: Mapping[str, str]) -> list[ReportContent]:
    """Return the items that differ; one whose label a file brought has no page, and is named by its case."""
    without_page = [row.case_id for row in differing if not row.item_id]
    keys = dict(Prompt.objects.filter(pk__in=without_page).values_list("pk", "key"))
    return [
        {
            "id": row.item_id,
            "case": "" if row.item_id else keys.get(row.case_id, ""),
            "judge": texts[row.judge],
            "other": texts[row.other],
        }
        for row in differing
    ]


def _system_level(debates: Sequence[ComparedVerdict]) -> ReportContent:
    """Return in how many cells (two systems, one criterion) judge and debates pick the same system.

    A and B mean the same systems only inside a cell.
    """
    labels = {debate.item_id: int(debate.judge) for debate in debates}
    outcomes = {debate.item_id: int(debate.other) for debate in debates}
    cells: dict[tuple[str, ...], list[int]] = grouped((debate.cell, debate.item_id) for debate in debates)
    agreement = standing(labels, outcomes, cells, {debate.item_id: debate.case_id for debate in debates})
    return {"cells": len(cells), "same_mode": figure(agreement.system), "same_direction": figure(agreement.direction)}


def _rows_to_read(subject_id: int, options: Options) -> int:
    """Return the number of verdicts and debates ever finished: each has calls, scores and perhaps labels behind it."""
    sums = Run.objects.aggregate(done=Sum("done"), failed=Sum("failed"))
    imported = Debate.objects.order_by("-pk").values_list("pk", flat=True).first()
    return (sums["done"] or 0) + (sums["failed"] or 0) + (imported or 0)


JUDGES = ReportKind("judges", lambda *_: work_version(), _rows_to_read, compute_judges, JudgesReport, revision=2)
JUDGE = ReportKind("judge", lambda *_: work_version(), _rows_to_read, compute_judge)


@dataclass(frozen=True, slots=True)
class EndedDebate:
    """One debate that came to its end, its votes in system space."""

    pk: int
    case_id: int
    scenario: str
    verdict: int | None  # None: unresolved
    votes: DebateVotes


@dataclass(slots=True)
class AgentWork:
    """One agent over all debates, by its name."""

    name: str
    is_baseline: bool = False
    endpoint_ids: set[int] = field(default_factory=set)
    run_ids: set[int] = field(default_factory=set)
    how_read: Counter[str] = field(default_factory=Counter)
    orders: list[tuple[int, int]] = field(default_factory=list)  # preferences for one answer, in both orders


def ended_debates() -> list[EndedDebate]:
    """Return the ended debates in which every agent spoke in the independent round. Three queries."""
    debates = Debate.objects.filter(status__in=ENDED, debate_set__method=Method.DEBATE).order_by("pk")
    facts = list(debates.values_list("pk", "case_id", "scenario", "verdict", "response_order"))
    members: dict[int, list[tuple[int, str]]] = defaultdict(list)
    agents = Agent.objects.filter(debate__in=debates).order_by("debate_id", "number")
    for pk, debate_id, name in agents.values_list("pk", "debate_id", "name"):
        members[debate_id].append((pk, name))
    votes: dict[int, dict[int, dict[int, int | None]]] = defaultdict(lambda: defaultdict(dict))
    statements = Statement.objects.filter(agent__debate__in=debates)
    fields = ("agent__debate_id", "round", "agent_id", "verdict")
    for debate_id, number, agent_id, verdict in statements.values_list(*fields).iterator(chunk_size=5000):
        votes[debate_id][number][agent_id] = verdict
    ended = []
    for pk, case_id, scenario, verdict, order in facts:
        if not votes[pk] or not members[pk]:
            continue
        rounds = [[votes[pk][number].get(agent) for agent, _ in members[pk]] for number in sorted(votes[pk])]
        names = [name for _, name in members[pk]]
        by_position = debate_votes(item=pk, response_order=order, judges=names, rounds=rounds)
        ended.append(EndedDebate(pk, case_id, scenario, verdict, by_position))
    return ended


def agent_work() -> dict[str, AgentWork]:
    """Return the work of every agent by name, a judge that takes part twice in a debate as two (see `agent_names`)."""
    work_by_name: dict[str, AgentWork] = {}
    names: dict[int, str] = {}
    by_debate: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    fields = ("pk", "debate_id", "name", "endpoint_id", "endpoint__kind", "debate__debate_set__run_id")
    for row in Agent.objects.order_by("debate_id", "number").values_list(*fields).iterator(chunk_size=5000):
        by_debate[row[1]].append(row)
    for rows in by_debate.values():
        for row, name in zip(rows, agent_names([row[2] for row in rows]), strict=True):
            pk, _, _, endpoint_id, kind, run_id = row
            work = work_by_name.setdefault(name, AgentWork(name))
            names[pk] = name
            work.is_baseline = work.is_baseline or kind == EndpointKind.LEXICAL
            work.endpoint_ids |= {endpoint_id} if endpoint_id else set()
            work.run_ids |= {run_id} if run_id else set()
    _read_statements(work_by_name, names)
    return work_by_name


def _read_statements(work_by_name: dict[str, AgentWork], names: dict[int, str]) -> None:
    fields = ("agent_id", "status", "position_verdict", "mirrored_position_verdict")
    statements = Statement.objects.values_list(*fields)
    for agent_id, status, position, mirrored in statements.iterator(chunk_size=5000):
        work = work_by_name[names[agent_id]]
        work.how_read[HOW_READ.get(status, "unparsed")] += 1
        if position in POSITION_VOTES and mirrored in POSITION_VOTES:
            work.orders.append((POSITION_VOTES[position], -POSITION_VOTES[mirrored]))


def debate_spending(work: AgentWork, others: Sequence[AgentWork]) -> Spent | None:
    """Return what the agent's calls took; None where another agent shares its endpoint in the same runs."""
    shared = any(
        other is not work and other.endpoint_ids & work.endpoint_ids and other.run_ids & work.run_ids
        for other in others
    )
    if shared or not work.run_ids or not work.endpoint_ids:
        return None
    sums = Call.objects.filter(run__in=work.run_ids, endpoint__in=work.endpoint_ids).aggregate(
        calls=Count("pk"),
        prompt=Sum("prompt_tokens"),
        completion=Sum("completion_tokens"),
        spent=Sum("cost"),
        unpriced=Count("pk", filter=Q(cost__isnull=True)),
        seconds=Avg("seconds"),
    )
    return Spent(
        calls=sums["calls"],
        prompt_tokens=sums["prompt"] or 0,
        completion_tokens=sums["completion"] or 0,
        cost=sums["spent"],
        unpriced=sums["unpriced"],
        seconds_mean=sums["seconds"],
        seconds_p95=None,
    )
