"""One response of a golden set on which a version and people differ, and what can be learned from it."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from evalsite.base.http import PageRequest, page_of, refusals_shown, whole_number
from evalsite.base.json_types import JsonDict
from evalsite.reports.views.golden.golden_sets import golden_set_of
from evalsite.review.models import GoldenItem, GoldenRule, GoldenSet
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.golden.golden_texts import golden_texts, with_texts
from evalsite.review.selectors.golden.golden_verdicts import GoldenVersion, golden_answers, golden_versions
from evalsite.review.services.golden.golden_lessons import (
    add_example,
    delete_rule,
    doubt_label,
    note_rule,
    suggested_reply,
)
from evalsite.review.states import ReviewRefused
from judging.models import Judge

PER_PAGE = 25


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
def golden_examples(request: PageRequest, set_id: int) -> HttpResponse:
    """List the stock of examples: what was set apart for them, and what was moved there from development."""
    golden_set = golden_set_of(set_id)
    page = page_of(request, golden_set.items.filter(part=GoldenPart.EXAMPLES).order_by("pk"), per_page=PER_PAGE)
    rows = golden_texts(with_texts(item.pk for item in page.object_list), [])
    return render(request, "reports/golden_examples.html", {"golden_set": golden_set, "page_obj": page, "rows": rows})


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
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
    judge = version.evaluator.judge if version is not None else None
    if judge is not None:
        reasons = " ".join(dict.fromkeys(reason.reason for reason in row.reasons if reason.reason))
        try:
            context |= {"judge": judge, "reply": suggested_reply(item, judge, reasons)}
        except ReviewRefused as refusal:
            context |= {"judge": judge, "no_example": str(refusal)}
    context["rules"] = item.rules.order_by("-pk")
    return render(request, "reports/golden_item.html", context)


@require_POST
@permission_required(("review.change_queue", "judging.add_judge"), raise_exception=True)
def golden_example(request: PageRequest, set_id: int, item_id: int) -> HttpResponse:
    """Put the response among the examples of a judge; its case leaves development."""
    golden_set = golden_set_of(set_id)
    item = _item(golden_set, item_id)
    judge = get_object_or_404(Judge, pk=whole_number(request.POST.get("judge", "")) or 0)
    with refusals_shown(request, ReviewRefused):
        reply = str(request.POST.get("reply", ""))
        add_example(item=item, judge=judge, reply=reply, actor=request.user, at=timezone.now())
        messages.success(request, f"{judge.name} has another example, and its case left development.")
        return redirect(golden_set)
    return _back(request, golden_set, item)


@require_POST
@permission_required("review.change_queue", raise_exception=True)
def golden_rule(request: PageRequest, set_id: int, item_id: int) -> HttpResponse:
    """Note a rule."""
    golden_set = golden_set_of(set_id)
    item = _item(golden_set, item_id)
    with refusals_shown(request, ReviewRefused):
        text = str(request.POST.get("text", ""))
        note_rule(golden_set=golden_set, item=item, text=text, actor=request.user, at=timezone.now())
        messages.success(request, "The rule is noted. It is told to a model that proposes wording.")
    return _back(request, golden_set, item)


@require_POST
@permission_required("review.change_queue", raise_exception=True)
def golden_rule_delete(request: PageRequest, set_id: int, rule_id: int) -> HttpResponse:
    """Delete a rule."""
    golden_set = golden_set_of(set_id)
    rule = get_object_or_404(GoldenRule.objects.select_related("golden_set"), pk=rule_id, golden_set=golden_set)
    delete_rule(rule=rule, actor=request.user)
    messages.success(request, "The rule is deleted.")
    return redirect(golden_set)


@require_POST
@permission_required(("review.change_queue", "review.adjudicate"), raise_exception=True)
def golden_doubt(request: PageRequest, set_id: int, item_id: int) -> HttpResponse:
    """Send the label back to people."""
    golden_set = golden_set_of(set_id)
    item = _item(golden_set, item_id)
    with refusals_shown(request, ReviewRefused):
        reason = str(request.POST.get("reason", ""))
        doubt_label(item=item, reason=reason, actor=request.user, at=timezone.now())
        messages.success(request, "The label is with the adjudicators. Until they decide, no figure counts it.")
        return redirect(golden_set)
    return _back(request, golden_set, item)


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


def _back(request: PageRequest, golden_set: GoldenSet, item: GoldenItem) -> HttpResponse:
    version = whole_number(request.POST.get("version", ""))
    address = redirect("reports:golden-item", golden_set.pk, item.pk)
    if version is not None:
        address.headers["Location"] += f"?version={version}"
    return address
