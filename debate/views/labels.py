"""What people said of a set's debates elsewhere: imported as a table, and deleted."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.timezone import now

from debate.forms import LabelsForm
from debate.models import DebateSet
from debate.selectors.labels import label_sources
from debate.services.labels import StoredLabels, delete_labels, import_labels
from evalsite.base.http import PageRequest, form_view, post_view
from evalsite.base.json_types import JsonDict


@form_view("debate.add_debateset")
def label_create(request: PageRequest, set_id: int) -> HttpResponse:
    """Choose a table; it is stored at once where every row can be placed, else its problems are listed."""
    debate_set = get_object_or_404(DebateSet, pk=set_id)
    form = LabelsForm(request.POST or None, request.FILES or None)
    context: JsonDict = {"form": form, "debate_set": debate_set, "sources": label_sources(debate_set)}
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["file"]
        parsed = import_labels(
            data=upload.read(),
            file=str(upload.name),
            sets=[debate_set],
            is_blind=form.cleaned_data["is_blind"],
            actor=request.user,
            at=now(),
        )
        if parsed.value is not None:
            messages.success(request, _done(parsed.value))
            return redirect(debate_set)
        context |= {"problems": parsed.problems, "problem_count": len(parsed.problems)}
    return render(request, "debate/label_create.html", context)


@post_view("debate.add_debateset")
def label_delete(request: PageRequest, set_id: int) -> HttpResponse:
    """Delete the labels that came with one file."""
    debate_set, file = get_object_or_404(DebateSet, pk=set_id), request.POST.get("file", "")
    deleted = delete_labels(debate_set=debate_set, file=file, actor=request.user)
    if deleted:
        messages.success(request, f"{deleted:,} {'label' if deleted == 1 else 'labels'} of “{file}” deleted")
    else:
        messages.info(request, "There are no labels of this file any more; nothing was changed")
    return redirect("debate:label-create", debate_set.pk)


def _done(stored: StoredLabels) -> str:
    people = f"{len(stored.raters)} {'person' if len(stored.raters) == 1 else 'people'}"
    return (
        f"{stored.new:,} labels of {people} on {stored.debates:,} debates stored, {stored.changed:,} changed, "
        f"{stored.unchanged:,} already stored."
    )
