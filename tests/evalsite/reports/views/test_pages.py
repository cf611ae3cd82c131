"""What pages of reports have in common: their command prints the same figures, their tables are copied as text."""

from __future__ import annotations

import re
import shlex
from html import unescape
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.reports.views.pages import report_command
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def _command(page: str) -> list[str]:
    match = re.search(r'id="copy-command"\s+value="([^"]*)"', page)
    assert match is not None
    return shlex.split(unescape(match[1]))[1:]


def _lines(text: str) -> list[str]:
    return text.lstrip("\ufeff").splitlines()


@pytest.mark.parametrize("query", ["", "scenario=easy&missing=skip&mode=corrected&looks=every", "lang=sql"])
def test_the_command_of_a_leaderboard_prints_its_table(researcher: Client, scored: Scored, query: str) -> None:
    page = researcher.get(f"{reverse('reports:leaderboard-detail', args=[scored.suite.pk])}?{query}").text
    address = reverse("reports:leaderboard-export", args=[scored.suite.pk, "systems", "csv"])
    out = StringIO()

    call_command(*_command(page), "--csv", stdout=out)

    exported = researcher.get(f"{address}?{query}")
    assert _lines(out.getvalue()) == _lines(b"".join(exported).decode())


def test_the_commands_of_results_and_of_two_systems_print_their_tables(researcher: Client, scored: Scored) -> None:
    suite = scored.suite.pk
    pair = f"system={scored.ada.pk}&system={scored.bob.pk}"
    for page, export, query in (
        ("results-detail", reverse("reports:results-export", args=[suite, "rows", "csv"]), "show=differ&scenario=easy"),
        ("leaderboard-compare", reverse("reports:leaderboard-export", args=[suite, "pair", "csv"]), pair),
    ):
        shown = researcher.get(f"{reverse(f'reports:{page}', args=[suite])}?{query}").text
        out = StringIO()

        call_command(*_command(shown), "--csv", stdout=out)

        exported = b"".join(researcher.get(f"{export}?{query}")).decode()
        assert _lines(out.getvalue()) == _lines(exported.replace("http://testserver", ""))


@pytest.mark.parametrize("name", ["judge-list", "debate-report", "arena", "spend-report"])
def test_each_report_has_a_command(researcher: Client, scored: Scored, name: str) -> None:
    factories.debate()
    page = researcher.get(reverse(f"reports:{name}"))

    assert page.context["command"].startswith("manage.py report ")
    call_command(*shlex.split(page.context["command"])[1:], "--json", stdout=StringIO())


def test_report_command_quotes_names_and_leaves_out_what_is_not_chosen() -> None:
    command = report_command("leaderboard", evaluator="Ada's judge", scenario=None, lang="", skip_missing=True)

    assert command == """manage.py report leaderboard --evaluator 'Ada'"'"'s judge' --skip-missing"""


@pytest.mark.parametrize(("format_name", "start"), [("md", "Leaderboard."), ("tex", "% needs")])
def test_a_table_is_copied_as_text(researcher: Client, scored: Scored, format_name: str, start: str) -> None:
    address = reverse("reports:leaderboard-export", args=[scored.suite.pk, "systems", format_name])

    file, text = researcher.get(address), researcher.get(f"{address}?copy=1")

    assert file["Content-Disposition"].endswith(f'.{format_name}"')
    assert (text["Content-Type"], "Content-Disposition" in text) == ("text/plain; charset=utf-8", False)
    assert b"".join(text).decode().startswith(start)
