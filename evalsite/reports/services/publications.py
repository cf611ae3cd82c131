"""Views that people save for their team, links that share a board, and rules that boards are held to."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from math import isfinite

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.http import QueryDict

from evalsite.accounts.audit import record
from evalsite.base.formats import scale_of_figure
from evalsite.base.rows import Issued, digest_of
from evalsite.base.types import JsonDict, Refused
from evalsite.reports.models import SavedView, ShareLink
from evalsite.reports.services.snapshots import ReportContent
from judging.models import RunEvaluator, Suite

MAX_VIEWS = 50  # of one person and suite
MAX_NAME_LENGTH = 80  # characters
MAX_QUERY_LENGTH = 2000
PLACES = ("page", "row", "print")  # in the rows: no part of a view
TOKEN_BYTES = 32
OPENED_EVERY = timedelta(minutes=1)  # how exactly it is kept when a link was opened last


class ViewRefused(Refused):
    """The view cannot be saved; the message says why."""


def views_for(*, suite_id: int, user: User, query: str) -> list[tuple[SavedView, bool, bool]]:
    """Return a person's own views and those that others share, by name; `query` is what the page shows.

    With each comes whether the page shows it now, and whether it is the person's own.
    """
    shown = plain_query(query)
    views = SavedView.objects.filter(Q(created_by=user.pk) | Q(is_shared=True), suite=suite_id)
    ordered = views.select_related("created_by").order_by("name", "pk")
    return [(view, view.query == shown, view.created_by_id == user.pk) for view in ordered]


def plain_query(query: str) -> str:
    """Return the choices of an address without the place in its rows, in one order."""
    choices = QueryDict(query)
    return "&".join(sorted(part for part in choices.urlencode().split("&") if part.split("=")[0] not in PLACES))


@transaction.atomic
def save_view(*, suite: Suite, name: str, query: str, is_shared: bool, actor: User, at: datetime) -> SavedView:
    """Save what a page shows; a view of the same name by the same person is replaced.

    Raises:
        ViewRefused: there is no name, or too much to save.
    """
    name, plain = " ".join(name.split()), plain_query(query)
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        raise ViewRefused(f"Enter a name of at most {MAX_NAME_LENGTH} characters.")
    if len(plain) > MAX_QUERY_LENGTH:
        raise ViewRefused("This view chooses too much to be kept. Choose fewer systems or judges.")
    mine = SavedView.objects.filter(suite=suite, created_by=actor)
    if not mine.filter(name=name).exists() and mine.count() >= MAX_VIEWS:
        raise ViewRefused(f"You keep {MAX_VIEWS} views of this suite already. Delete one first.")
    values = {"query": plain, "is_shared": is_shared, "created_at": at}
    view, _ = SavedView.objects.update_or_create(suite=suite, created_by=actor, name=name, defaults=values)
    record(actor, "view.saved", view, query=plain, shared=is_shared)
    return view


@transaction.atomic
def delete_view(*, view: SavedView, actor: User) -> None:
    """Forget a view; what it shows is left as it is."""
    record(actor, "view.deleted", str(view), query=view.query)
    view.delete()


@transaction.atomic
def create_share(*, suite: Suite, query: str, days: int, actor: User, at: datetime) -> Issued[ShareLink]:
    """Make a link to the leaderboard of a suite as `query` filters it; it ends after `days`.

    Raises:
        ViewRefused: there is too much to keep.
    """
    if len(query) > MAX_QUERY_LENGTH:
        raise ViewRefused("This board chooses too much to be shared. Choose fewer systems or judges.")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    link = ShareLink.objects.create(
        token_hash=digest_of(token),
        suite=suite,
        query=query,
        created_by=actor,
        created_at=at,
        expires_at=at + timedelta(days=days),
    )
    record(actor, "share.created", link, suite=suite.pk, days=days)
    return Issued(link, token)


def open_share(token: str, *, at: datetime) -> ShareLink | None:
    """Return the link that an address names and note that it was opened; None for one unknown, expired or revoked."""
    links = ShareLink.objects.filter(revoked_at__isnull=True, expires_at__gt=at).select_related("created_by")
    link = links.filter(token_hash=digest_of(token)).first()
    if link is not None:
        stale = Q(opened_at__isnull=True) | Q(opened_at__lt=at - OPENED_EVERY)
        ShareLink.objects.filter(stale, pk=link.pk).update(opened_at=at)
    return link


@transaction.atomic
def revoke_share(*, link: ShareLink, actor: User, at: datetime) -> None:
    """End a link now; one that was revoked stays so."""
    if ShareLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=at):
        record(actor, "share.revoked", link, suite=link.suite_id)


EXIT_HELD, EXIT_NOT_HELD, EXIT_TOO_FEW = 0, 3, 4  # 2 is bad input, in every command
EXIT_CODES = "Exit codes: 0 held (or no rule given), 2 bad input, 3 not held, 4 too few labels or scores to say."
LOWER = "lower"
_THRESHOLD = re.compile(
    r"(?P<system>.+)=\s*(?P<number>[-+]?(\d+\.?\d*|\.\d+))(?P<percent>%?)\s*(:(?P<end>\w+))?", re.DOTALL
)


class GateRefused(ValueError):
    """A rule that cannot be read or does not fit the board."""


class RuleStatus(StrEnum):
    """Whether a rule holds."""

    HELD = "held"
    NOT_HELD = "not held"
    TOO_FEW = "too few to say"


@dataclass(frozen=True, slots=True)
class Threshold:
    """The lowest mean, or lower end of the interval, that a system may have, as the board shows it."""

    system: str
    number: float
    is_percent: bool = False
    is_lower: bool = False

    def __str__(self) -> str:
        what = "lower end" if self.is_lower else "mean"
        return f"{what} at least {self.number:g}{'%' if self.is_percent else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class GatedBoard:
    """A leaderboard by one grader or judge, or two systems on it, under options."""

    evaluator: RunEvaluator
    content: ReportContent
    options: JsonDict


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What became of one rule for one system by one grader or judge; `words` say by which figure."""

    rule: str
    system: str
    evaluator: str
    verdict: RuleStatus
    words: str


def read_threshold(text: str) -> Threshold:
    """Return the threshold that SYSTEM=VALUE[:lower] says; the name may contain "=". Raises: GateRefused."""
    match = _THRESHOLD.fullmatch(text.strip())
    if match is None or match["end"] not in (None, LOWER):
        raise GateRefused(f"“{text}” is not SYSTEM=VALUE or SYSTEM=VALUE:lower, such as oak=0.8 or oak=80%:lower.")
    return Threshold(match["system"].strip(), float(match["number"]), bool(match["percent"]), match["end"] == LOWER)


def threshold_outcome(threshold: Threshold, row: ReportContent, *, mode: str, evaluator: str) -> RuleOutcome:
    """Return whether a row of a leaderboard reaches a threshold; exactly the threshold is enough.

    Raises:
        GateRefused: the threshold is on another scale than the board.
    """
    figure = row["figures"][mode]
    share = figure["low" if threshold.is_lower else "value"]
    least, scale = _least_share(threshold, figure), scale_of_figure(figure)
    rule = f"{mode} {threshold}"
    if share is None:
        words = figure["reason"] or "There is no interval."
        return RuleOutcome(rule, row["system"], evaluator, RuleStatus.TOO_FEW, words)
    verdict = RuleStatus.HELD if share >= least - 1e-12 else RuleStatus.NOT_HELD
    return RuleOutcome(rule, row["system"], evaluator, verdict, scale.whole_words(share, 2))


def _least_share(threshold: Threshold, figure: ReportContent) -> float:
    scale = scale_of_figure(figure)
    if scale.is_rating:
        lowest, highest = scale.lowest, scale.highest
        if threshold.is_percent or not lowest <= threshold.number <= highest:
            raise GateRefused(f"{threshold.system}: these scores are ratings. Write {scale.range_words}, without %.")
        return scale.share(threshold.number)
    share = threshold.number / 100 if threshold.is_percent else threshold.number
    if not isfinite(share) or share > 1:
        raise GateRefused(f"{threshold.system}: these scores are shares. Write 80% or 0.8 for 80%.")
    return share


def label_outcome(row: ReportContent, *, needed: int, evaluator: str) -> RuleOutcome:
    """Return whether people decided on enough audited cases of a system."""
    verdict = RuleStatus.HELD if row["decided"] >= needed else RuleStatus.TOO_FEW
    words = f"{row['decided']} of {row['drawn']} audited cases labelled"
    return RuleOutcome(f"at least {needed} labels", row["system"], evaluator, verdict, words)


def regression_outcome(change: ReportContent, *, against: str, evaluator: str) -> RuleOutcome:
    """Return whether a system is no worse than before: worse is a fall that Holm's correction leaves significant."""
    rule, figure = f"no regression against {against}", change["difference"]
    if change["adjusted_p"] is None:
        return RuleOutcome(rule, change["system"], evaluator, RuleStatus.TOO_FEW, figure["reason"])
    scale = scale_of_figure(figure)
    low, value, high = (scale.words(figure[end], 2) for end in ("low", "value", "high"))
    words = f"{value} [{low}, {high}], adjusted p {change['adjusted_p']:.2g}, {figure['n']} cases"
    verdict = RuleStatus.NOT_HELD if change["is_worse"] else RuleStatus.HELD
    return RuleOutcome(rule, change["system"], evaluator, verdict, words)


def held_back(outcomes: Sequence[RuleOutcome], labels: Sequence[RuleOutcome]) -> list[RuleOutcome]:
    """Return all outcomes; of systems with too few labels none is said to hold or to fail."""
    open_systems = {row.system for row in labels if row.verdict is RuleStatus.TOO_FEW}
    return [replace(row, verdict=RuleStatus.TOO_FEW) if row.system in open_systems else row for row in outcomes] + [
        *labels
    ]


def exit_code(outcomes: Sequence[RuleOutcome]) -> int:
    """Return 3 where a rule does not hold, else 4 where one cannot be told, else 0."""
    verdicts = {row.verdict for row in outcomes}
    if RuleStatus.NOT_HELD in verdicts:
        return EXIT_NOT_HELD
    return EXIT_TOO_FEW if RuleStatus.TOO_FEW in verdicts else EXIT_HELD
