"""Golden sets: made, run on, learned from, and opened."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.base.rows import check_owner, grouped, lock_row
from evalsite.review.models import (
    GoldenItem,
    GoldenRule,
    GoldenRun,
    GoldenSet,
    ProposalStatus,
    WordingProposal,
)
from evalsite.review.questions.scales import Label, labels_from_json, labels_to_json
from evalsite.review.routing import GoldenPart, split_cases
from evalsite.review.selectors.golden import GoldenMaterial, golden_answers, golden_texts, with_texts
from evalsite.review.selectors.subjects import blind_labels
from evalsite.review.services.decisions import reopen_item
from evalsite.review.states import ReviewRefused
from judging.judges.judge_kinds import NOT_MEASURED, BadJudgeOption, changes_between, version_of_options
from judging.judges.kinds.custom import NAME, CustomJudge
from judging.judges.kinds.custom_templates import with_example
from judging.judges.questions import AskingJudge
from judging.judges.registry import judge_kind
from judging.judges.subjects import JudgeSubject
from judging.judges.wordings import (
    MOST_DISAGREEMENTS,
    JudgeDisagreement,
    accepted_wording,
    propose_wording,
    wording_lines,
    wording_request,
)
from judging.llm.chat import ChatRequest
from judging.models import Judge, ModelEndpoint, Rubric, Run, RunEvaluator, RunKind, System
from judging.models.runs import RunStatus
from judging.selectors.endpoints import price_missing, target_of
from judging.selectors.judges import needs_of, needs_rubric, uses_rubric, versions_of
from judging.services.evaluator_tasks import freeze
from judging.services.judges import JudgeNotValid, save_judge
from judging.services.pools import TrialRefused, hold_conversation, paid_for
from judging.services.runs.new_runs import create_run, write_chosen_tasks
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.specs.people_choices import AskedPeople


def differences_from(evaluator: RunEvaluator) -> tuple[str, ...]:
    """Return in which ways a version's judge as it is set up now differs from it; none: the next run uses it."""
    version = versions_of([evaluator])[evaluator.pk]
    now = version_of_options(
        freeze(judge=evaluator.judge, options={}), rubric_hash=version.rubric, criterion=version.criterion
    )
    return changes_between(version, now)


@transaction.atomic
def use_version(*, evaluator: RunEvaluator, actor: User | None) -> Judge:
    """Give a version's judge the options that the version has; return the judge.

    Raises:
        ReviewRefused: its model is another by now, or its options cannot be stored any more.
        NotOwner: the judge is somebody else's.
    """
    if evaluator.judge is None:
        raise ReviewRefused("This version has no judge; rules are used as the cases state them.")
    judge = lock_row(Judge, evaluator.judge.pk, "endpoint")
    check_owner(judge, actor)
    evaluator.judge = judge
    if not differences_from(evaluator):
        return judge
    try:
        options = dict(evaluator.options["judge_options"])
        judge = save_judge(judge=judge, options=options, actor=actor)
    except JudgeNotValid as problem:
        raise ReviewRefused(f"The version cannot be set up again: {problem}") from None
    evaluator.judge = judge
    remaining = differences_from(evaluator)
    if remaining:
        raise ReviewRefused(f"The judge cannot be set to this version: {' '.join(remaining)}")
    return judge


RULE_LIMIT = 500
ROUNDING = 1e-6  # of a share


def suggested_reply(item: GoldenItem, judge: Judge, reasons: str) -> str:
    """Return the reply that an example of this item would hold: people's label in the judge's own form.

    Raises:
        ReviewRefused: the judge takes no examples, the label is being decided again, or no verdict is worth it.
    """
    try:
        return _built(judge).example_reply(_share(_label(item)), reasons)
    except BadJudgeOption as problem:
        raise ReviewRefused(str(problem)) from None


@transaction.atomic
def add_example(*, item: GoldenItem, judge: Judge, reply: str, actor: User | None, at: datetime) -> Judge:
    """Put a labelled response among a judge's examples, which makes another version; its case leaves development.

    Raises:
        ReviewRefused: the item is in the test, the judge takes no examples, or the reply does not say people's label.
        NotOwner: the judge is somebody else's.
    """
    judge = lock_row(Judge, judge.pk, "endpoint")
    check_owner(judge, actor)
    item = _locked(item)
    if item.part == GoldenPart.TEST:
        raise ReviewRefused("The test part stays shut: none of its responses can be an example.")
    built, share, subject = _built(judge), _share(_label(item)), subject_of_item(item)
    verdict = built.parse_reply(reply.strip(), subject)
    if verdict.value is None:
        raise ReviewRefused(f"The judge could not read this reply: {verdict.reason}")
    score = built.score(verdict.value, subject)
    if score.value is None or abs(float(score.value / score.full) - share) > ROUNDING:
        raise ReviewRefused("The reply says another verdict than the label that people gave.")
    example = {
        "question": subject.question,
        "response": subject.response,
        "reference": subject.reference,
        "context": subject.context,
        "reply": reply.replace("\r\n", "\n").strip(),
    }
    try:
        options = judge.options | {"examples": with_example(str(judge.options.get("examples", "")), example)}
        saved = save_judge(judge=judge, options=options, actor=actor)
    except (BadJudgeOption, JudgeNotValid) as problem:
        raise ReviewRefused(str(problem)) from None
    same_case = GoldenItem.objects.filter(golden_set=item.golden_set_id, case_key=item.case_key)
    same_case.filter(part=GoldenPart.DEVELOPMENT).update(part=GoldenPart.EXAMPLES, moved_at=at)
    record(actor, "golden.example", item.golden_set, case=item.case_key, judge=judge.name)
    return saved


@transaction.atomic
def note_rule(
    *, golden_set: GoldenSet, item: GoldenItem | None, text: str, actor: User | None, at: datetime
) -> GoldenRule:
    """Keep a rule for the rubric or the prompt; whoever proposes wording is told it.

    Raises:
        ReviewRefused: it is empty or too long, or its item is in the test.
    """
    text = " ".join(text.split())
    if not text or len(text) > RULE_LIMIT:
        raise ReviewRefused(f"A rule is a sentence of 1 to {RULE_LIMIT} characters.")
    if item is not None and item.part == GoldenPart.TEST:
        raise ReviewRefused("The test part stays shut: no rule can come from it.")
    rule = GoldenRule.objects.create(golden_set=golden_set, item=item, text=text, written_by=actor, written_at=at)
    record(actor, "golden.rule_noted", golden_set, rule=rule.pk)
    return rule


@transaction.atomic
def delete_rule(*, rule: GoldenRule, actor: User | None) -> None:
    """Delete a rule that somebody noted."""
    record(actor, "golden.rule_deleted", rule.golden_set, text=rule.text)
    rule.delete()


@transaction.atomic
def doubt_label(*, item: GoldenItem, reason: str, actor: User, at: datetime) -> None:
    """Send a label back to adjudication; until it is decided again, no figure of the set counts the response.

    Raises:
        ReviewRefused: no reason, the item is in the test, its label is being decided already, or it was imported.
    """
    item = _locked(item)
    if item.part == GoldenPart.TEST:
        raise ReviewRefused("The test part stays shut: its labels are not looked at one by one.")
    final_label = blind_labels([item.subject_id]).get(item.subject_id)
    if final_label is None:
        raise ReviewRefused("People are deciding this label again already.")
    if final_label.item_id is None:
        raise ReviewRefused("This label was imported. Correct it in its table, and import the table again.")
    reopen_item(item_id=final_label.item_id, actor=actor, reason=reason, at=at)
    record(actor, "golden.label_doubted", item.golden_set, item=final_label.item_id)


def subject_of_item(item: GoldenItem) -> JudgeSubject:
    """Return what an example shows of an item: question, response, reference and context."""
    prompt, case = item.response.prompt, item.subject.case
    return JudgeSubject(
        question=prompt.text,
        response=item.response.text,
        reference=case.reference if case is not None else "",
        context=prompt.context,
    )


def _built(judge: Judge) -> CustomJudge:
    if judge.kind != NAME:
        title = judge_kind(NAME).title
        raise ReviewRefused(f"Only judges of the kind {title!r} take examples. Note a rule instead.")
    built = judge_kind(judge.kind).build(judge.options | {"confidence": NOT_MEASURED})
    assert isinstance(built, CustomJudge)
    return built


def _locked(item: GoldenItem) -> GoldenItem:
    joined = ("golden_set", "subject__case", "response__prompt")
    return lock_row(GoldenItem, item.pk, *joined)


def _label(item: GoldenItem) -> Label:
    final_label = blind_labels([item.subject_id]).get(item.subject_id)
    if final_label is None or final_label.label is None:
        raise ReviewRefused("People are deciding this label again; wait for them.")
    scale = {label.value: label for label in labels_from_json(item.subject.labels)}
    return scale.get(final_label.label, Label(final_label.label, final_label.label, final_label.share))


def _share(label: Label) -> float:
    if label.share is None:
        raise ReviewRefused("The labels of this set are names without a worth, so no verdict equals them.")
    return label.share


def development_choices(golden_set: GoldenSet, judges: Sequence[Judge], rubric: Rubric | None) -> list[EvaluatorChoice]:
    """Return judges as evaluators under the set's criterion, with the rubric where they need one.

    Raises:
        ReviewRefused: a judge compares two responses, or needs a rubric that the set does not have.
    """
    choices = []
    for judge in judges:
        if "pair" in needs_of(judge):
            raise ReviewRefused(f"{judge.name} compares two responses; a golden set holds single ones.")
        if needs_rubric(judge) and (rubric is None or not uses_rubric(judge, rubric)):
            raise ReviewRefused(f"{judge.name} needs another rubric than the one of the golden set; choose it.")
        used = rubric if needs_rubric(judge) else None
        choices.append(EvaluatorChoice(judge=judge, rubric=used, criterion=golden_set.criterion))
    return choices


def golden_plan(
    *,
    golden_set: GoldenSet,
    choices: Sequence[EvaluatorChoice],
    part: GoldenPart,
    budget: Decimal | None = None,
    fresh: bool = False,
) -> RunPlan:
    """Return the plan of a run on the responses of one part, for its estimate and to be made."""
    items = golden_set.items.filter(part=part, response__superseded_at__isnull=True)
    ids = list(items.order_by("pk").values_list("response_id", flat=True))
    return RunPlan(
        suite=golden_set.suite,
        systems=list(System.objects.filter(responses__in=ids).distinct().order_by("pk")),
        evaluators=choices,
        name=f"{golden_set.name}: {part.label.lower()}",
        budget=budget,
        fresh=fresh,
        people=AskedPeople.NOBODY,
        only=ids,
        without_images=True,  # verdicts say so
    )


@transaction.atomic
def run_on_development(*, golden_set: GoldenSet, plan: RunPlan, actor: User | None, at: datetime) -> Run:
    """Make the run that asks judges about the development part; it still has to be worked.

    Raises:
        RunNotPossible: see `check_plan`.
    """
    return _start(golden_set, plan, GoldenPart.DEVELOPMENT, "", actor, at)


@transaction.atomic
def open_test(
    *, golden_set: GoldenSet, evaluator: RunEvaluator, budget: Decimal | None, actor: User | None, at: datetime
) -> Run:
    """Make the run that asks one version, chosen on development, about the test part, and record that it was opened.

    Raises:
        ReviewRefused: the version was not compared on development, has changed since, or has had the test already.
        RunNotPossible: see `check_plan`.
    """
    locked = lock_row(GoldenSet, golden_set.pk, "suite")
    version = versions_of([evaluator])[evaluator.pk]
    _check_chosen(locked, evaluator, version.key)
    plan = golden_plan(golden_set=locked, choices=[version_choice(evaluator)], part=GoldenPart.TEST, budget=budget)
    run = _start(locked, plan, GoldenPart.TEST, version.key, actor, at)
    run_evaluator = run.evaluators.get()
    changes = changes_between(version, versions_of([run_evaluator])[run_evaluator.pk])
    if changes:
        raise ReviewRefused(f"The test stays shut: {' '.join(changes)} Run the judge on development again first.")
    facts = {"judge": evaluator.name, "version": version.key[:12], "run": run.pk}
    before = locked.runs.filter(part=GoldenPart.TEST).count() - 1
    record(actor, "golden.test_opened", locked, **facts, opened_before=before)
    return run


def version_choice(evaluator: RunEvaluator) -> EvaluatorChoice:
    """Return a version as it is asked again: its judge with the options that it had."""
    return EvaluatorChoice(
        judge=evaluator.judge,
        rubric=evaluator.rubric,
        criterion=evaluator.criterion,
        options=dict(evaluator.options["judge_options"]),
    )


def _check_chosen(golden_set: GoldenSet, evaluator: RunEvaluator, version_key: str) -> None:
    chosen = golden_set.runs.filter(run=evaluator.run_id, part=GoldenPart.DEVELOPMENT)
    if evaluator.judge is None or not chosen.exists():
        raise ReviewRefused("Choose a version that was run on the development part of this golden set.")
    if evaluator.run.status != RunStatus.FINISHED:
        raise ReviewRefused("The development run of this version has not finished yet.")
    opened = golden_set.runs.filter(part=GoldenPart.TEST, version_key=version_key)
    if opened.exclude(run__status=RunStatus.CANCELLED).exists():
        raise ReviewRefused("The test was opened for this version already; its figures are on the page of the set.")


def _start(
    golden_set: GoldenSet, plan: RunPlan, part: GoldenPart, version_key: str, actor: User | None, at: datetime
) -> Run:
    run = create_run(plan=plan, actor=actor, at=at)
    ids = list(dict.fromkeys(plan.responses.values_list("pk", flat=True)))
    write_chosen_tasks(run=run, response_ids=ids, kind=RunKind.GOLDEN, at=at)
    GoldenRun.objects.create(
        golden_set=golden_set, run=run, part=part, version_key=version_key, started_by=actor, started_at=at
    )
    return run


BATCH = 1_000


@transaction.atomic
def make_golden_set(
    *, name: str, seed: int, evaluator: RunEvaluator, material: GoldenMaterial, actor: User | None, at: datetime
) -> GoldenSet:
    """Store the labelled responses of an evaluator's suite and criterion, split by case.

    Raises:
        ReviewRefused: too few cases are labelled, or the name is empty or taken.
    """
    name = name.strip()
    if not name:
        raise ReviewRefused("Give the golden set a name.", field="name")
    if GoldenSet.objects.filter(name=name).exists():
        raise ReviewRefused(f"There is a golden set {name!r} already. Choose another name.", field="name")
    if material.lacks:
        raise ReviewRefused(material.lacks)
    labels = grouped((row.case_key, row.label) for row in material.rows)
    parts = split_cases(labels, seed=seed)
    golden_set = GoldenSet.objects.create(
        name=name,
        suite=evaluator.run.suite,
        rubric=evaluator.rubric,
        criterion=evaluator.criterion,
        labels=labels_to_json(material.scale),
        seed=seed,
        with_referred=material.with_referred,
        made_by=actor,
        made_at=at,
    )
    GoldenItem.objects.bulk_create(
        [
            GoldenItem(
                golden_set=golden_set,
                subject_id=row.subject_id,
                response_id=row.response_id,
                case_key=row.case_key,
                part=parts[row.case_key],
            )
            for row in material.rows
        ],
        batch_size=BATCH,
    )
    record(actor, "golden.made", golden_set, cases=material.cases, seed=seed)
    return golden_set


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
    record(actor, "golden.wording_asked", golden_set, endpoint=endpoint.name)
    return proposal


def work_on_proposal(*, proposal_id: int, at: datetime) -> WordingProposal:
    """Ask the model of a waiting proposal and store what it says; a finished call is never paid for twice."""
    proposal = WordingProposal.objects.select_related("golden_set", "evaluator__judge", "endpoint", "judge")
    row = proposal.get(pk=proposal_id)
    if row.status != ProposalStatus.WAITING:
        return row
    try:
        question = wording_question(row.golden_set, row.evaluator)
        wording, calls = hold_conversation(
            propose_wording(question.request), target_of(row.endpoint), at=at, budget=row.budget
        )
    except (ReviewRefused, TrialRefused) as refusal:
        row.status, row.reason = ProposalStatus.FAILED, str(refusal)[:REASON_LIMIT]
    else:
        row.after, row.reason = wording.text, wording.problem[:REASON_LIMIT]
        if not row.reason and row.after == row.before:
            row.reason = "The model proposed the prompt as it is."
        row.status = ProposalStatus.FAILED if row.reason else ProposalStatus.READY
        row.cost = paid_for(calls)
    row.save(update_fields=["after", "reason", "status", "cost"])
    return row


@transaction.atomic
def accept_wording(*, proposal: WordingProposal, accepted: Collection[int], actor: User | None, at: datetime) -> Judge:
    """Give the judge its prompt with the accepted lines, which makes another version; return the judge.

    Raises:
        ReviewRefused: nothing was accepted, the proposal is used or not ready, the judge's prompt has changed since,
            or the prompt with these lines cannot be used.
        NotOwner: the judge is somebody else's.
    """
    row = lock_row(WordingProposal, proposal.pk, "golden_set")
    judge = lock_row(Judge, row.judge_id, "endpoint")
    check_owner(judge, actor)
    if row.status != ProposalStatus.READY:
        raise ReviewRefused("This proposal cannot be accepted: it is not ready, or was accepted before.")
    places = {line.place for line in wording_lines(row.before, row.after) if line.place is not None}
    chosen = sorted(places.intersection(accepted))
    if not chosen:
        raise ReviewRefused("Accept at least one line.")
    if prompt_of_judge(judge) != row.before:
        raise ReviewRefused("The prompt of the judge has changed since. Have new wording proposed.")
    text = accepted_wording(row.before, row.after, chosen)
    try:
        saved = save_judge(judge=judge, options=judge.options | {"prompt_text": text}, actor=actor)
    except JudgeNotValid as problem:
        raise ReviewRefused(f"The prompt cannot be used with these lines: {problem}") from None
    row.status, row.accepted, row.accepted_at = ProposalStatus.ACCEPTED, chosen, at
    row.save(update_fields=["status", "accepted", "accepted_at"])
    record(actor, "golden.wording_accepted", row.golden_set, judge=judge.name, lines=len(chosen), of=len(places))
    return saved
