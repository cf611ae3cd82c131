"""Pages of agreement between people, of imported labels, and of golden sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.accounts.audit import NamedSubject
from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.pages import action_page
from evalsite.base.actions.reports import ReportTable
from evalsite.base.http import PageRequest, form_view, get_view, page_of
from evalsite.base.page_parts import Facts
from evalsite.base.types import JsonDict, whole_number
from evalsite.reports import jobs
from evalsite.reports.actions.agreement import (
    ADJUDICATIONS,
    PACE,
    PEOPLE_BY_DAY,
    REPORT,
    TEAMS_BY_DAY,
    DataSetForm,
    create,
    of_team,
)
from evalsite.reports.actions.golden import COMPARISON_REPORT, GOLDEN_REPORT, ComparedShown, golden_shown
from evalsite.reports.actions.results import ANNOTATIONS, LABELS
from evalsite.reports.forms import AgreementForm, ItemGroupForm, OfTeamForm, PaceForm, cell_of
from evalsite.reports.forms.golden import LabelImportForm
from evalsite.reports.jobs import ReportState
from evalsite.reports.selectors.annotations import (
    ListedItem,
    PersonDay,
    QueueWork,
    labelled_items,
    review_items,
    work_of_queue,
)
from evalsite.reports.services import suite_charts
from evalsite.reports.services.annotators import pace_of_queue
from evalsite.reports.services.charts import burn_down_chart, square
from evalsite.reports.services.judge_trust import GOLDEN, compare_versions
from evalsite.reports.services.people import (
    AGREEMENT,
    LABEL_AGREEMENT,
    QUEUE_WORK,
    PeopleAgreement,
    confusion_of,
    pair_matrix,
)
from evalsite.reports.services.snapshots import ReportKind, is_small
from evalsite.reports.views.judges import trust_context
from evalsite.reports.views.pages import (
    FORMATS,
    PAPER_FORMATS,
    REPORT_FORMATS,
    report_command,
    report_download,
    report_page,
    table_download,
    table_of,
    waits_for_report,
)
from evalsite.review.models import (
    GoldenItem,
    GoldenSet,
    LabelledItem,
    LabelTable,
    ProposalStatus,
    Queue,
    Team,
    WordingProposal,
)
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.routing import GoldenPart
from evalsite.review.selectors.golden import (
    FEWEST_FOR_KAPPA,
    FEWEST_GOLDEN,
    PAIRS,
    GoldenVersion,
    compares_pairs,
    golden_answers,
    golden_questions,
    golden_texts,
    golden_versions,
    listed_sets,
    part_counts,
    rare_labels,
    with_texts,
)
from evalsite.review.services.golden import (
    differences_from,
    golden_plan,
    suggested_reply,
    version_choice,
    wording_question,
)
from evalsite.review.services.label_tables import evaluator_of_run, plan_labels
from evalsite.review.states import ReviewRefused
from evalsite.review.tables.label_files import LabelSheet
from judging.judges.wordings import wording_lines
from judging.models import RunEvaluator
from judging.models.runs import RunStatus
from judging.selectors.judges import versions_of
from judging.services.file_imports.upload_store import drop_upload
from judging.services.runs.estimates import estimate_run
from judging.specs.records.names import COLUMN_FIELDS
from judging.statistics.ratings import NoSuchCell, items_of_cell, unpack

PER_PAGE = 50
DAYS_SHOWN = 50  # of people or teams; the files have all
REPORTS = {report.name: report for report in (PACE, ADJUDICATIONS)}


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


def imported_labels(ids: list[int]) -> Facts:
    """Return the label tables that came with an import."""
    return {"tables": LabelTable.objects.filter(pk__in=ids or ()).order_by("pk")}


def _work_on(queue: Queue, at: datetime) -> ReportState[QueueWork]:
    """Return what people did in a queue, of a small one without storing anything."""
    if is_small(QUEUE_WORK, subject_id=queue.pk, options={}):
        return ReportState(work_of_queue(queue.pk), at, is_current=True, is_computing=False)
    return jobs.obtain(QUEUE_WORK, subject_id=queue.pk, options={}, at=at)


def queue_figures(queue: Queue) -> Facts:
    """Return on how many items of a queue all annotators agree; None while that is computed."""
    work = _work_on(queue, timezone.now()).content
    return {"queue": queue, "agreement": work and work.agreement}


def queue_pace(queue: Queue) -> Facts:
    """Return what the page of a queue shows of its pace."""
    at = timezone.now()
    report = _work_on(queue, at)
    facts: JsonDict = {
        "queue": queue,
        "report": report,
        "adjudications": [(table.name, table.title) for table in ADJUDICATIONS.tables],
    }
    if report.content is None:
        return facts
    of_queue = pace_of_queue(queue, report.content, at=at)
    days: list[tuple[ReportTable[Any, Any], Sequence[PersonDay]]] = [(PEOPLE_BY_DAY, of_queue.people[:DAYS_SHOWN])]
    if of_queue.teams:
        days.append((TEAMS_BY_DAY, of_queue.teams[:DAYS_SHOWN]))
    return facts | {"pace": of_queue, "chart": burn_down_chart(of_queue), "days": days}


@get_view("review.adjudicate")  # it names annotators
def agreement_detail(request: PageRequest, slug: str, subjects: QuerySet[Any]) -> HttpResponse:
    """Show how far the people of a queue, or the raters of a table, agree."""
    source = Source.of(get_object_or_404(subjects, slug=slug))
    options, team = ItemGroupForm(request.GET).options, OfTeamForm(request.GET).chosen_team
    report = source.report(options, with_rows=False)
    context: JsonDict = source.context(report) | {
        "options": options,
        "team": team,
        "teams": Team.objects.order_by("name"),
    }
    context |= {"formats": FORMATS, "paper_formats": REPORT_FORMATS}
    context["command"] = report_command(
        "agreement", **{"labels" if source.is_labels else "queue": source.subject.slug}, **options, team=team
    )
    if not source.is_labels:
        context["data_set_form"] = DataSetForm()
        context["unable_url"] = f"{source.subject.get_absolute_url()}?unable=1#items"
    content = report.content and of_team(report.content, team)
    if content is not None:
        estimated = content.estimated.items if content.estimated is not None else []
        listed = source.read([*{item.id for item in content.items} | {item.id for item in estimated}])
        matrix = pair_matrix(content)
        context |= {
            "content": content,
            "pairs": matrix,
            "people": [name for name, _ in matrix],
            "coincidences": square(content.labels, content.coincidences),
            "disputed_items": [(item, listed.get(item.id)) for item in content.items],
            "disputed_groups": [
                name for name in ("Criterion", "Scenario") if any(getattr(item, name.lower()) for item in content.items)
            ],
            "estimated_items": [(item, listed.get(item.id)) for item in estimated],
        }
    return report_page(request, "agreement_detail", context)


@get_view("review.adjudicate")  # it names annotators
@waits_for_report
def agreement_export(
    request: PageRequest, slug: str, subjects: QuerySet[Any], table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of an agreement report; `answers` is every single annotation or label."""
    subject = get_object_or_404(subjects, slug=slug)
    source = Source.of(subject)
    named = NamedSubject(f"{'labels' if source.is_labels else 'agreement'} {subject.slug}", subject.pk)
    if table == "answers":
        if isinstance(subject, LabelTable):
            return table_download(request, LABELS, subject, format_name=format_name, subject=named)
        return table_download(request, ANNOTATIONS, subject, format_name=format_name, subject=named)
    chosen = {"labels": "", "queue": "", "labels" if source.is_labels else "queue": subject.pk}
    form = AgreementForm({**request.GET.dict(), **chosen})
    return report_download(request, REPORT, form, table=table, format_name=format_name, subject=named)


@get_view("review.adjudicate")  # it names annotators
def agreement_items(request: PageRequest, slug: str, subjects: QuerySet[Any]) -> HttpResponse:
    """Show the items behind the figure that the address names. Raises: Http404 for a figure that does not exist."""
    source, cell = Source.of(get_object_or_404(subjects, slug=slug)), cell_of(request.GET)
    options = ItemGroupForm(request.GET).options
    report = source.report(options)
    heading, unit = suite_charts.words_of(cell, source.texts)
    context: JsonDict = source.context(report) | {
        "heading": heading,
        "unit": unit,
        "units": "pairs of annotations" if unit == suite_charts.PAIRS else f"{unit}s",
        "counts_items": unit == suite_charts.ITEMS,
        "options": options,
    }
    if not report.rows:
        return report_page(request, "agreement_items", context)
    rows = unpack(report.rows)
    try:
        items, weights = items_of_cell(rows, cell)
    except NoSuchCell as missing:
        raise Http404(str(missing)) from missing
    page = Paginator(range(len(items)), PER_PAGE).get_page(request.GET.get("page"))
    places = list(page.object_list)
    keys = items[places].tolist()
    listed, answers = source.read(keys), rows.answers_of(keys)
    context["page_obj"] = page
    context["total"] = int(weights.sum())
    context["rows"] = [
        {
            "item": listed.get(key),
            "pk": key,
            "weight": weight,
            "given": [{"name": name, "text": source.texts.get(label, label)} for name, label in answers[key]],
        }
        for key, weight in zip(keys, weights[places].tolist(), strict=True)
    ]
    return report_page(request, "agreement_items", context)


@get_view("review.adjudicate")  # it names annotators
def agreement_confusion(request: PageRequest, slug: str, subjects: QuerySet[Any]) -> HttpResponse:
    """Show which label one person gave where another gave which. Raises: Http404 for somebody without answers."""
    source = Source.of(get_object_or_404(subjects, slug=slug))
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
    queues = Queue.objects.select_related("run", "debate_set").order_by("-created_at", "-pk")
    page = page_of(request, queues, per_page=25)
    tables = LabelTable.objects.order_by("-created_at", "-pk")[:100]
    return render(request, "reports/agreement_list.html", {"page_obj": page, "label_tables": tables})


@get_view("review.adjudicate")
@waits_for_report
def queue_export(
    request: PageRequest, slug: str, report: str, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of the pace of a queue, or of why its annotators disagreed."""
    queue = get_object_or_404(Queue, slug=slug)
    form, subject = PaceForm({"team": request.GET.get("team"), "queue": queue.pk}), NamedSubject(str(queue), queue.pk)
    return report_download(request, REPORTS[report], form, table=table, format_name=format_name, subject=subject)


MAX_RULES = 50
PREVIEW_ROWS = 8


@get_view("reports.view_snapshot")
def golden_list(request: PageRequest) -> HttpResponse:
    """List the golden sets."""
    context = {"page_obj": page_of(request, listed_sets()), "fewest": FEWEST_GOLDEN}
    return render(request, "reports/golden_list.html", context)


def new_set(_request: PageRequest, _subject: None) -> JsonDict:
    """Return what the page of a new golden set says of how much it needs."""
    has_questions = bool(golden_questions())
    pairs = PAIRS if compares_pairs() else ""
    return {"fewest": FEWEST_GOLDEN, "kappa_needs": FEWEST_FOR_KAPPA, "any": has_questions, "pairs": pairs}


@get_view("reports.view_snapshot")
def golden_detail(request: PageRequest, set_id: int) -> HttpResponse:
    """Show a golden set: its parts, the versions on development, and on the test those that it was opened for."""
    golden_set = golden_set_of(set_id)
    report = jobs.obtain(GOLDEN, subject_id=set_id, options={}, at=timezone.now())
    counts = part_counts(golden_set)
    runs = list(golden_set.runs.select_related("run", "started_by").order_by("-pk"))
    context: JsonDict = {
        "golden_set": golden_set,
        "report": report,
        "content": report.content,
        "formats": PAPER_FORMATS,
        "parts": counts,
        "rare": rare_labels(counts),
        "has_kappa": sum(part.cases for part in counts) >= FEWEST_FOR_KAPPA,
        "kappa_needs": FEWEST_FOR_KAPPA,
        "unfinished": [
            golden_run for golden_run in runs if golden_run.run.status not in (RunStatus.FINISHED, RunStatus.CANCELLED)
        ],
        "opened": [golden_run for golden_run in reversed(runs) if golden_run.part == GoldenPart.TEST],
        "opened_keys": {golden_run.version_key for golden_run in runs if golden_run.run.status != RunStatus.CANCELLED},
        "rules": golden_set.rules.select_related("written_by").order_by("-pk")[:MAX_RULES],
        "proposals": golden_set.proposals.select_related("judge", "endpoint").order_by("-pk")[:MAX_RULES],
    }
    return report_page(request, "golden_detail", context)


def golden_set_of(set_id: int) -> GoldenSet:
    """Return a golden set with its suite and rubric. Raises: Http404."""
    return get_object_or_404(GoldenSet.objects.select_related("suite__benchmark", "rubric", "made_by"), pk=set_id)


ITEMS_PER_PAGE = 25


@get_view("reports.view_snapshot")
def golden_examples(request: PageRequest, set_id: int) -> HttpResponse:
    """List the stock of examples: what was set apart for them, and what was moved there from development."""
    golden_set = golden_set_of(set_id)
    page = page_of(request, golden_set.items.filter(part=GoldenPart.EXAMPLES).order_by("pk"), per_page=ITEMS_PER_PAGE)
    rows = golden_texts(with_texts(item.pk for item in page.object_list), [])
    return render(request, "reports/golden_examples.html", {"golden_set": golden_set, "page_obj": page, "rows": rows})


@get_view("reports.view_snapshot")
def golden_item(request: PageRequest, set_id: int, item_id: int) -> HttpResponse:
    """Show a response with people's reasons beside a version's, and the forms of what can be learned from it."""
    golden_set = golden_set_of(set_id)
    item = _item(golden_set, item_id)
    version = _version(request, golden_set)
    sides = []
    if version is not None:
        answers = golden_answers(golden_set, GoldenPart(item.part), [version.evaluator])[version.evaluator.pk]
        sides = [{answer.golden_id: answer for answer in answers}]
    row = golden_texts(with_texts([item.pk]), sides)[0]
    context: JsonDict = {"golden_set": golden_set, "item": item, "version": version, "row": row}
    if version is not None:
        context["query"] = f"?version={version.evaluator.pk}"
    judge = version.evaluator.judge if version is not None else None
    if judge is not None:
        reasons = " ".join(dict.fromkeys(reason.reason for reason in row.reasons if reason.reason))
        try:
            context |= {"judge": judge, "reply": suggested_reply(item, judge, reasons)}
        except ReviewRefused as refusal:
            context |= {"judge": judge, "no_example": str(refusal)}
    context["rules"] = item.rules.order_by("-pk")
    return render(request, "reports/golden_item.html", context)


def _item(golden_set: GoldenSet, item_id: int) -> GoldenItem:
    """Return an item that may be looked at. Raises: Http404, also for the test part."""
    rows = GoldenItem.objects.select_related("golden_set", "subject__case", "response__prompt", "response__system")
    item = get_object_or_404(rows, pk=item_id, golden_set=golden_set)
    if item.part == GoldenPart.TEST:
        raise Http404("The test part stays shut: its responses are not shown one by one.")
    return item


def _version(request: PageRequest, golden_set: GoldenSet) -> GoldenVersion | None:
    """Return the version that the address names, else the newest."""
    versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
    key = whole_number(request.GET.get("version", ""))
    return next((version for version in versions if version.evaluator.pk == key), versions[0] if versions else None)


@get_view("reports.view_snapshot")
def golden_compare(request: PageRequest, set_id: int) -> HttpResponse:
    """Compare two versions on development: how agreement changed, and every response on which they differ."""
    golden_set = golden_set_of(set_id)
    versions, before, after = compared_versions(golden_set, request.GET)
    comparison = compare_versions(golden_set, before.evaluator, after.evaluator)
    flips = {flip.before.golden_id: flip for flip in comparison.flips}
    page = page_of(request, GoldenItem.objects.filter(pk__in=flips).order_by("pk"), per_page=ITEMS_PER_PAGE)
    shown = [flips[item.pk] for item in page.object_list]
    sides = (
        {flip.before.golden_id: flip.before for flip in shown},
        {flip.after.golden_id: flip.after for flip in shown},
    )
    context = {
        "golden_set": golden_set,
        "versions": versions,
        "formats": PAPER_FORMATS,
        "query": f"?before={before.evaluator.pk}&after={after.evaluator.pk}",
        "before": before,
        "after": after,
        "comparison": comparison,
        "page_obj": page,
        "rows": golden_texts(with_texts(sides[0]), sides),
    }
    return render(request, "reports/golden_compare.html", context)


@get_view("reports.view_snapshot")
def golden_disagreements(request: PageRequest, set_id: int, evaluator_id: int) -> HttpResponse:
    """List the responses of development on which one version and people differ."""
    golden_set = golden_set_of(set_id)
    version = version_of_evaluator(golden_set, evaluator_id)
    answers = golden_answers(golden_set, GoldenPart.DEVELOPMENT, [version.evaluator])[evaluator_id]
    differing = {answer.golden_id: answer for answer in answers if not answer.agrees}
    page = page_of(request, GoldenItem.objects.filter(pk__in=differing).order_by("pk"), per_page=ITEMS_PER_PAGE)
    rows = golden_texts(with_texts(item.pk for item in page.object_list), [differing])
    context = {
        "golden_set": golden_set,
        "version": version,
        "page_obj": page,
        "rows": rows,
        "responses": len(answers),
    }
    return render(request, "reports/golden_disagreements.html", context)


@get_view("reports.view_snapshot")
@waits_for_report
def golden_export(
    request: PageRequest, set_id: int, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download the versions of a part, or how two of them differ on development. Raises: Http404."""
    golden_set = golden_set_of(set_id)
    subject = NamedSubject(golden_set.name, set_id)
    if table in COMPARISON_REPORT.table_names:
        _, before, after = compared_versions(golden_set, request.GET)
        compared = ComparedShown.of(golden_set, before, after)
        differing = COMPARISON_REPORT.table(table)
        return table_download(request, differing, compared, format_name=format_name, subject=subject)
    declared, shown = table_of(GOLDEN_REPORT, table), golden_shown(golden_set, waits=False)
    return table_download(request, declared, shown, format_name=format_name, subject=subject)


def version_of_evaluator(golden_set: GoldenSet, evaluator_id: int) -> GoldenVersion:
    """Return the version on development whose newest run has this evaluator. Raises: Http404."""
    versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
    chosen = next((version for version in versions if version.evaluator.pk == evaluator_id), None)
    if chosen is None:
        raise Http404("This judge has no finished run on the development part of the golden set.")
    return chosen


def compared_versions(
    golden_set: GoldenSet, query: Mapping[str, str]
) -> tuple[list[GoldenVersion], GoldenVersion, GoldenVersion]:
    """Return the versions on development, the newest first, and the two that an address names by their evaluators.

    By default these are the newest two. Raises: Http404.
    """
    versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
    if len(versions) < 2:
        raise Http404("Two versions have to be run on development first.")
    by_evaluator = {version.evaluator.pk: version for version in versions}
    before = by_evaluator.get(whole_number(query.get("before", "")) or 0, versions[1])
    after = by_evaluator.get(whole_number(query.get("after", "")) or 0, versions[0])
    return versions, before, after


def of_set(_request: PageRequest, golden_set: GoldenSet) -> dict[str, GoldenSet]:
    """Return the set that a page's templates show."""
    return {"golden_set": golden_set}


def _chosen(request: PageRequest, golden_set: GoldenSet) -> GoldenVersion:
    """Return the version that the address names. Raises: Http404."""
    return version_of_evaluator(golden_set, whole_number(request.GET.get("version", "")) or 0)


def opening(request: PageRequest, golden_set: GoldenSet) -> JsonDict:
    """Return what it costs and means to open the test for a version."""
    version = _chosen(request, golden_set)
    choices = [version_choice(version.evaluator)]
    plan = golden_plan(golden_set=golden_set, choices=choices, part=GoldenPart.TEST)
    return {
        "golden_set": golden_set,
        "version": version,
        "preview": estimate_run(plan=plan, threads=settings.CALL_THREADS, at=timezone.now()),
        "opened": golden_set.runs.filter(part=GoldenPart.TEST).count(),
    }


@get_view("reports.view_snapshot")
def golden_test(request: PageRequest, set_id: int, evaluator_id: int) -> HttpResponse:
    """Show what the opened test says of a version: its figures, certificate and threshold."""
    golden_set = golden_set_of(set_id)
    evaluator = _tested(golden_set, evaluator_id)
    key = versions_of([evaluator])[evaluator.pk].key
    opened = golden_set.runs.filter(part=GoldenPart.TEST, pk__lt=evaluator.run.golden_run.pk).count()
    context = {
        "golden_set": golden_set,
        "evaluator": evaluator,
        "version_key": key,
        "opened_before": opened,
        "golden_run": evaluator.run.golden_run,
        "differences": differences_from(evaluator) if evaluator.judge is not None else (),
        "version": next((row for row in golden_versions(golden_set, GoldenPart.DEVELOPMENT) if row.key == key), None),
    }
    context |= trust_context({"name": evaluator.name, "version": key})
    return render(request, "reports/golden_test.html", context)


def _tested(golden_set: GoldenSet, evaluator_id: int) -> RunEvaluator:
    """Return the evaluator of a finished test run of the set. Raises: Http404."""
    rows = RunEvaluator.objects.filter(
        run__golden_run__golden_set=golden_set, run__golden_run__part=GoldenPart.TEST, run__status=RunStatus.FINISHED
    )
    return get_object_or_404(rows.select_related("run__golden_run__started_by", "judge__endpoint"), pk=evaluator_id)


def proposing(request: PageRequest, golden_set: GoldenSet) -> JsonDict:
    """Return what a model would be told of a version's disagreements, or why nothing can be proposed."""
    version = _chosen(request, golden_set)
    context: JsonDict = {"golden_set": golden_set, "version": version}
    try:
        return context | {"question": wording_question(golden_set, version.evaluator)}
    except ReviewRefused as refusal:
        return context | {"refusal": str(refusal)}


@get_view("reports.view_snapshot")
def golden_wording(request: PageRequest, proposal_id: int) -> HttpResponse:
    """Show a proposal line by line."""
    rows = WordingProposal.objects.select_related("golden_set", "judge", "endpoint", "evaluator", "asked_by")
    proposal = get_object_or_404(rows, pk=proposal_id)
    context = {
        "golden_set": proposal.golden_set,
        "proposal": proposal,
        "is_waiting": proposal.status == ProposalStatus.WAITING,
        "is_ready": proposal.status == ProposalStatus.READY,
        "lines": wording_lines(proposal.before, proposal.after) if proposal.after else (),
    }
    name = "reports/_golden_wording.html" if request.htmx else "reports/golden_wording.html"
    return render(request, name, context)


@action_page(create, form_view)
def labels_create(request: PageRequest) -> HttpResponse:
    """Take a file of labels: show what it would bring, and import it once that is confirmed."""
    run_id = whole_number(request.GET.get("run", ""))
    initial = {"about": evaluator_of_run(run_id)} if run_id is not None else {}
    form = LabelImportForm(request.POST or None, request.FILES or None, initial=initial)
    context: JsonDict = {"form": form}
    if request.method == "POST" and form.is_valid():
        upload = form.upload
        parsed = plan_labels(upload)
        plan = parsed.value
        if plan is not None and not plan.is_refused and "save" in request.POST:
            return _imported(request, form)
        context |= {"parsed": parsed, "problems": parsed.problems}
        context |= {"columns": parsed.columns, "column_fields": COLUMN_FIELDS}
        if plan is not None:
            previews = [_preview(sheet) for sheet in plan.file.sheets]
            context |= {"plan": plan, "counts": plan.counts(), "previews": previews, "upload": upload}
        context["form"] = LabelImportForm(form.entries_with_kept_file(at=timezone.now()))
    return render(request, "reports/labels_create.html", context)


def _imported(request: PageRequest, form: LabelImportForm) -> HttpResponse:
    before = LabelTable.objects.filter(digest=form.upload.digest).exists()
    table = create.carry_out(ActionCall(None, form, request.user, timezone.now()))
    drop_upload(form.cleaned_data["kept"])
    if before:
        messages.info(request, "This file was already imported; nothing was changed")
    else:
        of_them = f", {table.final_count:,} final labels created" if table.evaluator_id else ""
        messages.success(request, f"{table.label_count:,} labels of {table.item_count:,} items imported{of_them}")
    return redirect(table)


def _preview(sheet: LabelSheet) -> JsonDict:
    """Return the first rows with the label of each rater."""
    rows = []
    for item in sheet.items[:PREVIEW_ROWS]:
        labels_by_rater = {label.rater: label.label for label in item.labels}
        rows.append({"key": item.key, "cells": [labels_by_rater.get(rater, "") for rater in sheet.raters]})
    raters = [rater or "Label" for rater in sheet.raters]
    return {"sheet": sheet, "rows": rows, "raters": raters, "scale": [label.value for label in sheet.labels]}


@get_view("review.adjudicate")  # it names annotators
def labels_item(request: PageRequest, item_id: int) -> HttpResponse:
    """Show one item of a table with all its labels and columns."""
    item = get_object_or_404(LabelledItem.objects.select_related("table"), pk=item_id)
    labels = item.imported_labels.order_by("rater", "pk")
    return render(request, "reports/labels_item.html", {"item": item, "table": item.table, "given": labels})
