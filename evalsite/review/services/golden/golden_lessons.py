"""What a disagreement on development leads to: an example, a rule, or the label back to people."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.row_locks import lock_row
from evalsite.review.models import GoldenItem, GoldenRule, GoldenSet
from evalsite.review.questions.scales import Label, labels_from_json
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.labels.known_labels import blind_labels
from evalsite.review.services.items.decisions import reopen_item
from evalsite.review.states import ReviewRefused
from judging.judges.judge_kinds import NOT_MEASURED, BadJudgeOption
from judging.judges.kinds.custom import NAME, CustomJudge
from judging.judges.kinds.custom_examples import with_example
from judging.judges.registry import judge_kind
from judging.judges.subjects import JudgeSubject
from judging.models import Judge
from judging.services.endpoints import JudgeFields, JudgeNotValid, save_judge

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
    """
    judge = lock_row(Judge, judge.pk, "endpoint")
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
    fields = JudgeFields(judge.name, judge.endpoint, judge.description)
    try:
        options = judge.options | {"examples": with_example(str(judge.options.get("examples", "")), example)}
        saved = save_judge(judge=judge, fields=fields, kind=judge.kind, options=options, actor=actor)
    except (BadJudgeOption, JudgeNotValid) as problem:
        raise ReviewRefused(str(problem)) from None
    same_case = GoldenItem.objects.filter(golden_set=item.golden_set_id, case_key=item.case_key)
    same_case.filter(part=GoldenPart.DEVELOPMENT).update(part=GoldenPart.EXAMPLES, moved_at=at)
    record(actor, "golden.example", _about(item.golden_set), case=item.case_key, judge=judge.name)
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
    record(actor, "golden.rule_noted", _about(golden_set), rule=rule.pk)
    return rule


@transaction.atomic
def delete_rule(*, rule: GoldenRule, actor: User | None) -> None:
    """Delete a rule that somebody noted."""
    record(actor, "golden.rule_deleted", _about(rule.golden_set), text=rule.text)
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
    record(actor, "golden.label_doubted", _about(item.golden_set), item=final_label.item_id)


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


def _about(golden_set: GoldenSet) -> NamedSubject:
    return NamedSubject(golden_set.name, golden_set.pk)
