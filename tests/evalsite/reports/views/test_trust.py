"""Threshold, certificate and anchors on a judge's page, as a researcher sees them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.accounts.models import AuditEntry
from evalsite.reports.services import snapshots
from evalsite.reports.services.calibration import certificate_beside
from evalsite.reports.services.judge_bias import JUDGE_BIAS
from evalsite.reports.services.judge_trust import compute_judge_trust
from evalsite.review.models import (
    AnchorRound,
    AnchorSet,
    Certificate,
    EvaluatorThreshold,
    FinalLabel,
    ReviewItem,
    ThresholdLook,
)
from evalsite.review.questions.scales import JUDGEMENT, points_scale
from judging.models import Score
from tests import factories
from tests.evalsite.reports.audited import Audited, audited_judge

pytestmark = pytest.mark.django_db

SURE = [Audited(True, place > 0, 0.95) for place in range(40)]
UNSURE = [Audited(True, place < 10, 0.6) for place in range(20)]
CHOSEN = {"name": "Strict", "error": "10", "certainty": "90", "plan": "1"}
FIVE = CHOSEN | {"plan": "5"}


def page(name: str, **query: str) -> str:
    return f"{reverse(f'reports:{name}')}?{urlencode({'name': 'Strict'} | query)}"


def said(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def test_judge_threshold_previews_without_a_decision_and_saves_by_a_look(researcher: Client) -> None:
    audited_judge([*SURE, *UNSURE])

    shown = " ".join(researcher.get(page("judge-threshold")).content.decode().split())
    looked = researcher.post(reverse("reports:judge-threshold"), CHOSEN | {"look": "1"})
    assert not ThresholdLook.objects.exists()
    saved = researcher.post(reverse("reports:judge-threshold"), CHOSEN)

    for text in (shown, looked.content.decode()):
        assert ("Accepts" in text, "Bound" in text, "No threshold" in text) == (False, False, False)
    # 0.9^38 is the first power of .9 below .02, a fifth of .1; 0.9^22 the first below .1
    assert "Take look 1 of 5" in shown
    assert "5 looks are planned. Each is tested with 98% certainty, so that all 5 together have 90%." in shown
    assert "5 are left." in shown
    assert "60; without 38 no look can succeed" in shown
    assert "60; without 22 no look can succeed" in " ".join(looked.content.decode().split())
    assert said(saved) == ["Saved: the next runs send verdicts below 0.95 to review"]
    threshold = EvaluatorThreshold.objects.get()
    assert (threshold.threshold, threshold.alpha, threshold.cases) == (0.95, 0.1, 60)
    assert threshold.saved_by is not None
    detail = researcher.get(saved["Location"]).content.decode()
    assert "Accepts 67%, wrong in at most 9.4% with 90% certainty (look 1 of 1)." in detail


def test_looks_are_counted_and_used_up(researcher: Client) -> None:
    # 1 of 40 is too many at 98% certainty: .112. Each further label makes another look possible; none gives one back.
    evaluator = audited_judge([*SURE, *UNSURE])
    address = reverse("reports:judge-threshold")

    first = researcher.post(address, FIVE).content.decode()
    again = researcher.post(address, FIVE).content.decode()
    other = researcher.post(address, FIVE | {"certainty": "80"}).content.decode()
    for _ in range(4):
        FinalLabel.objects.filter(item__queue__run=evaluator.run, label="met").latest("pk").delete()
        snapshots.tick_clock(at=factories.NOON)
        last = " ".join(researcher.post(address, FIVE).content.decode().split())
    FinalLabel.objects.filter(item__queue__run=evaluator.run, label="met").latest("pk").delete()
    snapshots.tick_clock(at=factories.NOON)
    none_left = " ".join(researcher.post(address, FIVE).content.decode().split())

    refused = "Even the most confident verdicts are wrong too often. About"
    assert refused in first
    assert "Nothing was labelled since look 1: the outcome would be the same." in again
    assert "were planned with 90% certainty and 5 in all; neither can change between looks." in other
    assert "(look 5 of 5)" in last
    assert "All 5 looks at this version and error rate are used up." in none_left
    assert "No look left" in none_left
    assert list(ThresholdLook.objects.values_list("number", "cases", "threshold")) == [
        (number, 61 - number, None) for number in range(1, 6)
    ]
    assert AuditEntry.objects.filter(action="threshold.refused").count() == 5
    assert not EvaluatorThreshold.objects.exists()


def test_too_few_cases_use_no_look_and_a_removed_threshold_comes_back_without_one(researcher: Client) -> None:
    audited_judge(SURE[1:])
    address = reverse("reports:judge-threshold")

    few = researcher.post(address, FIVE | {"error": "5"}).content.decode()  # 0.95^77 is the first power below .02
    researcher.post(address, FIVE)
    researcher.post(page("threshold-remove"))
    shown = " ".join(researcher.get(page("judge-threshold")).content.decode().split())

    assert "39 audited cases; at least 77 are needed. No look was used." in few
    assert ThresholdLook.objects.get().outcome == (
        "Accepts 100%, wrong in at most 9.5% with 90% certainty (look 1 of 5)."  # 1 - .02^(1/39)
    )
    assert "Use the threshold of look 1 again" in shown
    assert "4 are left." in shown
    assert "Nothing was labelled since look 1" in shown
    other = researcher.post(address, FIVE | {"certainty": "80"}).content.decode()  # is no promise of that look
    assert "were planned with 90% certainty" in other
    assert not EvaluatorThreshold.objects.exists()
    researcher.post(address, FIVE)
    again = researcher.post(address, FIVE).content.decode()
    assert "Nothing was labelled since look 1" in again
    assert EvaluatorThreshold.objects.get().look == ThresholdLook.objects.get()
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))[-3:] == [
        "threshold.saved",
        "threshold.removed",
        "threshold.restored",
    ]


def test_a_threshold_saved_before_looks_were_counted_says_so(researcher: Client) -> None:
    audited_judge([*SURE, *UNSURE])
    researcher.post(reverse("reports:judge-threshold"), CHOSEN)
    EvaluatorThreshold.objects.update(look=None)

    shown = " ".join(researcher.get(page("judge-detail")).content.decode().split())

    assert "Accepts 67%, wrong in at most 9.4% with 90% certainty. </p>" in shown
    assert "This threshold was saved before looks were counted. Its certainty holds only if" in shown


def test_judge_threshold_says_what_counts_as_wrong_on_a_scale_of_several_labels(researcher: Client) -> None:
    audited_judge([*SURE, *UNSURE], name="Binary")
    audited_judge([*SURE, *UNSURE], scale=JUDGEMENT)

    graded = researcher.get(page("judge-threshold")).content.decode()
    binary = researcher.get(reverse("reports:judge-threshold"), {"name": "Binary"}).content.decode()

    assert "neighbours among the 3 labels of this scale" in graded
    assert "also if the two are neighbours" not in binary


def _graded_judge() -> None:
    """Store a judge of 0 to 4 points that is off by 1 in 20 of 60 cases and by 2 in one; people always say 3."""
    evaluator = audited_judge([Audited(True, True, 0.95)] * 60, scale=points_scale(4))
    FinalLabel.objects.update(label="75", share=0.75)
    ReviewItem.objects.update(label="75")
    shares = [0.25] + [1.0] * 20 + [0.75] * 39
    for score, share in zip(Score.objects.filter(evaluator=evaluator).order_by("pk"), shares, strict=True):
        score.share = share
        score.save(update_fields=["share"])


def test_judge_threshold_lets_verdicts_differ_by_the_tolerance_on_an_ordered_scale(researcher: Client) -> None:
    _graded_judge()

    shown = researcher.get(page("judge-threshold")).content.decode()
    exact = researcher.post(reverse("reports:judge-threshold"), CHOSEN).content.decode()
    saved = researcher.post(reverse("reports:judge-threshold"), CHOSEN | {"tolerance": "1"})

    assert "Even the most confident verdicts are wrong too often (look 1 of 1)." in exact
    assert "Tolerance, points" in shown
    promise = "Accepts 100%, off by more than 1 point in at most 6.3% with 90% certainty (look 1 of 1)."  # 1 of 60
    assert promise in researcher.get(saved["Location"]).content.decode()
    threshold = EvaluatorThreshold.objects.get()
    assert (threshold.tolerance, threshold.threshold, threshold.cases) == (1, 0.95, 60)
    assert AuditEntry.objects.latest("pk").detail["tolerance"] == 1


def test_judge_threshold_refuses_a_tolerance_under_which_nothing_is_wrong(researcher: Client) -> None:
    _graded_judge()
    audited_judge([*SURE, *UNSURE], name="Binary")

    graded = researcher.post(reverse("reports:judge-threshold"), CHOSEN | {"tolerance": "4"}).content.decode()
    binary = reverse("reports:judge-threshold")
    refused = researcher.post(binary, CHOSEN | {"name": "Binary", "tolerance": "1"}).content.decode()

    assert "At most 3: with more, no verdict on this scale could be wrong." in graded
    assert "The labels of this judge are two, or have no order: choose 0." in refused
    assert "Tolerance" not in researcher.get(binary, {"name": "Binary"}).content.decode()
    assert not EvaluatorThreshold.objects.exists()


def test_pages_say_which_figures_remain_for_one_look(researcher: Client) -> None:
    audited_judge([*SURE, *UNSURE])
    remain = "the reliability diagram and the drift on the anchor set are valid for one look only"

    once = researcher.get(page("judge-detail")).content.decode()
    every = researcher.get(page("judge-detail", looks="every")).content.decode()
    threshold = researcher.get(page("judge-threshold", looks="every")).content.decode()

    assert (remain in once, remain in every) == (False, True)
    assert '<input type="hidden" name="looks" value="every">' in threshold


def test_judge_threshold_refuses_what_no_label_supports(researcher: Client) -> None:
    audited_judge([*SURE, *UNSURE])

    response = researcher.post(reverse("reports:judge-threshold"), CHOSEN | {"error": "5"})

    assert response.status_code == 200
    assert "Even the most confident verdicts are wrong too often (look 1 of 1)." in response.content.decode()
    assert ThresholdLook.objects.get().threshold is None
    assert not EvaluatorThreshold.objects.exists()


def test_judge_page_says_that_a_judge_is_not_calibrated(researcher: Client) -> None:
    audited_judge(SURE[:3])

    shown = " ".join(researcher.get(page("judge-detail")).content.decode().split())

    assert "Not calibrated: verdicts with a measured confidence below the default of <strong>0.70</strong>" in shown
    assert "No test: 0 of 3 people needed share 30 cases with the judge and somebody else (nobody has one)." in shown
    assert "There is no anchor set yet." in shown


def test_judge_page_says_what_lapsed_and_why(researcher: Client) -> None:
    first = audited_judge(SURE, people=[factories.user(name) for name in ("ada", "bob", "cy")])
    researcher.post(reverse("reports:judge-threshold"), CHOSEN)
    researcher.post(page("certificate-issue"), {"annotators": "skilled"})
    audited_judge(SURE[:3], model="gpt-5")

    shown = " ".join(researcher.get(page("judge-detail")).content.decode().split())

    assert Certificate.objects.get().passed
    why = f"it belongs to another version of this judge. The model was {first.options['model']} and is gpt-5."
    assert shown.count(why) == 2
    assert "The threshold of 0.95 lapsed" in shown


def test_threshold_remove_brings_the_default_back(researcher: Client) -> None:
    audited_judge([*SURE, *UNSURE])
    researcher.post(reverse("reports:judge-threshold"), CHOSEN)

    response = researcher.post(page("threshold-remove"))

    assert said(response)[-1] == "Removed: the next runs use the default threshold"
    assert not EvaluatorThreshold.objects.exists()


def test_anchors_make_keeps_one_response_of_each_case(researcher: Client) -> None:
    audited_judge([Audited(True, True)] * 50, responses=2)

    response = researcher.post(page("anchors-make"))

    assert said(response) == ["An anchor set of 25 responses was created"]
    anchors = AnchorSet.objects.get().anchors.select_related("response")
    assert len({anchor.response.prompt_id for anchor in anchors}) == 25
    assert {(anchor.label, anchor.judge_label) for anchor in anchors} == {("met", "met")}
    assert "25 labelled responses" in researcher.get(page("judge-detail")).content.decode()


def test_anchors_make_refuses_too_few(researcher: Client) -> None:
    audited_judge(SURE[:19])

    response = researcher.post(page("anchors-make"))

    assert said(response) == [
        "An anchor set needs 20 audited cases with a final label and a verdict of this judge in one run; there are 19."
    ]


def test_a_round_of_anchors_that_has_not_ended_says_how_much_of_it_was_judged(researcher: Client) -> None:
    evaluator = audited_judge(SURE)
    researcher.post(page("anchors-make"))
    run = factories.run(suite=evaluator.run.suite, kind="anchor", status="paused", total=40, done=1)
    again = factories.evaluator(run=run, kind="judge", name="Strict", judge=evaluator.judge, options=evaluator.options)
    anchor_set = AnchorSet.objects.get()
    factories.verdict(evaluator=again, response=anchor_set.anchors.order_by("pk")[0].response, share=1.0)
    AnchorRound.objects.create(anchor_set=anchor_set, run=run)

    shown = researcher.get(page("judge-detail")).content.decode()

    assert "Paused, 1 of 40 judged" in shown
    assert (shown.count('title="the first round"'), "Too few: 1 of 20" in shown) == (2, True)


def test_charts_are_downloaded_as_svg(researcher: Client) -> None:
    audited_judge([*SURE, *UNSURE])
    researcher.post(page("anchors-make"))

    for chart in ("risk-coverage", "reliability", "drift"):
        response = researcher.get(f"{reverse('reports:trust-chart', args=[chart])}?name=Strict")

        assert response["Content-Type"] == "image/svg+xml"
        assert response.content.startswith(
            b'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg"'
        ), chart
        assert b"prefers-color-scheme: dark" in response.content, chart


def test_tables_are_downloaded(researcher: Client) -> None:
    audited_judge([*SURE, *UNSURE], people=[factories.user(name) for name in ("ada", "bob", "cy")])
    researcher.post(page("anchors-make"))

    def lines(table: str, format_name: str) -> list[str]:
        response = researcher.get(f"{reverse('reports:trust-export', args=[table, format_name])}?name=Strict")
        return b"".join(response.streaming_content).decode().splitlines()  # type: ignore[attr-defined]

    rows = {"agreement": 4, "confusion": 2, "reliability": 2, "risk-coverage": 2, "annotators": 3, "drift": 1}
    assert {table: len(lines(table, "csv")) - 1 for table in rows} == rows
    for table in rows:
        first, *others = lines(table, "tex")
        assert first.startswith("% needs"), table
        assert any("Strict, version" in line for line in others), table


@pytest.mark.parametrize("cases", [1, 3])
def test_judge_page_takes_the_same_queries_whatever_its_size(
    researcher: Client, django_assert_num_queries: Any, cases: int
) -> None:
    audited_judge(SURE[:cases])
    version = compute_judge_trust(0, {"name": "Strict"})["version"]["key"]
    snapshots.compute(JUDGE_BIAS, subject_id=0, options={"name": "Strict", "version": version}, at=factories.NOON)
    researcher.get(page("judge-detail", version=version))  # the three reports are stored from here on

    with django_assert_num_queries(39):
        researcher.get(page("judge-detail", version=version))


def test_the_list_of_judges_says_which_certificates_hold_and_why_others_do_not(researcher: Client) -> None:
    people = [factories.user(name) for name in ("ada", "bob", "cy")]
    audited_judge(SURE, people=people)
    audited_judge(SURE[:5], people=people, name="Fresh", prompt_hash="c" * 64)
    url, export = reverse("reports:judge-list"), reverse("reports:judge-export", args=["judges", "csv"])
    researcher.post(page("certificate-issue"), {"annotators": "skilled"})

    listed = researcher.get(url).content.decode()
    file = b"".join(researcher.get(export).streaming_content).decode()  # type: ignore[attr-defined]

    why = "No test: 0 of 3 people needed share 30 cases with the judge and somebody else (ada 5, bob 5, cy 5)."
    assert "Certified" in listed
    assert "No certificate" in listed
    assert "people needed share" not in listed  # why stands on the page of the judge, not in every row
    assert why in file
    with CaptureQueriesContext(connection) as for_two:
        researcher.get(url)
    changed = audited_judge(SURE[:5], people=people, prompt_hash="b" * 64)
    lapsed = researcher.get(url).content.decode()
    assert changed.options["prompt_hash"] == "b" * 64
    assert "Certificate lapsed" in lapsed
    assert "prompt" in lapsed
    with CaptureQueriesContext(connection) as for_three:
        researcher.get(url)
    assert len(for_two) == len(for_three)


def test_a_leaderboard_says_why_there_was_no_test_while_that_is_known(researcher: Client) -> None:
    """Three people labelled 30 cases; the board went on to say that nobody had, as the last list of judges did."""
    evaluator, ann = audited_judge(SURE), factories.user("ann")

    def words() -> str:
        state = certificate_beside(evaluator)
        return "" if state is None else state.words

    researcher.get(reverse("reports:judge-list"))
    before = words()
    for item in ReviewItem.objects.filter(queue__run=evaluator.run):
        factories.annotation(item=item, label="right", annotator=ann)
    after = words()
    researcher.get(reverse("reports:judge-list"))

    lacks = "No certificate. No test: 0 of 3 people needed share 30 cases with the judge and somebody else"
    assert [before, after, words()] == [f"{lacks} (nobody has one).", "No certificate.", f"{lacks} (ann 0)."]


def test_a_leaderboard_and_its_export_say_whether_its_judge_is_certified(researcher: Client) -> None:
    evaluator = audited_judge(SURE, people=[factories.user(name) for name in ("ada", "bob", "cy")])
    board = f"{reverse('reports:leaderboard-detail', args=[evaluator.run.suite_id])}?evaluator={evaluator.pk}"
    export = reverse("reports:leaderboard-export", args=[evaluator.run.suite_id, "systems", "csv"])

    before = researcher.get(board).content.decode()
    researcher.post(page("certificate-issue"), {"annotators": "skilled"})
    after = researcher.get(board).content.decode()
    file = researcher.get(f"{export}?evaluator={evaluator.pk}")
    listed = researcher.get(reverse("reports:judge-export", args=["certificates", "csv"]))

    words = "Alternative annotator test passed, 40 audited items."
    assert "No certificate" in before
    assert words in after
    header, row = b"".join(file.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert header.endswith(",certificate")
    assert row.endswith(f'"{words}"')
    assert b"".join(listed.streaming_content).decode().splitlines()[1].startswith("Strict,True,skilled,40,")  # type: ignore[attr-defined]


def test_the_board_of_a_suite_names_its_columns_in_words_on_a_phone(researcher: Client) -> None:
    evaluator = audited_judge(SURE)

    board = researcher.get(reverse("reports:board-detail", args=[evaluator.run.suite_id])).text

    assert re.findall(r'data-label="([^"]*)"', board) == ["Strict", "Strict, corrected", "Strict, human only"]


def test_judge_page_says_too_few_in_words(researcher: Client) -> None:
    audited_judge(SURE[:12])

    shown = researcher.get(page("judge-detail")).content.decode()

    assert '<span class="figure-range">Too few: 12 of 20.</span>' in shown
