"""The judges that are members of panels: as they are set up now, and the panels that have one of them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from evalsite.base.json_types import JsonDict, JsonObject
from judging.judges.kinds import panel
from judging.judges.registry import COMPARING, KINDS, judge_kind
from judging.models import Judge, ModelEndpoint
from judging.selectors.judges.judge_needs import is_baseline, needs_of

MIN_MEMBERS = 2


class PanelRefused(ValueError):
    """These judges cannot be a panel; the message says what to change."""


def defined_members(entries: Sequence[JsonObject]) -> list[JsonDict]:
    """Return the members that entries name, each with what its judge is now. One query.

    Raises:
        PanelRefused: a judge that there is not or that is retired, too few, two that ask the same, or two scales.
    """
    names = [entry["judge"] for entry in entries]
    judges = {row.name: row for row in Judge.objects.filter(name__in=names).select_related("endpoint")}
    if len(names) < MIN_MEMBERS:
        raise PanelRefused(f"A panel has at least {MIN_MEMBERS} members. Name existing judges, one per line.")
    missing = next((name for name in names if name not in judges), None)
    if missing is not None:
        raise PanelRefused(f"There is no judge {missing!r}. Set it up first, or correct its name.")
    retired = next((name for name in names if not judges[name].is_active), None)
    if retired is not None:
        raise PanelRefused(f"{retired} is retired. Restore the judge on its page, or choose another.")
    _check_scale([judges[name] for name in names])
    return [
        {
            "judge": entry["judge"],
            "weight": entry["weight"],
            "id": judges[entry["judge"]].pk,
            "is_baseline": is_baseline(judges[entry["judge"]]),
            "judge_kind": judges[entry["judge"]].kind,
            "judge_options": dict(judges[entry["judge"]].options),
        }
        for entry in entries
    ]


def possible_members() -> QuerySet[Judge]:
    """Return the judges that may be members of a panel, by kind and name."""
    kinds = [kind.name for kind in KINDS.values() if not kind.asks_members and kind.name not in COMPARING]
    return Judge.objects.filter(is_active=True, kind__in=kinds).order_by("kind", "name")


def _check_scale(judges: Sequence[Judge]) -> None:
    first, *others = judges
    kind = judge_kind(first.kind)
    if kind.asks_members or first.kind in COMPARING:
        raise PanelRefused(f"{first} is a judge of the kind {kind.title}, which cannot be a member of a panel.")
    options = kind.complete_options(first.options)
    for other in others:
        if other.kind != first.kind:
            raise PanelRefused(
                f"{first} is of the kind {kind.title} and {other} of the kind {judge_kind(other.kind).title}. "
                "The members of a panel are of one kind, or their scores would be on different scales."
            )
        other_options = kind.complete_options(other.options)
        if any(other_options[name] != options[name] for name in kind.scale):
            raise PanelRefused(f"{first} and {other} have different labels or lowest and highest scores.")
    pair = next((judge for judge in judges if "pair" in needs_of(judge)), None)
    if pair is not None:
        raise PanelRefused(f"{pair} compares two responses, so it cannot be a member of a panel.")
    requests = [(judge.endpoint_id, kind.complete_options(judge.options), judge.name) for judge in judges]
    for index, (endpoint_id, judge_options, name) in enumerate(requests):
        same_as = next(
            (earlier[2] for earlier in requests[:index] if earlier[:2] == (endpoint_id, judge_options)), None
        )
        if same_as is not None:
            raise PanelRefused(f"{same_as} and {name} ask one endpoint the same, so their votes would always be equal.")


def member_ids(judge: Judge) -> list[int]:
    """Return the keys of a panel's members in their order; none of another judge's."""
    return [entry["id"] for entry in panel.members_of(judge.options) if "id" in entry]


def panels_with(judge: Judge) -> list[Judge]:
    """Return the panels that have a judge as a member, by name."""
    panels = Judge.objects.filter(kind=panel.NAME).order_by("name")
    return [each for each in panels if judge.pk in member_ids(each)]


def member_judges(judge: Judge) -> list[Judge]:
    """Return the judges that are a panel's members, in their order; none of another judge's. One query for a panel."""
    ids = member_ids(judge)
    rows = Judge.objects.select_related("endpoint").in_bulk(ids) if ids else {}
    return [rows[pk] for pk in ids]


def endpoints_of(judge: Judge) -> list[ModelEndpoint]:
    """Return every endpoint that a judge asks, once: its own, or those of a panel's members."""
    judges = [judge, *member_judges(judge)]
    return list(
        {
            asking_judge.endpoint.pk: asking_judge.endpoint
            for asking_judge in judges
            if asking_judge.endpoint is not None
        }.values()
    )
