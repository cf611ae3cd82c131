"""Whether verdicts of judges and debates move with the length, formatting, author or place of what is judged."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from evalsite.base.formats import SHARE, WINS, ScoreScale, number
from evalsite.base.rows import grouped
from evalsite.reports.selectors.debate_votes import DebateDecision, audited_responses, debates_version
from evalsite.reports.selectors.leaderboards import Options, chosen, work_version
from evalsite.reports.selectors.results import ResponseFacts, response_facts
from evalsite.reports.services import judge_rows
from evalsite.reports.services.debates_in_view import Evaluator, View, debates_in_view, label_weights
from evalsite.reports.services.snapshots import ReportContent, ReportKind, figure
from evalsite.review.selectors.golden import ComparedResponse
from judging.models import ModelEndpoint, RunEvaluator
from judging.selectors.judges import score_scale_of
from judging.statistics.estimates import Estimate, people_only
from judging.statistics.estimators.boards import SIGNIFICANT, case_means, paired_difference
from judging.statistics.estimators.judge_bias import UNITS, BiasRow, Effect, Property, judge_bias
from judging.statistics.texts import model_family

NAMES = {
    Property.LENGTH: "Length of the response",
    Property.POSITION: "Position in the pair",
    Property.FAMILY: "Same model family",
    Property.FORMATTING: "Formatting",
}
KINDS = {"independent": "independent vote", "method": "baseline", "scores": "by its scores"}


def compute_judge_bias(subject_id: int, options: Options) -> ReportContent:
    """Return the bias of the version that the options name; without a name, of every version of every judge."""
    name = chosen(options, "name")
    picked = judge_rows.by_version(judge_rows.judge_evaluators(name))
    if name:
        chosen_version = (name, chosen(options, "version"))
        newest = dict(list(picked.items())[:1])
        picked = {chosen_version: picked[chosen_version]} if chosen_version in picked else newest
    looks = bool(chosen(options, "looks"))
    return {"judges": [bias_of_version(rows, key, looks=looks) for (_, key), rows in picked.items()]}


def bias_of_version(evaluators: Sequence[RunEvaluator], version: str, *, looks: bool) -> ReportContent:
    """Return the bias of a judge by its audited verdicts that people have decided, each weighted by 1 / pi."""
    audited = audited_responses(evaluators)
    rows = _rows(audited.decided, model_family(str(evaluators[0].options.get("model", ""))))
    planned = audited.drawn_cases if looks else 0
    scale = score_scale_of(evaluators[0])
    bias = bias_content(rows, planned, scale)
    return {"judge": evaluators[0].name, "version": version} | bias


def _rows(decided: Sequence[ComparedResponse], judge_family: str | None) -> list[BiasRow]:
    facts = response_facts(row.response_id for row in decided)
    rows = []
    for row in decided:
        if row.judge_share is None or row.people_share is None:
            continue
        response = facts[row.response_id]
        is_own = None if judge_family is None or response.family is None else float(response.family == judge_family)
        difference = row.judge_share - row.people_share
        rows.append(BiasRow(row.case, difference, 1 / row.chance, response.tokens, response.marks, is_own))
    return rows


def mean_difference(rows: Sequence[BiasRow], planned: int) -> Estimate:
    """Return verdict minus label on average; unit: the case. Cases drawn at one rate are a stratum."""
    by_rate = grouped((row.weight, row) for row in rows)
    strata = []
    for weight, at_rate in by_rate.items():
        values = list(case_means([row.difference for row in at_rate], [row.case for row in at_rate]).values())
        strata.append(people_only(values, others=round(len(values) * (weight - 1)) if len(by_rate) > 1 else 0))
    return paired_difference(strata, planned=planned).estimate


def bias_content(rows: Sequence[BiasRow], planned: int, scale: ScoreScale = SHARE) -> ReportContent:
    """Return the regression of a judge's verdicts as reports store it; `scale` is that of the verdicts."""
    return {
        "cases": len({row.case for row in rows}),
        "verdicts": len(rows),
        "mean": figure(mean_difference(rows, planned), scale.differences),
        "scale": scale.range_words,
        "effects": [_effect(effect, scale.differences) for effect in judge_bias(rows, planned=planned)],
    }


def _effect(effect: Effect, scale: ScoreScale) -> ReportContent:
    return {
        "key": effect.name.value,
        "name": NAMES[effect.name],
        "unit": UNITS[effect.name],
        "effect": figure(effect.estimate, scale),
        "words": effect_words(effect.estimate, UNITS[effect.name], scale),
        "p_value": effect.p_value,
        "holm_p": effect.holm_p,
        "is_shown": effect.holm_p is not None and effect.holm_p <= SIGNIFICANT,
    }


def effect_words(estimate: Estimate, unit: str, scale: ScoreScale = SHARE) -> str:
    """Return `+0.07 per 100 tokens [0.05, 0.09]`, on the scale of differences; empty where there is no figure."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return ""
    sign = "+" if estimate.value >= 0 else ""
    value, low, high = (number(scale.number(end), 2) for end in (estimate.value, estimate.low, estimate.high))
    return f"{sign}{value} {unit} [{low}, {high}]"


def bias_basis(content: ReportContent) -> str:
    """Return what the effects of a report on bias are effects on, and how they were estimated."""
    method = "HC3 standard errors clustered by case; Holm-corrected p per judge."
    return f"Verdict minus human label, {_scale_words(content)}; {method}"


def _scale_words(content: ReportContent) -> str:
    """Return the scale of what is subtracted: that of the judges where they share one of numbers, else shares."""
    scales = {judge["scale"] for judge in content["judges"]} - {SHARE.range_words, WINS.range_words}
    return f"each on the scale of its judge ({', '.join(sorted(scales))})" if scales else "from 0 to 1"


def only_in_a_job(subject_id: int, options: Options) -> int:
    """Return more rows than any reader waits for: a regression reads texts and loads a large library."""
    return sys.maxsize


JUDGE_BIAS = ReportKind("judge-bias", lambda *_: work_version(), only_in_a_job, compute_judge_bias)


def compute_debate_bias(subject_id: int, options: Options) -> ReportContent:
    """Return the bias of every evaluator of the debates in view, the debate itself excepted, against people's labels.

    Routed debates count once, audited ones for as many as they were drawn from.
    """
    in_view = debates_in_view(options)
    view = in_view.view
    labelled = [debate for debate in view.debates if debate.pk in view.verdicts.people]
    facts = response_facts(pk for debate in labelled for pk in debate.responses)
    models = dict(ModelEndpoint.objects.order_by("pk").values_list("name", "model"))
    return {
        "judges": [
            _bias(evaluator, view, labelled, facts, models)
            for evaluator in in_view.evaluators
            if evaluator.kind != "debate"
        ]
    }


def _bias(
    evaluator: Evaluator,
    view: View,
    labelled: Sequence[DebateDecision],
    facts: Mapping[int, ResponseFacts],
    models: Mapping[str, str],
) -> ReportContent:
    weights = label_weights([debate.pk for debate in view.debates if debate.pk in evaluator.labels], view)
    families = {model_family(models.get(name) or name) for name in evaluator.judges}
    own_family = families.pop() if len(families) == 1 else None
    rows = []
    for debate in labelled:
        label, people = evaluator.labels.get(debate.pk), view.verdicts.people[debate.pk]
        if label is None:
            continue
        first, second = (facts[pk] for pk in debate.responses)
        order = evaluator.orders.get(debate.pk)
        rows.append(
            BiasRow(
                case=debate.case_id,
                difference=(label - people) / 2,  # points of A: 1 better, 0.5 tie, 0 worse
                weight=weights[debate.pk],
                tokens=first.tokens - second.tokens,
                marks=first.marks - second.marks,
                own_family=_kinship(own_family, first, second),
                position=None if order is None else 0.5 - order,
            )
        )
    planned = view.verdicts.planned
    bias = bias_content(rows, planned)
    return {"judge": evaluator.name, "version": KINDS[evaluator.kind]} | bias


def _kinship(judge_family: str | None, first: ResponseFacts, second: ResponseFacts) -> float | None:
    """Return 1 where only A is of the judge's family, -1 where only B is, 0 where both or neither."""
    if judge_family is None or first.family is None or second.family is None:
        return None
    return float(first.family == judge_family) - float(second.family == judge_family)


DEBATE_BIAS = ReportKind("debate-bias", lambda *_: debates_version(), only_in_a_job, compute_debate_bias)
