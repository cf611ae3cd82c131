"""What can be done to have people label what a run or a set of debates left open, or a random sample of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from django import forms

from debate.actions import DEBATE_SETS
from debate.models import DebateSet
from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import Action, ActionCall, NoInput, PageData
from evalsite.base.formats import ScoreScale
from evalsite.base.rows import check_owner
from evalsite.base.tables import facts_text
from evalsite.base.types import JsonDict, JsonObject, Refused
from evalsite.review.actions.queues import QUEUES
from evalsite.review.jobs import launch, launch_rest, route_debates, route_run
from evalsite.review.models import Queue
from evalsite.review.queue_forms import AuditForm
from evalsite.review.selectors.audits import (
    AuditedSystem,
    asked_of_run,
    audit_subject,
    audited_systems,
    unrouted_debate_sets,
    unrouted_runs,
)
from evalsite.review.selectors.verdict_reviews import unsent_debates
from evalsite.review.services import researcher_referrals
from evalsite.review.services.researcher_referrals import HOW_TO_AGREE_TO_REST, ReferredItems, work_of_items
from evalsite.review.services.run_referrals import NO_CASES, open_items_for_debates, open_items_for_run, plan_audit
from evalsite.review.states import ReviewRefused
from judging.actions.references import itself
from judging.actions.runs import RUNS
from judging.forms.new_runs import AgreedForm
from judging.models import SCORED_KINDS, Run, Verdict
from judging.models.runs import RunStatus
from judging.specs.people_choices import HOW_TO_AGREE

MOST_AT_ONCE = 2_000  # tasks of a run, or debates, of which the rest is sent while the reader waits
of_run = partial(RUNS.one, permission="review.change_queue", owned=itself)
of_debates = partial(DEBATE_SETS.one, permission="review.change_queue")


class SendForm(AgreedForm):
    """What of a run is sent."""

    verdict = forms.ModelChoiceField(
        Verdict.objects.none(), required=False, help_text="To send its response and criterion only"
    )


def _send_form(run: Run, _first: JsonObject, data: PageData | None) -> SendForm:
    form = SendForm(data)
    form.fields["verdict"].queryset = run.verdicts.all()  # type: ignore[attr-defined]  # of its kind
    return form


def _sent_facts(sent: ReferredItems | None) -> dict[str, str | int]:
    if sent is None:
        return {"left_to_worker": True}
    return {"queue": sent.queue.slug, "items": sent.count, "annotations": sent.annotations}


def _sent_words(sent: ReferredItems | None) -> str:
    return "A worker is sending the rest to the queue; its numbers will grow." if sent is None else sent.words


@of_run("send", form=SendForm, makes_form=_send_form, needs_person=True, shown=_sent_facts, said=_sent_words)
def send(act: ActionCall[Run, SendForm]) -> ReferredItems | None:
    """Send what a run left open to review, or one verdict's response, unless it is in review already.

    A large run is left to a worker.
    """
    run, verdict = act.subject, act.data["verdict"]
    if verdict is not None:
        return researcher_referrals.send_verdict(verdict=verdict, actor=act.person, at=act.at)
    if run.total <= MOST_AT_ONCE:
        return _send_now(act)
    queue = Queue.objects.filter(run=run).first()
    _send_later(act, queue, asked_of_run(run) - (queue.total_count if queue is not None else 0))
    return None


@of_debates("send", form=AgreedForm, needs_person=True, shown=_sent_facts, said=_sent_words)
def send_debates(act: ActionCall[DebateSet, AgreedForm]) -> ReferredItems | None:
    """Send the debates of a set that have no verdict to review, unless they are in review already.

    Many are left to a worker.
    """
    unsent = unsent_debates(act.subject).count()
    if unsent <= MOST_AT_ONCE:
        return _send_now(act)
    _send_later(act, Queue.objects.filter(debate_set=act.subject).first(), unsent)
    return None


def _send_now(act: ActionCall[Any, Any]) -> ReferredItems:
    return researcher_referrals.send_rest(about=act.subject, actor=act.person, at=act.at, agreed=act.data["agreed"])


def _send_later(act: ActionCall[Any, Any], queue: Queue | None, items: int) -> None:
    """Have a worker send so many items. Raises: PeopleNotAsked, and ReviewRefused where no worker is there."""
    agreed = act.data["agreed"]
    work_of_items(queue, items).check_agreed(agreed, how=HOW_TO_AGREE_TO_REST)
    if not launch_rest(about=act.subject, actor=act.person, agreed=agreed):
        raise ReviewRefused("No worker is running. Start one with `manage.py work default`, then try again.")


class RouteForm(forms.Form):
    """What is routed: one run or one set of debates; without either, all that finished and was not."""

    run = forms.ModelChoiceField(Run.objects.filter(kind__in=SCORED_KINDS), required=False, help_text="A finished run.")
    debate_set = forms.ModelChoiceField(DebateSet.objects.all(), required=False, help_text="A set that has ended.")


@QUEUES.new("route", permission="review.change_queue", form=RouteForm, calls_models=True, shown=dict)
def route(act: ActionCall[None, RouteForm]) -> dict[str, int]:
    """Create the missing items of runs and debates that have finished, as a worker does by itself. Safe to repeat."""
    run, debate_set = act.data["run"], act.data["debate_set"]
    if run is not None:
        check_owner(run, act.actor)
    runs, sets = [run] if run is not None else [], [debate_set] if debate_set is not None else []
    if run is not None and run.status != RunStatus.FINISHED:
        raise Refused(f"{run} is {run.get_status_display().lower()}; only finished runs are routed.", field="run")
    if not runs and not sets:
        runs = list(unrouted_runs().select_related("suite"))
        sets = list(unrouted_debate_sets().select_related("rubric"))
    opened = sum(open_items_for_run(run=each, at=act.at) for each in runs)
    opened += sum(open_items_for_debates(debate_set=each, at=act.at) for each in sets)
    facts = {"runs": len(runs), "debate_sets": len(sets), "items_opened": opened}
    record(act.actor, "queue.routed", run or debate_set or "what had finished", **facts)
    return facts


def _withdrawn_words(count: int) -> str:
    return f"{count:,} item{'' if count == 1 else 's'} withdrawn."


@of_run("take-back", needs_person=True, shown=lambda count: {"withdrawn": count}, said=_withdrawn_words)
def take_run_back(act: ActionCall[Run, NoInput]) -> int:
    """Withdraw what was sent to review by hand of a run, has no annotation and nobody at work on it."""
    return researcher_referrals.take_rest_back(run=act.subject, actor=act.person, at=act.at)


def _audit_form(about: Run | DebateSet, _first: JsonObject, data: PageData | None) -> AuditForm:
    return AuditForm(data, subject=audit_subject(about))


def _on_scale(row: AuditedSystem, scale: ScoreScale) -> JsonDict:
    """Return a system's audit with the numbers of its scale."""
    return asdict(row) | {name: scale.number_of(getattr(row, name)) for name in ("mean", "worst", "best")}


def _offered(act: ActionCall[Any, AuditForm]) -> JsonDict:
    """Say what a random audit of a size costs and buys, without storing it."""
    subject, size = act.form.subject, act.form.chosen
    if not subject.population:
        raise ReviewRefused(NO_CASES)
    offer, scale = subject.offer(size, share=act.form.expected), subject.score_scale
    return {
        **{name: getattr(offer, name) for name in ("size", "population", "probability")},
        "scale": scale.range_words,
        "half_width_at_half": scale.differences.number_of(offer.worst),
        "half_width_at_share": scale.differences.number_of(offer.assumed),
        "difference_told_apart": scale.differences.number_of(offer.difference),
        **{name: getattr(offer, name) for name in ("subjects", "answers", "seconds")},
        "new_answers": subject.work_of(size).most,
        "pace": subject.pace.words,
        "decided": [_on_scale(row, scale) for row in audited_systems(subject)] if subject.drawn else [],
    }


def _planned(act: ActionCall[Any, AuditForm]) -> JsonDict:
    """Choose the size of the random audit: a number of cases, or how narrow the interval of a mean shall be.

    It is drawn when the run or the debates are over. A sample that was drawn can only grow.
    """
    subject, size = act.form.subject, act.form.chosen
    subject.work_of(size).check_agreed(act.data["agreed"], how=HOW_TO_AGREE)
    plan_audit(subject=subject, size=size, actor=act.actor, at=act.at)
    if subject.is_over:
        launch(route_run if subject.run is not None else route_debates, subject.about.pk)
    return _offered(act) | {"is_drawn_at_once": subject.is_over}


def _planned_words(facts: JsonDict) -> str:
    when = "is being drawn" if facts["is_drawn_at_once"] else "will be drawn at the end"
    return f"A sample of {facts['size']:,} {when}"


def _audit(one: Callable[..., Any], **options: Any) -> Action[Any, AuditForm]:
    """Declare choosing the size of an audit, and what a size costs and buys."""
    one = partial(one, form=AuditForm, makes_form=_audit_form, shown=dict, lines=facts_text, **options)
    one("estimate-audit", is_dry=True)(_offered)
    planned: Action[Any, AuditForm] = one("audit", said=_planned_words)(_planned)
    return planned


AUDIT_RUN = _audit(of_run, rows=lambda person: RUNS.rows(person).filter(kind__in=SCORED_KINDS))
AUDIT_DEBATES = _audit(of_debates)
