"""How queues, teams, tables of labels, golden sets and items are named, and what can be done with teams."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from functools import partial

from django.contrib.auth.models import User
from django.db.models import QuerySet

from evalsite.base.actions.declarations import (
    CHANGE,
    CREATE,
    DELETE,
    ActionCall,
    NoInput,
    Noun,
    PageData,
    Reference,
    columns,
)
from evalsite.base.rows import BadInput, numbered_row
from evalsite.base.types import JsonObject, whole_number
from evalsite.review.forms import TeamForm
from evalsite.review.models import GoldenSet, LabelTable, Queue, ReviewItem, Team
from evalsite.review.models.items import number_at
from evalsite.review.selectors.waiting_items import possible_members
from evalsite.review.services.queues import change_team, create_team, delete_team
from judging.actions.references import PERSON, declare_co_owners, itself


def find_item(items: QuerySet[ReviewItem], text: str) -> ReviewItem:
    """Return an item by its number or by what stands for it in the address of its page.

    Raises:
        BadInput: there is none; the message lists no others, since their numbers tell something.
    """
    item = numbered_row(items, text)
    if item is None and whole_number(text) is None:
        with suppress(ValueError):
            item = items.filter(pk=number_at(text)).first()
    if item is None:
        raise BadInput(f"There is no item {text}.")
    return item


QUEUE = Reference("queue", ("slug", "name"), rows=Queue.objects.all)
LABEL_TABLE = Reference("label table", ("slug", "name"), rows=LabelTable.objects.all)
GOLDEN_SET = Reference("golden set", rows=lambda: GoldenSet.objects.select_related("suite", "rubric"))
TEAM = Reference("team", rows=Team.objects.all)
ITEM = Reference("item", finder=find_item, rows=lambda: ReviewItem.objects.select_related("queue"))


TEAMS: Noun[Team] = Noun(
    name="team",
    plural="teams",
    help="Gather people into teams, change or delete them, list them, or show one.",
    reference=TEAM,
    rows=lambda _person: Team.objects.all(),
    view_permission="review.change_queue",
    shown=columns(
        *("id", "name"),
        members=lambda team: list(team.members.order_by("username").values_list("username", flat=True)),
        queues=lambda team: list(team.queues.order_by("slug").values_list("slug", flat=True)),
    ),
    references={User: PERSON},
)
change = partial(TEAMS.one, permission="review.change_queue", owned=itself)


def _form(team: Team | None, _first: JsonObject, data: PageData | None) -> TeamForm:
    return TeamForm(data, instance=copy(team), people=possible_members(team))  # it writes into its own instance


@TEAMS.new(
    CREATE,
    permission="review.change_queue",
    form=TeamForm,
    makes_form=_form,
    said=lambda team: f"{team} saved",
)
def create(act: ActionCall[None, TeamForm]) -> Team:
    """Gather people into a team, which queues can be given to."""
    return create_team(name=act.data["name"], members=list(act.data["members"]), actor=act.actor)


@change(CHANGE, form=TeamForm, makes_form=_form, said=lambda team: f"{team} saved", button="Change", icon="pencil")
def change_people(act: ActionCall[Team, TeamForm]) -> Team:
    """Rename a team, or say who is in it. Who joins or leaves joins or leaves its queues.

    What somebody holds there who leaves is given back; their annotations stay.
    """
    return change_team(
        team=act.subject, name=act.data["name"], members=list(act.data["members"]), actor=act.actor, at=act.at
    )


declare_co_owners(TEAMS, permission="review.change_queue")


@change(DELETE, button="Delete", icon="trash", question="Delete this team?")
def delete(act: ActionCall[Team, NoInput]) -> Team:
    """Delete a team. Its queues keep its people as their members."""
    return delete_team(team=act.subject, actor=act.actor)
