"""What can be done with one version of a judge that people's labels tell about: threshold, certificate and anchors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TypeVar

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from evalsite.base.actions.declarations import ActionCall, PageData
from evalsite.base.command_base import BadInput, facts_text, numbered_row, pick
from evalsite.base.json_types import JsonDict, JsonObject
from evalsite.base.owners import check_owner
from evalsite.base.refusals import Refused
from evalsite.reports import jobs
from evalsite.reports.forms import AnchorForm, CertificateForm, JudgeVersionForm, ThresholdForm, TrustForm
from evalsite.reports.selectors.judges.anchor_rounds import newest_anchor_set
from evalsite.reports.selectors.judges.certificates import threshold_state
from evalsite.reports.selectors.judges.golden_tests import version_key_of
from evalsite.reports.selectors.judges.judge_rows import judge_evaluators
from evalsite.reports.services.judges import calibration
from evalsite.reports.services.judges.anchor_drift import anchors_for
from evalsite.reports.services.judges.judge_trust import JUDGE_TRUST, evaluators_of_version
from evalsite.reports.services.report_content import ReportContent
from evalsite.review.models import AnchorSet, Certificate, EvaluatorThreshold, ThresholdLook
from evalsite.review.services.anchors import ask_anchors, make_anchor_set
from evalsite.review.services.thresholds import remove_threshold
from judging.actions.judges import JUDGES
from judging.actions.runs import RUNS
from judging.jobs import launch_run
from judging.models import EvaluatorKind, Judge, Run, RunEvaluator, RunKind
from judging.statistics.coefficients.alternative_annotator import Annotators

Chosen = TypeVar("Chosen", bound=JudgeVersionForm)


def judge_name_of(text: str) -> str:
    """Return the name that runs have a judge under, of its own name, that name with its baseline, or the id of either.

    Raises:
        Refused: no run has had such a judge, or it names several.
    """
    tested = RunEvaluator.objects.filter(run__kind=RunKind.GOLDEN, kind=EvaluatorKind.JUDGE)
    judge_names = [evaluator.name for evaluator in judge_evaluators()]
    judge_names = list(dict.fromkeys((*judge_names, *tested.values_list("name", flat=True))))
    if text not in judge_names:
        evaluators = RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE)
        numbered = numbered_row(evaluators, text) or numbered_row(Judge.objects.all(), text)
        text = text if numbered is None else numbered.name
    try:
        return pick(judge_names, text, names_of=lambda name: [name], what="judge")
    except BadInput as refusal:
        raise Refused(str(refusal), field="name") from refusal


def _form(form_class: type[Chosen]) -> Callable[[None, JsonObject, PageData | None], Chosen]:
    """Return what builds a form with the audit of the version that was named first."""

    def make(_subject: None, first: JsonObject, data: PageData | None) -> Chosen:
        name = judge_name_of(first["name"])
        options = {"name": name, "version": version_key_of(name, first["version"])}
        return form_class(data, content=jobs.require(JUDGE_TRUST, subject_id=0, options=options, at=timezone.now()))

    return make


FIRST: dict[str, forms.Field] = {name: TrustForm.base_fields[name] for name in ("name", "version")}
of_version = partial(JUDGES.new, permission="review.change_queue", first_fields=FIRST, lines=facts_text)
of_threshold = partial(of_version, form=ThresholdForm, makes_form=_form(ThresholdForm))


def _named(content: ReportContent) -> JsonDict:
    return {"judge": content["name"], "version": content["version"]["key"]}


@of_threshold("preview-threshold", is_dry=True, shown=dict)
def preview_threshold(act: ActionCall[None, ThresholdForm]) -> JsonDict:
    """Show the risk-coverage curve of a judge and what a look at a threshold needs, never what it would say."""
    content = act.form.content
    seen = calibration.preview(content, act.form.target)
    return _named(content) | {
        "tolerance": seen.target.tolerance,
        "audited_cases": seen.cases,
        "fewest_cases": seen.fewest,
        "cases_needed": [{"error_rate": rate, "accepted_cases": cases} for rate, cases in seen.labels_by_error],
        "looks": seen.looks,
        "looks_left": seen.left,
        "looks_taken": [row.outcome for row in seen.taken],
        "reason": seen.why_not,
        "default_threshold": settings.REVIEW_CONFIDENCE_THRESHOLD,
        "curve": [asdict(step) for step in seen.steps],
    }


def _check_owner(content: ReportContent, person: User | None) -> None:
    """Pass where a person may say which verdicts of a judge count in the next runs. Raises: NotOwner."""
    evaluators = evaluators_of_version(content["name"], content["version"]["key"])
    for judge in {evaluator.judge for evaluator in evaluators}:
        if judge is not None:
            check_owner(judge, person)


def _look_facts(look: ThresholdLook) -> JsonDict:
    saved: EvaluatorThreshold = look.saved
    return {
        "judge": saved.evaluator_name,
        "version": saved.version_key,
        "look": look.number,
        "threshold": look.threshold,
        "reason": look.outcome,
        "accepted": saved.accepted,
        "bound": saved.bound,
        "annotations_per_thousand": calibration.annotations_per_thousand(saved.accepted),
    }


@of_threshold(
    "set-threshold",
    calls_models=True,  # a look that accepts no threshold is used too
    shown=_look_facts,
    said=lambda look: f"Saved: the next runs send verdicts below {look.threshold:.2f} to review",
)
def set_threshold(act: ActionCall[None, ThresholdForm]) -> ThresholdLook:
    """Take a look, which is never undone, and save the threshold that passes for the next runs of a version."""
    _check_owner(act.form.content, act.actor)
    look = calibration.take_look(act.form.content, act.form.target, actor=act.actor, at=act.at)
    if look.threshold is None:
        raise Refused(look.outcome)
    return look


@of_version(
    "remove-threshold",
    form=JudgeVersionForm,
    makes_form=_form(JudgeVersionForm),
    shown=dict,
    said=lambda facts: "Removed: the next runs use the default threshold",
)
def drop_threshold(act: ActionCall[None, JudgeVersionForm]) -> JsonDict:
    """Remove the saved threshold of a version of a judge: the site's default applies again."""
    content = act.form.content
    _check_owner(content, act.actor)
    state = threshold_state(name=content["name"], version=calibration.version_of_content(content))
    if state.saved is not None:
        remove_threshold(saved=state.saved, actor=act.actor)
    default = settings.REVIEW_CONFIDENCE_THRESHOLD
    return _named(content) | {"removed": state.saved is not None, "default_threshold": default}


def _certificate_facts(certificate: Certificate) -> JsonDict:
    names = ("passed", "annotators", "items", "figures")
    facts = {"judge": certificate.evaluator_name, "version": certificate.version_key}
    return facts | {name: getattr(certificate, name) for name in names}


@of_version("certify", form=CertificateForm, makes_form=_form(CertificateForm), shown=_certificate_facts)
def certify(act: ActionCall[None, CertificateForm]) -> Certificate:
    """Run the alternative annotator test of a version of a judge and store its outcome as its certificate."""
    annotators = Annotators(act.data["annotators"])
    return calibration.certify(act.form.content, annotators=annotators, actor=act.actor, at=act.at)


def _anchor_facts(anchor_set: AnchorSet) -> JsonDict:
    facts = {"judge": anchor_set.evaluator_name, "version": anchor_set.version_key}
    return facts | {"anchors": anchor_set.anchors.count()}


@of_version(
    "make-anchors",
    form=JudgeVersionForm,
    makes_form=_form(JudgeVersionForm),
    shown=_anchor_facts,
    said=lambda anchor_set: f"An anchor set of {anchor_set.anchors.count()} responses was created",
)
def make_anchors(act: ActionCall[None, JudgeVersionForm]) -> AnchorSet:
    """Create an anchor set: audited responses with a final label, one per case, that a judge is asked about again."""
    content = act.form.content
    evaluator, anchors = anchors_for(evaluators_of_version(content["name"], content["version"]["key"]))
    return make_anchor_set(evaluator=evaluator, anchors=anchors, actor=act.actor, at=act.at)


@JUDGES.new(
    "ask-anchors",
    permission="judging.add_run",
    form=AnchorForm,
    first_fields=FIRST,
    makes_form=_form(AnchorForm),
    makes=RUNS,
    is_long=True,
)
def ask_again(act: ActionCall[None, AnchorForm]) -> Run:
    """Have a judge judge its newest anchor set again by new calls, which shows whether it has changed."""
    newest = newest_anchor_set(act.form.content["version"]["key"])
    if newest is None:
        raise Refused("This version has no anchor set yet. Create one first.")
    run = ask_anchors(anchor_set=newest, budget=act.data["budget"], actor=act.actor, at=act.at)
    launch_run(run_id=run.pk, waiting=run.total)
    return run
