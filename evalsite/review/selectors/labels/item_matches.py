"""Finds the items of a queue that a file names: by id and content, else by content, case and systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet

from evalsite.review.models import Queue, ReviewItem
from evalsite.review.selectors.labels.provenance import PAIR, RESPONSE, SHOWN, kind_of, shown_value
from evalsite.review.tables.annotations import ActsOfItem, ItemRecord

CHUNK = 500
FORMER_KINDS = {"debate": PAIR, "verdict": RESPONSE, "score": RESPONSE}  # in files of earlier versions
Identity = tuple[str, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Match:
    """An item here; None with the first item's id for a test-retest that is not here yet."""

    item_id: int | None
    first_id: int | None = None


@dataclass(slots=True)
class Matches:
    """The matches by the file's own item numbers, and what has none: location, sentence, what to do."""

    by_item: dict[int, Match] = field(default_factory=dict)
    problems: list[tuple[str, str, str]] = field(default_factory=list)


def match_items(*, queue: Queue, items: Sequence[ActsOfItem], names: Mapping[str, str]) -> Matches:
    """Return which items of the queue are meant. An item whose content differs is not taken for it.

    `names` are the user names here of people in the file who are called otherwise.
    """
    matches = Matches()
    hashes = _hashes(queue, {item.facts.item for item in items} | {item.facts.retest_of or 0 for item in items})
    same = [item for item in items if hashes.get(item.facts.item) == item.facts.item_hash]
    matches.by_item = {item.facts.item: Match(item.facts.item) for item in same}
    others = [item for item in items if item.facts.item not in matches.by_item]
    alike = _alike(queue, others)
    for item in others:
        if item.facts.retest_of is None:
            _match_alike(item, alike.get(_identity(item.facts), []), hashes, matches)
    repeated = [other for other in others if other.facts.retest_of is not None]
    _match_retests(repeated, hashes, names, matches)
    _refuse_twins(items, matches)
    return matches


def _hashes(queue: Queue, ids: set[int]) -> dict[int, str]:
    hashes: dict[int, str] = {}
    sorted_ids = sorted(ids)
    for start in range(0, len(sorted_ids), CHUNK):
        rows = queue.items.filter(pk__in=sorted_ids[start : start + CHUNK]).values_list("pk", "content_hash")
        hashes |= dict(rows)
    return hashes


def _identity(facts: ItemRecord) -> Identity:
    kind = FORMER_KINDS.get(facts.subject, facts.subject)
    return facts.item_hash, kind, facts.case, facts.criterion, facts.system_a, facts.system_b


def _alike(queue: Queue, items: Iterable[ActsOfItem]) -> dict[Identity, list[int]]:
    hashes = sorted({item.facts.item_hash for item in items})
    item_ids: dict[Identity, list[int]] = {}
    for start in range(0, len(hashes), CHUNK):
        chunk = queue.items.filter(content_hash__in=hashes[start : start + CHUNK], retest_of=None).order_by("pk")
        for identity, pk in _identities(chunk):
            item_ids.setdefault(identity, []).append(pk)
    return item_ids


def _identities(items: QuerySet[ReviewItem]) -> Iterable[tuple[Identity, int]]:
    named = [path for paths in SHOWN.values() for path in paths]
    for row in items.values("pk", "content_hash", "criterion", "material_id", "response_b_id", *named):
        kind = kind_of(has_material=row["material_id"] is not None, is_pair=row["response_b_id"] is not None)
        case, system_a, system_b = (shown_value(row, name) for name in SHOWN)
        yield (row["content_hash"], kind, case, row["criterion"], system_a, system_b), row["pk"]


def _match_alike(item: ActsOfItem, item_ids: Sequence[int], hashes: dict[int, str], matches: Matches) -> None:
    facts = item.facts
    if len(item_ids) == 1:
        matches.by_item[facts.item] = Match(item_ids[0])
    elif facts.item in hashes:
        text = f"{facts.name} has different content on this site: its hash begins with {hashes[facts.item][:12]}, "
        hint = "The annotations are about another text or rubric and cannot be imported."
        matches.problems.append((item.location, f"{text}in the file with {facts.item_hash[:12]}.", hint))
    else:
        hint = "Import into the queue that the file was exported from, or into one created from the same file."
        matches.problems.append((item.location, f"{facts.name} is not in this queue.", hint))


def _match_retests(
    items: Sequence[ActsOfItem], hashes: dict[int, str], names: Mapping[str, str], matches: Matches
) -> None:
    for item in items:
        first = matches.by_item.get(item.facts.retest_of or 0)
        first_id = first.item_id if first is not None else None
        if first_id is None and hashes.get(item.facts.retest_of or 0) == item.facts.item_hash:
            first_id = item.facts.retest_of
        if first_id is None:
            text = f"{item.facts.name} repeats item {item.facts.retest_of}, which is not in this queue."
            matches.problems.append((item.location, text, "Import both items together."))
        else:
            matches.by_item[item.facts.item] = Match(
                _known_retest(first_id, names.get(item.facts.only_for, item.facts.only_for)), first_id
            )


def _known_retest(first_id: int, person: str) -> int | None:
    retests = ReviewItem.objects.filter(retest_of_id=first_id, only_for__username=person)
    return retests.values_list("pk", flat=True).first()


def _refuse_twins(items: Sequence[ActsOfItem], matches: Matches) -> None:
    by_item_id: dict[int, ActsOfItem] = {}
    for item in items:
        match = matches.by_item.get(item.facts.item)
        if match is None or match.item_id is None:
            continue
        if match.item_id in by_item_id:
            text = f"{item.facts.name} and {by_item_id[match.item_id].facts.name} are the same item on this site."
            matches.problems.append((item.location, text, "Import the annotations of one of them."))
            del matches.by_item[item.facts.item]
        else:
            by_item_id[match.item_id] = item
