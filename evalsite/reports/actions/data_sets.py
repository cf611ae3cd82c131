"""The annotations of a queue as a folder that Hugging Face's `datasets` loads: a table and a card that describes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from django import forms
from django.utils import timezone

from evalsite.base.json_types import JsonObject
from evalsite.base.tables import Table, has_columnar_files, table_bytes, write_markdown
from evalsite.reports import jobs
from evalsite.reports.actions.agreement import FIGURES
from evalsite.reports.forms import ItemGroupForm
from evalsite.reports.services.people import AGREEMENT, PeopleAgreement
from evalsite.review.models import Queue
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.annotation_exports import annotations_table, scale_in_words

SPLITS = ("train", "validation", "test")
LICENCES = (  # as Hugging Face names them
    *("unknown", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "odc-by", "apache-2.0", "mit", "other"),
)
PEOPLE = ("annotator", "adjudicator", "only_for", "adjudication_adopted")  # columns of names
SELECT = forms.Select({"class": "form-select form-select-sm w-auto"})
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**9, "100K<n<1M"))


class DataSetForm(forms.Form):
    """How a data set is described."""

    licence = forms.ChoiceField(choices=[(name, name) for name in LICENCES], widget=SELECT)
    split = forms.ChoiceField(choices=[(name, name) for name in SPLITS], initial=SPLITS[-1], widget=SELECT)
    names = forms.BooleanField(required=False)


@dataclass(frozen=True, slots=True)
class DataSet:
    """The annotations of a queue, under a licence, as one split; people are numbered unless their names are wanted."""

    queue: Queue
    licence: str
    split: str
    names: bool = False

    def files(self, *, waits: bool) -> list[tuple[str, Iterable[bytes]]]:
        """Return the files by their paths, the table last and in pieces.

        Raises:
            BeingComputed: the agreement that the card tells of is not computed yet.
        """
        options, at = ItemGroupForm({}).options, timezone.now()
        agreement = jobs.content_of(AGREEMENT, subject_id=self.queue.pk, options=options, at=at, waits=waits)
        format_name = "parquet" if has_columnar_files() else "jsonl.gz"
        path = f"data/{self.split}.{format_name}"
        return [("README.md", [self._card(agreement, path).encode()]), (path, table_bytes(self._table(), format_name))]

    def _table(self) -> Table:
        table = annotations_table(self.queue)
        return table if self.names else replace(table, rows=_numbered(table.rows))

    def _card(self, agreement: PeopleAgreement, path: str) -> str:
        """Return the card: what Hugging Face reads of a data set, and what people do."""
        summary, scale = agreement.summary, scale_in_words(labels_from_json(self.queue.labels))
        size = next(name for most, name in SIZES if summary.answers < most)
        figures = b"".join(write_markdown(FIGURES.paper(agreement))).decode()
        return CARD.format(
            licence=self.licence,
            name=json.dumps(self.queue.name, ensure_ascii=False),
            size=size,
            split=self.split,
            path=path,
            title=" ".join(self.queue.name.split()),
            scale=scale or "several questions, a column for each",
            annotators=summary.raters,
            annotations=f"{summary.answers:,}",
            items=f"{summary.items:,}",
            pairable=f"{summary.pairable:,}",
            people="are named as on this site" if self.names else "have numbers in place of their names",
            figures=figures,
        )


def _numbered(rows: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Yield rows with numbers in place of people's names, in the order in which they come."""
    numbers: dict[str, str] = {}
    for row in rows:
        people = (column for column in PEOPLE if row[column])
        yield {**row, **{name: numbers.setdefault(row[name], f"person-{len(numbers) + 1}") for name in people}}


CARD = """---
license: {licence}
pretty_name: {name}
size_categories:
- {size}
configs:
- config_name: default
  data_files:
  - split: {split}
    path: {path}
---

# {title}

Annotations by people: a row for each annotation, with what it is about and what was decided.

- Scale: {scale}
- Annotators: {annotators}
- Annotations: {annotations}, of {items} items, {pairable} of them by two or more people
- Licence: {licence}
- Split: {split}

`blind_label` is what a person said before anything else was shown, `revised_label` what they changed it to,
`final_label` or `adjudicated_label` what was decided; labels of pairs are 1 (A is better), 0 and -1.
People {people}.
The file can be imported into Evalsite again.

## Agreement

{figures}"""
