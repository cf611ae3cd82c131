"""The tables of debate reports, for programs and for papers."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.base.tables import Table, table_bytes
from evalsite.reports.actions.debates import DEBATES_REPORT, DebatesShown
from evalsite.reports.services.debate_reports import compute_debates
from tests import factories
from tests.debate import rows

TIE0 = {"rule": "majority_tie0", "reading": "recorded"}


def text(table: Table, format_name: str) -> str:
    return b"".join(table_bytes(table, format_name)).decode("utf-8-sig")


def four_debates() -> None:
    """Hold debates of two judges: A at once, A after a round, B at once, and one without a majority."""
    owner = rows.debate_set()
    for votes in (((1, 1),), ((1, -1), (1, 1)), ((-1, -1),), ((0, 1), (0, 1), (0, 1))):
        rows.debate(owner=owner, votes=votes)


@pytest.mark.django_db
def test_judges_table_has_matches_denominators_intervals_rule_and_reading() -> None:
    four_debates()
    shown, table = DebatesShown(compute_debates(0, TIE0).content, []), DEBATES_REPORT.table("judges")

    (cell, average) = csv.DictReader(io.StringIO(text(table.data(shown), "csv")))
    latex = text(table.in_format(shown, "tex"), "tex")

    # Outcomes A, A, B and a tie; judge-1 opens A, A, B, tie and judge-2 opens A, B, B, A.
    assert {key: cell[key] for key in ("pairs", "n", "rule", "reading")} == {
        "pairs": "4", "n": "4", "rule": "majority_tie0", "reading": "recorded",
    }  # fmt: skip
    ends = ("", "_matches", "_n", "_pairs")
    assert [cell[f"judge-2{end}"] for end in ends] == ["0.5", "2", "4", "4"]
    assert [round(float(cell[f"judge-2{end}"]), 3) for end in ("_low", "_high")] == [0.094, 0.906]  # mid-p of 2 of 4
    assert (average["criterion"], average["judge-1"], average["judge-2"]) == ("average", "1.0", "0.5")
    assert "most agents agree, else a tie. Verdicts are read as recorded in the files." in latex
    assert r"4/4 = 100.0\% [47.3\%, 100.0\%] & 2/4 = 50.0\% [9.4\%, 90.6\%]" in latex


@pytest.mark.django_db
def test_every_table_of_the_report_names_its_rule_and_fits_a_page() -> None:
    four_debates()

    shown = DebatesShown(compute_debates(0, TIE0).content, [])
    for table in DEBATES_REPORT.tables:
        name, latex = table.name, text(table.in_format(shown, "tex"), "tex")
        widths = [len(form) for form in re.findall(r"\\begin\{tabular\}\{(\w+)\}", latex)]
        captions = re.findall(r"\\caption\{(.*)\}", latex)
        columns = table.data(shown).columns
        assert (name, max(widths, default=0) <= 8) == (name, True)
        assert (name, all("else a tie" in caption for caption in captions)) == (name, True)
        assert (name, columns[-2:]) == (name, ("rule", "reading"))


@pytest.mark.django_db
def test_debate_report_names_the_rule_and_reading_of_every_table(client: Client) -> None:
    client.force_login(factories.user(role=Role.RESEARCHER))
    four_debates()

    page = client.get(reverse("reports:debate-report"), TIE0).text

    assert page.count("<caption>") == page.count("<table")
    # evaluators, cells, win rates and paired differences
    assert page.count("Outcome of a debate: most agents agree, else a tie. Verdicts are read as recorded") == 4
    assert "2 of 4" in page
    assert "9% to 91%" in page


@pytest.mark.django_db
def test_the_table_of_evaluators_has_each_figure_of_the_page() -> None:
    """How the debate agrees with people where it decided stood on the page alone."""
    four_debates()

    columns = DEBATES_REPORT.table("evaluators").data(DebatesShown(compute_debates(0, TIE0).content, [])).columns

    assert [name for name in columns if name.startswith("people")] == [
        f"{name}{end}" for name in ("people", "people_decided", "people_system") for end in ("", "_low", "_high", "_n")
    ]
