"""Agreement between people: those of a queue, or the raters of a label table from elsewhere (`subjects`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.text import slugify

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.http import PageRequest, get_view, page_of
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import write_zip
from evalsite.reports import jobs
from evalsite.reports.actions.agreement import REPORT
from evalsite.reports.actions.data_sets import DataSet, DataSetForm
from evalsite.reports.actions.tables import ANNOTATIONS, LABELS
from evalsite.reports.forms import AgreementForm, ItemGroupForm
from evalsite.reports.jobs import ReportState
from evalsite.reports.report_choices import cell_of
from evalsite.reports.selectors.annotations import answered_queues
from evalsite.reports.selectors.listed_items import ListedItem, labelled_items, review_items
from evalsite.reports.services import case_tables
from evalsite.reports.services.charts import square
from evalsite.reports.services.people import AGREEMENT, LABEL_AGREEMENT, PeopleAgreement, confusion_of, pair_matrix
from evalsite.reports.services.snapshots import ReportKind
from evalsite.reports.views.pages import (
    FORMATS,
    REPORT_FORMATS,
    report_command,
    report_download,
    report_page,
    table_download,
    waits_for_report,
)
from evalsite.review.models import LabelTable, Queue
from evalsite.review.questions.scales import labels_from_json
from judging.statistics.coefficients.ratings import NoSuchCell, items_of_cell, unpack

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class Source:
    """What is shown of a queue's report or a label table's."""

    subject: Queue | LabelTable
    read: Callable[[Sequence[int]], dict[int, ListedItem]]
    is_labels: bool

    @classmethod
    def of(cls, subject: Queue | LabelTable) -> Source:
        """Return the source that a queue or a table is."""
        is_labels = isinstance(subject, LabelTable)
        return cls(subject, labelled_items if is_labels else review_items, is_labels)

    @property
    def texts(self) -> dict[str, str]:
        """The words of each label."""
        return {label.value: label.text for label in labels_from_json(self.subject.labels)}

    @property
    def kind(self) -> ReportKind[PeopleAgreement]:
        return LABEL_AGREEMENT if self.is_labels else AGREEMENT

    def report(self, options: JsonDict, *, with_rows: bool = True) -> ReportState[PeopleAgreement]:
        """Return the report, with its rows unless told."""
        at = timezone.now()
        return jobs.obtain(self.kind, subject_id=self.subject.pk, options=options, at=at, with_rows=with_rows)

    def context(self, report: ReportState[PeopleAgreement]) -> JsonDict:
        """Return what every page about it needs."""
        return {"queue": self.subject, "is_labels": self.is_labels, "report": report}


def agreement_page(request: PageRequest, subject: Queue | LabelTable) -> HttpResponse:
    """Show how far the people of a queue, or the raters of a table, agree."""
    source = Source.of(subject)
    options = ItemGroupForm(request.GET).options
    report = source.report(options, with_rows=False)
    context: JsonDict = source.context(report) | {"options": options}
    context |= {"formats": FORMATS, "paper_formats": REPORT_FORMATS}
    context["command"] = report_command(
        "agreement", **{"labels" if source.is_labels else "queue": subject.slug}, **options
    )
    if not source.is_labels:
        context["data_set_form"] = DataSetForm()
        context["unable_url"] = f"{subject.get_absolute_url()}?unable=1#items"
    content = report.content
    if content is not None:
        estimated = content.estimated.items if content.estimated is not None else []
        listed = source.read([*{item.id for item in content.items} | {item.id for item in estimated}])
        context |= {
            "content": content,
            "pairs": pair_matrix(content),
            "coincidences": square(content.labels, content.coincidences),
            "disputed_items": [(item, listed.get(item.id)) for item in content.items],
            "estimated_items": [(item, listed.get(item.id)) for item in estimated],
        }
    return report_page(request, "agreement_detail", context)


def agreement_download(
    request: PageRequest, subject: Queue | LabelTable, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Send a table of an agreement report; `answers` is every single answer or label."""
    source = Source.of(subject)
    named = NamedSubject(f"{'labels' if source.is_labels else 'agreement'} {subject.slug}", subject.pk)
    if table == "answers":
        if isinstance(subject, LabelTable):
            return table_download(request, LABELS, subject, format_name=format_name, subject=named)
        return table_download(request, ANNOTATIONS, subject, format_name=format_name, subject=named)
    chosen = {"labels": "", "queue": "", "labels" if source.is_labels else "queue": subject.pk}
    form = AgreementForm({**request.GET.dict(), **chosen})
    return report_download(request, REPORT, form, table=table, format_name=format_name, subject=named)


def item_list_page(request: PageRequest, subject: Queue | LabelTable) -> HttpResponse:
    """Show the items behind the figure that the address names. Raises: Http404 for a figure that does not exist."""
    source, cell = Source.of(subject), cell_of(request.GET)
    options = ItemGroupForm(request.GET).options
    report = source.report(options)
    words = case_tables.words_of(cell, source.texts)
    context: JsonDict = source.context(report) | {"words": words, "options": options}
    if not report.rows:
        return report_page(request, "agreement_items", context)
    rows = unpack(report.rows)
    try:
        listing = items_of_cell(rows, cell)
    except NoSuchCell as missing:
        raise Http404(str(missing)) from missing
    page = Paginator(range(len(listing.items)), PER_PAGE).get_page(request.GET.get("page"))
    places = list(page.object_list)
    keys, weights = listing.items[places].tolist(), listing.weights[places].tolist()
    listed, answers = source.read(keys), rows.answers_of(keys)
    context["page_obj"] = page
    context["total"] = listing.total
    context["rows"] = [
        {
            "item": listed.get(key),
            "pk": key,
            "weight": weight,
            "given": [{"name": name, "text": source.texts.get(label, label)} for name, label in answers[key]],
        }
        for key, weight in zip(keys, weights, strict=True)
    ]
    return report_page(request, "agreement_items", context)


def confusion_page(request: PageRequest, subject: Queue | LabelTable) -> HttpResponse:
    """Show which label one person gave where another gave which. Raises: Http404 for somebody without answers."""
    source = Source.of(subject)
    people = {name: str(request.GET.get(name, ""))[:150] for name in ("first", "second")}
    report = source.report(ItemGroupForm(request.GET).options)
    context: JsonDict = source.context(report) | {"people": people}
    if report.rows:
        try:
            content = confusion_of(unpack(report.rows), source.texts, people["first"], people["second"])
        except NoSuchCell as missing:
            raise Http404(str(missing)) from missing
        context |= {"content": content, "rows": square(content.labels, content.counts)}
    return report_page(request, "agreement_confusion", context)


@get_view("review.adjudicate")  # it names annotators
def agreement_list(request: PageRequest) -> HttpResponse:
    """List the queues that people answer."""
    page = page_of(request, answered_queues(), per_page=25)
    tables = LabelTable.objects.order_by("-created_at", "-pk")[:100]
    return render(request, "reports/agreement_list.html", {"page_obj": page, "label_tables": tables})


@get_view("review.adjudicate")  # it names annotators
def agreement_detail(request: PageRequest, slug: str, subjects: QuerySet[Any]) -> HttpResponse:
    """Show how far the people agree."""
    return agreement_page(request, get_object_or_404(subjects, slug=slug))


@get_view("review.adjudicate")  # it names annotators
def agreement_confusion(request: PageRequest, slug: str, subjects: QuerySet[Any]) -> HttpResponse:
    """Show which label one person gave where another gave which."""
    return confusion_page(request, get_object_or_404(subjects, slug=slug))


@get_view("review.adjudicate")  # it names annotators
def agreement_items(request: PageRequest, slug: str, subjects: QuerySet[Any]) -> HttpResponse:
    """List the items behind one figure of the report."""
    return item_list_page(request, get_object_or_404(subjects, slug=slug))


@get_view("review.adjudicate")  # it names annotators
@waits_for_report
def agreement_export(
    request: PageRequest, slug: str, subjects: QuerySet[Any], table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of an agreement report; `answers` is every single annotation or label."""
    return agreement_download(request, get_object_or_404(subjects, slug=slug), table, format_name)


@get_view("review.adjudicate")
@waits_for_report
def agreement_data_set(request: PageRequest, slug: str) -> StreamingHttpResponse:
    """Download the annotations of a queue as a data set that Hugging Face loads, in a ZIP archive."""
    queue, form = get_object_or_404(Queue, slug=slug), DataSetForm(request.GET)
    if not form.is_valid():
        raise Http404(" ".join(str(error) for errors in form.errors.values() for error in errors))
    files = DataSet(queue, **form.cleaned_data).files(waits=False)
    record(request.user, "annotations.exported", queue, format="data set", names=form.cleaned_data["names"])
    headers = {"Content-Disposition": f'attachment; filename="{slugify(queue.name)}-data-set.zip"'}
    return StreamingHttpResponse(write_zip(files), content_type="application/zip", headers=headers)
