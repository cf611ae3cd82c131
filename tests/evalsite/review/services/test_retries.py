"""A retry of failed tasks leaves alone what people do: their items, claims, drafts, annotations and decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.review.models import Adjudication, Annotation, Assignment, Queue, ReviewItem
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.subjects import form_of_item
from evalsite.review.services.annotation_store import GivenAnnotation, record_annotation
from evalsite.review.services.claims import claim_next, keep_draft
from evalsite.review.services.decisions import FinalWord, adjudicate_item
from evalsite.review.services.run_referrals import open_items_for_run
from judging.grading.contexts import Program, ProgramOutcome
from judging.models import PastScore, PastVerdict, Run, Score, Verdict
from judging.models.runs import RunRefused, RunStatus
from judging.services.evaluator_tasks import GradingExecutor
from judging.services.run_lifecycle import retry_failed
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.services.score_recomputation import begin_judge, finish_rescoring
from tests import factories
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.esi_tasks.test_esi_tasks import RIGHT, generate, rules, serve
from tests.judging.services.run_rows import judged_run, work
from tests.judging.services.test_evaluator_tasks import TESTS

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["serve"]


def unreadable_run(server: FakeLLM, *, cases: int) -> tuple[Run, Queue]:
    """Return a finished run none of whose replies could be read, and the queue that its responses went to."""
    run = judged_run(cases=cases, url=server.url)
    server.config(reply="I would rather not say.")
    work(run)
    open_items_for_run(run=run, at=NOON)
    server.config(reply=None)
    return run, Queue.objects.get(run=run)


def retried(run: Run) -> int:
    """Press "Retry failed" as a researcher, work through the run and route it again; return the answer's status."""
    client = Client()
    client.force_login(factories.user(role=Role.RESEARCHER))
    status = client.post(reverse("judging:run-retry", args=[run.pk])).status_code
    work(run)
    open_items_for_run(run=run, at=NOON)
    return status


def annotated(queue: Queue, *labels: str, otherwise: str = "") -> ReviewItem:
    """Return an item that people gave these labels, by as many people; one that is not on its scale is `otherwise`."""
    item = None
    for label in labels:
        person = factories.user()
        claim = claim_next(queue=queue, annotator=person, at=NOON)
        item = claim.item
        levels = [part.key for part in form_of_item(item).parts if part.is_check]
        parts = {key: "met" if key == f"{label}.1" else "not met" for key in levels}
        scale = [one["value"] for one in item.subject.labels]
        answer = GivenAnnotation(label if label in scale else otherwise, parts=parts)
        record_annotation(item_id=item.pk, annotator=person, token=str(claim.token), answer=answer, at=NOON)
    assert item is not None
    return item


def test_retry_keeps_every_item_with_its_claim_draft_annotations_and_label(fake_llm: FakeLLM) -> None:
    """Pressing "Retry failed" ended in an error page once people had annotated, else it deleted claims and drafts."""
    run, queue = unreadable_run(fake_llm, cases=5)
    labels = [label["value"] for label in queue.labels]
    settled = annotated(queue, labels[0], labels[0])
    split = annotated(queue, labels[0], labels[-1])
    word = FinalWord("", "Read it.", parts=dict.fromkeys(("100.1", "50.1", "25.1"), "met"))
    adjudicate_item(item_id=split.pk, adjudicator=factories.user(role=Role.ADMIN), word=word, at=NOON)
    one_annotation = annotated(queue, labels[0])
    ada = factories.user("ada")
    claimed = claim_next(queue=queue, annotator=ada, at=NOON).item
    keep_draft(item_id=claimed.pk, annotator=ada, values={"label": labels[0], "note": "Half a thought"}, at=NOON)
    ReviewItem.objects.filter(pk=one_annotation.pk).update(arm=ItemArm.AUDIT, inclusion_probability=0.5)
    before = people_work()

    status = retried(run)

    assert (status, people_work()) == (302, before)
    assert (run.status, run.done, run.failed) == (RunStatus.FINISHED, 5, 0)
    assert sorted(row[0] for row in before["items"].values()) == ["adjudicated", "open", "open", "open", "settled"]
    assert settled.pk in before["items"]
    assert list(Verdict.objects.values_list("status", flat=True)) == ["ok"] * 5
    assert list(PastVerdict.objects.values_list("status", flat=True)) == ["unparsed"] * 5


class Sandbox:
    """A runner of programs that is not there at first."""

    def __init__(self) -> None:
        self.is_there = False

    def run(self, program: Program) -> ProgramOutcome:
        if not self.is_there:
            return ProgramOutcome(passed=None, not_run_reason="There is no sandbox here.")
        return ProgramOutcome(passed=True, result_text="")


@pytest.fixture
def sandbox(use_executor: Callable[[Any], None]) -> Sandbox:
    runner = Sandbox()
    use_executor(GradingExecutor(runner_for=lambda *, compat: runner))
    return runner


def test_retry_of_programs_that_were_not_run_keeps_the_annotated_item(sandbox: Sandbox) -> None:
    """A run whose programs had no sandbox could never be retried once people had annotated a response."""
    case, system = factories.case(grading=TESTS, lang="python"), factories.system()
    factories.response(prompt=case.prompt, system=system, text="```python\nx = 1\n```")
    plan = RunPlan(suite=factories.suite(cases=[case]), systems=[system], evaluators=[EvaluatorChoice()])
    run = create_run(plan=plan, actor=None, at=NOON)
    work(run)
    open_items_for_run(run=run, at=NOON)
    annotated(Queue.objects.get(), "right")
    before, score = people_work(), Score.objects.get()
    sandbox.is_there = True

    status = retried(run)

    assert (status, people_work(), run.failed) == (302, before, 0)
    assert list(Score.objects.values_list("pk", "share")) == [(score.pk, 1.0)]
    assert list(PastScore.objects.values_list("score", "share", "flags")) == [(score.pk, None, ["not-run"])]


def test_retry_of_an_index_run_keeps_the_annotated_item_and_the_good_verdict(serve: Any) -> None:
    server = serve(rules(accuracy=["nonsense", "nonsense", RIGHT]))
    run = generate(server.url)
    work(run)
    open_items_for_run(run=run, at=NOON)
    queue = Queue.objects.get()
    scales = {item.subject.labels[0]["value"] for item in ReviewItem.objects.filter(queue=queue)}
    assert scales == {"correct", "0"}  # of accuracy, and of integrity
    for _ in range(2):
        annotated(queue, "correct", otherwise="100")
    before = people_work()

    status = retried(run)

    assert (status, people_work(), run.done, run.failed) == (302, before, 1, 0)
    assert server.stats()["model"] == {"worker": 1, "acc": 3, "int": 1}
    said = Verdict.objects.order_by("evaluator__position").values_list("evaluator__options__model", "status")
    past = PastVerdict.objects.values_list("verdict__evaluator__options__model", "status")
    assert (list(said), list(past)) == ([("acc", "ok"), ("int", "ok")], [("acc", "unparsed")])
    assert [(e.done, e.failed) for e in run.evaluators.order_by("position")] == [(1, 0)] * 3


def test_retry_pays_for_no_verdict_whose_score_the_options_reject(fake_llm: FakeLLM) -> None:
    run = judged_run(cases=3, url=fake_llm.url)
    fake_llm.config(reply="<analysis>Partly.</analysis>\n\n<score>\n20\n</score>")
    work(run)
    evaluator = begin_judge(evaluator_id=run.evaluators.get().pk, options={"off_grid": "reject"}, actor=None, at=NOON)
    finish_rescoring(evaluator_id=evaluator.pk, at=NOON)
    run.refresh_from_db()
    asked = fake_llm.stats()["calls"]
    assert (run.done, run.failed) == (0, 3)

    with pytest.raises(RunRefused, match="a retry would change nothing"):
        retry_failed(run_id=run.pk, actor=None)

    work(run)
    assert (run.status, run.failed, fake_llm.stats()["calls"]) == (RunStatus.FINISHED, 3, asked)
    assert (Verdict.objects.filter(value__isnull=False).count(), PastVerdict.objects.count()) == (3, 0)


def people_work() -> dict[str, Any]:
    """Return everything that people have of a queue."""
    fields = ("pk", "status", "label", "arm", "subject", "response_a", "reason", "answer_count")
    return {
        "items": {row[0]: row[1:] for row in ReviewItem.objects.values_list(*fields)},
        "claims": sorted(Assignment.objects.values_list("item", "status", "token", "draft__note")),
        "annotations": sorted(Annotation.objects.values_list("item", "label", "created_at")),
        "adjudications": list(Adjudication.objects.values_list("item", "label")),
        "queues": list(Queue.objects.values_list("open_count", "total_count")),
    }
