"""How often raters, their majority and Dawid and Skene's estimate say what a table of labels knows to be right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalsite.review.models import LabelTable
from judging.specs.records.names import Holds, strongest
from judging.statistics.annotator_models import dawid_skene
from judging.statistics.estimates import Estimate, share_of
from judging.statistics.ratings import MISSING, RatingTable

MAJORITY, ESTIMATED = "majority", "Dawid and Skene's estimate"


@dataclass(frozen=True, slots=True)
class KnownShare:
    """The share of the items whose answer is known on which somebody, or all together, said it."""

    name: str
    right: Estimate


def known_shares(table: LabelTable, labels: RatingTable) -> list[KnownShare]:
    """Return the share of the majority (a tie is right in parts), of the estimate, and of each rater.

    Empty where no column holds known answers (`gold`, `truth`, `target` and the like) or no label is one of them.
    """
    details = dict(table.items.filter(pk__in=map(int, labels.items)).values_list("pk", "details"))
    column = strongest(dict.fromkeys(name for row in details.values() for name in row), Holds.REFERENCE)
    places = {label: code for code, label in enumerate(labels.labels)}
    answers = (str(details.get(int(item), {}).get(column, "")) for item in labels.items)
    known = np.array([places.get(answer, MISSING) for answer in answers], dtype=np.int64)
    rows = np.flatnonzero((known != MISSING) & (labels.codes != MISSING).any(axis=1))
    if not column or not len(rows):
        return []
    counts, right = labels.counts()[rows], known[rows]
    is_most = counts == counts.max(axis=1, keepdims=True)
    majority = float((is_most[np.arange(len(rows)), right] / is_most.sum(axis=1)).sum())
    estimated = int((dawid_skene(labels).chances.argmax(axis=1)[rows] == right).sum())
    shares = [
        KnownShare(MAJORITY, share_of(majority, len(rows))),
        KnownShare(ESTIMATED, share_of(estimated, len(rows))),
    ]
    for position, name in enumerate(labels.raters):
        said = labels.codes[rows, position]
        n = int((said != MISSING).sum())
        if n:
            shares.append(KnownShare(name, share_of(int((said == right).sum()), n)))
    return shares
