"""Anchor sets with the judge's labels in every round, and the model that the endpoint reported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from evalsite.review.models import Anchor, AnchorRound, AnchorSet
from evalsite.review.questions.scales import Label, judge_label, labels_from_json
from judging.models import Call, Run, RunEvaluator, Verdict

ROUNDS_SHOWN = 50
NEWEST_CALLS = 20


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
