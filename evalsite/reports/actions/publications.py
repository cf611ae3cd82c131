"""What can be done with saved views of results, links that share a leaderboard, official boards and their scores."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.urls import reverse

from debate.models import DebateSet
from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import (
    CREATE,
    DELETE,
    ActionCall,
    NoInput,
    Noun,
    Reference,
    columns,
)
from evalsite.base.http import SentFile, table_file
from evalsite.base.rows import Issued
from evalsite.base.tables import CONTENT_TYPES, DATA_TYPES
from evalsite.base.types import JsonDict, Refused
from evalsite.reports.actions.results import SCORES
from evalsite.reports.forms import PinForm, SavedViewForm, ShareForm
from evalsite.reports.models import OfficialBoard, SavedView, ShareLink
from evalsite.reports.selectors.leaderboards import graders_named, graders_of
from evalsite.reports.services.publications import create_share, delete_view, revoke_share, save_view
from evalsite.reports.services.suite_boards import pin_board, unpin_board
from judging.actions.references import SUITE
from judging.actions.runs import RUNS
from judging.models import SCORED_KINDS, Run, RunKind, Score, Suite

SEES = "reports.view_snapshot"
FORMATS = CONTENT_TYPES | DATA_TYPES


def _views(person: User | None) -> QuerySet[SavedView]:
    views = SavedView.objects.select_related("suite__benchmark", "created_by")
    return views if person is None else views.filter(Q(created_by=person) | Q(is_shared=True))


VIEWS: Noun[SavedView] = Noun(
    name="view",
    plural="views",
    help="Save views of results, delete them, list them, or show one.",
    reference=Reference("view"),
    rows=_views,
    view_permission=SEES,
    shown=columns(
        *("id", "suite", "get_absolute_url as address", "name", "query", "is_shared as shared"),
        *("created_by.username as by",),
    ),
    references={Suite: SUITE},
)


@VIEWS.new(
    CREATE,
    permission="reports.add_savedview",
    form=SavedViewForm,
    needs_person=True,
    said=lambda view: f"The view “{view}” is saved.",
)
def save(act: ActionCall[None, SavedViewForm]) -> SavedView:
    """Keep a view of the results of a suite; one of the same name by the same person is replaced."""
    return save_view(**act.data, actor=act.person, at=act.at)


@VIEWS.one(
    DELETE,
    permission="reports.add_savedview",
    rows=lambda person: _views(None).filter(created_by=person),
    needs_person=True,
    said=lambda view: f"The view “{view}” is deleted.",
)
def delete(act: ActionCall[SavedView, NoInput]) -> SavedView:
    """Delete a view of one's own."""
    delete_view(view=act.subject, actor=act.person)
    return act.subject


link_facts = columns(
    "pk as link", "suite", "query", "created_by.username as by", "expires_at", "opened_at", "revoked_at"
)


def _links(_person: object) -> QuerySet[ShareLink]:
    return ShareLink.objects.select_related("suite__benchmark", "created_by")


LINKS: Noun[ShareLink] = Noun(
    name="share",
    plural="shares",
    help="Make links to leaderboards for people without an account, revoke them, list them, or show one.",
    reference=Reference("link", ()),
    rows=_links,
    view_permission="reports.add_sharelink",
    shown=link_facts,
    references={Suite: SUITE},
)


@LINKS.new(
    CREATE,
    permission="reports.add_sharelink",
    form=ShareForm,
    needs_person=True,
    is_secret=True,
    shown=lambda issued: link_facts(issued.row) | {"path": reverse("reports:shared-board", args=[issued.secret])},
)
def share(act: ActionCall[None, ShareForm]) -> Issued[ShareLink]:
    """Make a link to a leaderboard and its results for people without an account. Its address is shown once."""
    return create_share(**act.data, actor=act.person, at=act.at)


@LINKS.one(
    "revoke",
    permission="reports.add_sharelink",
    needs_person=True,
    said=lambda link: f"The {link} was revoked.",
)
def revoke(act: ActionCall[ShareLink, NoInput]) -> ShareLink:
    """End a link now."""
    revoke_share(link=act.subject, actor=act.person, at=act.at)
    return _links(None).get(pk=act.subject.pk)


def board_facts(suite: Suite) -> JsonDict:
    """Return the columns of a suite's official board; none where it has none."""
    official = OfficialBoard.objects.filter(suite=suite).first()
    graders = [] if official is None else graders_named(graders_of(suite.pk), official.evaluators)
    address = OfficialBoard(suite=suite).get_absolute_url()
    return {"suite": str(suite), "id": suite.pk, "address": address, "graders": [grader.label for grader in graders]}


BOARDS: Noun[Suite] = Noun(
    name="board",
    plural="boards",
    help="Choose the official board of a suite or none, list boards, or show one.",
    reference=SUITE,
    rows=lambda _person: Suite.objects.select_related("benchmark"),
    view_permission=SEES,
    shown=board_facts,
)
decide = partial(BOARDS.one, permission="judging.change_run", needs_person=True)


@decide("pin", form=PinForm, about="suite", said=lambda _suite: "This is the official board of the suite now")
def pin(act: ActionCall[Suite, PinForm]) -> Suite:
    """Choose which graders and judges the board of a suite shows first."""
    chosen = graders_named(graders_of(act.subject.pk), [int(key) for key in act.data["graders"]])
    pin_board(suite=act.subject, graders=chosen, actor=act.person, at=act.at)
    return act.subject


@decide("unpin", said=lambda _suite: "The suite has no official board now")
def unpin(act: ActionCall[Suite, NoInput]) -> Suite:
    """Leave a suite without an official board."""
    unpin_board(suite=act.subject, actor=act.person)
    return act.subject


class ScoresForm(forms.Form):
    """In which form scores are sent."""

    format = forms.ChoiceField(label="Format", choices=[(name, name) for name in FORMATS], initial="csv")


ROWS: Any = {"permission": SEES, "form": ScoresForm, "sends_file": tuple(FORMATS.values())}


def _scores(act: ActionCall[Any, ScoresForm], scores: QuerySet[Score]) -> SentFile:
    format_name = act.data["format"]
    record(act.actor, "report.exported", act.subject, table="scores", format=format_name)
    return table_file(SCORES.data(scores), format_name, name=f"{act.subject} scores")


@RUNS.one("export", **ROWS)
def export_run(act: ActionCall[Run, ScoresForm]) -> SentFile:
    """Send every score of a run, with the response, the reason and the cost."""
    if act.subject.kind == RunKind.DEBATE:
        sets = " ".join(map(str, DebateSet.objects.filter(run=act.subject).values_list("pk", flat=True)))
        raise Refused(f"Debates have votes and no scores. Export their set of debates: {sets}.")
    return _scores(act, Score.objects.filter(run=act.subject))


@BOARDS.one("export-scores", **ROWS)
def export_suite(act: ActionCall[Suite, ScoresForm]) -> SentFile:
    """Send every score of all runs over a suite, with the response, the reason and the cost."""
    return _scores(act, Score.objects.filter(run__suite=act.subject, run__kind__in=SCORED_KINDS))
