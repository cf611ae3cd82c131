"""What can be done with the traces that programs send."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.db.models import QuerySet

from evalsite.api.models import TraceSource
from evalsite.api.traces import choose_step, delete_source, store_whole, with_counts
from evalsite.base.actions.declarations import (
    DELETE,
    ActionCall,
    NoInput,
    Noun,
    Reference,
    columns,
)

SENDS_TRACES = "judging.add_upload"
COUNTS = ("spans", "waiting", "incomplete", "stored", "left_out", "dropped")


_source_facts = columns("id", "benchmark", "step", "sender", *COUNTS, "trouble", "received_at", "stored_at")


def trace_sources(_about: Any = None) -> QuerySet[TraceSource]:
    """Return all, with what waits, the newest first."""
    return with_counts(TraceSource.objects.select_related("sender").order_by("-pk"))


TRACE_SOURCES: Noun[TraceSource] = Noun(
    name="trace_source",
    plural="trace-sources",
    help="Store what is whole of the traces that programs send, choose a step, forget a source,"
    " list them, or show one.",
    reference=Reference("trace source", ("benchmark",)),
    rows=trace_sources,
    view_permission=SENDS_TRACES,
    shown=lambda source: _source_facts(trace_sources().get(pk=source.pk)),
    detail=_source_facts,
    in_list=_source_facts,
)
of_source = partial(TRACE_SOURCES.one, permission=SENDS_TRACES)


class StepForm(forms.Form):
    """What of each trace is judged."""

    step = forms.CharField(
        max_length=200,
        required=False,
        label="Step",
        help_text="Name of a span, tool or agent whose words are judged. Empty: the whole conversation.",
    )


@of_source(
    "choose-step",
    form=StepForm,
    makes_form=lambda source, _first, data: StepForm(data, initial={"step": source.step}),
    button="Choose step",
    icon="layers",
)
def step(act: ActionCall[TraceSource, StepForm]) -> TraceSource:
    """Choose whether whole traces are stored from now on, or one step of each by its name."""
    return choose_step(source=act.subject, step=act.data["step"].strip(), actor=act.actor)


@of_source("store", calls_models=True, said=lambda source: f"What was whole of {source.benchmark} is stored.")
def store(act: ActionCall[TraceSource, NoInput]) -> TraceSource:
    """Store now the traces whose root span has come, without waiting for more of their spans."""
    store_whole(act.subject, quiet_since=act.at, at=act.at)
    return act.subject


@of_source(DELETE, said=lambda source: f"{source.benchmark} is forgotten.", leads_to="trace-source-list")
def forget_trace_source(act: ActionCall[TraceSource, NoInput]) -> TraceSource:
    """Forget a source with its counts and the spans that wait. What is stored stays."""
    return delete_source(source=act.subject, actor=act.actor)
