"""What can be done with systems, which answer cases."""

from __future__ import annotations

from functools import partial

from django import forms
from django.db.models import QuerySet

from evalsite.base.actions.declarations import (
    CREATE,
    DELETE,
    ActionCall,
    NoInput,
    Noun,
    PageData,
    Reference,
    columns,
)
from evalsite.base.types import JsonObject
from judging.forms.endpoints import SystemFilterForm, SystemForm, entered_of
from judging.models import System
from judging.selectors.benchmarks import list_systems
from judging.services.systems import add_system, delete_system, set_system_active

system_facts = columns(
    *("id", "name", "model", "prompt_version", "is_asked_here", "is_active", "description"), "endpoint.name as endpoint"
)


SYSTEMS: Noun[System] = Noun(
    name="system",
    plural="systems",
    help="Set up, retire, restore or delete systems, list them, or show one.",
    reference=Reference("system"),
    rows=lambda _person: System.objects.select_related("endpoint"),
    view_permission="judging.view_benchmark",
    shown=system_facts,
    detail=lambda system: system_facts(system) | {"asking": system.asking},
    filter_form=SystemFilterForm,
    listed=lambda here, q: list_systems(askable=here, search=q),
)


def _here(_person: object) -> QuerySet[System]:
    """Return the systems that are asked here; responses of others were imported."""
    return System.objects.filter(endpoint__isnull=False).select_related("endpoint")


change = partial(SYSTEMS.one, permission="judging.add_run", rows=_here)


def _new_form(_subject: None, first: JsonObject, data: PageData | None) -> SystemForm:
    return SystemForm(data, initial=entered_of(first["like"]) if first["like"] else None)


@SYSTEMS.new(
    CREATE,
    permission="judging.add_run",
    form=SystemForm,
    makes_form=_new_form,
    first_fields={
        "like": forms.ModelChoiceField(
            System.objects.all(), required=False, help_text="A system whose settings are taken where none are given."
        )
    },
    said=lambda system: f"{system} is set up. Choose it under Ask systems in a new run.",
)
def create(act: ActionCall[None, SystemForm]) -> System:
    """Set up a system that runs ask: an endpoint, a prompt version and sampling options."""
    form, description = act.form, act.data["description"]
    return add_system(
        name=form.system_name(), worker=form.worker(), description=description, actor=act.actor, at=act.at
    )


@change("retire", said=lambda system: f"{system} is retired. Its responses are kept.")
def retire(act: ActionCall[System, NoInput]) -> System:
    """Let no new run ask a system. Its responses and runs are kept."""
    return set_system_active(system=act.subject, is_active=False, actor=act.actor)


@change("restore", said=lambda system: f"{system} is restored.")
def restore(act: ActionCall[System, NoInput]) -> System:
    """Let new runs ask a retired system again."""
    return set_system_active(system=act.subject, is_active=True, actor=act.actor)


@change(DELETE, leads_to="judging:system-list")
def delete(act: ActionCall[System, NoInput]) -> System:
    """Delete a system that has no response and that no run asked."""
    delete_system(system=act.subject, actor=act.actor)
    return act.subject
