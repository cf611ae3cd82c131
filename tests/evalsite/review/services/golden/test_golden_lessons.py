"""What a disagreement leads to: examples that say people's label, rules, and labels sent back; never from the test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalsite.accounts.roles import Role
from evalsite.base.rows import NotOwner
from evalsite.review.models import FinalLabel, GoldenItem, ProposalStatus, WordingProposal
from evalsite.review.routing import GoldenPart
from evalsite.review.services.golden import (
    accept_wording,
    add_example,
    doubt_label,
    note_rule,
    suggested_reply,
    use_version,
)
from evalsite.review.states import ReviewRefused
from judging.judges.kinds.custom_templates import read_examples
from judging.models import Judge
from tests import factories
from tests.evalsite.golden import golden_set, grader, labelled_suite
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def items() -> tuple[GoldenItem, GoldenItem, Judge]:
    """Return a response of development and one of the test that people say are wrong, and a judge."""
    golden = golden_set(labelled_suite(cases=50, people=1))
    wrong = golden.items.filter(subject__final_labels__label="wrong").order_by("pk")
    joined = wrong.select_related("golden_set", "subject__case", "response__prompt")
    return (
        joined.filter(part=GoldenPart.DEVELOPMENT)[0],
        joined.filter(part=GoldenPart.TEST)[0],
        grader("http://127.0.0.1:9/v1"),
    )


def test_an_example_says_the_label_of_people_and_leaves_development() -> None:
    item, _, judge = items()
    reply = suggested_reply(item, judge, "It is thin.")

    saved = add_example(item=item, judge=judge, reply=reply, actor=None, at=NOON)

    item.refresh_from_db()
    assert reply == "It is thin.\nI"
    assert read_examples(saved.options["examples"]) == (
        {"question": item.response.prompt.text, "response": item.response.text, "reply": reply},
    )
    assert (item.part, item.moved_at) == (GoldenPart.EXAMPLES, NOON)
    with pytest.raises(ReviewRefused, match="among the examples of the judge already"):
        add_example(item=item, judge=judge, reply=reply, actor=None, at=NOON)


def test_an_example_is_refused_in_words() -> None:
    item, shut, judge = items()
    generic = factories.judge()

    with pytest.raises(ReviewRefused, match=r"^The reply says another verdict than the label that people gave\.$"):
        add_example(item=item, judge=judge, reply="Fine. GRADE: C", actor=None, at=NOON)
    with pytest.raises(ReviewRefused, match=r"^The judge could not read this reply: "):
        add_example(item=item, judge=judge, reply="No idea", actor=None, at=NOON)
    with pytest.raises(ReviewRefused, match=r"^Only judges of the kind 'Own prompt' take examples\."):
        add_example(item=item, judge=generic, reply="GRADE: I", actor=None, at=NOON)
    with pytest.raises(ReviewRefused, match=r"^The test part stays shut"):
        add_example(item=shut, judge=judge, reply="GRADE: I", actor=None, at=NOON)
    assert Judge.objects.get(pk=judge.pk).options["examples"] == ""


def test_nobody_teaches_the_judge_of_somebody_else() -> None:
    item, _, judge = items()
    judge.created_by = factories.user("rita", Role.RESEARCHER)
    judge.save()
    rob = factories.user("rob", Role.RESEARCHER)
    run = factories.run(suite=item.golden_set.suite)
    evaluator = factories.evaluator(run=run, kind="judge", judge=judge, options={"judge_options": judge.options})
    about = {"golden_set": item.golden_set, "evaluator": evaluator, "endpoint": judge.endpoint, "asked_at": NOON}
    proposal = WordingProposal.objects.create(judge=judge, before="", after="", status=ProposalStatus.READY, **about)
    acts: tuple[Callable[[], Judge], ...] = (
        lambda: add_example(item=item, judge=judge, reply="GRADE: I", actor=rob, at=NOON),
        lambda: use_version(evaluator=evaluator, actor=rob),
        lambda: accept_wording(proposal=proposal, accepted=[0], actor=rob, at=NOON),
    )

    for act in acts:
        with pytest.raises(NotOwner, match="is the work of rita"):
            act()


def test_nothing_is_learned_from_the_test() -> None:
    _, shut, _ = items()
    rita = factories.user("rita", Role.RESEARCHER)

    with pytest.raises(ReviewRefused, match=r"^The test part stays shut"):
        note_rule(golden_set=shut.golden_set, item=shut, text="Be strict.", actor=rita, at=NOON)
    with pytest.raises(ReviewRefused, match=r"^The test part stays shut"):
        doubt_label(item=shut, reason="Odd.", actor=rita, at=NOON)


def test_a_doubted_label_is_with_people_until_it_is_decided() -> None:
    item, _, _ = items()
    rita = factories.user("rita", Role.RESEARCHER)

    doubt_label(item=item, reason="It is half right.", actor=rita, at=NOON)

    assert not FinalLabel.objects.filter(subject=item.subject).exists()
    assert item.subject.items.get().status == "split"
    with pytest.raises(ReviewRefused, match=r"^People are deciding this label again already\.$"):
        doubt_label(item=item, reason="Again.", actor=rita, at=NOON)
