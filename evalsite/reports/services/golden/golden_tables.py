"""The figures of a golden set as downloadable tables."""

from __future__ import annotations

from evalsite.base.json_types import JsonDict
from evalsite.reports.services.golden.golden_comparisons import Flip, VersionComparison
from evalsite.reports.services.paper_tables import Basis, PaperTable
from evalsite.reports.services.report_content import ReportContent, figure
from evalsite.review.models import GoldenSet
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.golden.golden_verdicts import GoldenVersion
from judging.statistics.estimators.strata import TooFew

KEY_SHOWN = 8
PARTS = {"development": "Versions on development", "test": "Versions on the test part"}
COLUMNS = ("version", "responses", "agreement", "kappa", "unread", "cost", "seconds_mean")
COMPARISON_TABLES = ("comparison", "flips")


def version_tables(golden_set: GoldenSet, content: ReportContent) -> dict[str, PaperTable]:
    """Return the versions of each part against people: all labels together, and by the label that people gave."""
    basis = Basis({"golden_set": golden_set.name}, f"Golden set {golden_set.name}.")
    tables = {}
    for part, title in PARTS.items():
        opened = ("opened_before",) if part == "test" else ()
        rows = [_version_row(row) for row in content[part]]
        tables[part] = PaperTable(title, basis, (*COLUMNS, *opened), rows, figures=("agreement", "kappa"))
        by_label = [
            {"version": _named(row["name"], row["key"]), "figure": recall["name"], "share": recall}
            for row in content[part]
            for recall in row["recalls"]
        ]
        columns = ("version", "figure", "share")
        tables[f"{part}-labels"] = PaperTable(
            f"{title}, by label", basis, columns, by_label, figures=("share",), keys=2
        )
    return tables


def comparison_tables(
    golden_set: GoldenSet, before: GoldenVersion, after: GoldenVersion, comparison: VersionComparison
) -> dict[str, PaperTable]:
    """Return how two versions differ on development, in one row and response by response."""
    names = {
        "before": _named(before.evaluator.name, before.key),
        "after": _named(after.evaluator.name, after.key),
    }
    basis = Basis(
        {"golden_set": golden_set.name} | {f"{side}_version": name for side, name in names.items()},
        f"Golden set {golden_set.name}, {names['before']} before and {names['after']} after; McNemar mid-p over one "
        "response to each case.",
    )
    paired = None if isinstance(comparison.paired, TooFew) else comparison.paired
    row = {
        "responses": comparison.responses,
        "flips": len(comparison.flips),
        "gains": comparison.gains,
        "losses": comparison.losses,
        "difference": figure(comparison.difference),
        "p_value": paired.p_value if paired is not None else None,
        "pairs": paired.n if paired is not None else None,
    }
    texts = {label.value: label.text for label in labels_from_json(golden_set.labels)}
    flips = [_flip_row(flip, texts) for flip in comparison.flips]
    columns = ("case", "response", "people", "before", "after", "agreement")
    return {
        "comparison": PaperTable("Change of agreement", basis, tuple(row), [row], figures=("difference",), keys=0),
        "flips": PaperTable("Responses on which two versions differ", basis, columns, flips, keys=2),
    }


def _version_row(row: ReportContent) -> JsonDict:
    return {
        "version": _named(row["name"], row["key"]),
        "responses": row["items"],
        **{column: row[column] for column in ("agreement", "kappa", "unread", "cost", "seconds_mean", "opened_before")},
    }


def _flip_row(flip: Flip, texts: dict[str, str]) -> JsonDict:
    labels = {"people": flip.before.people, "before": flip.before.judge, "after": flip.after.judge}
    return {
        "case": flip.before.case_key,
        "response": flip.before.response_id,
        **{side: "unread" if value is None else texts.get(value, value) for side, value in labels.items()},
        "agreement": "gained" if flip.is_gain else "lost" if flip.is_loss else "none",
    }


def _named(name: str, key: str) -> str:
    return f"{name} {key[:KEY_SHOWN]}"
