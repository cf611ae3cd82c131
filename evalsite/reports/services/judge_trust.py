"""How far a judge can be trusted: its certificate, its drift on anchors, and golden sets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

import numpy as np

from evalsite.base.rows import grouped
from evalsite.base.types import JsonDict
from evalsite.reports.selectors.debate_votes import (
    AuditedResponses,
    audited_responses,
    blind_annotations,
)
from evalsite.reports.selectors.leaderboards import Options, chosen, work_version
from evalsite.reports.services import judge_rows
from evalsite.reports.services.judge_rows import (
    golden_prompts,
    rows_of_judge,
    tested_responses,
    trusted_evaluators,
)
from evalsite.reports.services.snapshots import ReportContent, ReportKind, figure
from evalsite.review.models import Anchor, AnchorRound, AnchorSet, GoldenRun, GoldenSet
from evalsite.review.questions.scales import (
    PREFERENCE_SHARES,
    Label,
    is_preference,
    judge_label,
    labels_from_json,
    labels_to_json,
)
from evalsite.review.routing import GoldenPart, uniform_number
from evalsite.review.selectors.golden import ComparedResponse, GoldenVersion, golden_answers, golden_versions
from evalsite.review.states import ReviewRefused
from judging.judges.judge_kinds import changes_between
from judging.judges.reply_rows import record_of
from judging.models import Call, Case, Run, RunEvaluator, RunKind, Verdict
from judging.selectors.judges import versions_of
from judging.statistics.agreement import confusion_counts
from judging.statistics.estimates import FEWEST_FOR_CLAIMS, Estimate, TooFew, look_multiplier, people_only, undefined
from judging.statistics.estimators.agreement import (
    SHOWN_PSEUDO_CASES,
    ComparedItem,
    LabelPairs,
    agreement_difference,
    weighted_kappa,
)
from judging.statistics.estimators.boards import shown_share
from judging.statistics.estimators.judge_bias import Drift, drift
from judging.statistics.judge_quality import (
    Annotators,
    AuditedVerdict,
    Closeness,
    ReliabilityBin,
    alternative_annotator_test,
    reliability,
)
from judging.statistics.ratings import from_rows

BINARY = {0.0, 1.0}
TIE = "0"  # of preferences
WITHOUT_TIES, TIES_AS_HALF = "Share of equal labels without ties", "Share of equal labels, a tie as half"
NOT_GIVEN = "People gave no response this label."
LEFT_OUT = "Left out: {} cases of golden sets that it was compared on; those of a test count once it is opened for it."
NO_LABELS = "No audited verdict of this version has a final human label yet."


def compute_judge_trust(subject_id: int, options: Options) -> ReportContent:
    """Return what the audit says of one version of the judge that the options name; without a version, the newest."""
    name = chosen(options, "name")
    evaluators = trusted_evaluators(name)
    versions = versions_of(evaluators)
    by_key = grouped((versions[evaluator.pk].key, evaluator) for evaluator in evaluators)
    key = chosen(options, "version") if chosen(options, "version") in by_key else next(iter(by_key))
    of_version, golden = by_key[key], golden_prompts(name, key)
    audited = _with_tests(of_version, golden)
    shown = versions[of_version[0].pk]
    return {
        "name": of_version[0].name,
        "version": {"key": key, "parts": shown.to_json()},
        "evaluator_id": of_version[0].pk,
        "versions": [
            {
                "key": other,
                "runs": [{"id": row.run_id, "name": row.run.name} for row in rows],
                "changes": list(changes_between(versions[rows[0].pk], shown)),
            }
            for other, rows in by_key.items()
        ],
        "verdicts": sum(row.done for row in of_version),
        "drawn": audited.drawn,
        "decided": len(audited.decided) + audited.outdated,
        "outdated": audited.outdated,
        "tested": sum(row.run.kind == RunKind.GOLDEN for row in of_version),
        "left_out": LEFT_OUT.format(len(golden)) if golden else "",
        "looks": chosen(options, "looks"),
        **_against_people(audited, planned=audited.drawn_cases if chosen(options, "looks") else 0),
    }


def lacks_of(content: ReportContent) -> str:
    """Return why the alternative annotator test cannot be run, "" if it can; the same for all annotators."""
    test = content["tests"][Annotators.SKILLED.value]
    return "" if test["passed"] is not None else str(test["reason"])


def _with_tests(evaluators: Sequence[RunEvaluator], leaving_out: frozenset[int]) -> AuditedResponses:
    """Return the audit of a version without the cases of golden sets, and with the tests that were opened for it.

    Test cases were drawn without looking at verdicts, so they count as those of its likeliest audit do.
    """
    tests = [row for row in evaluators if row.run.kind == RunKind.GOLDEN]
    audited = audited_responses([row for row in evaluators if row not in tests], leaving_out=leaving_out)
    if not tests:
        return audited
    tested = tested_responses(tests, chance=max((row.chance for row in audited.decided), default=1.0))
    return AuditedResponses(
        drawn=audited.drawn + len(tested),
        decided=(*audited.decided, *tested),
        outdated=audited.outdated,
        drawn_cases=audited.drawn_cases + len({row.case for row in tested}),
    )


def _against_people(audited: AuditedResponses, *, planned: int) -> ReportContent:
    read = [row for row in audited.decided if row.judge is not None]
    places = _places(_scale(read))
    return figures_against_people(audited.decided, planned=planned) | {
        "measured": [
            [row.confidence, _points_off(row, places), row.case, 1 / row.chance]
            for row in read
            if row.confidence is not None
        ],
        "scenarios": _by_scenario(read, planned),
        "most_tolerance": max(0, len(places) - 2),
        "reliability": [asdict(part) for part in reliability(_measured(read))],
        "tests": _tests(read, _scale(read)),
    }


def _by_scenario(read: Sequence[ComparedResponse], planned: int) -> list[ReportContent]:
    """Return the share of equal labels in each scenario; nothing where there is only one."""
    known = Case.objects.filter(prompt__in={row.case for row in read}).order_by("pk")
    names = dict(known.values_list("prompt_id", "scenario"))
    groups = grouped((names.get(row.case, ""), row) for row in read)
    return [
        {"name": name, "items": len(rows), **figure(_pooled_share(rows, _is_equal, planned))}
        for name, rows in sorted(groups.items())
        if len(groups) > 1
    ]


def _is_equal(row: ComparedResponse) -> float:
    return float(row.judge == row.people)


def _ties(read: Sequence[ComparedResponse], planned: int) -> dict[str, Estimate]:
    """Return how often preferences are equal, by what becomes of ties; nothing for other labels."""
    if not read or not all(is_preference(row.scale) for row in read):
        return {}
    firm = [row for row in read if TIE not in (row.judge, row.people)]
    return {
        WITHOUT_TIES: _pooled_share(firm, _is_equal, planned),
        TIES_AS_HALF: _pooled_share(
            read, lambda row: 1.0 - abs(PREFERENCE_SHARES[row.judge or TIE] - PREFERENCE_SHARES[row.people]), planned
        ),
    }


@dataclass(frozen=True, slots=True)
class PairJudgeFigures:
    """How one version of a judge of pairs agrees with people over all baselines that it compared with."""

    name: str
    baselines: int
    items: int
    people: Estimate
    without_ties: Estimate
    ties_as_half: Estimate
    kappa: Estimate


def over_baselines(versions: Mapping[tuple[str, str], Sequence[RunEvaluator]], looks: str) -> list[PairJudgeFigures]:
    """Return the figures of each judge that compared with several baselines; each is a version of its own elsewhere."""
    groups: dict[tuple[str, str], list[Sequence[RunEvaluator]]] = {}
    for (name, _), rows in versions.items():
        if baseline := rows[0].compared_with:
            version = versions_of(rows[:1])[rows[0].pk]
            words = rows[0].criterion.partition(", ")
            options = {key: value for key, value in version.options.items() if value != baseline}
            same = replace(version, criterion=words[2], options=options).key
            groups.setdefault((name.removesuffix(f" · {words[0]}"), same), []).append(rows)
    figures = []
    for (name, _), parts in sorted(groups.items()):
        audits = [audited_responses(rows) for rows in parts if len(parts) > 1]
        read = [row for audit in audits for row in audit.decided if row.judge is not None]
        planned = len({row.case for row in read}) if looks else 0
        codes = {label.value: code for code, label in enumerate(_scale(read))}
        if ties := _ties(read, planned):
            shares = (_pooled_share(read, _is_equal, planned), *ties.values(), _kappa(read, codes, planned))
            figures.append(PairJudgeFigures(name, len(parts), len(read), *shares))
    return figures


def figures_against_people(decided: Sequence[ComparedResponse], *, planned: int = 0) -> ReportContent:
    """Return how a judge's verdicts agree with people's labels: share, kappa, and each label's own share."""
    read = [row for row in decided if row.judge is not None]
    labels = _scale(read)
    codes = {label.value: code for code, label in enumerate(labels)}
    return {
        "unread": len(decided) - len(read),
        "items": len(read),
        "cases": len({row.case for row in read}),
        "labels": [asdict(label) for label in labels],
        "confusion": confusion_counts([row.judge for row in read], [row.people for row in read], list(codes)),
        "agreement": figure(_pooled_share(read, _is_equal, planned)),
        "ties": [{"name": name, **figure(share)} for name, share in _ties(read, planned).items()],
        "kappa": figure(_kappa(read, codes, planned)),
        "recalls": [_recall(label, labels, read, planned) for label in labels],
    }


def measured_verdicts(content: ReportContent, *, tolerance: int = 0) -> list[AuditedVerdict]:
    """Return the audited verdicts with a measured confidence that a stored report holds.

    Those count as correct that differ from people's label by at most so many points of an ordered scale.
    """
    return [
        AuditedVerdict(confidence, off <= tolerance, case, weight)
        for confidence, off, case, weight in content["measured"]
    ]


def reliability_bins(content: ReportContent) -> tuple[ReliabilityBin, ...]:
    """Return the bins of the reliability diagram of a stored report."""
    return tuple(
        ReliabilityBin(**{**part, "agreement": Estimate(**part["agreement"])}) for part in content["reliability"]
    )


def evaluators_of_version(name: str, version_key: str) -> list[RunEvaluator]:
    """Return the evaluators of one version under a name, the newest run first."""
    evaluators = judge_rows.judge_evaluators(name)
    versions = versions_of(evaluators)
    return [evaluator for evaluator in evaluators if versions[evaluator.pk].key == version_key]


def _measured(read: Sequence[ComparedResponse]) -> list[AuditedVerdict]:
    return [
        AuditedVerdict(row.confidence, row.judge == row.people, row.case, 1 / row.chance)
        for row in read
        if row.confidence is not None
    ]


def _scale(read: Sequence[ComparedResponse]) -> tuple[Label, ...]:
    """Return the labels of the commonest scale, then those that only others have."""
    scales = Counter(row.scale for row in read)
    by_value = {label.value: label for scale, _ in scales.most_common() for label in reversed(scale)}
    return tuple(reversed(by_value.values()))


def _places(labels: Sequence[Label]) -> dict[str, int]:
    """Return the place of each label on an ordered scale, the worst first; nothing where labels have no order."""
    shares = sorted({label.share for label in labels if label.share is not None})
    if len(shares) < len(labels):
        return {}
    return {label.value: shares.index(label.share) for label in labels if label.share is not None}


def _points_off(row: ComparedResponse, places: Mapping[str, int]) -> int:
    """Return by how many points of the scale judge and people differ; without an order, whether they do."""
    if row.judge in places and row.people in places:
        return abs(places[row.judge or ""] - places[row.people])
    return int(row.judge != row.people)


def _recall(label: Label, labels: Sequence[Label], read: Sequence[ComparedResponse], planned: int) -> ReportContent:
    """Return how often the judge says a label where people do; unit: the case."""
    where = [row for row in read if row.people == label.value]
    name = f"Where people say {label.text}"
    if {scale_label.share for scale_label in labels} == BINARY and len(labels) == len(BINARY):
        name = f"Sensitivity ({label.text})" if label.share else f"Specificity ({label.text})"
    share = _pooled_share(where, _is_equal, planned) if where else undefined(NOT_GIVEN)
    return {"name": name, "label": label.value, "items": len(where)} | figure(share)


def _pooled_share(
    rows: Sequence[ComparedResponse], worth: Callable[[ComparedResponse], float], planned: int
) -> Estimate:
    """Return the mean of what rows are worth; unit: the case. Runs audited at different rates are strata."""
    if not rows:
        return undefined(NO_LABELS)
    chances: dict[int, float] = {}
    by_case: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        chances[row.case] = max(chances.get(row.case, 0.0), row.chance)
        by_case[row.case].append(worth(row))
    strata = grouped((chances[case], sum(values) / len(values)) for case, values in by_case.items())
    if len(strata) == 1:
        return shown_share([people_only(values) for values in strata.values()], planned=planned).estimate
    sampled = [
        people_only(values, others=round(len(values) / chance) - len(values)) for chance, values in strata.items()
    ]
    return shown_share(sampled, planned=planned).estimate


def _kappa(read: Sequence[ComparedResponse], codes: Mapping[str, int], planned: int) -> Estimate:
    """Return Cohen's kappa of judge and people, each label standing for as many as it was drawn from."""
    cases = [row.case for row in read]
    n = len(set(cases))
    if not n:
        return undefined(NO_LABELS)
    if n < FEWEST_FOR_CLAIMS:
        return TooFew(n, FEWEST_FOR_CLAIMS).estimate
    most = max(row.chance for row in read)
    pairs = LabelPairs(
        np.array([codes[row.judge or ""] for row in read]),
        np.array([codes[row.people] for row in read]),
        np.array([most / row.chance for row in read]),
        cases,
    )
    critical = look_multiplier(n, planned) if planned else None
    return weighted_kappa(
        pairs, labels=len(codes), degrees=n - 1, pseudo=SHOWN_PSEUDO_CASES, critical=critical
    ).estimate


def _tests(read: Sequence[ComparedResponse], labels: Sequence[Label]) -> JsonDict:
    """Return the alternative annotator test for each kind of annotator."""
    people = blind_annotations(row.item_id for row in read if row.item_id is not None)
    names = sorted({annotation.person for annotation in people})
    cells = {(annotation.item_id, annotation.person): annotation.label for annotation in people}
    values = [label.share for label in labels if label.share is not None]
    is_graded = len(values) == len(labels) > len(BINARY)
    table = from_rows(
        [[cells.get((row.item_id or 0, name)) for name in names] for row in read],
        [label.value for label in labels] or ["none"],
        raters=names,
        items=[str(row.response_id) for row in read],
        values=values if is_graded else None,
    )
    closeness = Closeness.NEAR_VALUES if is_graded else Closeness.EQUAL_LABELS
    judge, cases = [row.judge for row in read], [row.case for row in read]
    return {
        annotators.value: asdict(alternative_annotator_test(table, judge, annotators, cases=cases, closeness=closeness))
        for annotators in Annotators
    }


def _rows(subject_id: int, options: Options) -> int:
    return sum(evaluator.done for evaluator in judge_rows.judge_evaluators(chosen(options, "name")))


JUDGE_TRUST = ReportKind("judge-trust", lambda *_: work_version(), _rows, compute_judge_trust)


MAX_ANCHORS = 100  # tell a change of 10 points in two of three cases
ROUNDS_SHOWN = 50
NEWEST_CALLS = 20


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One round of an anchor set beside the baseline."""

    run: Run | None
    at: datetime
    agreement: Estimate  # with people's labels
    unread: int
    change: Drift | TooFew | None  # against the baseline; None: it is the baseline
    served: tuple[ServedModel, ...]

    @property
    def change_figure(self) -> Estimate | None:
        """The change with its interval; None of the baseline."""
        if isinstance(self.change, Drift):
            return Estimate(self.change.change, self.change.low, self.change.high, self.change.n)
        return None if self.change is None else self.change.estimate

    @property
    def p_value(self) -> float | None:
        """Of the change, where it was tested."""
        return self.change.p_value if isinstance(self.change, Drift) else None

    @property
    def flips(self) -> float | None:
        """The share of the anchors that agreed once and not the other time."""
        return self.change.flips if isinstance(self.change, Drift) else None

    @property
    def served_as(self) -> str:
        """Who answered."""
        return ", ".join(map(str, self.served))


@dataclass(frozen=True, slots=True)
class AnchorDrift:
    """What an anchor set shows."""

    anchor_set: AnchorSet
    anchors: int
    rows: tuple[DriftRow, ...]
    asks: str  # why the anchors should be asked again now; empty: nothing speaks for it


def drift_of_version(version_key: str) -> AnchorDrift | None:
    """Return what the newest anchor set of a version shows; None where it has none."""
    anchor_set = newest_anchor_set(version_key)
    if anchor_set is None:
        return None
    history = anchor_history(anchor_set)
    first = history.rounds[0]
    rows = [
        _row(history, asked_round, None if asked_round is first else first)
        for asked_round in history.rounds
        if asked_round.labels
    ]
    return AnchorDrift(anchor_set, len(history.people), tuple(rows), _why_ask(history))


def _row(history: AnchorHistory, asked_round: JudgedRound, first: JudgedRound | None) -> DriftRow:
    agrees = _agreement(history, asked_round)
    change = None
    if first is not None:
        before = _agreement(history, first)
        both = sorted(before.keys() & agrees.keys())
        change = drift([before[pk] for pk in both], [agrees[pk] for pk in both])
    return DriftRow(
        run=asked_round.run,
        at=asked_round.at,
        agreement=shown_share([people_only(list(agrees.values()))]).estimate,
        unread=len(asked_round.labels) - len(agrees),
        change=change,
        served=tuple(sorted(asked_round.served)),
    )


def _agreement(history: AnchorHistory, asked_round: JudgedRound) -> dict[int, float]:
    """Return 1 or 0 by response, whether the judge says what people do; unread ones are left out."""
    return {
        response_id: float(label == history.people[response_id])
        for response_id, label in asked_round.labels.items()
        if label is not None and response_id in history.people
    }


def _why_ask(history: AnchorHistory) -> str:
    served_before = frozenset[ServedModel]().union(*(asked_round.served for asked_round in history.rounds))
    fresh = history.served_now - served_before
    if not served_before or not fresh:
        return ""
    return f"The endpoint now serves {_names(fresh)}; the anchor set was judged by {_names(served_before)}."


def _names(served: Iterable[ServedModel]) -> str:
    return ", ".join(str(model) for model in sorted(served))


def anchors_for(evaluators: Sequence[RunEvaluator]) -> tuple[RunEvaluator, list[Anchor]]:
    """Return the evaluator of a version with the most audited cases, and its anchors: one response a case, at random.

    Several responses to one question would not be independent observations.

    Raises:
        ReviewRefused: the version has only been tested on a golden set.
    """
    if not evaluators:
        raise ReviewRefused("An anchor set is created from a run with a random audit; start one with this version.")
    candidates = [(evaluator, _anchors(evaluator)) for evaluator in evaluators]
    return max(candidates, key=lambda pair: (len(pair[1]), pair[0].pk))


def _anchors(evaluator: RunEvaluator) -> list[Anchor]:
    rows = [row for row in audited_responses([evaluator]).decided if row.judge is not None]
    ranked = sorted(rows, key=lambda row: uniform_number("anchor", row.case, row.response_id))
    by_case = {row.case: row for row in reversed(ranked)}
    chosen = sorted(by_case.values(), key=lambda row: uniform_number("anchor", row.case, row.response_id))
    return [
        Anchor(
            response_id=row.response_id,
            verdict_id=row.verdict_id,
            label=row.people,
            judge_label=row.judge or "",
            scale=labels_to_json(row.scale),
        )
        for row in chosen[:MAX_ANCHORS]
    ]


@dataclass(frozen=True, slots=True, order=True)
class ServedModel:
    """Who answered, by the provider's own account."""

    model: str
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.model} ({self.fingerprint})" if self.fingerprint else self.model


@dataclass(frozen=True, slots=True)
class JudgedRound:
    """The judge's labels of the anchors at one time, by response; None: it gave no usable verdict."""

    run: Run | None  # None: before the set was made
    at: datetime
    labels: dict[int, str | None]
    served: frozenset[ServedModel]


@dataclass(frozen=True, slots=True)
class AnchorHistory:
    """An anchor set, people's labels by response, and its rounds from the baseline on."""

    anchor_set: AnchorSet
    people: dict[int, str]
    rounds: tuple[JudgedRound, ...]
    served_now: frozenset[ServedModel]  # by the newest calls to the judge's endpoint


def newest_anchor_set(version_key: str) -> AnchorSet | None:
    """Return the newest anchor set of a version."""
    sets = AnchorSet.objects.filter(version_key=version_key).select_related("evaluator__judge", "made_by")
    return sets.order_by("-made_at", "-pk").first()


def anchor_history(anchor_set: AnchorSet) -> AnchorHistory:
    """Return the rounds of a set; six queries, whatever the number of rounds."""
    anchors = list(anchor_set.anchors.order_by("response_id"))
    rounds = AnchorRound.objects.filter(anchor_set=anchor_set).select_related("run").order_by("-run_id")
    runs = [anchor_round.run for anchor_round in rounds[:ROUNDS_SHOWN]][::-1]
    scales = {anchor.response_id: labels_from_json(anchor.scale) for anchor in anchors}
    labels = _labels(runs, scales)
    served = _served_by_run(runs)
    baseline = JudgedRound(
        run=None,
        at=anchor_set.made_at,
        labels={anchor.response_id: anchor.judge_label or None for anchor in anchors},
        served=_served_first(anchors),
    )
    later_rounds = (
        JudgedRound(run, run.finished_at or run.created_at, labels.get(run.pk, {}), served.get(run.pk, frozenset()))
        for run in runs
    )
    return AnchorHistory(
        anchor_set,
        {anchor.response_id: anchor.label for anchor in anchors},
        (baseline, *later_rounds),
        _served_now(anchor_set.evaluator),
    )


def _labels(runs: list[Run], scales: dict[int, tuple[Label, ...]]) -> dict[int, dict[int, str | None]]:
    labels: dict[int, dict[int, str | None]] = {}
    rows = Verdict.objects.filter(run__in=runs).order_by("pk")
    for run_id, response_id, value, share in rows.values_list("run_id", "response_id", "value", "score__share"):
        labels.setdefault(run_id, {})[response_id] = judge_label(value, share, scales.get(response_id, ()))
    return labels


def _served_by_run(runs: list[Run]) -> dict[int, frozenset[ServedModel]]:
    rows = Call.objects.filter(run__in=runs, status="finished").order_by().values_list("run_id", "reply_head")
    served: dict[int, set[ServedModel]] = {}
    for run_id, head in rows:
        if run_id is not None:
            served.setdefault(run_id, set()).update(_served([head]))
    return {run_id: frozenset(models) for run_id, models in served.items()}


def _served_first(anchors: list[Anchor]) -> frozenset[ServedModel]:
    verdict_ids = [anchor.verdict_id for anchor in anchors if anchor.verdict_id is not None]
    lists = Verdict.objects.filter(pk__in=verdict_ids).values_list("call_ids", flat=True)
    call_ids = {pk for ids in lists for pk in ids}
    return _served(Call.objects.filter(pk__in=call_ids).values_list("reply_head", flat=True))


def _served_now(evaluator: RunEvaluator | None) -> frozenset[ServedModel]:
    if evaluator is None or evaluator.judge is None:
        return frozenset()
    calls = Call.objects.filter(endpoint=evaluator.judge.endpoint_id, status="finished").order_by("-finished_at", "-pk")
    return _served(calls.values_list("reply_head", flat=True)[:NEWEST_CALLS])


def _served(heads: Iterable[dict[str, object]]) -> frozenset[ServedModel]:
    served = {ServedModel(str(head.get("model") or ""), str(head.get("system_fingerprint") or "")) for head in heads}
    return frozenset(reply for reply in served if reply.model)


@dataclass(frozen=True, slots=True)
class Flip:
    """A response on which two versions give different labels."""

    before: ComparedResponse
    after: ComparedResponse

    @property
    def is_gain(self) -> bool:
        """Whether the second version says what people say, where the first did not."""
        return self.after.agrees

    @property
    def is_loss(self) -> bool:
        return self.before.agrees

    @property
    def agreement(self) -> str:
        """What became of the agreement with people: "gained", "lost", or "none" where neither agrees."""
        return "gained" if self.is_gain else "lost" if self.is_loss else "none"


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """How the second version's agreement with people differs from the first's."""

    flips: tuple[Flip, ...]  # where both, or one, or neither agrees with people
    responses: int
    difference: Estimate  # of the shares of equal labels; unit: the case
    paired: Drift | TooFew  # of one response a case, drawn at random: McNemar's test needs independent observations

    @property
    def gains(self) -> int:
        return sum(flip.is_gain for flip in self.flips)

    @property
    def losses(self) -> int:
        return sum(flip.is_loss for flip in self.flips)


def compare_versions(golden_set: GoldenSet, before: RunEvaluator, after: RunEvaluator) -> VersionComparison:
    """Return how two versions differ on development. A reply that could not be read agrees with nobody."""
    answers = golden_answers(golden_set, GoldenPart.DEVELOPMENT, [before, after])
    first, second = answers[before.pk], answers[after.pk]
    chosen = _one_a_case(first, golden_set.seed)
    return VersionComparison(
        flips=tuple(Flip(a, b) for a, b in zip(first, second, strict=True) if a.judge != b.judge),
        responses=len(first),
        difference=agreement_difference(_items(second), _items(first)).estimate,
        paired=drift([float(first[n].agrees) for n in chosen], [float(second[n].agrees) for n in chosen]),
    )


def _items(answers: Iterable[ComparedResponse]) -> list[ComparedItem]:
    codes: dict[str, int] = {}
    return [
        ComparedItem(
            case=answer.case,
            judge=None if answer.judge is None else codes.setdefault(answer.judge, len(codes)),
            people=codes.setdefault(answer.people, len(codes)),
            is_routed=False,
        )
        for answer in answers
    ]


def _one_a_case(answers: Sequence[ComparedResponse], seed: int) -> list[int]:
    """Return the places of one response to each case, chosen at random."""
    order = sorted(range(len(answers)), key=lambda n: uniform_number("paired", seed, answers[n].response_id))
    return list({answers[n].case: n for n in reversed(order)}.values())


def compute_golden(subject_id: int, options: Options) -> ReportContent:
    """Return the versions on development, and on the test those that it was opened for."""
    golden_set = GoldenSet.objects.get(pk=subject_id)
    return {
        "development": _versions(golden_set, GoldenPart.DEVELOPMENT),
        "test": _versions(golden_set, GoldenPart.TEST),
    }


def _versions(golden_set: GoldenSet, part: GoldenPart) -> list[ReportContent]:
    versions = golden_versions(golden_set, part)
    evaluators = [version.evaluator for version in versions]
    answers = golden_answers(golden_set, part, evaluators)
    rows = rows_of_judge(evaluators)
    judge_versions = versions_of(evaluators)
    openings = list(golden_set.runs.filter(part=GoldenPart.TEST).order_by("pk").values_list("pk", flat=True))
    rows_shown = []
    for index, version in enumerate(versions):
        spent = record_of([rows[version.evaluator.pk]]).spent
        older = (other for other in versions[index + 1 :] if other.evaluator.name == version.evaluator.name)
        before = next(older, None)
        cost, total = spent.known_cost, version.evaluator.total
        key = version.evaluator.pk
        changes = changes_between(judge_versions[before.evaluator.pk], judge_versions[key]) if before else ()
        rows_shown.append(
            _about(version, version.golden_run)
            | figures_against_people(answers[version.evaluator.pk])
            | {
                "changes": list(changes),
                "cost": cost,
                "cost_per_verdict": cost / total if cost is not None and total else None,
                "seconds_mean": spent.seconds_mean,
                "seconds_p95": spent.seconds_p95,
                "opened_before": openings.index(version.golden_run.pk) if part == GoldenPart.TEST else None,
            }
        )
    return rows_shown


def _about(version: GoldenVersion, golden_run: GoldenRun) -> ReportContent:
    evaluator = version.evaluator
    return {
        "key": version.key,
        "name": evaluator.name,
        "evaluator_id": evaluator.pk,
        "judge_id": evaluator.judge_id,
        "run_id": evaluator.run_id,
        "at": golden_run.started_at.isoformat(),
        "by": str(golden_run.started_by) if golden_run.started_by is not None else "",
    }


def _golden_version(subject_id: int, options: Options) -> str:
    moved = GoldenSet.objects.get(pk=subject_id).items.filter(moved_at__isnull=False).count()
    return f"{work_version()}.{moved}"


GOLDEN = ReportKind(
    "golden-set",
    _golden_version,
    lambda set_id, _: sum(Run.objects.filter(golden_run__golden_set=set_id).values_list("done", flat=True)),
    compute_golden,
)
