"""What the audit says of a judge, and what follows from it: threshold, certificate, tables."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from evalsite.reports.actions.judge_versions import TRUST, TrustShown
from evalsite.reports.selectors.debate_votes import audited_responses
from evalsite.reports.services.calibration import (
    CertificateRefused,
    CertificateState,
    annotations_per_thousand,
    certificate_states,
    certify,
    preview,
    take_look,
    threshold_state,
    version_of_content,
)
from evalsite.reports.services.judge_rows import judge_evaluators
from evalsite.reports.services.judge_trust import compute_judge_trust
from evalsite.reports.services.leaderboards import compute_leaderboard
from evalsite.reports.services.snapshots import ReportContent, figure
from evalsite.review.models import Annotation, Certificate, FinalLabel, Provenance, Queue, Referral, ReviewItem
from evalsite.review.questions.scales import JUDGEMENT
from evalsite.review.routing import ThresholdTarget, uniform_number
from evalsite.review.services.annotation_store import (
    GivenAnnotation,
    record_annotation,
    reveal_item,
    revise_annotation,
)
from evalsite.review.services.claims import claim_next
from evalsite.review.services.decisions import keep_final_label
from evalsite.review.services.judge_versions import LookRefused
from evalsite.review.services.run_referrals import open_items_for_run
from judging.judges.subjects import PARSER_VERSION
from judging.models import Case, EvaluatorKind, Response, RunEvaluator, Verdict
from judging.selectors.judges import versions_of
from judging.statistics.estimates import people_only
from judging.statistics.estimators.boards import shown_share
from judging.statistics.judge_quality import Annotators, error_bound
from tests import factories
from tests.evalsite.reports.audited import Audited, audited_judge
from tests.factories import NOON

pytestmark = pytest.mark.django_db

# 40 cases that the judge is sure of, one of them wrong; 20 that it is not, half of them wrong.
SURE = [Audited(True, place > 0, 0.95) for place in range(40)]
UNSURE = [Audited(True, place < 10, 0.6) for place in range(20)]
ONE_LOOK = ThresholdTarget(alpha=0.1, delta=0.1, looks=1)


def trust(name: str = "Strict", **options: str) -> ReportContent:
    return compute_judge_trust(0, {"name": name, **options})


def test_compute_judge_trust_compares_audited_verdicts_with_people() -> None:
    evaluator = audited_judge([*SURE, *UNSURE, Audited(False, False, None)])

    content = trust()

    assert (content["drawn"], content["decided"], content["items"], content["cases"]) == (61, 61, 61, 61)
    assert [label["value"] for label in content["labels"]] == ["met", "not met"]
    assert content["confusion"] == [[49, 11], [0, 1]]
    assert content["agreement"]["value"] == pytest.approx(50 / 61)
    sensitivity = figure(shown_share([people_only([1.0] * 49)]).estimate)
    assert content["recalls"] == [
        {"name": "Sensitivity (Met)", "label": "met", "items": 49} | sensitivity,
        {"name": "Specificity (Not met)", "label": "not met", "items": 12}
        | {"value": None, "low": None, "high": None, "n": 12, "reason": "Too few: 12 of 20."},
    ]
    assert len(content["measured"]) == 60
    assert [(part["low"], part["agreement"]["value"]) for part in content["reliability"]] == [
        (0.6, 0.5),
        (0.95, 39 / 40),
    ]
    assert content["version"]["key"] == versions_of([evaluator])[evaluator.pk].key


def test_compute_judge_trust_leaves_out_what_another_parser_read() -> None:
    audited_judge(SURE)
    Verdict.objects.filter(pk__in=Verdict.objects.order_by("pk").values("pk")[:3]).update(parser_version=1)

    content = trust()

    assert (content["decided"], content["outdated"], content["items"]) == (40, 3, 37)


def test_compute_judge_trust_tells_versions_apart() -> None:
    first = audited_judge(SURE)
    second = audited_judge(SURE[:5], model="gpt-5")

    newest, older = trust(), trust(version=versions_of([first])[first.pk].key)

    assert (newest["items"], older["items"]) == (5, 40)
    changes = {row["runs"][0]["id"]: row["changes"] for row in newest["versions"]}
    assert changes == {second.run_id: [], first.run_id: [f"The model was {first.options['model']} and is gpt-5."]}


def test_take_look_says_what_the_threshold_promises() -> None:
    audited_judge([*SURE, *UNSURE])

    look = take_look(trust(), ONE_LOOK, actor=None, at=NOON)

    assert look.threshold == 0.95
    assert look.outcome == "Accepts 67%, wrong in at most 9.4% with 90% certainty (look 1 of 1)."  # 40 of 60
    assert annotations_per_thousand(look.saved.accepted) == 667  # 1,000 / 3, two annotations each


def test_preview_says_how_many_labels_a_look_needs() -> None:
    audited_judge([*SURE, *UNSURE])

    five, one = preview(trust(), ThresholdTarget(0.1, 0.1)), preview(trust(), ONE_LOOK)

    assert one.labels_by_error == [(0.0, 22), (pytest.approx(0.02), 38), (0.05, 78), (pytest.approx(0.08), 424)]
    assert next(cases for _, cases in five.labels_by_error) == five.fewest == 38  # 0.9^38 < .02
    assert five.certainty_of_look == pytest.approx(0.98)


def test_take_look_counts_responses_to_one_case_once() -> None:
    audited_judge([Audited(True, True)] * 40, responses=4)

    with pytest.raises(LookRefused, match=r"10 audited cases; at least 22 are needed\. No look was used\."):
        take_look(trust(), ONE_LOOK, actor=None, at=NOON)


def test_runs_audited_at_different_rates_are_pooled_by_their_inclusion_probabilities() -> None:
    # 40 cases drawn at one in ten, one in 40 wrong, stand for 400; 60 drawn whole, one in three wrong, for themselves.
    # As they come, 21 of 100 are wrong: no threshold. Weighted, (10 + 20) / 460 = 6.5%.
    rare = audited_judge([Audited(True, index > 0) for index in range(40)])
    Referral.objects.filter(run=rare.run).update(inclusion_probability=0.1)
    audited_judge([Audited(True, index >= 20) for index in range(60)])

    content = trust()

    assert content["cases"] == 100
    assert content["agreement"]["value"] == pytest.approx(430 / 460)
    assert content["recalls"][0]["items"] == 79
    (step,) = preview(content, ONE_LOOK).steps
    # Kish: 460² / (40 * 100 + 60) = 52.1
    assert (step.cases, step.errors, step.proving) == (100, 21, 52)
    assert step.risk == pytest.approx(30 / 460)
    assert step.bound(0.1) == error_bound(4, 52)  # 3.4 of 52, counted as 4


def test_a_response_that_several_runs_drew_counts_at_the_highest_rate() -> None:
    first = audited_judge([Audited(True, True)] * 30)
    Referral.objects.filter(run=first.run).update(inclusion_probability=0.5)
    later = factories.run(suite=first.run.suite, status="finished", finished_at=NOON)
    judge = factories.evaluator(
        run=later, kind=EvaluatorKind.JUDGE, name=first.name, judge=first.judge, options=first.options
    )
    factories.queue(run=later)
    for verdict in first.verdicts.order_by("pk"):
        factories.verdict(evaluator=judge, response=verdict.response, share=1.0, parser_version=PARSER_VERSION)
    for referral in Referral.objects.filter(run=first.run):
        referral.pk, referral.run, referral.inclusion_probability = None, later, 0.1
        referral.save()

    audited = audited_responses([judge, first])

    assert (len(audited.decided), audited.drawn_cases) == (30, 30)
    assert {row.chance for row in audited.decided} == {0.5}


def test_threshold_lapses_with_the_version_and_says_why() -> None:
    first = audited_judge([*SURE, *UNSURE])
    saved = take_look(trust(), ONE_LOOK, actor=None, at=NOON).saved
    second = audited_judge(SURE[:1], prompt_hash="b" * 64)
    versions = versions_of([first, second])

    state = threshold_state(name="Strict", version=versions[first.pk])
    lapsed = threshold_state(name="Strict", version=versions[second.pk])

    assert (state.saved, state.lapsed) == (saved, None)
    assert (lapsed.saved, lapsed.lapsed) == (None, saved)
    assert lapsed.changes == ("The prompt changed, from aaaaaaaa to bbbbbbbb.",)


def test_certify_is_not_held_without_three_people() -> None:
    people = [factories.user(name) for name in ("ada", "bob")]
    audited_judge(SURE, people=people)

    with pytest.raises(CertificateRefused) as refusal:
        certify(trust(), annotators=Annotators.CROWD, actor=None, at=NOON)

    assert str(refusal.value) == (
        "No test: 2 of 3 people needed share 30 cases with the judge and somebody else (ada 40, bob 40)."
    )
    assert not Certificate.objects.exists()


def test_certificate_belongs_to_its_version() -> None:
    people = [factories.user(name) for name in ("ada", "bob", "cy")]
    first = audited_judge(SURE, people=people)
    certificate = certify(trust(), annotators=Annotators.EXPERTS, actor=people[0], at=NOON)
    same, changed = audited_judge(SURE[:1]), audited_judge(SURE[:1], model="gpt-5")

    states = certificate_states([first, same, changed])

    assert (certificate.passed, certificate.items, certificate.annotators) == (True, 40, "experts")
    assert certificate.figures["agreement"]["value"] == pytest.approx(39 / 40)
    assert states[first.pk] == states[same.pk] == CertificateState("Strict", certificate)
    assert states[changed.pk].words == (f"Certificate lapsed. The model was {first.options['model']} and is gpt-5.")


def test_a_later_judge_is_certified_by_the_labels_there_are(settings: Any) -> None:
    people = [factories.user(name) for name in ("ada", "bob", "cy")]
    first = audited_judge(SURE, people=people, scale=JUDGEMENT)
    settings.REVIEW_AUDIT_SHARE = 1
    later = factories.run(suite=first.run.suite, status="finished", finished_at=NOON)
    judge = factories.evaluator(run=later, kind=EvaluatorKind.JUDGE, name="Later", options={"model": "new"})
    for verdict in first.verdicts.order_by("pk"):
        factories.verdict(evaluator=judge, response=verdict.response, share=1.0, parser_version=PARSER_VERSION)

    opened = open_items_for_run(run=later, at=NOON)
    certificate = certify(trust("Later"), annotators=Annotators.SKILLED, actor=None, at=NOON)

    assert (opened, Annotation.objects.count()) == (0, 3 * 40)
    assert (certificate.passed, certificate.items) == (True, 40)


def test_runs_that_share_cases_give_each_response_the_chance_of_one_draw(settings: Any) -> None:
    # 40 cases, half of them drawn; then the same with 20 new ones that stand early in the line. A draw of 30 of all 60
    # would leave out some that the first run drew; the new ones are a stratum of their own, so all of these stay.
    settings.REVIEW_AUDIT_SHARE, settings.REVIEW_AUDIT_MINIMUM = 0.5, 0
    old = list(factories.suite(cases=40).cases.order_by("pk"))
    owner, ada = old[0].prompt.benchmark, factories.system()
    early = (name for n in count() if uniform_number("audit", owner.pk, name := f"new-{n}") < 0.4)
    new = [factories.case(prompt=factories.prompt(benchmark=owner, key=next(early))) for _ in range(20)]
    drawn = []
    for cases in (old, [*old, *new]):
        run = factories.run(suite=factories.suite(cases=cases), status="finished", finished_at=NOON)
        judge = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name="Strict", done=len(cases))
        for case in cases:
            response = Response.objects.filter(prompt=case.prompt).first()
            response = response or factories.response(prompt=case.prompt, system=ada)
            factories.verdict(evaluator=judge, response=response, share=1.0, parser_version=PARSER_VERSION)
        open_items_for_run(run=run, at=NOON)
        drawn.append(set(Referral.objects.filter(run=run).values_list("response__prompt", flat=True)))
    for item in ReviewItem.objects.select_related("subject"):
        keep_final_label(item=item, label="right", provenance=Provenance.MAJORITY, at=NOON)

    audited = audited_responses(judge_evaluators("Strict"))

    assert drawn[0] < drawn[1]
    assert {row.case for row in audited.decided} == drawn[1]
    assert {row.chance for row in audited.decided} == {0.5}
    assert (audited.drawn, audited.drawn_cases) == (30, 30)


def test_no_figure_follows_people_who_turn_to_the_judge_after_the_reveal(settings: Any) -> None:
    """People called all wrong, saw the verdicts and called all right; every figure of the judge went from 0 to 100%."""
    settings.REVIEW_AUDIT_SHARE = 1
    run = factories.run(suite=factories.suite(cases=20), status="finished", finished_at=NOON)
    run.systems.set([system := factories.system()])
    judge = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name="Strict", done=20, total=20)
    for case in run.suite.cases.order_by("pk"):
        response = factories.response(prompt=case.prompt, system=system)
        factories.verdict(evaluator=judge, response=response, share=1.0, parser_version=PARSER_VERSION)
    open_items_for_run(run=run, at=NOON)
    Queue.objects.update(quorum=1)
    ReviewItem.objects.update(quorum=1)
    ada = factories.user("ada")
    for _ in range(20):
        claim = claim_next(queue=run.queue, annotator=ada, at=NOON)
        annotation = GivenAnnotation("wrong")
        record_annotation(item_id=claim.item_id, annotator=ada, token=str(claim.token), answer=annotation, at=NOON)
    blind = _against_ada(judge)

    for item in ReviewItem.objects.all():
        reveal_item(item_id=item.pk, annotator=ada, at=NOON)
        revise_annotation(item_id=item.pk, annotator=ada, label="right", reason="The judge is right", at=NOON)

    assert blind == _against_ada(judge) == (1.0, 0.0, 0.0, 0.0, [[0, 0, 20], [0, 0, 0], [0, 0, 0]])
    assert Annotation.objects.filter(label="wrong", revised_label="right").count() == 20
    assert FinalLabel.objects.filter(label="right", is_blind=False).count() == 20


def _against_ada(judge: RunEvaluator) -> tuple[Any, ...]:
    """Return the three means of the board, the share of equal labels, and the confusion of judge and people."""
    (row,) = compute_leaderboard(judge.pk, {})["rows"]
    content = trust()
    means = [row["figures"][mode]["value"] for mode in ("raw", "human", "corrected")]
    return (*means, content["agreement"]["value"], content["confusion"])


def test_compute_judge_trust_has_the_share_of_equal_labels_by_scenario() -> None:
    audited_judge([*SURE, *UNSURE])
    for number, case in enumerate(Case.objects.order_by("pk")):
        case.scenario = "sure" if number < len(SURE) else "unsure"
        case.save()

    rows = trust()["scenarios"]

    assert [(row["name"], row["items"], row["value"]) for row in rows] == [
        ("sure", 40, pytest.approx(39 / 40)),
        ("unsure", 20, pytest.approx(10 / 20)),
    ]


def test_trust_tables_hold_what_the_page_shows() -> None:
    audited_judge([*SURE, *UNSURE])
    content = trust()
    shown = TrustShown(content, ONE_LOOK, "skilled")

    rows = {table.name: list(table.data(shown).rows) for table in TRUST.tables}

    assert {name: len(lines) for name, lines in rows.items()} == {
        "agreement": 4,
        "scenarios": 0,
        "confusion": 2,
        "reliability": 2,
        "risk-coverage": 2,
        "annotators": 0,
        "drift": 0,
    }
    version = {"judge": "Strict", "version": version_of_content(content).key[:12]}
    assert rows["confusion"] == [
        {"label": "Met", "Met": 49, "Not met": 11, **version},
        {"label": "Not met", "Met": 0, "Not met": 0, **version},
    ]
