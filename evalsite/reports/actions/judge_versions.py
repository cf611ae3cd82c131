"""Versions of judges, thresholds, certificates and anchors, and the report on the quality of judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from evalsite.base.actions.declarations import ActionCall, PageData, columns
from evalsite.base.actions.reports import (
    FigureColumn,
    PValueColumn,
    Report,
    ReportColumn,
    ReportTable,
    ScoreColumn,
    coefficient,
    plain_columns,
)
from evalsite.base.formats import COEFFICIENT, ScoreScale, in_numbers, scale_of_figure
from evalsite.base.rows import BadInput, check_owner, numbered_row, pick
from evalsite.base.tables import facts_text
from evalsite.base.types import JsonDict, JsonObject, Refused
from evalsite.reports import jobs
from evalsite.reports.forms import AnchorForm, CertificateForm, JudgeVersionForm, LooksForm, ThresholdForm, TrustForm
from evalsite.reports.services import calibration
from evalsite.reports.services.calibration import (
    certificate_state,
    certificates_of_judges,
    preview,
    threshold_state,
)
from evalsite.reports.services.judge_bias import JUDGE_BIAS, bias_basis
from evalsite.reports.services.judge_reports import JUDGES as JUDGE_REPORTS
from evalsite.reports.services.judge_reports import (
    STATUSES,
    AgentFigures,
    JudgeFigures,
    JudgesReport,
)
from evalsite.reports.services.judge_rows import judge_evaluators, version_key_of
from evalsite.reports.services.judge_trust import (
    JUDGE_TRUST,
    AnchorDrift,
    DriftRow,
    PairJudgeFigures,
    anchors_for,
    drift_of_version,
    evaluators_of_version,
    newest_anchor_set,
)
from evalsite.reports.services.snapshots import (
    ReportContent,
    estimate_of,
    figure,
    result_to_json,
    stored_figure_column,
)
from evalsite.review.models import AnchorSet, Certificate, ThresholdLook
from evalsite.review.routing import ThresholdTarget
from evalsite.review.services.judge_versions import ask_anchors, make_anchor_set, remove_threshold
from judging.actions.judges import JUDGES
from judging.actions.runs import RUNS
from judging.jobs import launch_run
from judging.models import EvaluatorKind, Judge, Run, RunEvaluator, RunKind
from judging.statistics.judge_quality import ALPHA, DELTA, Annotators, Step

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


@of_threshold(
    "set-threshold",
    calls_models=True,  # a look that accepts no threshold is used too
    shown=columns(
        *("saved.evaluator_name as judge", "saved.version_key as version", "number as look", "threshold"),
        *("outcome as reason", "saved.accepted as accepted", "saved.bound as bound"),
        annotations_per_thousand=lambda look: calibration.annotations_per_thousand(look.saved.accepted),
    ),
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


@of_version(
    "certify",
    form=CertificateForm,
    makes_form=_form(CertificateForm),
    shown=lambda certificate: {
        "judge": certificate.evaluator_name,
        "version": certificate.version_key,
        "passed": certificate.passed,
        "annotators": certificate.annotators,
        "items": certificate.items,
        "figures": certificate.figures,
    },
)
def certify(act: ActionCall[None, CertificateForm]) -> Certificate:
    """Run the alternative annotator test of a version of a judge and store its outcome as its certificate."""
    annotators = Annotators(act.data["annotators"])
    return calibration.certify(act.form.content, annotators=annotators, actor=act.actor, at=act.at)


@of_version(
    "make-anchors",
    form=JudgeVersionForm,
    makes_form=_form(JudgeVersionForm),
    shown=lambda anchor_set: {
        "judge": anchor_set.evaluator_name,
        "version": anchor_set.version_key,
        "anchors": anchor_set.anchors.count(),
    },
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


SHARE_EQUAL, KAPPA = "Share of equal labels", "Cohen's kappa"
Line = TypeVar("Line")
KEY_SHOWN = 12


@dataclass(frozen=True, slots=True)
class TrustShown:
    """The audit of one version of a judge; the annotator test is that of one kind of annotators."""

    content: ReportContent
    target: ThresholdTarget
    annotators: str

    @property
    def version(self) -> str:
        """The beginning of the version's key, as people read it."""
        key: str = self.content["version"]["key"]
        return key[:KEY_SHOWN]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The curve of risk and coverage."""
        return preview(self.content, self.target).steps

    @property
    def drift(self) -> AnchorDrift | None:
        """What the newest anchor set shows."""
        return drift_of_version(self.content["version"]["key"])


def _basis(shown: TrustShown) -> str:
    content = shown.content
    audited = f"{content['items']} audited items of {content['cases']} cases. {content['left_out']}".strip()
    return f"{content['name']}, version {shown.version}, {audited}"


def _same(shown: TrustShown) -> JsonDict:
    return {"judge": shown.content["name"], "version": shown.version}


def _table(
    name: str,
    title: str,
    columns: tuple[ReportColumn[Line], ...] | Callable[[TrustShown], tuple[ReportColumn[Line], ...]],
    rows: Callable[[TrustShown], Iterator[Line] | list[Line] | tuple[Line, ...]],
) -> ReportTable[TrustShown, Line]:
    return ReportTable(name, title, columns, rows, basis=_basis, same=_same)


def _figures(shown: TrustShown) -> Iterator[tuple[str, ReportContent]]:
    content = shown.content
    yield SHARE_EQUAL, content["agreement"]
    yield KAPPA, {**content["kappa"], "scale": COEFFICIENT.to_json()}
    yield from ((row["name"], row) for row in (*content["ties"], *content["recalls"]))


def _confusion_columns(shown: TrustShown) -> tuple[ReportColumn[tuple[str, list[int]]], ...]:
    def counts(place: int, text: str) -> ReportColumn[tuple[str, list[int]]]:
        return ReportColumn(text, lambda line: line[1][place])

    label: ReportColumn[tuple[str, list[int]]] = ReportColumn("label", lambda line: line[0])
    return (label, *(counts(place, row["text"]) for place, row in enumerate(shown.content["labels"])))


def _confusion(shown: TrustShown) -> Iterator[tuple[str, list[int]]]:
    return zip((label["text"] for label in shown.content["labels"]), shown.content["confusion"], strict=True)


AGREEMENT = _table(
    "agreement",
    "Agreement with people",
    (
        ReportColumn("figure", lambda line: line[0]),
        stored_figure_column("value", lambda line: line[1]),
    ),
    _figures,
)
SCENARIOS = _table(
    "scenarios",
    "Agreement with people by scenario",
    (
        *plain_columns("name as scenario", "items"),
        stored_figure_column("agreement", lambda line: line),
    ),
    lambda shown: shown.content["scenarios"],
)
CONFUSION = _table("confusion", "Judge's labels (rows) by people's labels (columns)", _confusion_columns, _confusion)
RELIABILITY = _table(
    "reliability",
    "Agreement with people by measured confidence",
    (
        *plain_columns("low as confidence_from", "high as confidence_to"),
        ReportColumn("confidence", lambda line: round(line["confidence"], 4)),
        stored_figure_column("agreement", lambda line: line["agreement"]),
    ),
    lambda shown: shown.content["reliability"],
)
RISK_COVERAGE: ReportTable[TrustShown, Step] = _table(
    "risk-coverage",
    "Risk and coverage by threshold",
    (
        ReportColumn("threshold", lambda step: step.threshold),
        ScoreColumn("coverage", lambda step: step.coverage),
        *plain_columns("accepted", "errors as wrong", "cases"),
        ScoreColumn("error_rate", lambda step: step.risk),
    ),
    lambda shown: shown.steps,
)
ANNOTATORS: ReportTable[TrustShown, ReportContent] = ReportTable(
    "annotators",
    "Alternative annotator test",
    (
        *plain_columns("person as annotator", "n as cases"),
        ScoreColumn("judge_as_close", lambda line: line["judge_wins"]),
        ScoreColumn("person_as_close", lambda line: line["person_wins"]),
        PValueColumn("p_value", lambda line: line["p_value"]),
        *plain_columns("is_matched as matched"),
    ),
    rows=lambda shown: shown.content["tests"][shown.annotators]["people"],
    basis=lambda shown: f"Compared with {shown.annotators} annotators. {_basis(shown)}",
    same=_same,
    permission="review.adjudicate",  # it names annotators
)
DRIFT: ReportTable[AnchorDrift | None, DriftRow] = ReportTable(
    "drift",
    "Agreement with people on the anchor set",
    (
        ReportColumn("asked_at", lambda row: f"{row.at:%Y-%m-%d %H:%M}"),
        ReportColumn("run", lambda row: row.run.pk if row.run is not None else None),
        FigureColumn("agreement", lambda row: row.agreement),
        FigureColumn("change", lambda row: row.change_figure),
        PValueColumn("p_value", lambda row: row.p_value),
        ScoreColumn("flips", lambda row: row.flips),
        ReportColumn("served_as", lambda row: row.served_as),
    ),
    rows=lambda drift: drift.rows if drift is not None else (),
)


def _read(form: TrustForm, waits: bool) -> TrustShown:
    chosen = form.cleaned_data
    options = {**form.options, "name": chosen["name"], "version": version_key_of(chosen["name"], chosen["version"])}
    content = jobs.content_of(JUDGE_TRUST, subject_id=0, options=options, at=timezone.now(), waits=waits)
    target = ThresholdTarget(ALPHA, DELTA, tolerance=min(chosen["tolerance"] or 0, content["most_tolerance"]))
    return TrustShown(content, target, chosen["annotators"] or Annotators.SKILLED.value)


_round = columns(  # of anchors; its change is against the first
    asked_at=lambda row: f"{row.at:%Y-%m-%d %H:%M}",
    run=lambda row: row.run.pk if row.run is not None else None,
    agreement=lambda row: figure(row.agreement),
    change=lambda row: None if row.change_figure is None else figure(row.change_figure),
    p_value=attrgetter("p_value"),
    flips=attrgetter("flips"),
    served_as=attrgetter("served_as"),
)


def _facts(shown: TrustShown) -> JsonDict:
    """Return all figures, of the annotator tests only what names nobody; the certificate, and the rounds of anchors."""
    content, drift = shown.content, shown.drift
    tests = {
        name: {key: value for key, value in test.items() if key != "people"} for name, test in content["tests"].items()
    }
    facts: JsonDict = in_numbers({**content, "tests": tests})
    anchors = {"asks": drift.asks, "rounds": [_round(row) for row in drift.rows]} if drift is not None else None
    return facts | {"certificate": certificate_state(content).words, "anchors": anchors}


TRUST = Report(
    "trust",
    "How one version of a judge agrees with people on what was audited: agreement, confidence, threshold and anchors.",
    permission="reports.view_snapshot",
    form_class=TrustForm,
    read=_read,
    facts=_facts,
    tables=(
        AGREEMENT,
        SCENARIOS,
        CONFUSION,
        RELIABILITY,
        RISK_COVERAGE,
        ANNOTATORS,
        replace(DRIFT.of(lambda shown: shown.drift), basis=_basis, same=_same),
    ),
)


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """A version of a judge with the state of its certificate in words."""

    figures: JudgeFigures
    certificate: str


@dataclass(frozen=True, slots=True)
class JudgesShown:
    """The report on judges, with what is known about their certificates; their bias is read where it is asked for."""

    report: JudgesReport
    bias: Callable[[], ReportContent]

    def lines(self) -> list[JudgeLine]:
        """Return the versions of judges with their certificates."""
        states = certificates_of_judges(self.report.judges)
        return [JudgeLine(row, state.words) for row, state in zip(self.report.judges, states, strict=True)]


def _reply_columns(figures: str = "") -> tuple[ReportColumn[Any], ...]:
    """Return the columns that judges and agents share, where `figures` leads to their figures; papers have few."""
    names = (
        *("is_baseline", "verdicts", *(f"statuses.{status}" for status in STATUSES), "parsed.value as parse_rate"),
        *("calls", "prompt_tokens", "completion_tokens", "cost", "cost_per_verdict", "unpriced", "seconds_mean"),
        *("consistency.value as consistency", "first_position.value as first_position"),
    )
    return plain_columns(*(f"{figures}{name}" for name in names), in_papers=False)


TABLE_OF_JUDGES: ReportTable[JudgesShown, JudgeLine] = ReportTable(
    "judges",
    "Judges",
    columns=(
        ReportColumn("name", lambda line: line.figures.name),
        *_reply_columns("figures."),
        ReportColumn("verdicts", lambda line: line.figures.verdicts, in_data=False),
        FigureColumn("parsed", lambda line: line.figures.parsed, in_data=False),
        *plain_columns("figures.first_try.value as first_try_parse_rate", "figures.reused", in_papers=False),
        FigureColumn("people", lambda line: line.figures.people),
        ReportColumn("people_audit", lambda line: line.figures.people_audit.value, in_papers=False),
        FigureColumn("people_kappa", lambda line: line.figures.people_kappa, in_data=False, scale=coefficient),
        FigureColumn("debates", lambda line: line.figures.debates, ends={"value": "debates", "n": "debates_n"}),
        FigureColumn("consistency", lambda line: line.figures.consistency, in_data=False),
        ReportColumn("certificate", lambda line: line.certificate),
    ),
    rows=lambda shown: shown.lines(),
)
TABLE_OF_PAIRS: ReportTable[JudgesShown, PairJudgeFigures] = ReportTable(
    "pairs",
    "Judges of pairs over all their baselines",
    columns=(
        *plain_columns("name", "baselines", "items"),
        FigureColumn("people", lambda row: row.people),
        FigureColumn("without_ties", lambda row: row.without_ties),
        FigureColumn("ties_as_half", lambda row: row.ties_as_half),
        FigureColumn("kappa", lambda row: row.kappa, scale=coefficient),
    ),
    rows=lambda shown: shown.report.pairs,
)
TABLE_OF_AGENTS: ReportTable[JudgesShown, AgentFigures] = ReportTable(
    "agents",
    "Agents in debates",
    columns=(
        ReportColumn("name", lambda row: row.name),
        *_reply_columns(),
        ReportColumn("debates_held", lambda row: row.debates_held),
        FigureColumn("parsed", lambda row: row.parsed, in_data=False),
        FigureColumn("outcome", lambda row: row.outcome, ends={"value": "outcome", "n": "outcome_n"}),
        ReportColumn("outcome_missing", lambda row: row.outcome_missing, in_papers=False),
        FigureColumn(
            "leave_one_out", lambda row: row.leave_one_out, ends={"value": "leave_one_out", "n": "leave_one_out_n"}
        ),
        FigureColumn("consistency", lambda row: row.consistency, in_data=False),
    ),
    rows=lambda shown: shown.report.agents,
)
CERTIFICATES: ReportTable[JudgesShown, Certificate] = ReportTable(
    "certificates",
    "Certificates of judges",
    columns=(
        *plain_columns("evaluator_name as judge", "passed", "annotators", "items"),
        FigureColumn("agreement", lambda row: estimate_of(row.figures["agreement"])),
        FigureColumn("kappa", lambda row: estimate_of(row.figures["kappa"]), scale=coefficient),
        ReportColumn("issued_on", lambda row: f"{row.issued_at:%Y-%m-%d}"),
        ReportColumn("version", lambda row: row.version_key[:12]),
    ),
    rows=lambda _shown: list(Certificate.objects.order_by("evaluator_name", "-issued_at", "-pk")),
)


def _bias_lines(content: ReportContent) -> Iterator[ReportContent]:
    """Yield each property of what a judge, or an evaluator of debates, judges, with its influence on the verdicts."""
    for judge in content["judges"]:
        named = {"judge": judge["judge"], "version": judge["version"][:12]}
        yield from (effect | named for effect in judge["effects"])


def _effect_scale(line: ReportContent) -> ScoreScale:
    """Return the numbers of a judge that chooses them; else effects are printed as coefficients."""
    scale = scale_of_figure(line["effect"])
    return scale if scale.is_rating else COEFFICIENT


BIAS: ReportTable[ReportContent, ReportContent] = ReportTable(
    "bias",
    "Influences on the verdicts of judges",
    columns=(
        *plain_columns("judge", "version", "name as property", "unit"),
        FigureColumn("effect", lambda line: estimate_of(line["effect"]), scale=_effect_scale),
        PValueColumn("p_value", lambda line: line["p_value"]),
        PValueColumn("holm_p", lambda line: line["holm_p"]),
        ReportColumn("reason", lambda line: line["effect"]["reason"]),
    ),
    rows=_bias_lines,
    basis=bias_basis,
)


def _read_judges(form: LooksForm, waits: bool) -> JudgesShown:
    at = timezone.now()
    return JudgesShown(
        jobs.content_of(JUDGE_REPORTS, subject_id=0, options=form.options, at=at, waits=waits),
        lambda: jobs.content_of(JUDGE_BIAS, subject_id=0, options={}, at=at, waits=waits),
    )


def _judges_facts(shown: JudgesShown) -> JsonDict:
    facts: JsonDict = result_to_json(JudgesReport, shown.report)
    words = (line.certificate for line in shown.lines())
    judges = [row | {"certificate": certificate} for row, certificate in zip(facts["judges"], words, strict=True)]
    numbers: JsonDict = in_numbers(facts | {"judges": judges, "bias": shown.bias()["judges"]})
    return numbers


REPORT = Report(
    "judges",
    "How well judges and agents in debates can be read, what they cost, and whom they agree with.",
    permission="reports.view_snapshot",
    form_class=LooksForm,
    read=_read_judges,
    facts=_judges_facts,
    tables=(TABLE_OF_JUDGES, TABLE_OF_PAIRS, TABLE_OF_AGENTS, CERTIFICATES, BIAS.of(lambda shown: shown.bias())),
)
