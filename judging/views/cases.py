"""Pages of benchmarks, suites, rubrics and cases, and of the imports that bring them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.contrib import messages
from django.forms import BoundField
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.dateparse import parse_datetime
from django.utils.timezone import now
from django.views.decorators.http import condition, require_safe

from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.pages import action_page, show_refusal
from evalsite.base.http import PageRequest, form_view, get_view, page_of, page_of_search
from evalsite.base.tables import CONTENT_TYPES, write_csv
from evalsite.base.types import JsonDict, Refused, whole_number
from judging.actions.benchmarks import CaseEditForm, change
from judging.actions.uploads import check, command_of
from judging.forms.imports import ImportOptionsForm, benchmark_names, options_initial
from judging.jobs import launch_edit_trial, read_edit_trial
from judging.models import Benchmark, Case, ImportStatus, Picture, Rubric, RubricItem, Suite, Upload
from judging.selectors import benchmarks
from judging.services.case_edits import case_in, is_small_edit, try_edit
from judging.services.file_imports import uploads
from judging.services.file_imports.file_readers import has_own_reader
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.pictures import preview_picture
from judging.services.file_imports.record_plans import FURTHER_CASES, NEAR_NAME, UNKNOWN_CASES
from judging.services.file_imports.upload_store import BytesMissing
from judging.specs.pictures import media_type_of
from judging.specs.records.collector import BAD_ROW
from judging.specs.records.names import COLUMN_FIELDS
from judging.specs.rubrics.outlines import (
    Outline,
    mark_differences,
    outline_of_data,
    outline_of_grading,
    outline_of_tree,
    outline_table,
)
from judging.stored_content import shown_content

TREES_PER_PAGE = 10
ROWS_PER_PAGE = 25


@get_view("judging.view_benchmark")
def rubric_list(request: PageRequest) -> HttpResponse:
    """The newest version of every rubric."""
    query = request.GET.get("q", "").strip()
    context = {"page_obj": page_of(request, benchmarks.rubric_rows(query=query)), "query": query}
    return render(request, "judging/rubric_list.html", context)


@get_view("judging.view_benchmark")
def rubric_detail(request: PageRequest, rubric_id: int) -> HttpResponse:
    """One version of a rubric as trees, or what it changed."""
    rubric = get_object_or_404(Rubric.objects.select_related("benchmark", "created_by"), pk=rubric_id)
    versions = benchmarks.versions_of(rubric)
    before = next((other for other in versions if other.version < rubric.version), None)
    query = request.GET.get("q", "").strip()
    context = {"rubric": rubric, "versions": versions, "before": before, "query": query, "tab": "trees"}
    if before is not None and request.GET.get("tab") == "changes":
        diff = benchmarks.rubric_diff(before=before, after=rubric)
        context |= {"tab": "changes", "diff": diff, "sides": [(key, *_sides(*items)) for key, *items in diff.shown]}
    else:
        as_table = rubric.item_count > 1 and request.GET.get("tab") == "table"
        size = ROWS_PER_PAGE if as_table else TREES_PER_PAGE
        page = page_of(request, benchmarks.rubric_items(rubric, query=query), per_page=size)
        cases = benchmarks.newest_cases(rubric, keys=[item.case_key for item in page])
        trees = [(item, cases.get(item.case_key), outline_of_tree(item.tree)) for item in page]
        context |= {"page_obj": page, "trees": trees}
        if as_table:
            columns, rows = outline_table([tree for _, _, tree in trees])
            named = [(item, case, row) for (item, case, _), row in zip(trees, rows, strict=True)]
            context |= {"tab": "table", "columns": columns, "rows": named}
    return render(request, "judging/rubric_detail.html", context)


def _sides(*items: RubricItem | None) -> tuple[Outline | None, Outline | None]:
    """Return the outlines of a tree before and after; where both are there, what differs is marked."""
    old, new = (outline_of_tree(item.tree) if item else None for item in items)
    return mark_differences(old, new) if old and new else (old, new)


YEAR_SECONDS = 31_536_000


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case as the parts of its page know it; `suite` is the one that the page shows it in."""

    case: Case
    suite: Suite | None
    request: PageRequest


@get_view("judging.view_benchmark")
def case_detail(request: PageRequest, case_id: int) -> HttpResponse:
    """What is asked, the responses with their scores, and how they are graded."""
    case = get_object_or_404(Case.objects.select_related("prompt__benchmark"), pk=case_id)
    grading = outline_of_grading(case.grading)
    items = benchmarks.rubric_items_for(case)
    place = benchmarks.place_of(case=case, suite_id=whole_number(request.GET.get("suite", "")))
    context = {
        "case": case,
        "benchmark": case.prompt.benchmark,
        "place": place,
        "shown": ShownCase(case, place.suite if place is not None else None, request),
        "grading": grading if grading.children else None,
        "handlers": case.handlers,
        "metadata": outline_of_data("", case.metadata).children,
        "rubric_items": [(item, outline_of_tree(item.tree)) for item in items],
        "revisions": benchmarks.other_revisions(case)[:20],
    }
    return render(request, "judging/case_detail.html", context)


def _tag_of_picture(_request: PageRequest, digest: str) -> str:
    return f'"{digest}"'


@require_safe
@condition(etag_func=_tag_of_picture)
def picture(_request: PageRequest, digest: str) -> HttpResponse:
    """One image, which never changes under its address. Everybody who may sign in may see it: annotators do."""
    stored = get_object_or_404(Picture, pk=digest)
    return picture_response(bytes(stored.data), stored.media_type)


def picture_response(data: bytes, media_type: str) -> HttpResponse:
    """Return an image that a browser may keep and takes for nothing else."""
    response = HttpResponse(data, content_type=media_type, headers={"X-Content-Type-Options": "nosniff"})
    patch_cache_control(response, private=True, max_age=YEAR_SECONDS, immutable=True)
    return response


@action_page(change, form_view)
def case_edit(request: PageRequest, case_id: int) -> HttpResponse:
    """Show a case's grading to be edited; show the effect of an edit; then store it as a new version of the suite."""
    case = get_object_or_404(Case.objects.select_related("prompt__benchmark"), pk=case_id)
    suite_id = whole_number(request.POST.get("suite") or request.GET.get("suite", ""))
    place = benchmarks.place_of(case=case, suite_id=suite_id)
    if place is None:
        raise Http404("No suite has this case.")
    suite = place.suite
    form = CaseEditForm(request.POST or None, case=case)
    context: JsonDict = {"case": case, "benchmark": case.prompt.benchmark, "suite": suite, "form": form}
    newest = benchmarks.newest_suite_of(case.prompt.benchmark)
    context["newer"] = newest if newest is not None and newest.number > suite.number else None
    if form.is_valid():
        if request.POST.get("save") and form.was_seen:
            return _saved(request, case, change.carry_out(ActionCall(case, form, request.user, timezone.now())))
        context |= _effect(case, form)
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "judging/case_edit.html", context, status=status)


@get_view("judging.add_suite")
def case_edit_trial(request: PageRequest, case_id: int, trial: str) -> HttpResponse:
    """Show how far the trial of an edit is, as the fragment that polls itself until the effect is known."""
    case = get_object_or_404(Case.objects.select_related("prompt"), pk=case_id)
    edit_trial = read_edit_trial(trial) if trial.startswith(f"edit-{case.pk}-") else None
    if edit_trial is None:
        raise Http404("This preview has expired.")
    return render(
        request, "judging/_case_effect.html", {"case": case, "trial": edit_trial, "effect": edit_trial.effect}
    )


def _effect(case: Case, form: CaseEditForm) -> JsonDict:
    """Return the effect of an edit, or the trial in which a worker finds it out."""
    trial, suite = None, form.cleaned_data["suite"]
    if not is_small_edit(case=case, edited=form.spec):
        trial = launch_edit_trial(case=case, suite=suite, text=form.cleaned_data["text"])
    effect = trial.effect if trial else try_edit(case=case, suite=suite, edited=form.spec)
    return {"effect": effect, "trial": trial, "seen": form.text_hash}


def _saved(request: PageRequest, case: Case, stored: tuple[Suite, bool]) -> HttpResponse:
    suite, is_new = stored
    if is_new:
        messages.success(request, f"Saved as {suite}. Runs on earlier versions keep their scores.")
    else:
        messages.info(request, f"{suite} already has this grading; nothing was stored.")
    return redirect(f"{case_in(suite, case.key).get_absolute_url()}?suite={suite.pk}")


TABS = (
    ("cases", "Cases"),
    ("systems", "Systems"),
    ("rubrics", "Rubrics"),
    ("runs", "Runs"),
    ("versions", "Versions"),
)


@get_view("judging.view_benchmark")
def benchmark_list(request: PageRequest) -> HttpResponse:
    """All benchmarks."""
    query = request.GET.get("q", "").strip()
    rows = benchmarks.benchmark_rows(query=query, sort=request.GET.get("sort", ""))
    context = {"page_obj": page_of(request, rows), "query": query}
    return render(request, "judging/benchmark_list.html", context)


@get_view("judging.view_benchmark")
def benchmark_detail(request: PageRequest, slug: str) -> HttpResponse:
    """One benchmark, a tab at a time."""
    benchmark = get_object_or_404(Benchmark, slug=slug)
    tab = request.GET.get("tab", "")
    tab = tab if tab in dict(TABS) else "cases"
    suite = benchmarks.newest_suite_of(benchmark)
    context = {"benchmark": benchmark, "suite": suite, "tab": tab, "tabs": TABS}
    context |= _TAB_CONTEXTS[tab](request, benchmark, suite)
    return render(request, "judging/benchmark_detail.html", context)


@get_view("judging.view_benchmark")
def suite_detail(request: PageRequest, suite_id: int) -> HttpResponse:
    """One suite: how its scores add up, and its cases."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark", "created_by"), pk=suite_id)
    context = {"suite": suite, "benchmark": suite.benchmark} | _case_table(request, suite.benchmark, suite)
    return render(request, "judging/suite_detail.html", context)


TOLD = ("scenario", "question_type", "lang")  # of a case, in a column where any case of the page has it


def _case_table(request: PageRequest, benchmark: Benchmark, suite: Suite | None) -> JsonDict:
    if suite is None:
        return {"page_obj": None, "scenarios": [], "query": "", "scenario": ""}
    query, scenario = request.GET.get("q", "").strip(), request.GET.get("scenario", "")
    rows = partial(benchmarks.case_rows, suite=suite, sort=request.GET.get("sort", ""))
    if query or scenario:
        page = page_of_search(request, rows(query=query, scenario=scenario), rows=rows())
    else:
        page = page_of(request, rows(), count=suite.case_count)
    return {
        "page_obj": page,
        "told": {name: any(getattr(link.case, name) for link in page) for name in TOLD},
        "scenarios": benchmarks.scenarios_of(suite),
        "query": query,
        "scenario": scenario,
    }


_TAB_CONTEXTS: dict[str, Callable[[PageRequest, Benchmark, Suite | None], JsonDict]] = {
    "cases": _case_table,
    "systems": lambda _request, benchmark, _suite: {"systems": benchmarks.system_rows(benchmark)},
    "rubrics": lambda request, benchmark, _suite: {
        "page_obj": page_of(request, benchmarks.rubric_rows(benchmark=benchmark))
    },
    "runs": lambda request, benchmark, _suite: {"page_obj": page_of(request, benchmarks.benchmark_runs(benchmark))},
    "versions": lambda request, benchmark, _suite: {"page_obj": page_of(request, benchmarks.suite_rows(benchmark))},
}


PROBLEM_COLUMNS = ("severity", "file", "place", "message", "offending", "hint", "code")
PROBLEMS_SHOWN = 200
ROW_ERRORS = (BAD_ROW, UNKNOWN_CASES, FURTHER_CASES)  # of rows, without which the rest can be imported
A_MOMENT = timedelta(seconds=10)  # within which a worker takes an upload


@get_view("judging.add_upload")
def import_list(request: PageRequest) -> HttpResponse:
    """Every upload, newest first."""
    rows = Upload.objects.select_related("benchmark", "created_by").defer("preview", "problems").order_by("-pk")
    return render(request, "judging/import_list.html", {"page_obj": page_of(request, rows)})


@get_view("judging.add_upload")
def import_detail(request: PageRequest, upload_id: int) -> HttpResponse:
    """Steps two and three: the dry run, then progress, then what came of it."""
    upload = _upload(upload_id)
    if request.htmx:
        context = _progress(upload)
        response = render(request, "judging/_import_progress.html", context)
        if not upload.is_in_work:
            response["HX-Refresh"] = "true"
        return response
    return _detail(request, upload)


@action_page(check)
def import_recheck(request: PageRequest, key: int) -> HttpResponse:
    """Read the same bytes again with other options."""
    upload = _upload(key)
    form = ImportOptionsForm(request.POST)
    try:
        if form.is_valid():
            return redirect(check.carry_out(ActionCall(upload, form, request.user, now())))
    except Refused as refusal:
        show_refusal(form, refusal)
    return _detail(request, upload, form)


@get_view("judging.add_upload")
def import_template(_request: PageRequest, name: str) -> HttpResponse:
    """A file to fill in and import."""
    from judging.specs.files.example_files import EXAMPLES  # a workbook, and what writes it

    example = EXAMPLES.get(name)
    if example is None:
        raise Http404
    response = HttpResponse(example.data(), content_type=example.content_type)
    response["Content-Disposition"] = f'attachment; filename="{example.file_name}"'
    return response


@get_view("judging.add_upload")
def import_picture(_request: PageRequest, upload_id: int, digest: str) -> HttpResponse:
    """An image of the preview, before it is stored and after."""
    upload = _upload(upload_id)
    try:
        shown = preview_picture(upload=upload, digest=digest)
    except BytesMissing:
        raise Http404 from None
    return picture_response(shown, media_type_of(shown))


@get_view("judging.add_upload")
def import_problems(request: PageRequest, upload_id: int) -> StreamingHttpResponse:
    """The list of problems as CSV."""
    upload = _upload(upload_id)
    remarks = [
        {"severity": "warning", "file": file, "place": place, "message": detail, "code": kind}
        for kind, file, place, detail in upload.preview.get("warning_rows", ())
    ]
    problems = [{**row, "hint": row.get("page_hint") or row.get("hint", "")} for row in upload.problems]
    lines = write_csv([*problems, *remarks], columns=PROBLEM_COLUMNS)
    response = StreamingHttpResponse(lines, content_type=CONTENT_TYPES["csv"])
    response["Content-Disposition"] = f'attachment; filename="import-{upload.pk}-problems.csv"'
    return response


def _upload(upload_id: int) -> Upload:
    return get_object_or_404(Upload.objects.select_related("benchmark", "created_by"), pk=upload_id)


def create_context(_request: PageRequest, _subject: object) -> JsonDict:
    """Return what pages show beside the options of an import."""
    from judging.specs.files.example_files import EXAMPLES  # a workbook, and what writes it

    return {"benchmark_names": benchmark_names(), "examples": EXAMPLES.values()}


def _progress(upload: Upload) -> JsonDict:
    confirmed = parse_datetime(upload.result.get("confirmed_at", "")) or upload.created_at
    waits_long = now() - confirmed > A_MOMENT
    return {
        "upload": upload,
        "progress": uploads.progress_of(upload),
        "waits_long": waits_long,
        "cancel_url": reverse("judging:import-cancel", args=[upload.pk]),
    }


RECORD_TITLES = {
    "scores": "Scores",
    "verdicts": "Verdicts of judges",
    "preferences": "Preferences",
    "labels": "Labels of people",
}


def _record_tables(stored: JsonDict) -> list[tuple[str, str, list[JsonDict]]]:
    """Return the first judgments of an import by kind, as they are stored."""
    shown = ((name, title, stored.get(name)) for name, title in RECORD_TITLES.items())
    return [(name, title, [_shown_record(row) for row in rows]) for name, title, rows in shown if rows]


def _shown_record(row: JsonDict) -> JsonDict:
    """Return a judgment with its value and the ends of its scale in words; the value is empty where it was not read."""
    value = next((row[name] for name in ("value", "choice", "label") if row.get(name) is not None), "")
    ends = [end for end in row.get("scale") or () if end is not None]
    return {**row, "shown": _plain(value), "ends": " to ".join(map(_plain, ends))}


def _plain(value: object) -> str:
    """Return a value as people write it: `9`, not `9.0`."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _entered(value: object) -> str:
    """Return an option as a form sends it."""
    if isinstance(value, tuple):
        return ", ".join("=".join(pair) for pair in value)
    return "on" if value is True else str(value)


def _rubric_field(upload: Upload) -> BoundField | None:
    """Return the field for the name of a new rubric, which people will read; None where there is no single new one."""
    rubrics = [part for part in upload.preview.get("parts", ()) if part["kind"] == "rubric"]
    if upload.status != ImportStatus.CHECKED or len(rubrics) != 1 or not rubrics[0]["is_new"]:
        return None
    return ImportOptionsForm(initial={"rubric": rubrics[0].get("name", "")}, auto_id="preview_%s")["rubric"]


def _shown_preview(upload: Upload) -> JsonDict:
    """Return the preview with what its samples show; their images are served from below the upload."""

    def address(digest: str) -> str:
        return reverse("judging:import-picture", args=[upload.pk, digest])

    preview: JsonDict = upload.preview
    for part in preview.get("parts", ()):
        for sample in part.get("samples", ()):
            images, messages = sample.get("images", ()), sample.get("messages", ())
            if sample["text"] or images:
                sample["content"] = shown_content(sample["text"], images, messages, address)
    return preview


def _detail(request: PageRequest, upload: Upload, form: ImportOptionsForm | None = None) -> HttpResponse:
    form = form or ImportOptionsForm(initial=options_initial(ImportOptions.of_json(upload.options)))
    errors = [problem for problem in upload.problems if problem.get("severity") == "error"]
    warnings = [problem for problem in upload.problems if problem.get("severity") != "error"]
    codes = {problem.get("code") for problem in errors}
    initial = options_initial(ImportOptions.of_json(upload.options))
    names = [name for name in ImportOptionsForm.base_fields if initial.get(name) and name != "columns"]
    pairs = [(name, _entered(initial[name])) for name in names]
    context = {
        **_progress(upload),
        "preview": _shown_preview(upload),
        "kept_options": pairs + [("columns", f"{role}={column}") for column, role in initial["columns"]],
        "rubric_field": _rubric_field(upload),
        "new_name": upload.options.get("benchmark", "") if NEAR_NAME.code in codes else "",
        "can_leave_rows_out": not codes.isdisjoint(rule.code for rule in ROW_ERRORS),
        "column_fields": COLUMN_FIELDS,
        "command": command_of(upload),
        "problems": (errors + warnings)[:PROBLEMS_SHOWN],
        "problem_count": len(upload.problems),
        "question_count": sum(bool(row.get("columns") or row.get("answers")) for row in errors),
        "record_tables": _record_tables(upload.preview.get("stored", {})),
        "takes_options": not has_own_reader(upload.kind),
        "error_count": len(errors),
        "warning_count": len(warnings),
        "form": form,
        **create_context(request, None),
    }
    return render(request, "judging/import_detail.html", context)
