"""The reports on golden sets: versions of judges beside people, and two of them beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeVar

from django.utils import timezone

from evalsite.base.actions.reports import FigureColumn, PValueColumn, Report, ReportColumn, ReportTable, coefficient
from evalsite.base.json_types import JsonDict
from evalsite.reports import jobs
from evalsite.reports.forms import GoldenComparisonForm, GoldenReportForm
from evalsite.reports.services.golden import GOLDEN, Flip, VersionComparison, compare_versions
from evalsite.reports.services.report_content import ReportContent, estimate_of, plain_column, stored_figure_column
from evalsite.review.actions.references import GOLDEN_SET
from evalsite.review.models import GoldenSet
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.golden import GoldenVersion, version_named
from judging.statistics.estimators.judge_bias import Drift

Line = TypeVar("Line")
KEY_SHOWN = 8


@dataclass(frozen=True, slots=True)
class GoldenShown:
    """The versions of judges on a golden set beside people."""

    golden_set: GoldenSet
    content: ReportContent


def _named(name: str, key: str) -> str:
    return f"{name} {key[:KEY_SHOWN]}"


def _version(row: ReportContent) -> str:
    return _named(row["name"], row["key"])


def _part(
    name: str, title: str, part: str, columns: tuple[ReportColumn[ReportContent], ...], *, by_label: bool = False
) -> ReportTable[GoldenShown, ReportContent]:
    def rows(shown: GoldenShown) -> Iterator[ReportContent]:
        for row in shown.content[part]:
            yield from ({**row, "recall": recall} for recall in row["recalls"]) if by_label else (row,)

    return ReportTable(
        name,
        title,
        (ReportColumn("version", _version), *columns),
        rows,
        keys=2 if by_label else 1,
        basis=lambda shown: f"Golden set {shown.golden_set.name}.",
        same=lambda shown: {"golden_set": shown.golden_set.name},
    )


VERSION_COLUMNS: tuple[ReportColumn[ReportContent], ...] = (
    plain_column("items", as_key="responses"),
    stored_figure_column("agreement", lambda row: row["agreement"]),
    FigureColumn("kappa", lambda row: estimate_of(row["kappa"]), scale=coefficient),
    *map(plain_column, ("unread", "cost", "seconds_mean")),
)
LABEL_COLUMNS: tuple[ReportColumn[ReportContent], ...] = (
    ReportColumn("figure", lambda row: row["recall"]["name"]),
    stored_figure_column("share", lambda row: row["recall"]),
)
DEVELOPMENT, TEST = "Versions on development", "Versions on the test part"
GOLDEN_REPORT = Report(
    "golden",
    "How versions of judges agree with people on a golden set; of its test only those that it was opened for.",
    permission="reports.view_snapshot",
    form_class=GoldenReportForm,
    read=lambda form, waits: golden_shown(form.cleaned_data["golden_set"], waits=waits),
    facts=lambda shown: {"golden_set": shown.golden_set.name, **shown.content},
    tables=(
        _part("development", DEVELOPMENT, "development", VERSION_COLUMNS),
        _part("development-labels", f"{DEVELOPMENT}, by label", "development", LABEL_COLUMNS, by_label=True),
        _part("test", TEST, "test", (*VERSION_COLUMNS, plain_column("opened_before"))),
        _part("test-labels", f"{TEST}, by label", "test", LABEL_COLUMNS, by_label=True),
    ),
    references={GoldenSet: GOLDEN_SET},
)


def golden_shown(golden_set: GoldenSet, *, waits: bool) -> GoldenShown:
    """Return the versions on a golden set. Raises: BeingComputed."""
    content = jobs.content_of(GOLDEN, subject_id=golden_set.pk, options={}, at=timezone.now(), waits=waits)
    return GoldenShown(golden_set, content)


@dataclass(frozen=True, slots=True)
class ComparedShown:
    """Two versions on the development part of a golden set."""

    golden_set: GoldenSet
    before: GoldenVersion
    after: GoldenVersion
    comparison: VersionComparison

    @classmethod
    def of(cls, golden_set: GoldenSet, before: GoldenVersion, after: GoldenVersion) -> ComparedShown:
        """Return how two versions differ."""
        return cls(golden_set, before, after, compare_versions(golden_set, before.evaluator, after.evaluator))

    @property
    def names(self) -> dict[str, str]:
        """What the two are called."""
        sides = {"before": self.before, "after": self.after}
        return {side: _named(version.evaluator.name, version.key) for side, version in sides.items()}

    @property
    def paired(self) -> Drift | None:
        """The test of one response to each case; None where there are too few."""
        return self.comparison.paired if isinstance(self.comparison.paired, Drift) else None

    def label(self, value: str | None) -> str:
        """Return a label in words."""
        texts = {label.value: label.text for label in labels_from_json(self.golden_set.labels)}
        return "unread" if value is None else texts.get(value, value)

    def lines(self) -> Iterator[tuple[ComparedShown, Flip]]:
        """Yield the responses on which the two differ."""
        return ((self, flip) for flip in self.comparison.flips)


def _compared(
    name: str,
    title: str,
    columns: tuple[ReportColumn[Line], ...],
    rows: Callable[[ComparedShown], Iterator[Line] | tuple[Line, ...]],
    *,
    keys: int,
) -> ReportTable[ComparedShown, Line]:
    return ReportTable(
        name,
        title,
        columns,
        rows,
        keys=keys,
        basis=lambda shown: (
            f"Golden set {shown.golden_set.name}, {shown.names['before']} before and {shown.names['after']} after; "
            "McNemar mid-p over one response to each case."
        ),
        same=lambda shown: {
            "golden_set": shown.golden_set.name,
            **{f"{side}_version": name for side, name in shown.names.items()},
        },
    )


COMPARISON: ReportTable[ComparedShown, ComparedShown] = _compared(
    "comparison",
    "Change of agreement",
    (
        ReportColumn("responses", lambda shown: shown.comparison.responses),
        ReportColumn("flips", lambda shown: len(shown.comparison.flips)),
        ReportColumn("gains", lambda shown: shown.comparison.gains),
        ReportColumn("losses", lambda shown: shown.comparison.losses),
        FigureColumn("difference", lambda shown: shown.comparison.difference),
        PValueColumn("p_value", lambda shown: shown.paired and shown.paired.p_value),
        ReportColumn("pairs", lambda shown: shown.paired and shown.paired.n),
    ),
    lambda shown: (shown,),
    keys=0,
)
FLIPS: ReportTable[ComparedShown, tuple[ComparedShown, Flip]] = _compared(
    "flips",
    "Responses on which two versions differ",
    (
        ReportColumn("case", lambda line: line[1].before.case_key),
        ReportColumn("response", lambda line: line[1].before.response_id),
        ReportColumn("people", lambda line: line[0].label(line[1].before.people)),
        ReportColumn("before", lambda line: line[0].label(line[1].before.judge)),
        ReportColumn("after", lambda line: line[0].label(line[1].after.judge)),
        ReportColumn("agreement", lambda line: line[1].agreement),
    ),
    lambda shown: shown.lines(),
    keys=2,
)


def _read_comparison(form: GoldenComparisonForm, _waits: bool) -> ComparedShown:
    golden_set = form.cleaned_data["golden_set"]
    before, after = (version_named(golden_set, form.cleaned_data[side]) for side in ("before", "after"))
    return ComparedShown.of(golden_set, before, after)


def _comparison_facts(shown: ComparedShown) -> JsonDict:
    comparison = shown.comparison
    return {
        "before": shown.before.key,
        "after": shown.after.key,
        "responses": comparison.responses,
        "difference": asdict(comparison.difference),
        "paired": asdict(comparison.paired),
        "gains": comparison.gains,
        "losses": comparison.losses,
        "flips": [
            {
                "item": flip.before.golden_id,
                "response": flip.before.response_id,
                "case": flip.before.case_key,
                "people": flip.before.people,
                "before": flip.before.judge,
                "after": flip.after.judge,
            }
            for flip in comparison.flips
        ],
    }


COMPARISON_REPORT = Report(
    "golden-comparison",
    "How two versions of judges differ on the development part of a golden set.",
    permission="reports.view_snapshot",
    form_class=GoldenComparisonForm,
    read=_read_comparison,
    facts=_comparison_facts,
    tables=(COMPARISON, FLIPS),
    references={GoldenSet: GOLDEN_SET},
)
