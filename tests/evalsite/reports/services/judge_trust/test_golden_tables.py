"""Tables of a golden set for papers."""

from __future__ import annotations

from typing import Any

from evalsite.base.actions.reports import Report
from evalsite.base.tables import write_csv, write_latex
from evalsite.reports.actions.golden import COMPARISON_REPORT, GOLDEN_REPORT, ComparedShown, GoldenShown
from evalsite.reports.services.judge_trust import Flip, VersionComparison
from evalsite.reports.services.snapshots import figure
from evalsite.review.models import GoldenRun, GoldenSet
from evalsite.review.questions.scales import JUDGEMENT, labels_to_json
from evalsite.review.selectors.golden import ComparedResponse, GoldenVersion
from judging.models import RunEvaluator
from judging.statistics.estimates import Estimate, TooFew, undefined
from judging.statistics.estimators.judge_bias import Drift

DESK = GoldenSet(name="Desk", labels=labels_to_json(JUDGEMENT))
PLAIN, WARY = (GoldenVersion(key * 64, RunEvaluator(name="Grader"), GoldenRun()) for key in "ab")


def latex(report: Report[Any], shown: object, table: str) -> list[str]:
    return b"".join(write_latex(report.table(table).paper(shown))).decode().splitlines()


def csv(report: Report[Any], shown: object, table: str) -> list[str]:
    data = report.table(table).data(shown)
    return b"".join(write_csv(data.rows, columns=data.columns)).decode().removeprefix("\ufeff").splitlines()


def answer(number: int, judge: str | None) -> ComparedResponse:
    said = ("wrong", 0.0, None, judge, None, None)
    return ComparedResponse(None, 70 + number, number, JUDGEMENT, *said, golden_id=number, case_key=f"q{number}")


def flip(number: int, before: str | None, after: str | None) -> Flip:
    return Flip(answer(number, before), answer(number, after))


def compared(paired: Drift | TooFew) -> ComparedShown:
    flips = (flip(1, "right", "wrong"), flip(2, "wrong", "partly"), flip(3, None, "right"))
    return ComparedShown(DESK, PLAIN, WARY, VersionComparison(flips, 45, Estimate(0.4, 0.25, 0.55, 45), paired))


def test_comparison_is_one_row_whose_small_p_is_printed_as_papers_do() -> None:
    shown = compared(Drift(0.4, 0.25, 0.55, 0.00002, 0.4, 44))

    assert latex(COMPARISON_REPORT, shown, "comparison") == [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        r"\caption{Change of agreement. Golden set Desk, Grader aaaaaaaa before and Grader bbbbbbbb after; McNemar "
        r"mid-p over one response to each case. In square brackets: 95\% intervals; in parentheses: the number of "
        r"units.}",
        r"\begin{tabular}{rrrrllr}",
        r"\toprule",
        r"responses & flips & gains & losses & difference & p\_value & pairs \\",
        r"\midrule",
        r"45 & 3 & 1 & 1 & 40.0\% [25.0\%, 55.0\%] (45) & \textless{} .001 & 44 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    assert csv(COMPARISON_REPORT, shown, "comparison") == [
        "responses,flips,gains,losses,difference,difference_low,difference_high,difference_n,p_value,p_value_printed,"
        "pairs,golden_set,before_version,after_version",
        "45,3,1,1,0.4,0.25,0.55,45,2e-05,< .001,44,Desk,Grader aaaaaaaa,Grader bbbbbbbb",
    ]


def test_comparison_without_a_test_has_no_p() -> None:
    lines = latex(COMPARISON_REPORT, compared(TooFew(3, 20)), "comparison")

    assert lines[8] == (r"45 & 3 & 1 & 1 & 40.0\% [25.0\%, 55.0\%] (45) & -- & -- \\")


def test_flips_have_the_labels_in_words() -> None:
    lines = latex(COMPARISON_REPORT, compared(TooFew(3, 20)), "flips")

    assert [line for line in lines if "&" in line] == [
        r"case & response & people & before & after & agreement \\",
        r"q1 & 71 & Wrong & Right & Wrong & gained \\",
        r"q2 & 72 & Wrong & Wrong & Partly right & lost \\",
        r"q3 & 73 & Wrong & unread & Right & none \\",
    ]


def test_versions_of_the_test_part_say_how_often_it_was_opened_before() -> None:
    row = {
        "name": "Grader",
        "key": "a" * 64,
        "items": 39,
        "unread": 1,
        "agreement": figure(Estimate(0.9, 0.8, 0.97, 40)),
        "kappa": figure(undefined("Too few: 10 of 20.", n=10)),
        "recalls": [{"name": "Share of wrong found"} | figure(Estimate(0.75, None, None, 16))],
        "cost": 0.0125,
        "seconds_mean": 1.5,
        "opened_before": 2,
    }

    shown = GoldenShown(DESK, {"development": [], "test": [row]})

    assert [line for line in latex(GOLDEN_REPORT, shown, "test") if "&" in line] == [
        r"version & responses & agreement & kappa & unread & cost & seconds\_mean & opened\_before \\",
        r"Grader aaaaaaaa & 39 & 90.0\% [80.0\%, 97.0\%] (40) & -- & 1 & 0.013 & 1.500 & 2 \\",
    ]
    assert [line for line in latex(GOLDEN_REPORT, shown, "test-labels") if "&" in line] == [
        r"version & figure & share \\",
        r"Grader aaaaaaaa & Share of wrong found & 75.0\% (16) \\",
    ]
    assert csv(GOLDEN_REPORT, shown, "development") == [
        "version,responses,agreement,agreement_low,agreement_high,agreement_n,kappa,kappa_low,kappa_high,kappa_n,"
        "unread,cost,seconds_mean,golden_set"
    ]
