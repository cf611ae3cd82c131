"""Judges and agents, worked out by hand."""

from __future__ import annotations

import json
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import pytest

from debate.models import DebateStatus
from evalsite.reports.selectors.leaderboards import work_version
from evalsite.reports.services.debate_reports import compute_debates
from evalsite.reports.services.judge_reports import NO_DEBATES, NO_PEOPLE, compute_judge, compute_judges
from evalsite.review.models import Provenance, ReviewItem
from evalsite.review.questions.scales import JUDGEMENT, labels_to_json
from evalsite.review.services.decisions import keep_final_label
from evalsite.review.services.run_referrals import open_items_for_run
from judging.models import Call, EvaluatorKind, PastVerdict, Response, RunEvaluator
from judging.services.file_imports.imports import store_import
from judging.services.file_imports.intake import ImportOptions
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def judge_named(name: str, **fields: Any) -> RunEvaluator:
    return factories.evaluator(**{"kind": EvaluatorKind.JUDGE, "name": name, "options": {"endpoint": "fake"}} | fields)


def call(number: int, **fields: Any) -> Call:
    endpoint = fields.pop("endpoint", None) or factories.endpoint()
    defaults = {"status": "finished", "request": {}, "prompt_tokens": 100, "completion_tokens": 10, "seconds": 2.0}
    return Call.objects.create(key=f"{number:064x}", endpoint=endpoint, finished_at=factories.NOON, **defaults | fields)


def test_compute_judges_counts_replies_calls_and_cost() -> None:
    judge = judge_named("Strict")
    calls = [call(1, cost=Decimal("0.03")), call(2, cost=Decimal("0.01"), seconds=4.0), call(3, cost=None)]
    factories.verdict(evaluator=judge, share=0.95, call_ids=[calls[0].pk])
    factories.verdict(evaluator=judge, share=1.0, status="repaired", call_ids=[calls[1].pk, calls[2].pk])
    factories.verdict(evaluator=judge, status="refused", value=None, call_ids=[calls[2].pk])
    factories.verdict(evaluator=judge, status="failed", value=None)

    (row,) = compute_judges(0, {}).judges

    assert row.statuses == {"ok": 1, "repaired": 1, "refused": 1, "unparsed": 0, "failed": 1}
    assert row.parsed.value == 0.5
    assert (row.calls, row.prompt_tokens, row.completion_tokens, row.unpriced) == (3, 300, 30, 1)
    assert row.cost_per_verdict == pytest.approx(0.01)  # 0.04 over four verdicts
    assert row.seconds_mean == pytest.approx(8 / 3)
    assert row.histogram == [0, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert (row.people.reason, row.debates.reason) == (NO_PEOPLE, NO_DEBATES)


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([], "No calls were made."),
        ([None], "The price or the tokens of its calls are unknown."),
        ([Decimal("0.01")], ""),
    ],
)
def test_compute_judges_says_why_there_is_no_cost(calls: list[Decimal | None], reason: str) -> None:
    call_ids = [call(number, cost=cost).pk for number, cost in enumerate(calls)]
    factories.verdict(evaluator=judge_named("Strict"), status="failed", value=None, call_ids=call_ids)

    (row,) = compute_judges(0, {}).judges

    assert row.cost_reason == reason


def test_compute_judges_counts_one_reply_once_however_many_runs_reused_it() -> None:
    first, second = judge_named("Strict"), judge_named("Strict")
    replies = [call(1, cost=Decimal("0.03")), call(2, cost=Decimal("0.01"))]
    queues = {judge: factories.queue(run=judge.run, labels=labels_to_json(JUDGEMENT)) for judge in (first, second)}
    for reply, share, status in zip(replies, (0.9, 0.2), ("ok", "repaired"), strict=True):
        response = factories.response()
        for judge, arm in ((first, "routed"), (second, "audit")):
            verdict = factories.verdict(
                evaluator=judge,
                response=response,
                share=share,
                status=status,
                value={"orders": [1, 0]},
                call_ids=[reply.pk],
            )
            factories.review_item(queue=queues[judge], verdict=verdict, status="settled", label="right", arm=arm)

    (row,) = compute_judges(0, {}).judges

    assert (row.runs, row.verdicts, row.reused, row.calls) == (2, 2, 2, 2)
    assert row.statuses == {"ok": 1, "repaired": 1, "refused": 0, "unparsed": 0, "failed": 0}
    assert (row.parsed.n, row.consistency.n, sum(row.histogram)) == (2, 2, 2)
    assert row.cost_per_verdict == pytest.approx(0.02)  # 0.04 over two replies
    assert (row.people.reason, row.people_audit.reason) == ("Too few: 2 of 20.", "Too few: 2 of 20.")
    assert compute_judge(0, {"name": "Strict"})["people"]["labelled"] == 2


def test_compute_judges_counts_a_baseline_once_per_question() -> None:
    rubric = factories.rubric()
    response = factories.response()
    for criterion in ("tone", "tone", "facts"):
        factories.verdict(evaluator=judge_named("Words", rubric=rubric, criterion=criterion), response=response)

    rows = compute_judges(0, {}).judges

    # Another criterion is another judge.
    assert {row.criterion: (row.verdicts, row.reused) for row in rows} == {"tone": (1, 1), "facts": (1, 0)}


def test_compute_judges_keeps_first_tries_and_their_cost_after_a_retry() -> None:
    judge = judge_named("Strict")
    calls = [call(number, cost=Decimal("0.01")) for number in range(4)]
    factories.verdict(evaluator=judge, call_ids=[calls[0].pk])
    retried = factories.verdict(evaluator=judge, call_ids=[calls[3].pk])
    for status, reply in (("unparsed", calls[1]), ("refused", calls[2])):
        PastVerdict.objects.create(
            verdict=retried,
            status=status,
            call_ids=[reply.pk],
            created_at=factories.NOON,
            superseded_at=factories.NOON,
        )

    (row,) = compute_judges(0, {}).judges

    assert (row.parsed.value, row.first_try.value, row.verdicts) == (1.0, 0.5, 2)
    assert (row.calls, row.completion_tokens) == (4, 40)
    assert row.cost == pytest.approx(0.04)


def test_work_mark_differs_once_a_run_is_scored_again() -> None:
    judge = judge_named("Strict")
    marks = [work_version()]

    for times in (1, 2):
        judge.options = {**judge.options, "history": [{"before": {}, "after": {}}] * times}
        judge.save(update_fields=["options"])
        marks.append(work_version())

    assert len(set(marks)) == 3


def test_compute_judges_compares_with_people_on_the_queues_scale() -> None:
    judge = judge_named("Strict")
    queue = factories.queue(run=judge.run, labels=labels_to_json(JUDGEMENT))
    for share, label, arm in ((0.9, "right", "audit"), (0.6, "partly", "routed"), (0.2, "right", "audit")):
        verdict = factories.verdict(evaluator=judge, share=share)
        factories.review_item(queue=queue, verdict=verdict, status="settled", label=label, arm=arm)

    content = compute_judge(0, {"name": "Strict"})

    # nearest labels: 0.9 right, 0.6 partly, 0.2 wrong
    assert content["people"]["labels"] == ["Right", "Partly right", "Wrong"]
    assert content["people"]["counts"] == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert content["row"]["people"]["reason"] == "Too few: 3 of 20."


def label_of(judge: RunEvaluator, response: Response, label: str, *, arm: str = "audit") -> None:
    """Store a verdict of 1 and people's label of the response."""
    queue = getattr(judge.run, "queue", None) or factories.queue(run=judge.run, labels=labels_to_json(JUDGEMENT))
    verdict = factories.verdict(evaluator=judge, response=response, share=1.0)
    factories.review_item(queue=queue, verdict=verdict, status="settled", label=label, arm=arm)


def test_compute_judges_weights_routed_and_audited_verdicts() -> None:
    # 90 sure verdicts, of 30 audited people confirm 27; 10 routed ones are all wrong: 81%, pooled 67.5%.
    judge = judge_named("Strict")
    suite = judge.run.suite
    responses = [factories.response(prompt=factories.prompt(benchmark=suite.benchmark)) for _ in range(100)]
    for index, response in enumerate(responses):
        if index < 30:
            label_of(judge, response, "right" if index < 27 else "wrong")
        elif index < 40:
            label_of(judge, response, "wrong", arm="routed")
        else:
            factories.verdict(evaluator=judge, response=response, share=1.0)

    (row,) = compute_judges(0, {}).judges

    assert row.people.n == 40
    assert row.people.value == pytest.approx(0.81)
    assert row.people_audit.value == pytest.approx(0.9)


def test_compute_judges_keeps_versions_of_a_judge_apart() -> None:
    """A judge that said 100% and one of the same name that said 0% were one row with 50%."""
    for prompt_hash, status in (("a" * 64, "ok"), ("b" * 64, "unparsed")):
        judge = judge_named("Encke", options={"prompt_hash": prompt_hash, "model": "m"})
        factories.verdict(evaluator=judge, share=1.0 if status == "ok" else None, status=status)

    rows = compute_judges(0, {}).judges
    older = compute_judge(0, {"name": "Encke", "version": rows[1].version})

    parsed = [(row.prompt_hash[0], row.parsed.value, row.runs) for row in rows]
    assert parsed == [("b", 0.0, 1), ("a", 1.0, 1)]
    assert (older["row"]["prompt_hash"], older["versions"], len(older["runs"])) == ("a" * 64, 2, 1)


def test_compute_judges_compares_on_the_scale_of_each_criterion(settings: Any) -> None:
    """Scores from 1 to 5 were cut into right, partly right and wrong, and pooled with those of a yes-or-no question."""
    settings.REVIEW_AUDIT_SHARE = 1
    five = {"kind": "ordinal", "minimum": 1, "maximum": 5, "step": 1}
    nodes = [
        {"key": "clarity", "kind": "dimension", "scale": five},
        {"key": "cited", "kind": "check", "scale": {"kind": "boolean"}},
    ]
    rubric = factories.rubric(trees={"": {"key": "root", "kind": "group", "children": nodes}})
    run = factories.run(suite=factories.suite(cases=20), status="finished", finished_at=factories.NOON)
    run.systems.set([system := factories.system()])
    responses = [factories.response(prompt=case.prompt, system=system) for case in run.suite.cases.order_by("pk")]
    for criterion, share in (("clarity", 0.75), ("cited", 1.0)):  # the levels 4 and met
        judge = judge_named("Strict", run=run, rubric=rubric, criterion=criterion)
        for response in responses:
            factories.verdict(evaluator=judge, response=response, share=share, confidence=0.99)
    open_items_for_run(run=run, at=factories.NOON)
    for index, item in enumerate(ReviewItem.objects.select_related("subject").order_by("criterion", "pk")):
        label = ("met", "4", "3")[(item.criterion == "clarity") + (index == 39)]
        keep_final_label(item=item, label=label, provenance=Provenance.MAJORITY, at=factories.NOON)

    rows = {row.criterion: row for row in compute_judges(0, {}).judges}
    by_criterion = {
        criterion: compute_judge(0, {"name": "Strict", "version": row.version})["people"]
        for criterion, row in rows.items()
    }

    assert {criterion: people["labels"] for criterion, people in by_criterion.items()} == {
        "cited": ["Met", "Not met"],
        "clarity": ["1", "2", "3", "4", "5"],
    }
    assert {criterion: row.people.value for criterion, row in rows.items()} == {"cited": 1.0, "clarity": 0.95}
    assert by_criterion["clarity"]["counts"][3] == [0, 0, 1, 19, 0]


@pytest.mark.parametrize(
    "versions",
    [
        [{"options": {"model": "gpt-4"}}, {"options": {"model": "llama"}}],
        [{"options": {"prompt_hash": "a" * 64}}, {"options": {"prompt_hash": "b" * 64}}],
        [{"rubric": 1}, {"rubric": 2}],
    ],
    ids=["models", "prompts", "rubric versions"],
)
def test_compute_judges_keeps_models_prompts_and_rubric_versions_apart(versions: list[dict[str, Any]]) -> None:
    """Judges of one name were one row, whatever model, prompt or rubric version they had."""
    for fields, label in zip(versions, ("right", "wrong"), strict=True):
        if "rubric" in fields:
            fields = {"rubric": factories.rubric(slug="tone", version=fields["rubric"])}
        judge = judge_named("Encke", **fields)
        for _ in range(20):
            label_of(judge, factories.response(prompt=factories.prompt(benchmark=judge.run.suite.benchmark)), label)

    rows = compute_judges(0, {}).judges

    assert [(row.people.value, row.people.n) for row in rows] == [(0.0, 20), (1.0, 20)]


def test_compute_judges_counts_runs_of_a_changed_prompt_apart_and_reused_replies_once() -> None:
    """Of 84 replies, the same 84 in a second run, and 28 of another prompt, the page said 196 verdicts in 3 runs."""
    older, newer = {"prompt_hash": "e" * 64, "model": "m"}, {"prompt_hash": "a" * 64, "model": "m"}
    replies = [call(number, cost=Decimal("0.01")) for number in range(112)]
    responses = [factories.response() for _ in range(84)]
    for options, calls in ((older, replies[:84]), (older, replies[:84]), (newer, replies[84:])):
        judge = judge_named("Encke", options=options)
        for response, reply in zip(responses, calls, strict=False):
            factories.verdict(evaluator=judge, response=response, share=1.0, call_ids=[reply.pk])

    rows = compute_judges(0, {}).judges

    counted = [(row.prompt_hash[0], row.runs, row.verdicts, row.reused, row.parsed.n) for row in rows]
    assert counted == [("a", 1, 28, 0, 28), ("e", 2, 84, 84, 84)]
    assert [row.cost_per_verdict for row in rows] == [pytest.approx(0.01)] * 2


def test_compute_judges_compares_a_judge_with_debates_of_its_criterion() -> None:
    """A judge of creativity was compared with debates about helpfulness."""
    judge = judge_named("Creative", criterion="creativity")
    owner = factories.debate_set(criterion="helpfulness")
    debate = factories.debate(debate_set=owner, status=DebateStatus.AGREED, verdict=1)
    for response in (debate.response_a, debate.response_b):
        factories.verdict(evaluator=judge, response=response, share=0.5)

    assert compute_judges(0, {}).judges[0].debates.reason == NO_DEBATES


def test_compute_judge_picks_systems_by_pair_whatever_side_they_are_shown_on() -> None:
    """A system won 13 of 13, by judge and debates, and the page said that A won 46%."""
    judge = judge_named("Strict")
    gpt, llama, claude = factories.system("gpt"), factories.system("llama"), factories.system("claude")
    for first, second, verdict, times in ((gpt, llama, 1, 6), (claude, gpt, -1, 7)):
        owner = factories.debate_set(system_a=first, system_b=second)
        for _ in range(times):
            debate = factories.debate(debate_set=owner, status=DebateStatus.AGREED, verdict=verdict)
            for response in (debate.response_a, debate.response_b):
                factories.verdict(evaluator=judge, response=response, share=float(response.system == gpt))

    system_level = compute_judge(0, {"name": "Strict"})["debates_system_level"]

    assert (system_level["cells"], system_level["same_mode"]["value"], system_level["same_direction"]["value"]) == (
        2,
        1.0,
        1.0,
    )


def test_two_judges_have_figures_from_the_same_labels() -> None:
    """The second judge of a run had "No verdict of this judge has a final human label yet"."""
    run = factories.run()
    judges = [judge_named(name, run=run) for name in ("First", "Second")]
    for _ in range(20):
        response = factories.response(prompt=factories.prompt(benchmark=run.suite.benchmark))
        label_of(judges[0], response, "right")
        factories.verdict(evaluator=judges[1], response=response, share=0.0)

    rows = compute_judges(0, {}).judges

    assert [(row.name, row.people.value, row.people.n) for row in rows] == [
        ("First", 1.0, 20),
        ("Second", 0.0, 20),
    ]


def test_compute_judges_compares_preferences_with_debates() -> None:
    judge = judge_named("Strict")
    for verdict, shares in ((1, (0.9, 0.1)), (0, (0.5, 0.5)), (-1, (0.8, 0.2))):
        debate = factories.debate(status=DebateStatus.AGREED, verdict=verdict)
        for response, share in zip((debate.response_a, debate.response_b), shares, strict=True):
            factories.verdict(evaluator=judge, response=response, share=share)
    factories.debate()  # unresolved: nothing to compare with

    content = compute_judge(0, {"name": "Strict"})

    # A better, tie, A better against 1, 0, -1
    assert content["row"]["debates"]["value"] == pytest.approx(2 / 3)
    assert content["debates"]["counts"] == [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    assert content["debates"]["n_differing"] == 1
    # one case in each of three pairs of systems: the same label in two of them
    assert content["debates_system_level"]["same_mode"]["value"] == pytest.approx(2 / 3)


def test_compute_judges_reads_both_orders_of_own_prompts_from_their_labels() -> None:
    options = {"judge_options": {"labels_text": "[[A]] = 1\n[[C]] = 0.5\n[[B]] = 0"}}
    mine = judge_named("Mine", options={"judge_kind": "custom", **options})
    said = [("[[A]]", "[[B]]"), ("[[A]]", "[[A]]"), ("[[C]]", "[[C]]"), ("[[C]]", "[[A]]")]  # shown first, then second
    for first, second in said:
        factories.verdict(evaluator=mine, value={"shown_first": first, "shown_second": second})
    factories.verdict(evaluator=mine, value=None, status="unparsed")

    (row,) = compute_judges(0, {}).judges

    assert (row.consistency.value, row.consistency.n) == (0.5, 4)  # a win each time, and a tie each time
    # of those that are no tie: the first pair prefers either place once, the second and the fourth the first
    assert row.first_position.value == pytest.approx((0.5 + 1 + 1) / 3)


def test_compute_judges_reads_position_consistency_of_both_orders() -> None:
    judge = judge_named("Pairs")
    for orders in ([1, 1], [1, -1], [0, 0], [-1, -1]):
        factories.verdict(evaluator=judge, value={"preference": orders[0], "orders": orders}, share=0.5)

    (row,) = compute_judges(0, {}).judges

    assert row.consistency.value == 0.75
    # decided verdicts for the answer shown first: in order 1, 1, -1 -> 2; swapped 1, -1, -1 -> 2; 4 of 6
    assert row.first_position.value == pytest.approx(4 / 6)


def test_independent_votes_equal_outcomes_alike_on_both_pages() -> None:
    # Ten agreed debates; agent 1 voted right on six, and gave no vote that could be read on four.
    for number in range(10):
        debate = factories.debate(status=DebateStatus.AGREED, verdict=1)
        for agent_number, vote in ((1, 1 if number < 6 else None), (2, 1)):
            first = factories.statement(debate=debate, agent_number=agent_number, verdict=vote)
            factories.statement(agent=first.agent, round=1, verdict=1)

    (judges,) = (row for row in compute_judges(0, {}).agents if row.name == "Agent 1")
    (meta,) = (row for row in compute_debates(0, {}).content["evaluators"] if row["key"] == "independent:Agent 1")

    assert asdict(judges.outcome) == meta["example"]
    assert (meta["example"]["value"], meta["example"]["n"]) == (0.6, 10)
    assert judges.outcome_missing == meta["missing"] == 4


def test_compute_judges_takes_an_agent_out_of_its_own_outcome() -> None:
    for votes, verdict in (((1, 1, 1), 1), ((1, -1, -1), -1), ((0, 1, -1), None)):
        status = DebateStatus.UNRESOLVED if verdict is None else DebateStatus.AGREED
        debate = factories.debate(status=status, verdict=verdict)
        for agent_number, vote in enumerate(votes, 1):
            factories.statement(debate=debate, agent_number=agent_number, verdict=vote)
            if verdict is not None:
                agent = debate.agents.get(number=agent_number)
                factories.statement(agent=agent, round=1, verdict=verdict)

    rows = {row.name: row for row in compute_judges(0, {}).agents}

    assert sorted(rows) == ["Agent 1", "Agent 2", "Agent 3"]
    # Agent 1 voted 1, 1, 0 on its own on outcomes 1, -1, none
    assert (rows["Agent 1"].outcome.value, rows["Agent 1"].outcome.n) == (0.5, 2)
    # the others' last votes: 1, -1, and in the third 1 and -1, which is no agreement
    assert (rows["Agent 1"].leave_one_out.value, rows["Agent 1"].leave_one_out.n) == (0.5, 2)
    assert rows["Agent 1"].statuses["ok"] == 5
    assert rows["Agent 1"].cost_per_verdict is None
    assert rows["Agent 1"].cost_reason == "Its debates were imported, and imported records contain no calls."


def test_compute_judge_shows_both_orders_and_cases_of_an_imported_judge_beside_gold_labels() -> None:
    def row(number: int, label: str, first: str, second: str) -> dict[str, object]:
        scores = [[9, 1], [1, 9]]  # the second judgment saw the responses the other way round
        judgments = [
            {"judgment": {"judge_model": "fox", "scores": score}, "decision": decision}
            for score, decision in zip(scores, (first, second), strict=True)
        ]
        texts = {"question": f"Q{number}?", "response_A": f"A {number}", "response_B": f"B {number}"}
        return {"pair_id": f"p{number}", **texts, "response_model": "elk", "label": label, "judgments": judgments}

    rows = [row(1, "A>B", "A>B", "B>A"), row(2, "B>A", "A>B", "A>B"), row(3, "B>A", "A>B", "B>A")]
    data = "\n".join(map(json.dumps, rows)).encode()
    store_import(files=[("judgebench.jsonl", data)], options=ImportOptions(), source="t", actor=None, at=NOON)
    [evaluator] = RunEvaluator.objects.all()

    content = compute_judge(0, {"name": evaluator.name})

    # p1: A in both orders; p2: the first shown in both, which is a flip; p3: A in both orders
    assert content["row"]["consistency"]["value"] == pytest.approx(2 / 3)
    assert content["row"]["first_position"]["value"] == pytest.approx(4 / 6)
    assert content["people"]["differing"] == [
        {"id": 0, "case": "p2", "judge": "Neither is better", "other": "B is better"},
        {"id": 0, "case": "p3", "judge": "A is better", "other": "B is better"},
    ]


def test_a_judge_of_pairs_is_compared_with_people_over_all_its_baselines() -> None:
    def row(by: str, question: int, first: str, second: str, winner: str) -> dict[str, object]:
        texts = {"response_a": f"{first} {question}", "response_b": f"{second} {question}"}
        pair = {"prompt": f"Q{question}?", **texts, "model_a": first, "model_b": second, "winner": winner}
        return {"question_id": question, **pair, "judge": by}

    judged = [("oak", "elm", "model_a"), ("oak", "ash", "tie"), ("elm", "ash", "model_b"), ("yew", "ash", "model_a")]
    labels = [
        ("oak", "elm", "model_a"),
        ("oak", "ash", "model_a"),
        ("elm", "ash", "model_b"),
        ("yew", "ash", "model_b"),
    ]
    files = [
        (name, "\n".join(json.dumps(row(by, n, *pair)) for n in range(30) for pair in pairs).encode())
        for name, by, pairs in (("judge.jsonl", "gpt", judged), ("human.jsonl", "expert_1", labels))
    ]
    store_import(files=files, options=ImportOptions(is_blind=True), source="t", actor=None, at=NOON)

    [pairs] = compute_judges(0, {}).pairs

    # ash is in most pairs, so that it is the baseline of three and oak of one; in each case two of four are equal, one
    # is a tie beside a win, and one the opposite
    assert (pairs.name, pairs.baselines, pairs.items, pairs.people.n) == ("gpt", 2, 120, 30)
    assert pairs.people.value == pytest.approx(1 / 2)
    assert pairs.without_ties.value == pytest.approx(2 / 3)
    assert pairs.ties_as_half.value == pytest.approx(5 / 8)
    # of the judge B (against oak), tie, B, A, of people B, A, B, B: by chance 1/4 * 1/4 + 1/2 * 3/4 = 7/16
    assert pairs.kappa.value == pytest.approx((1 / 2 - 7 / 16) / (1 - 7 / 16))
