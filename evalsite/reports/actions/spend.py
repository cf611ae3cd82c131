"""The report on what calls to models cost."""

from __future__ import annotations

from django.utils import timezone

from evalsite.base.actions.reports import Report, ReportColumn, ReportTable, plain_columns
from evalsite.base.formats import number
from evalsite.base.types import JsonDict
from evalsite.reports import jobs
from evalsite.reports.forms import SpendPeriodForm
from evalsite.reports.services.spend_reports import SPEND, SpendGroup, SpendLine, SpendName, SpendShown
from judging.selectors.runs import RunBudget, open_budgets


def _counted_calls(count: int, words: str) -> str:
    return f"{number(count)} {words}" if count else ""


FIGURES: tuple[ReportColumn[SpendLine], ...] = (
    ReportColumn("calls", lambda line: line.total.calls, "Calls", "number"),
    ReportColumn("failed", lambda line: line.total.failed, "Failed", "number"),
    ReportColumn("unpriced", lambda line: line.total.unpriced),
    ReportColumn(
        "prompt_tokens",
        lambda line: line.total.prompt_tokens,
        "Tokens in",
        "number",
        below=lambda line: _counted_calls(line.total.cached_tokens, "cached"),
    ),
    ReportColumn("cached_tokens", lambda line: line.total.cached_tokens),
    ReportColumn(
        "completion_tokens",
        lambda line: line.total.completion_tokens,
        "Tokens out",
        "number",
        below=lambda line: _counted_calls(line.total.reasoning_tokens, "reasoning"),
    ),
    ReportColumn("reasoning_tokens", lambda line: line.total.reasoning_tokens),
    ReportColumn(
        "cost",
        lambda line: line.total.cost,
        "Cost",
        "money",
        reason="no call has a known price",
        below=lambda line: _counted_calls(line.total.unpriced, "without a price"),
        leads=True,
    ),
    ReportColumn("reused", lambda line: line.total.reused),
    ReportColumn(
        "reuse_share",
        lambda line: line.total.reuse_share,
        "Reused",
        "percent",
        hint="Share of the replies that were used without a new call",
        reason="no reply",
        below=lambda line: number(line.total.reused) if line.total.reused else "",
    ),
    ReportColumn(
        "saved",
        lambda line: line.total.saved,
        "Saved",
        "money",
        hint="What the reused replies would have cost",
        reason="no reused call has a known price",
    ),
)
SORTED_BY = ("name", *(column.key for column in FIGURES))


def _spend_table(group: SpendGroup) -> ReportTable[SpendShown, SpendLine]:
    return ReportTable(
        group.value,
        f"Spend by {group.value}",
        columns=(
            ReportColumn(
                group.value,
                lambda line: line.about.name,
                group.value.capitalize(),
                below=lambda line: line.about.detail,
            ),
            *plain_columns("about.key", "about.detail"),
            *FIGURES,
        ),
        rows=lambda shown: shown.lines(group),
        link=lambda line: line.url,
    )


BY_GROUP = {group: _spend_table(group) for group in SpendGroup}
BUDGETS: ReportTable[SpendShown, RunBudget] = ReportTable(
    "budgets",
    "Budgets of runs",
    columns=(
        *plain_columns("run.pk as run_id", "run.name", "run.status"),
        ReportColumn("budget", lambda row: float(row.budget)),
        ReportColumn("spent", lambda row: float(row.run.spent)),
        ReportColumn("in_flight", lambda row: float(row.reserved)),
        ReportColumn("unheard", lambda row: float(row.run.unheard)),
        ReportColumn("left", lambda row: float(row.remaining)),
    ),
    rows=lambda shown: shown.budgets,
)


def _read(form: SpendPeriodForm, waits: bool) -> SpendShown:
    content = jobs.content_of(SPEND, subject_id=0, options={}, at=timezone.now(), waits=waits)
    return SpendShown(content, form.period, open_budgets())


def _facts(shown: SpendShown) -> JsonDict:
    first, last = shown.period
    return {
        "from": None if first is None else first.isoformat(),
        "to": None if last is None else last.isoformat(),
        "total": _spend_figures(SpendLine(SpendGroup.DAY, SpendName("", "", ""), shown.cells.total())),
        **{
            group.value: [
                {"name": line.about.name, "detail": line.about.detail, "key": line.about.key, **_spend_figures(line)}
                for line in shown.lines(group)
            ]
            for group in SpendGroup
        },
        "budgets": list(BUDGETS.data(shown).rows),
    }


def _spend_figures(line: SpendLine) -> JsonDict:
    return {column.key: column.value(line) for column in FIGURES}


REPORT = Report(
    "spend",
    "What calls to models cost, by judge, day, run, endpoint and person, and what is left of the budgets of runs.",
    permission="judging.view_run",
    form_class=SpendPeriodForm,
    read=_read,
    facts=_facts,
    tables=(*BY_GROUP.values(), BUDGETS),
)
