"""Pages of queues, of the audits that fill them, and of the files that they read and give."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from debate.models import DebateSet
from evalsite.base.actions.declarations import Action, ActionCall, InvalidInput
from evalsite.base.actions.entries import perform
from evalsite.base.actions.pages import action_page
from evalsite.base.http import PageRequest, form_view, get_view, page_of, page_of_search, post_view
from evalsite.base.tables import COLUMNAR, CONTENT_TYPES, has_columnar_files
from evalsite.base.types import JsonDict, Refused, choices_of, whole_number
from evalsite.review.actions.items import ITEMS, OF_ITEMS, take_back
from evalsite.review.actions.queues import ADDS_PEOPLE, check_form, create, take_annotations
from evalsite.review.actions.referrals import AUDIT_DEBATES, AUDIT_RUN, send, send_debates, take_run_back
from evalsite.review.audit_plans import FEWEST_CASES
from evalsite.review.models import MailChoice, Notice, Queue, Quota, ReviewItem, Team
from evalsite.review.questions.form_files import form_of_definition, size_asked, starting_forms
from evalsite.review.questions.forms import LETTERS
from evalsite.review.questions.scales import JUDGEMENT, labels_from_json
from evalsite.review.queue_forms import AnnotationFileForm, AuditForm, FilePeopleForm, QueueFileForm, is_member_search
from evalsite.review.selectors import pages, waiting_items
from evalsite.review.selectors.audits import AuditSubject, audit_subject, audited_systems
from evalsite.review.selectors.content import own_text, shown_text
from evalsite.review.selectors.gold import gold_scores, training_scores
from evalsite.review.selectors.pages import my_queues
from evalsite.review.selectors.subjects import form_of_queue
from evalsite.review.selectors.verdict_reviews import review_of_debates, review_of_run, review_of_verdict
from evalsite.review.selectors.waiting_items import possible_members, warnings_of_new
from evalsite.review.services import queues as services
from evalsite.review.services.annotation_imports import AnnotationImportRefused, check_open, import_annotations
from evalsite.review.services.annotation_plans import AnnotationPlan, PeopleChoice, plan_import
from evalsite.review.services.notices import choose_mail, read_notices, sentence_of
from evalsite.review.states import FINAL, ItemStatus, QueueStatus, ReviewRefused
from evalsite.review.tables.annotations import AnnotationFile, read_annotations
from evalsite.review.views.items import LEVELS, Toast, form_parts, queue_or_404
from judging.actions.runs import RUNS
from judging.models import Run, Verdict
from judging.services.file_imports.upload_store import UploadExpired, drop_upload, read_upload, store_upload
from judging.specs.files.findings import Parsed
from judging.specs.people_choices import AskedWork, PeopleNotAsked
from judging.specs.records.names import COLUMN_FIELDS

if TYPE_CHECKING:
    from evalsite.review.selectors.waiting_items import CountedQueue


MARKS = {
    "flagged": "Flagged",
    "stuck": "No annotator left",
    "unable": "Cannot judge",
    "disputed": "Different labels",
}
TYPED = {"answer": "Question=answer", "detail": "Column=value"}
BULK_WORDS = {"give": "Assign", "reopen": "Reopen or restore"}
MOST_LABELS = 20  # of a scale, in a filter


@get_view("review.view_queue")
def queue_list(request: PageRequest) -> HttpResponse:
    """Show the queues of this person, and where to go on."""
    archived = request.GET.get("archived") == "1"
    page = page_of(request, pages.queues_for(user=request.user, archived=archived))
    rows: list[CountedQueue] = list(page.object_list)
    disagreements = pages.disagreement_counts(rows) if request.user.has_perm("review.adjudicate") else {}
    flags = waiting_items.flag_counts(rows) if request.user.has_perm("review.change_queue") else {}
    waiting = {row.pk: waiting_items.progress_in(row).waiting for row in rows}
    open_rows = [row for row in rows if row.status == QueueStatus.OPEN and waiting[row.pk]]
    context = {
        "page_obj": page,
        "table": [(row, waiting[row.pk], disagreements.get(row.pk, 0), flags.get(row.pk, 0)) for row in rows],
        "first": max(open_rows, key=lambda row: waiting[row.pk], default=None),
        "archived": archived,
        "disagreements": sum(disagreements.values()),
    }
    return render(request, "review/queue_list.html", context)


@get_view("review.view_queue")
def queue_detail(request: PageRequest, slug: str) -> HttpResponse:
    """Show a queue: to an annotator their part of it, to its owners everything."""
    queue = queue_or_404(request, slug)
    if request.user.has_perm("review.change_queue"):
        form = form_of_queue(queue)
        context = _standing(queue) | _owner_context(request, queue)
        context["form_parts"] = form.parts if form is not None else ()
        return render(request, "review/queue_detail.html", context)
    quota = Quota.objects.filter(queue=queue, person=request.user).first()
    context = _standing(queue) | {"quota": quota}
    if queue.status == QueueStatus.OPEN and not waiting_items.is_member(queue=queue, user=request.user):
        context["refusal"] = waiting_items.why_nothing_for(queue=queue, user=request.user, at=timezone.now())
    elif queue.status == QueueStatus.OPEN and quota is not None:
        context["refusal"] = waiting_items.lapse_words(quota.until, timezone.now())
    answers = page_of(request, pages.my_answers(queue=queue, user=request.user), per_page=25)
    context["page_obj"] = answers
    context["answers"] = [
        {
            "answer": row,
            "question": pages.question_of(row.item),
            "text": own_text(row, labels_from_json(row.item.subject.labels), swapped=row.assignment.swapped),
        }
        for row in answers.object_list
    ]
    return render(request, "review/queue_mine.html", context)


def _standing(queue: CountedQueue) -> JsonDict:
    return {"queue": queue, "progress": waiting_items.progress_in(queue), "open_status": QueueStatus.OPEN}


def _owner_context(request: PageRequest, queue: Queue) -> JsonDict:
    filters = pages.ItemFilters.read(request.GET)
    now = timezone.now()
    items = pages.items_of(queue=queue, filters=pages.ItemFilters(), at=now)
    if filters.is_set:
        found = pages.items_of(queue=queue, filters=filters, at=now)
        page = page_of_search(request, found, rows=items, kept=partial(pages.found_before, filters, queue))
    else:
        page = page_of(request, items, count=pages.remembered("items", queue, queue.items.count))
    listed = [item.pk for item in page.object_list]
    people = pages.remembered("people", queue, lambda: waiting_items.people_of(queue=queue))
    holders, remarks_by_item = waiting_items.holders_of(listed, at=now), waiting_items.remarks_on(listed)
    return {
        "page_obj": page,
        "rows": [
            {
                "item": item,
                "question": pages.question_of(item),
                "label": shown_text(item.label, labels_from_json(item.subject.labels), swapped=False),
                "holders": holders.get(item.pk, []),
                "remarks": remarks_by_item.get(item.pk, []),
            }
            for item in page.object_list
        ],
        "filters": filters,
        "statuses": choices_of(ItemStatus),
        "reasons": pages.reasons(),
        "holding": list(pages.HOLDING.items()),
        "scenarios": pages.scenarios_of(queue=queue),
        "people": people,
        "gold_known": queue.items.filter(gold__is_training=False, status__in=FINAL).count() if queue.gold_count else 0,
        "gold_scores": gold_scores(queue) if queue.gold_count else (),
        "training_scores": training_scores(queue) if queue.training_count else (),
        "workload": pages.remembered("workload", queue, lambda: waiting_items.workload_of(queue=queue)),
        "disagreements": pages.disagreement_counts([queue]).get(queue.pk, 0),
        "all_that_match": urlencode({"query": filters.query}),
        "marked": [(name, title, getattr(filters, name)) for name, title in MARKS.items()],
        "typed": [(name, title, getattr(filters, name)) for name, title in TYPED.items()],
        "people_chosen": [(person.username, person.name) for person in people],
        "labels_chosen": [(label.value, label.text) for label in labels_from_json(queue.labels)][:MOST_LABELS],
        "bulk_actions": [
            (reverse(f"review:queue-{act.verb}", args=[queue.slug]), _words_of(act.verb.removesuffix("-items")))
            for act in OF_ITEMS
            if request.user.has_perm(act.permission)
        ],
        "other_quorums": pages.remembered("quorums", queue, lambda: services.other_quorums(queue)),
        "closed": queue.total_count - queue.open_count,
        "formats": [*CONTENT_TYPES, *(COLUMNAR[:1] if has_columnar_files() else ())],
    }


def _words_of(verb: str) -> str:
    """Return what an act on items is called on the button of one item, where it has one."""
    return ITEMS.actions[verb].options.get("button") or BULK_WORDS.get(verb) or verb.replace("-", " ")


def items_done(request: PageRequest, _result: object) -> HttpResponse:
    """Lead back to the items that the filter of a bulk act chose."""
    match = request.resolver_match
    assert match is not None, "the view was found by it"
    queue = get_object_or_404(Queue, slug=match.kwargs["slug"])
    chosen = pages.ItemFilters.read(QueryDict(request.POST.get("query", "")).dict())
    return redirect(f"{queue.get_absolute_url()}?{chosen.query}#items" if chosen.is_set else queue)


def queue_saved(request: PageRequest, queue: Queue) -> HttpResponse:
    """Say that the settings of a queue are stored, and what is wrong with them, on its page."""
    messages.success(request, "Queue saved")
    if warning := waiting_items.quorum_warning(queue):
        messages.warning(request, warning)
    return redirect(queue)


@get_view("review.view_queue")
def notice_list(request: PageRequest) -> HttpResponse:
    """Show a person's notices, the newest first."""
    notices = Notice.objects.filter(person=request.user).order_by("-created_at", "-pk")
    page = page_of(request, notices)
    rows = [{"notice": notice, "text": sentence_of(notice)} for notice in page.object_list]
    by_mail = MailChoice.objects.filter(person=request.user).exists()
    return render(request, "review/notice_list.html", {"page_obj": page, "rows": rows, "by_mail": by_mail})


@post_view("review.view_queue")
def notice_read(request: PageRequest) -> HttpResponse:
    """Mark everything read."""
    read_notices(person=request.user, at=timezone.now())
    return redirect("review:notice-list")


@post_view("review.view_queue")
def notice_mail(request: PageRequest) -> HttpResponse:
    """Choose whether notices come by e-mail as well."""
    choose_mail(person=request.user, enabled=request.POST.get("wanted") == "1")
    return redirect("review:notice-list")


@get_view("review.view_queue")
def my_work(request: PageRequest) -> HttpResponse:
    """Show what waits for this person, what they did, how fast and, where allowed, how far they agree."""
    return render(request, "review/my_work.html", {"rows": my_queues(user=request.user, at=timezone.now())})


def listed_teams(request: PageRequest, _subject: None) -> JsonDict:
    """Return the teams that the page of new ones lists."""
    teams = Team.objects.select_related("created_by").prefetch_related("members", "queues", "co_owners")
    return {"page_obj": page_of(request, teams.order_by("name"), per_page=25)}


SIZES = (20, 30, 50, 100, 200, 400, 1_000, 2_000)


@action_page(AUDIT_RUN, form_view)
def audit_run(request: PageRequest, key: int) -> HttpResponse:
    """Show and choose the size of a run's random sample."""
    return _audit_page(request, AUDIT_RUN, key)


@action_page(AUDIT_DEBATES, form_view)
def audit_debates(request: PageRequest, key: int) -> HttpResponse:
    """Show and choose the size of a debate set's random sample."""
    return _audit_page(request, AUDIT_DEBATES, key)


def _audit_page(request: PageRequest, action: Action[Any, AuditForm], key: int) -> HttpResponse:
    about = get_object_or_404(action.rows(request.user), pk=key)
    subject = audit_subject(about)
    entered = request.POST if request.method == "POST" else request.GET if "chosen_by" in request.GET else None
    form = AuditForm(entered or AuditForm.first_values(subject), subject=subject)
    if request.method == "POST" and "look" not in request.POST and form.is_valid():
        try:
            facts = action.carry_out(ActionCall(about, form, request.user, timezone.now()))
        except PeopleNotAsked as refusal:
            messages.error(request, str(refusal))
        except Refused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, action.options["said"](facts))
            return redirect(request.path)
    context = _context(subject, form)
    if request.htmx:
        return render(request, "review/_audit_offer.html", context)
    return render(request, "review/audit_plan.html", context | {"audited": audited_systems(subject)})


def _context(subject: AuditSubject, form: AuditForm) -> JsonDict:
    in_force, is_valid = subject.in_force, form.is_valid()
    size, share = (form.chosen, form.expected) if is_valid else (in_force, 0.5)
    listed = sorted({n for n in (*SIZES, size, in_force, subject.population) if 1 <= n <= subject.population})
    return {
        "subject": subject,
        "form": form,
        "agreed": form.cleaned_data.get("agreed"),
        "offer": subject.offer(size, share=share) if is_valid and subject.population else None,
        "offers": [subject.offer(n, share=share) for n in listed],
        "size": size,
        "work": subject.work_of(size),
        "share": share,
        "scale": (scale := subject.score_scale),
        "apart": scale.differences,
        "in_force": in_force,
        "default_share": settings.REVIEW_AUDIT_SHARE,
        "fewest_cases": FEWEST_CASES,
        "default_minimum": settings.REVIEW_AUDIT_MINIMUM,
        "more": max(0, size - subject.drawn),
    }


@action_page(take_back)
def item_take_back(request: PageRequest, key: int) -> HttpResponse:
    """Take an item back that somebody sent by hand, and show the verdict whose page or row was pressed."""
    item = get_object_or_404(ReviewItem.objects.select_related("queue"), pk=key)
    toast, _ = _done(request, take_back, item)
    verdict = _pressed_verdict(request)
    if verdict is None:
        return _redirect(request, item.queue.get_absolute_url(), toast)
    return _show_verdict(request, verdict, toast)


@get_view("review.change_queue")
def run_people(request: PageRequest, run_id: int) -> HttpResponse:
    """Show how much of a run is with people, as the fragment that asks again while the run is at work."""
    run = get_object_or_404(Run, pk=run_id)
    if not request.htmx:
        return redirect(run)
    return render(request, "review/_run_people.html", {"people": review_of_run(run)})


@action_page(send)
def run_send(request: PageRequest, key: int) -> HttpResponse:
    """Send what a run left open to people, or the verdict whose page or row was pressed."""
    run = get_object_or_404(RUNS.rows(request.user), pk=key)
    toast, work = _done(request, send, run)
    verdict = _pressed_verdict(request)
    if verdict is not None:
        return _show_verdict(request, verdict, toast)
    return _show_rest(request, run, toast, work)


@action_page(take_run_back)
def run_take_back(request: PageRequest, key: int) -> HttpResponse:
    """Take everything back that was sent by hand of a run and has no answer."""
    run = get_object_or_404(RUNS.rows(request.user), pk=key)
    return _show_rest(request, run, *_done(request, take_run_back, run))


@action_page(send_debates)
def debates_send(request: PageRequest, key: int) -> HttpResponse:
    """Send the debates of a set that have no verdict to people."""
    debate_set = get_object_or_404(DebateSet.objects.select_related("run", "rubric"), pk=key)
    return _show_rest(request, debate_set, *_done(request, send_debates, debate_set))


def _done(request: PageRequest, action: Action[Any, Any], subject: Model) -> tuple[Toast, AskedWork | None]:
    """Do it; return what to say, and the work where it is more than a day of work that nobody has agreed to."""
    entered = {name: request.POST[name] for name in action.fields if name in request.POST}
    try:
        result = perform(action, subject, entered, actor=request.user, at=timezone.now())
    except Refused as refusal:
        return Toast(str(refusal), "error"), refusal.work if isinstance(refusal, PeopleNotAsked) else None
    return Toast(action.options["said"](result)), None


def _pressed_verdict(request: PageRequest) -> Verdict | None:
    """Return the verdict on whose page or row a button was pressed."""
    verdicts = Verdict.objects.select_related("run", "evaluator", "response")
    return verdicts.filter(pk=whole_number(request.POST.get("verdict", "")) or 0).first()


def _show_verdict(request: PageRequest, verdict: Verdict, toast: Toast) -> HttpResponse:
    """Answer with the fragment that was pressed: the row of a table, or the card of the verdict's page."""
    if not request.htmx:
        return _redirect(request, verdict.get_absolute_url(), toast)
    is_row = str(request.htmx.target or "").startswith("verdict-row-people")
    template = "review/_verdict_row_people.html" if is_row else "review/_verdict_people.html"
    response = render(request, template, {"people": review_of_verdict(verdict)})
    response["HX-Trigger"] = toast.as_header()
    return response


def _show_rest(request: PageRequest, about: Run | DebateSet, toast: Toast, work: AskedWork | None) -> HttpResponse:
    """Answer with the card that was pressed, and ask to agree to much work; `work` needs it."""
    if not request.htmx and work is None:
        return _redirect(request, about.get_absolute_url(), toast)
    if isinstance(about, Run):
        fragment, context = "review/_run_people.html", JsonDict(people=review_of_run(about))
    else:
        fragment, context = "review/_set_people.html", {"people": review_of_debates(about)}
    context |= {"work": work, "about": about, "refusal": toast.text, "fragment": fragment}
    response = render(request, fragment if request.htmx else "review/rest_send.html", context)
    response["HX-Trigger"] = toast.as_header()
    return response


def _redirect(request: PageRequest, address: str, toast: Toast) -> HttpResponse:
    messages.add_message(request, LEVELS[toast.level], toast.text)
    return redirect(address)


PREVIEW_ROWS = 5
WARNINGS_SHOWN = 3
SAMPLE = "Here stands the text that is marked. Select some of it, then choose a label."  # in the preview of a form
MOST_ROWS = 10_000  # acts in a file that a page imports while the browser waits; the command takes more


@action_page(create, form_view)
def queue_create(request: PageRequest) -> HttpResponse:
    """Take a file of pairs or single responses: look at it first, or make the queue."""
    form = QueueFileForm(request.POST or None, request.FILES or None, people=possible_members())
    if is_member_search(request.POST):
        form = _searched(form)
    elif request.method == "POST" and form.is_valid():
        return _take_file(request, form)
    return render(request, "review/queue_create.html", {"form": form, "starting_forms": starting_forms()})


@action_page(check_form, form_view)
def form_preview(request: PageRequest) -> HttpResponse:
    """Show the questions of a form as annotators are asked them, or what is wrong with it."""
    form = check_form.form(None, {}, request.POST or None)
    shown: JsonDict = {"form": form, "is_wrong": not form.is_valid() and bool(request.POST.get("form", "").strip())}
    if form.is_valid():
        definition = form.cleaned_data["form"]
        size = size_asked(definition)
        asked = form_of_definition(definition, size=size)
        texts = dict.fromkeys(("", *LETTERS[:size], "context", "question"), SAMPLE)
        shown["parts"] = form_parts(asked.with_texts(texts), {}) if asked is not None else None
    return render(request, "review/_form_preview.html", shown)


def _take_file(request: PageRequest, form: QueueFileForm) -> HttpResponse:
    context: JsonDict = {"form": form, "starting_forms": starting_forms()}
    refused: dict[str, list[str]] = {}
    data, parsed = form.cleaned_data, form.materials
    if parsed.value is not None and request.POST.keys().isdisjoint(("check", "answer")):
        try:
            queue = create.carry_out(ActionCall(None, form, request.user, timezone.now())).queue
        except InvalidInput as refusal:
            refused = refusal.errors
        except ReviewRefused as refusal:
            refused = {refusal.field: [str(refusal)]}
        else:
            return _made(request, form, queue)
    context |= {"problems": parsed.problems, "found": parsed.value}
    context |= {"columns": parsed.columns, "column_fields": COLUMN_FIELDS, "form": _with_kept_file(form)}
    if parsed.value is not None:
        sides = tuple(LETTERS.upper()[: parsed.value.size]) if parsed.value.size > 1 else ("Response",)
        worth = () if parsed.value.size > 1 else data["scale"] or JUDGEMENT
        context |= {"preview": parsed.value.rows[:PREVIEW_ROWS], "sides": sides, "worth": worth}
    for field, sentences in refused.items():
        context["form"].add_error(field or None, sentences)
    return render(request, "review/queue_create.html", context)


def _searched(form: QueueFileForm) -> QueueFileForm:
    """Return the form with the people searched for and the file that was chosen; nothing else is checked yet."""
    form.is_valid()
    if form.cleaned_data.get("file") is not None:
        form = _with_kept_file(form)
    form.errors.clear()
    return form


def _with_kept_file(form: QueueFileForm) -> QueueFileForm:
    return QueueFileForm(form.entries_with_kept_file(at=timezone.now()), people=possible_members())


def _made(request: PageRequest, form: QueueFileForm, queue: Queue) -> HttpResponse:
    drop_upload(form.cleaned_data["kept"])
    for problem in form.materials.warnings[:WARNINGS_SHOWN]:
        messages.warning(request, str(problem))
    messages.success(request, f"The queue has {queue.total_count:,} items")
    for warning in warnings_of_new(queue):
        messages.warning(request, warning)
    return redirect(queue)


@form_view("review.change_queue")
def annotation_import(request: PageRequest, slug: str) -> HttpResponse:
    """Take a file of answers, show what it would bring, and bring it in once that is confirmed."""
    queue = get_object_or_404(Queue, slug=slug)
    take_annotations.check_owner(queue, request.user)
    if request.method != "POST":
        return _import_page(request, queue, {"form": AnnotationFileForm()})
    if "token" in request.POST:
        return _confirm(request, queue, request.POST["token"], request.POST.get("name", ""))
    form = AnnotationFileForm(request.POST, request.FILES)
    if not form.is_valid():
        return _import_page(request, queue, {"form": form})
    upload = form.cleaned_data["file"]
    data = upload.read()
    parsed = read_annotations(data, upload.name, form_of_queue(queue))
    if parsed.value is None:
        return _import_page(request, queue, {"form": AnnotationFileForm(), "problems": parsed.problems})
    token = store_upload(data, at=timezone.now())
    plan = _plan(queue, parsed.value, PeopleChoice())
    people = _people_form(request, plan.unknown, None)
    return _preview(request, queue, parsed, plan, {"people": people, "token": token})


def _confirm(request: PageRequest, queue: Queue, token: str, name: str) -> HttpResponse:
    try:
        parsed = read_annotations(read_upload(token), name, form_of_queue(queue))
    except UploadExpired as refusal:
        messages.error(request, str(refusal))
        return redirect("review:annotation-import", queue.slug)
    if parsed.value is None:
        return _import_page(request, queue, {"form": AnnotationFileForm(), "problems": parsed.problems})
    form = _people_form(request, _plan(queue, parsed.value, PeopleChoice()).unknown, request.POST)
    is_valid = form.is_valid()
    choice = PeopleChoice(form.names, form.cleaned_data.get("create", False)) if is_valid else PeopleChoice()
    plan = _plan(queue, parsed.value, choice)
    is_sent = "save" in request.POST and not is_member_search(request.POST)
    if is_sent and form.is_valid() and not plan.is_refused and parsed.value.n_rows <= MOST_ROWS:
        try:
            stored = import_annotations(
                queue=queue, file=parsed.value, people=choice, actor=request.user, at=timezone.now()
            )
        except AnnotationImportRefused as refusal:
            plan.problems.extend(refusal.problems)
        else:
            drop_upload(token)
            answers = stored.counts()["answers"]
            messages.success(request, f"{answers:,} annotation{'' if answers == 1 else 's'} imported")
            return redirect(queue)
    return _preview(request, queue, parsed, plan, {"people": form, "token": token})


def _plan(queue: Queue, file: AnnotationFile, people: PeopleChoice) -> AnnotationPlan:
    plan = plan_import(queue=queue, file=file, people=people, at=timezone.now())
    try:
        check_open(queue)
    except AnnotationImportRefused as refusal:
        plan.problems.extend(refusal.problems)
    return plan


def _people_form(request: PageRequest, unknown: tuple[str, ...], data: object) -> FilePeopleForm:
    return FilePeopleForm(
        data,
        unknown=unknown,
        people=User.objects.order_by("username", "pk"),
        may_create=request.user.has_perm(ADDS_PEOPLE),
    )


def _preview(
    request: PageRequest, queue: Queue, parsed: Parsed[AnnotationFile], plan: AnnotationPlan, context: JsonDict
) -> HttpResponse:
    if parsed.value is None:
        return _import_page(request, queue, context)
    facts = {
        "found": parsed.value,
        "plan": plan,
        "counts": plan.counts(),
        "problems": [*parsed.problems, *plan.problems],
        "most_rows": MOST_ROWS,
        "is_too_large": parsed.value.n_rows > MOST_ROWS,
    }
    return _import_page(request, queue, context | facts)


def _import_page(request: PageRequest, queue: Queue, context: JsonDict) -> HttpResponse:
    return render(request, "review/annotation_import.html", {"queue": queue} | context)
