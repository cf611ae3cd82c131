"""A real, tiny model judges and debates over HTTP: its replies stray from every format, and none is made a score.

What it says means nothing. What counts is that each reply ends as ok, repaired, refused or unparsed, that only the
first two carry a value, and that the value stands in the reply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from debate.models import DebateStatus, Statement
from debate.protocol.verdicts import read_strict, to_system_space
from debate.services.set_plans import create_debate_set
from evalsite.base.rows import BadInput
from evalsite.reports.jobs import require
from evalsite.reports.services.judge_trust import GOLDEN
from judging.judges.judge_kinds import MeasuredJudge
from judging.judges.questions import AskingJudge
from judging.judges.registry import judge_kind
from judging.judges.subjects import JudgeSubject, JudgeVerdict, VerdictStatus
from judging.llm.chat import ChatReply, ReplyStatus
from judging.models import Call, Case, Judge, ModelEndpoint, Run, Score, Verdict
from judging.models.runs import RunStatus
from judging.selectors.endpoints import target_of
from judging.services.evaluator_tasks import subject_of
from judging.services.judges import save_judge
from judging.services.pools import open_pool
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.services.runs.run_worker import work_through
from judging.stored_content import tree_from_json
from tests import factories
from tests.debate import rows
from tests.evalsite.golden import LABELS, PLAIN, golden_set, labelled_suite
from tests.factories import NOON
from tests.local_llm import server as local
from tests.local_llm.server_process import local_model

pytestmark = [pytest.mark.local_llm, pytest.mark.django_db(transaction=True)]

READABLE = {VerdictStatus.OK, VerdictStatus.REPAIRED}
SETTLED = {*READABLE, VerdictStatus.REFUSED, VerdictStatus.UNPARSED}
SHORT = {"max_tokens": 96}
LEVELS = {
    "key": "root",
    "kind": "group",
    "aggregator": {"type": "cascade", "clip": [0, 100]},
    "children": [
        {
            "key": "100",
            "kind": "level",
            "aggregator": {"type": "any", "value": 100},
            "children": [{"key": "100.1", "kind": "check", "text": "names chmod", "scale": {"kind": "boolean"}}],
        }
    ],
}
CRITERIA = {
    "key": "root",
    "kind": "group",
    "aggregator": {"type": "mean"},
    "children": [
        {
            "key": "clear",
            "kind": "dimension",
            "text": "is clear",
            "scale": {"kind": "ordinal", "minimum": 1, "maximum": 5, "step": 1},
        }
    ],
}
JUDGES: list[tuple[str, dict[str, Any], dict[str, Any] | None]] = [
    ("level_cascade", {"mode": "holistic"}, LEVELS),
    ("level_cascade", {"mode": "itemised"}, LEVELS),
    ("relevance", {}, None),
    ("accuracy", {"confidence": "labels"}, None),
    ("integrity", {}, None),
    ("generic", {}, CRITERIA),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return the address of a local model."""
    with local_model() as found:
        yield found


@pytest.fixture
def endpoint(address: str) -> ModelEndpoint:
    return factories.endpoint(name="local", base_url=address, model=local.MODEL, max_concurrency=1)


def test_one_judge_of_each_kind_settles_every_reply(endpoint: ModelEndpoint) -> None:
    case = factories.case(reference="chmod +x run.sh", prompt=factories.prompt(text="How do I make run.sh executable?"))
    suite, system = factories.suite(cases=[case]), factories.system()
    factories.response(prompt=case.prompt, system=system, text="Use chmod +x run.sh, then ./run.sh.")
    choices = [
        EvaluatorChoice(
            judge=factories.judge(kind=kind, endpoint=endpoint, options={**SHORT, **options}),
            rubric=factories.rubric(trees={"": tree}) if tree else None,
        )
        for kind, options, tree in JUDGES
    ]
    run = create_run(plan=RunPlan(suite=suite, systems=[system], evaluators=choices), actor=None, at=NOON)

    work_through(run_id=run.pk, threads=1, now=timezone.now)

    run.refresh_from_db()
    assert (run.status, run.done + run.failed) == (RunStatus.FINISHED, len(JUDGES))
    verdicts = list(
        Verdict.objects.select_related("evaluator__rubric", "response__prompt").order_by("evaluator__position")
    )
    assert len(verdicts) == len(JUDGES)
    for verdict in verdicts:
        check_settled(verdict, case)


def check_settled(verdict: Verdict, case: Case) -> None:
    """Pass where a verdict has a value exactly if its reply was read, and the value is what a reply says."""
    assert verdict.status in SETTLED, verdict.reason
    assert (verdict.value is not None) == (verdict.status in READABLE)
    score = Score.objects.get(verdict=verdict)
    if verdict.value is None:
        assert (score.status, score.value, score.share) == ("incomplete", None, None)
        return
    frozen = verdict.evaluator.options
    judge = judge_kind(frozen["judge_kind"]).build(frozen["judge_options"])
    if isinstance(judge, MeasuredJudge):
        judge = judge.inner
    assert isinstance(judge, AskingJudge)
    rubric = verdict.evaluator.rubric
    tree = rubric.items.get().tree if rubric else None
    subject = subject_of(case=case, response=verdict.response, tree=tree, evaluator=verdict.evaluator)
    texts = Call.objects.filter(pk__in=verdict.call_ids, status="finished").values_list("text", flat=True)
    assert verdict.value in [judge.parse_reply(text, subject).value for text in texts]


def test_the_comparison_judge_settles_both_orders(endpoint: ModelEndpoint) -> None:
    subject = JudgeSubject(
        "How do I make run.sh executable?",
        "chmod +x run.sh",
        other_response="rm run.sh",
        rubric=tree_from_json(CRITERIA),
    )
    conversation = judge_kind("pairwise").build(SHORT).converse(subject)
    targets = {endpoint.name: target_of(endpoint)}
    pool = open_pool(threads=1)
    share = pool.share()
    replies: tuple[ChatReply, ...] | None = None
    verdict: JudgeVerdict | None = None

    try:
        while verdict is None:
            try:
                requests = next(conversation) if replies is None else conversation.send(replies)
            except StopIteration as end:
                verdict = end.value
                break
            for number, request in enumerate(requests):
                share.submit(str(number), targets["local"], request)
            got: dict[str, ChatReply] = {}
            while len(got) < len(requests):
                pool.wait(timeout=1)
                got |= {result.token: result.reply for result in share.take_results()}
            replies = tuple(got[str(number)] for number in range(len(requests)))
    finally:
        pool.close()

    assert verdict is not None
    assert verdict.status in SETTLED
    assert (verdict.value is not None) == (verdict.status in READABLE)
    assert {reply.status for reply in replies or ()} <= {ReplyStatus.FINISHED, ReplyStatus.TRUNCATED}


def test_one_debate_settles_every_statement(endpoint: ModelEndpoint) -> None:
    wish = rows.wish("How do I make run.sh executable?", endpoints=[endpoint, endpoint], max_tokens=96, max_rounds=1)

    made = create_debate_set(wish=wish, actor=None, at=NOON)
    run = made.run
    assert run is not None
    work_through(run_id=run.pk, threads=1, now=timezone.now)

    debate = made.debates.get()
    assert Run.objects.get(pk=run.pk).status == RunStatus.FINISHED
    assert debate.status in {DebateStatus.AGREED, DebateStatus.UNRESOLVED, DebateStatus.FAILED}
    statements = list(Statement.objects.filter(agent__debate=debate))
    assert statements
    for statement in statements:
        said = read_strict(statement.text).verdict
        assert statement.verdict == to_system_space(said, response_order=debate.response_order)
    if debate.status != DebateStatus.AGREED:
        assert debate.verdict is None


def test_a_study_counts_every_reply_and_holds_no_test_without_people(endpoint: ModelEndpoint) -> None:
    golden = golden_set(labelled_suite(cases=50, people=0))
    options = {"prompt_text": PLAIN, "system_text": "", "reply": "last_line", "labels_text": LABELS, "max_tokens": 16}
    save_judge(judge=Judge(name="Small", endpoint=endpoint, kind="custom"), options=options, actor=None)

    call_command("golden", "run", golden.name, "--judges", "Small", "--wait")
    call_command("golden", "open", golden.name, "--version", "Small", "--wait")

    found = require(GOLDEN, subject_id=golden.pk, options={}, at=timezone.now())
    (developed,), (tested,) = found["development"], found["test"]
    assert (developed["items"] + developed["unread"], tested["items"] + tested["unread"]) == (22, 20)
    assert tested["opened_before"] == 0
    with pytest.raises(BadInput, match=r"^No test: "):
        call_command("judge", "certify", "--name", "Small")
