"""Items of an older site keep everything that people did, under subjects with referrals and final labels."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from evalsite.review.models import Annotation, Assignment, FinalLabel, Queue, Referral, ReviewItem
from evalsite.review.questions.scales import JUDGEMENT, PREFERENCE, labels_to_json
from evalsite.review.selectors.final_labels import labels_of_debates, labels_of_evaluators
from judging.stored_content import part_json, shown_hash
from judging.models import EvaluatorKind, Run
from tests import factories
from tests.factories import NOON

TREE = {"key": "root", "kind": "group", "text": "Be right."}


@pytest.mark.slow  # test_upgrade brings people's work from 0.1 to now as well
@pytest.mark.usefixtures("older_database")
def test_fill_gives_items_their_subjects_and_loses_no_annotation() -> None:
    executor = MigrationExecutor(connection)
    latest = executor.loader.graph.leaf_nodes()
    before = [("review", "0005_reopening_and_source_files"), *(node for node in latest if node[0] != "review")]
    executor.migrate(before)
    rubric = factories.rubric(trees={"": TREE})
    case = factories.case(reference="42")
    run = factories.run(suite=factories.suite(cases=[case]), status="finished", finished_at=NOON)
    judge = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, rubric=rubric)
    verdicts = [
        factories.verdict(evaluator=judge, share=0.9, response=factories.response(prompt=case.prompt, text=text))
        for text in ("the same", "the same", "the same", "another")
    ]
    debate = factories.debate(debate_set=factories.debate_set(rubric=rubric))
    people = [factories.user(name) for name in ("ada", "bob")]
    old = Old(executor.loader.project_state(before).apps, [person.pk for person in people])
    queue = old.queue(JUDGEMENT, run_id=run.pk, routed_at=NOON)
    answered, untouched, claimed, other = [
        old.item(queue, _hash(verdict.response, tree=TREE), arm=arm, verdict_id=verdict.pk)
        for verdict, arm in zip(verdicts, ("audit", "audit", "routed", "audit"), strict=True)
    ]
    old.settle(answered, "right", "right", label="right")
    old.claim(claimed, people[0].pk)
    old.settle(other, "wrong", "wrong", label="right", revised="right")
    pairs = old.queue(PREFERENCE, debate_set_id=debate.debate_set_id, routed_at=NOON)
    pair = old.item(pairs, _hash(debate.response_a, debate.response_b, tree=TREE, criterion="helpfulness"),
                    criterion="helpfulness", debate_id=debate.pk)  # fmt: skip
    old.settle(pair, "1", "1", label="1")
    repeated = old.item(queue, answered.content_hash, arm="retest", verdict_id=verdicts[0].pk, retest_of=answered,
                        only_for_id=people[0].pk)  # fmt: skip
    MigrationExecutor(connection).migrate(latest)

    assert set(ReviewItem.objects.values_list("pk", flat=True)) == {
        one.pk for one in (answered, claimed, other, pair, repeated)
    }
    assert (Annotation.objects.count(), Assignment.objects.count()) == (6, 7)
    items = ReviewItem.objects.in_bulk()
    assert items[repeated.pk].subject_id == items[answered.pk].subject_id != items[claimed.pk].subject_id
    assert Referral.objects.filter(item=answered.pk).count() == 2  # its own, and that of the twin nobody had touched
    assert Referral.objects.filter(response=verdicts[1].response, item=answered.pk).exists()
    told = FinalLabel.objects.order_by("item_id", "-is_blind").values_list("item_id", "label", "provenance")
    assert [row for row in told if row[0] != pair.pk] == [
        (answered.pk, "right", "majority"),
        (other.pk, "wrong", "majority"),
        (other.pk, "right", "informed"),
    ]
    judged = labels_of_evaluators([_evaluator_of(run)])[judge.pk]
    assert [(row.label, row.share, row.is_drawn) for row in judged] == [
        ("right", 1.0, True), ("right", 1.0, True), ("right", 1.0, False), ("wrong", 0.0, True),
    ]  # fmt: skip
    assert [(pk, row.label, row.share) for pk, row in labels_of_debates([debate.debate_set_id]).items()] == [
        (debate.pk, "1", 1.0)
    ]
    # what the run's sample was drawn from is a stratum, so that new cases are drawn beside it
    assert dict(Queue.objects.values_list("pk", "audit_strata")) == {queue.pk: [case.prompt_id], pairs.pk: []}


def _evaluator_of(run: Run) -> Any:
    return run.evaluators.select_related("run").get()


def _hash(*responses: Any, tree: dict[str, Any], criterion: str = "") -> str:
    texts = [response.text_hash for response in responses]
    part = part_json(tree, criterion)
    prompt_hash = responses[0].prompt.content_hash
    return shown_hash(prompt_hash=prompt_hash, text_hashes=texts, part=part, criterion=criterion)


class Old:
    """Rows of the former tables."""

    def __init__(self, apps: Any, people: list[int]) -> None:
        self.get = lambda name: apps.get_model("review", name)
        self.people = people
        self.numbers = 0

    def queue(self, labels: Any, **fields: Any) -> Any:
        self.numbers += 1
        name = f"queue-{self.numbers}"
        return self.get("Queue").objects.create(
            slug=name, name=name, labels=labels_to_json(labels), created_at=NOON, **fields
        )

    def item(self, queue: Any, content_hash: str, arm: str = "routed", **fields: Any) -> Any:
        self.numbers += 1
        return self.get("ReviewItem").objects.create(
            queue=queue,
            content_hash=content_hash,
            arm=arm,
            reason="audit" if arm == "audit" else "low_confidence",
            inclusion_probability=0.5 if arm == "audit" else None,
            shuffle=self.numbers,
            quorum=2,
            created_at=NOON,
            **fields,
        )

    def claim(self, item: Any, person_id: int) -> Any:
        return self.get("Assignment").objects.create(
            item=item, queue=item.queue, annotator_id=person_id, token=uuid4(), claimed_at=NOON, expires_at=NOON
        )

    def settle(self, item: Any, *labels: str, label: str, revised: str = "") -> None:
        for slot, (person_id, given) in enumerate(zip(self.people, labels, strict=True)):
            self.get("Annotation").objects.create(
                item=item,
                queue=item.queue,
                annotator_id=person_id,
                slot=slot,
                label=given,
                revised_label=revised,
                assignment=self.claim(item, person_id),
                created_at=NOON,
            )
        item.status, item.label, item.settled_at, item.answer_count = "settled", label, NOON, 2
        item.save()
