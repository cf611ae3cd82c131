"""People are asked once per subject, and their label serves every judge, run and debate set."""

from __future__ import annotations

from typing import Any

import pytest

from debate.models import DebateSet, DebateSource, DebateStatus
from evalsite.review.models import FinalLabel, Queue, Referral, ReviewItem
from evalsite.review.questions.scales import PREFERENCE
from evalsite.review.selectors.audits import subject_of_debates, unrouted_debate_sets, unrouted_runs
from evalsite.review.selectors.final_labels import (
    labels_of_debates,
    labels_of_evaluators,
)
from evalsite.review.selectors.subjects import NO_RUBRIC, SubjectFacts, subject_facts
from evalsite.review.selectors.verdict_reviews import Reuse, reuse_of
from evalsite.review.services.decisions import FinalWord, adjudicate_item
from evalsite.review.services.run_referrals import open_items_for_debates, open_items_for_run, plan_audit
from judging.models import EvaluatorKind, Response, Run, RunEvaluator, Verdict
from judging.stored_content import content_hash
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db
UNREAD: dict[str, Any] = {"status": "unparsed", "value": None}


def run_over(responses: list[Response], *, judges: int = 1, suite: Any = None, **fields: Any) -> Run:
    """A finished run in which no reply could be read; each judge by the same rubric, if any."""
    run = factories.run(suite=suite or factories.suite(cases=[]), status="finished", finished_at=NOON)
    for number in range(judges):
        judge = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name=f"judge-{number}", **fields)
        for response in responses:
            factories.verdict(evaluator=judge, response=response, **UNREAD)
    return run


def decide(item: ReviewItem, label: str) -> None:
    adjudicate_item(item_id=item.pk, adjudicator=factories.user(), word=FinalWord(label, "Read it."), at=NOON)


def evaluators_of(run: Run) -> list[RunEvaluator]:
    return list(run.evaluators.select_related("run").order_by("position"))


@pytest.mark.usefixtures("no_audit")
def test_one_label_serves_every_judge_of_a_run() -> None:
    """Only the first judge of a run was compared with the labels that people gave its responses."""
    run = run_over([factories.response()], judges=2)

    open_items_for_run(run=run, at=NOON)
    decide(ReviewItem.objects.get(), "right")

    assert sorted(Referral.objects.values_list("evaluator__name", "reason")) == [
        ("judge-0", "unparsed_verdict"),
        ("judge-1", "unparsed_verdict"),
    ]
    found = labels_of_evaluators(evaluators_of(run))
    assert [[(row.label, row.share, row.provenance) for row in rows] for rows in found.values()] == [
        [("right", 1.0, "adjudication")]
    ] * 2


@pytest.mark.usefixtures("no_audit")
def test_a_later_run_over_equal_content_asks_nobody_again() -> None:
    """The second run over the same responses had labels of its own only, and asked people everything again."""
    first, second = factories.response(), factories.response()
    open_items_for_run(run=run_over([first, second]), at=NOON)
    decide(ReviewItem.objects.get(response_a=first), "wrong")
    later = run_over([first, second, factories.response()])

    opened = open_items_for_run(run=later, at=NOON)

    assert opened == 1
    assert reuse_of(Queue.objects.get(run=later)) == Reuse(asked=1, elsewhere=1, reused=1)
    (rows,) = labels_of_evaluators(evaluators_of(later)).values()
    assert [(row.response_ids, row.label, row.is_routed) for row in rows] == [
        ((first.pk,), "wrong", True),
        ((second.pk,), None, True),
        ((later.verdicts.latest("response_id").response_id,), None, True),
    ]
    assert open_items_for_run(run=later, at=NOON) == 0
    assert reuse_of(Queue.objects.get(run=later)) == Reuse(asked=1, elsewhere=1, reused=1)


@pytest.mark.usefixtures("no_audit")
def test_two_runs_that_send_mostly_the_same_responses_ask_about_each_once() -> None:
    """Two runs over 84 responses sent 81 and 80 of them to people, who had 77 on their lists twice."""
    responses = [factories.response() for _ in range(84)]
    sent = []
    for unread in (responses[:81], responses[4:]):
        run = run_over(responses)
        Verdict.objects.filter(run=run).exclude(response__in=unread).update(status="ok", confidence=0.99)
        sent.append((open_items_for_run(run=run, at=NOON), reuse_of(Queue.objects.get(run=run))))

    assert sent == [(81, Reuse(asked=81, elsewhere=0, reused=0)), (3, Reuse(asked=3, elsewhere=77, reused=0))]
    assert ReviewItem.objects.count() == 84


@pytest.mark.usefixtures("no_audit")
def test_another_rubric_is_another_question() -> None:
    response = factories.response()
    tree = {"key": "root", "kind": "group", "text": "Be right."}
    for version, text in ((1, "Be right."), (2, "Be brief.")):
        rubric = factories.rubric(slug="r", version=version, trees={"": tree | {"text": text}})
        open_items_for_run(run=run_over([response], rubric=rubric), at=NOON)

    assert ReviewItem.objects.count() == 2


@pytest.mark.usefixtures("no_audit")
def test_two_systems_with_one_text_are_asked_about_once() -> None:
    prompt = factories.prompt()
    twins = [factories.response(prompt=prompt, text="42") for _ in range(2)]
    run = run_over(twins)

    opened = open_items_for_run(run=run, at=NOON)
    decide(ReviewItem.objects.get(), "right")

    assert opened == 1
    (rows,) = labels_of_evaluators(evaluators_of(run)).values()
    assert [(row.response_ids, row.label) for row in rows] == [((twin.pk,), "right") for twin in twins]


@pytest.mark.usefixtures("no_audit")
def test_six_sets_over_one_pair_ask_once_and_share_the_label() -> None:
    """People were asked about the same pair and criterion up to six times, also with A and B exchanged."""
    case = factories.case()
    one, other = (factories.response(prompt=case.prompt, text=text) for text in ("Yes.", "No."))
    debates = []
    for number in range(6):
        first, second = (one, other) if number % 2 else (other, one)
        owner = factories.debate_set(system_a=first.system, system_b=second.system)
        debates.append(factories.debate(debate_set=owner, case=case, response_a=first, response_b=second))

    opened = [open_items_for_debates(debate_set=debate.debate_set, at=NOON) for debate in debates]
    item = ReviewItem.objects.get()
    decide(item, "1")

    assert opened == [1, 0, 0, 0, 0, 0]
    found = labels_of_debates([debate.debate_set_id for debate in debates])
    assert [(found[debate.pk].label, found[debate.pk].share) for debate in debates] == [("1", 1.0), ("-1", 0.0)] * 3


def test_an_audit_wants_a_blind_label(settings: Any) -> None:
    settings.REVIEW_AUDIT_MINIMUM = 1
    agreed: dict[str, Any] = {"status": DebateStatus.AGREED, "verdict": 1, "agreed_round": 0}
    debate = factories.debate(**agreed)
    item = factories.review_item(debate=debate, criterion="helpfulness")
    facts = FinalLabel.objects.create(
        subject=item.subject, item=item, provenance="informed", is_blind=False, label="1", decided_at=NOON
    )
    ReviewItem.objects.filter(pk=item.pk).update(status="adjudicated")
    owner = factories.debate_set(system_a=debate.debate_set.system_a, system_b=debate.debate_set.system_b)
    same = {"case": debate.case, "response_a": debate.response_a, "response_b": debate.response_b}
    factories.debate(debate_set=owner, **same, **agreed)

    assert open_items_for_debates(debate_set=owner, at=NOON) == 1
    assert Referral.objects.get(debate_set=owner).subject == facts.subject


def test_an_imported_record_opens_nothing_unasked() -> None:
    """Importing a record of 1,620 debates sent 1,444 items to people without asking."""
    factories.debate(debate_set=factories.debate_set(source=DebateSource.IMPORT))
    owner = DebateSet.objects.get()

    unasked = open_items_for_debates(debate_set=owner, at=NOON), list(unrouted_debate_sets())
    plan_audit(subject=subject_of_debates(owner), size=0, actor=None, at=NOON)

    assert unasked == (0, [])
    assert list(unrouted_debate_sets()) == [owner]
    assert open_items_for_debates(debate_set=owner, at=NOON) == 1


def test_a_run_that_asks_nobody_waits_until_somebody_sends_it() -> None:
    """Every run sent its responses to people when it ended, and nobody could choose otherwise."""
    run = run_over([factories.response()])
    Run.objects.filter(pk=run.pk).update(options={"asks_people": False})
    unheard = list(unrouted_runs())

    opened = [
        open_items_for_run(run=Run.objects.get(), at=NOON, sent_by=sent_by)  # by itself, and by "Send the remaining"
        for sent_by in (None, factories.user())
    ]

    assert (unheard, opened) == ([], [0, 1])


def test_the_audit_draws_all_systems_of_a_case_and_the_same_cases_in_every_run(settings: Any) -> None:
    settings.REVIEW_AUDIT_SHARE, settings.REVIEW_AUDIT_MINIMUM = 0.5, 0
    benchmark = factories.benchmark()
    cases = [factories.case(prompt=factories.prompt(benchmark=benchmark)) for _ in range(6)]
    suite = factories.suite(cases=cases, benchmark=benchmark)
    responses = [factories.response(prompt=case.prompt) for case in cases for _ in range(2)]
    runs = [run_over(responses, suite=suite) for _ in range(2)]
    Verdict.objects.update(status="ok", confidence=0.99)

    opened = [open_items_for_run(run=run, at=NOON) for run in runs]

    assert opened == [6, 0]  # 3 of 6 cases with 2 responses each; the second run's are with people already
    drawn = [run.referrals.filter(arm="audit") for run in runs]
    cases_of = [sorted(rows.values_list("response__prompt", flat=True)) for rows in drawn]
    assert cases_of[0] == cases_of[1]
    assert [cases_of[0].count(prompt) for prompt in set(cases_of[0])] == [2, 2, 2]
    assert {row.inclusion_probability for rows in drawn for row in rows} == {0.5}


def test_deleting_what_machines_said_leaves_peoples_work() -> None:
    """Items, claims, drafts and annotations vanished with the verdict that had sent them to people."""
    run = run_over([factories.response()])
    open_items_for_run(run=run, at=NOON)
    item = ReviewItem.objects.get()
    factories.annotation(item=item, label="right")
    debated = factories.review_item()
    factories.annotation(item=debated, label="1")

    Verdict.objects.all().delete()
    RunEvaluator.objects.all().delete()
    for referral in debated.referrals.select_related("debate"):
        assert referral.debate is not None
        referral.debate.delete()
    Run.objects.all().delete()

    assert [one.annotations.count() for one in ReviewItem.objects.order_by("pk")] == [1, 1]
    assert Queue.objects.count() == 2


def test_subject_facts_hash_what_is_shown_as_a_list_would_be() -> None:
    prompt = factories.prompt()
    pair = [factories.response(prompt=prompt, text=text) for text in ("b", "a")]

    orders = (pair, pair[::-1])

    facts = [
        subject_facts(responses=order, case=None, part=NO_RUBRIC, criterion="tone", labels=PREFERENCE)
        for order in orders
    ]

    texts = [[row.text_hash for row in order] for order in orders]
    shown = [content_hash([prompt.content_hash, hashes, {}, "tone"]) for hashes in texts]
    assert [one.content_hash for one in facts] == shown
    assert facts[0].key == facts[1].key
    assert sorted(one.is_turned for one in facts) == [False, True]
    assert isinstance(facts[0], SubjectFacts)
