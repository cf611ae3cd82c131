"""The report on how far one version of a judge can be trusted: its audit beside people, as its page shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from django.utils import timezone

from evalsite.base.actions.reports import (
    FigureColumn,
    PValueColumn,
    Report,
    ReportColumn,
    ReportTable,
    ScoreColumn,
)
from evalsite.base.json_types import JsonDict
from evalsite.base.score_scales import COEFFICIENT, in_numbers
from evalsite.reports import jobs
from evalsite.reports.forms import TrustForm
from evalsite.reports.selectors.judges.certificates import certificate_state
from evalsite.reports.selectors.judges.golden_tests import version_key_of
from evalsite.reports.services.judges.anchor_drift import AnchorDrift, DriftRow, drift_of_version
from evalsite.reports.services.judges.calibration import lacks_of, preview, version_of_content
from evalsite.reports.services.judges.judge_trust import JUDGE_TRUST
from evalsite.reports.services.report_content import ReportContent, figure, plain_column, stored_figure_column
from evalsite.review.routing import ThresholdTarget
from judging.statistics.coefficients.alternative_annotator import Annotators
from judging.statistics.risk_coverage import ALPHA, DELTA, Step

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
    audited = f"{content['items']} audited items of {content['cases']} cases."
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
    yield from ((recall["name"], recall) for recall in content["recalls"])


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
CONFUSION = _table("confusion", "Judge's labels (rows) by people's labels (columns)", _confusion_columns, _confusion)
RELIABILITY = _table(
    "reliability",
    "Agreement with people by measured confidence",
    (
        plain_column("low", as_key="confidence_from"),
        plain_column("high", as_key="confidence_to"),
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
        ReportColumn("accepted", lambda step: step.accepted),
        ReportColumn("wrong", lambda step: step.errors),
        ReportColumn("cases", lambda step: step.cases),
        ScoreColumn("error_rate", lambda step: step.risk),
    ),
    lambda shown: shown.steps,
)
ANNOTATORS: ReportTable[TrustShown, ReportContent] = ReportTable(
    "annotators",
    "Alternative annotator test",
    (
        plain_column("person", as_key="annotator"),
        plain_column("n", as_key="cases"),
        ScoreColumn("judge_as_close", lambda line: line["judge_wins"]),
        ScoreColumn("person_as_close", lambda line: line["person_wins"]),
        PValueColumn("p_value", lambda line: line["p_value"]),
        plain_column("is_matched", as_key="matched"),
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


def _round(row: DriftRow) -> JsonDict:
    """Return a round; its change is against the first."""
    change = row.change_figure
    return {
        "asked_at": f"{row.at:%Y-%m-%d %H:%M}",
        "run": row.run.pk if row.run is not None else None,
        "agreement": figure(row.agreement),
        "change": None if change is None else figure(change),
        "p_value": row.p_value,
        "flips": row.flips,
        "served_as": row.served_as,
    }


def _facts(shown: TrustShown) -> JsonDict:
    """Return all figures, of the annotator tests only what names nobody; the certificate, and the rounds of anchors."""
    content, drift = shown.content, shown.drift
    tests = {
        name: {key: value for key, value in test.items() if key != "people"} for name, test in content["tests"].items()
    }
    state = certificate_state(name=content["name"], version=version_of_content(content), lacks=lacks_of(content))
    facts: JsonDict = in_numbers({**content, "tests": tests})
    anchors = {"asks": drift.asks, "rounds": [_round(row) for row in drift.rows]} if drift is not None else None
    return facts | {"certificate": state.words, "anchors": anchors}


REPORT = Report(
    "trust",
    "How one version of a judge agrees with people on what was audited: agreement, confidence, threshold and anchors.",
    permission="reports.view_snapshot",
    form_class=TrustForm,
    read=_read,
    facts=_facts,
    tables=(
        AGREEMENT,
        CONFUSION,
        RELIABILITY,
        RISK_COVERAGE,
        ANNOTATORS,
        replace(DRIFT.of(lambda shown: shown.drift), basis=_basis, same=_same),
    ),
)
