"""How a golden set stands: the cases, responses and labels of each part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsite.review.models import GoldenItem, GoldenRun, GoldenSet
from evalsite.review.questions.scales import Label, labels_from_json
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.labels.known_labels import blind_labels


@dataclass(frozen=True, slots=True)
class PartCounts:
    """The size of one part; `labels` counts its responses by label in the order of the scale."""

    part: GoldenPart
    cases: int
    responses: int
    doubted: int  # responses without a label at present: people are deciding them again
    labels: tuple[tuple[Label, int], ...]


def part_counts(golden_set: GoldenSet) -> list[PartCounts]:
    """Return the size of each part, with two queries for each 5,000 responses."""
    rows = list(GoldenItem.objects.filter(golden_set=golden_set).values_list("part", "case_key", "subject_id"))
    labels = blind_labels(subject_id for _, _, subject_id in rows)
    scale = labels_from_json(golden_set.labels)
    part_sizes = []
    for part in GoldenPart:
        members = [(case, subject_id) for row_part, case, subject_id in rows if row_part == part]
        by_label = Counter(labels[pk].label for _, pk in members if pk in labels)
        counts = tuple((label, by_label[label.value]) for label in scale)
        part_sizes.append(
            PartCounts(part, len({case for case, _ in members}), len(members), len(members) - by_label.total(), counts)
        )
    return part_sizes


def rare_labels(counts: list[PartCounts]) -> list[str]:
    """Return the labels that people gave, but of which some part has fewer than two responses."""
    total, least = Counter[str](), dict[str, int]()
    for part in counts:
        for label, n in part.labels:
            total[label.text] += n
            least[label.text] = min(least.get(label.text, n), n)
    return [text for text, n in least.items() if n < 2 and total[text]]


def listed_sets() -> QuerySet[GoldenSet]:
    """Return the golden sets, the newest first, with the number of cases and how often the test was opened."""
    items = GoldenItem.objects.filter(golden_set=OuterRef("pk")).order_by().values("golden_set")
    tests = GoldenRun.objects.filter(golden_set=OuterRef("pk"), part=GoldenPart.TEST).order_by().values("golden_set")
    return (
        GoldenSet.objects.select_related("suite")
        .annotate(
            cases=Subquery(items.annotate(n=Count("case_key", distinct=True)).values("n")),
            opened=Coalesce(Subquery(tests.annotate(n=Count("pk")).values("n")), 0),
        )
        .order_by("-made_at", "-pk")
    )
