"""Has a model propose wording from disagreements, and puts in force what a person accepts of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.row_locks import lock_row
from evalsite.review.models import GoldenSet, ProposalStatus, WordingProposal
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.golden.golden_texts import golden_texts, with_texts
from evalsite.review.selectors.golden.golden_verdicts import golden_answers
from evalsite.review.states import ReviewRefused
from judging.judges.judge_kinds import NOT_MEASURED
from judging.judges.questions import AskingJudge
from judging.judges.registry import judge_kind
from judging.judges.wordings import (
    MOST_DISAGREEMENTS,
    JudgeDisagreement,
    accepted_wording,
    propose_wording,
    wording_lines,
    wording_request,
)
from judging.llm.chat import ChatRequest
from judging.models import Judge, ModelEndpoint, RunEvaluator
from judging.selectors.targets import price_missing, target_of
from judging.services.calls.prompt_trials import TrialConversation, TrialRefused, hold_conversation
from judging.services.endpoints import JudgeFields, JudgeNotValid, save_judge

REASON_LIMIT = 500


@dataclass(frozen=True, slots=True)
class WordingQuestion:
    """What a model would be asked about the disagreements of a version, and what that may cost."""

    judge: Judge
    prompt: str
    disagreements: int
    rules: int
    request: ChatRequest

    def most_cost(self, endpoint: ModelEndpoint) -> Decimal | None:
        """Return the most USD that two questions can cost; None: the price is unknown."""
        worst = target_of(endpoint).worst_case(self.request)
        return None if worst is None else 2 * worst


def wording_question(golden_set: GoldenSet, evaluator: RunEvaluator) -> WordingQuestion:
    """Return the question about a version's disagreements on development, told with the rules that were noted.

    Raises:
        ReviewRefused: the judge has no prompt to change, or there is nothing to learn from.
    """
    judge = evaluator.judge
    prompt = prompt_of_judge(judge) if judge is not None else ""
    if judge is None or not prompt:
        raise ReviewRefused("This judge has no prompt whose wording could be changed.")
    answers = golden_answers(golden_set, GoldenPart.DEVELOPMENT, [evaluator])[evaluator.pk]
    differing = {answer.golden_id: answer for answer in answers if not answer.agrees}
    rules = list(golden_set.rules.order_by("pk").values_list("text", flat=True))
    if not differing and not rules:
        raise ReviewRefused("This version agrees with people on all of development, and no rule is noted.")
    chosen = dict(list(differing.items())[:MOST_DISAGREEMENTS])
    disagreements = [
        JudgeDisagreement(
            question=row.item.response.prompt.text,
            response=row.item.response.text,
            people=row.people,
            people_reasons=" ".join(dict.fromkeys(note.reason for note in row.reasons if note.reason)),
            judge=row.judges[0].label or "no usable verdict",
            judge_reasons=row.judges[0].reason,
        )
        for row in golden_texts(with_texts(chosen), [chosen])
    ]
    return WordingQuestion(judge, prompt, len(differing), len(rules), wording_request(prompt, disagreements, rules))


def prompt_of_judge(judge: Judge) -> str:
    """Return the prompt that a judge sends now; empty where its kind has none to edit."""
    kind = judge_kind(judge.kind)
    names = {option.name for option in kind.options}
    if "prompt_text" not in names:
        return ""
    plain = {"confidence": NOT_MEASURED} if "confidence" in names else {}
    built = kind.build(judge.options | plain)
    return built.prompt.text if isinstance(built, AskingJudge) else ""


@transaction.atomic
def ask_for_wording(
    *,
    golden_set: GoldenSet,
    evaluator: RunEvaluator,
    endpoint: ModelEndpoint,
    budget: Decimal | None,
    actor: User | None,
    at: datetime,
) -> WordingProposal:
    """Store that a model is to propose wording; a worker asks it.

    Raises:
        ReviewRefused: see `wording_question`, no language model is behind the endpoint, or its price is unknown.
    """
    question = wording_question(golden_set, evaluator)
    if endpoint.is_baseline or not endpoint.is_active:
        raise ReviewRefused("Choose an active endpoint of a language model; a lexical baseline words nothing.")
    if budget is not None and question.most_cost(endpoint) is None:
        raise ReviewRefused(price_missing([endpoint.name]))
    proposal = WordingProposal.objects.create(
        golden_set=golden_set,
        evaluator=evaluator,
        judge=question.judge,
        endpoint=endpoint,
        budget=budget,
        before=question.prompt,
        asked_by=actor,
        asked_at=at,
    )
    record(actor, "golden.wording_asked", NamedSubject(golden_set.name, golden_set.pk), endpoint=endpoint.name)
    return proposal


def work_on_proposal(*, proposal_id: int, at: datetime) -> WordingProposal:
    """Ask the model of a waiting proposal and store what it says; a finished call is never paid for twice."""
    proposal = WordingProposal.objects.select_related("golden_set", "evaluator__judge", "endpoint", "judge")
    row = proposal.get(pk=proposal_id)
    if row.status != ProposalStatus.WAITING:
        return row
    try:
        question = wording_question(row.golden_set, row.evaluator)
        trial = hold_conversation(propose_wording(question.request), target_of(row.endpoint), at=at, budget=row.budget)
    except (ReviewRefused, TrialRefused) as refusal:
        row.status, row.reason = ProposalStatus.FAILED, str(refusal)[:REASON_LIMIT]
    else:
        row.after, row.reason = trial.result.text, trial.result.problem[:REASON_LIMIT]
        if not row.reason and row.after == row.before:
            row.reason = "The model proposed the prompt as it is."
        row.status = ProposalStatus.FAILED if row.reason else ProposalStatus.READY
        row.cost = _paid(trial)
    row.save(update_fields=["after", "reason", "status", "cost"])
    return row


def _paid(trial: TrialConversation) -> Decimal | None:
    costs = [call.cost for call in trial.calls if not call.reused]
    return None if None in costs else sum(costs, Decimal(0))


@transaction.atomic
def accept_wording(*, proposal: WordingProposal, accepted: Collection[int], actor: User | None, at: datetime) -> Judge:
    """Give the judge its prompt with the accepted lines, which makes another version; return the judge.

    Raises:
        ReviewRefused: nothing was accepted, the proposal is used or not ready, the judge's prompt has changed since,
            or the prompt with these lines cannot be used.
    """
    row = lock_row(WordingProposal, proposal.pk, "golden_set")
    judge = lock_row(Judge, row.judge_id, "endpoint")
    if row.status != ProposalStatus.READY:
        raise ReviewRefused("This proposal cannot be accepted: it is not ready, or was accepted before.")
    places = {line.place for line in wording_lines(row.before, row.after) if line.place is not None}
    chosen = sorted(places.intersection(accepted))
    if not chosen:
        raise ReviewRefused("Tick at least one line.")
    if prompt_of_judge(judge) != row.before:
        raise ReviewRefused("The prompt of the judge has changed since. Have new wording proposed.")
    text = accepted_wording(row.before, row.after, chosen)
    try:
        saved = save_judge(
            judge=judge,
            fields=JudgeFields(judge.name, judge.endpoint, judge.description),
            kind=judge.kind,
            options=judge.options | {"prompt_text": text},
            actor=actor,
        )
    except JudgeNotValid as problem:
        raise ReviewRefused(f"The prompt cannot be used with these lines: {problem}") from None
    row.status, row.accepted, row.accepted_at = ProposalStatus.ACCEPTED, chosen, at
    row.save(update_fields=["status", "accepted", "accepted_at"])
    about = NamedSubject(row.golden_set.name, row.golden_set.pk)
    record(actor, "golden.wording_accepted", about, judge=judge.name, lines=len(chosen), of=len(places))
    return saved
