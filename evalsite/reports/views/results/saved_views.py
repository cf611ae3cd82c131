"""Named views of results: saved and deleted here, offered on the page of results."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from evalsite.base.http import PageRequest, post_view, refusals_shown
from evalsite.reports.models import SavedView
from evalsite.reports.services.saved_views import ViewRefused, delete_view, save_view
from judging.models import Suite


@post_view("reports.add_savedview")
def view_save(request: PageRequest, suite_id: int) -> HttpResponse:
    """Keep what a page of results shows, and show it again."""
    suite = get_object_or_404(Suite, pk=suite_id)
    query = request.POST.get("query", "")
    with refusals_shown(request, ViewRefused):
        view = save_view(
            suite=suite,
            name=request.POST.get("name", ""),
            query=query,
            is_shared=request.POST.get("is_shared") == "1",
            actor=request.user,
            at=timezone.now(),
        )
        query = view.query
        messages.success(request, f"The view “{view}” is saved.")
    return redirect(f"{reverse('reports:results-detail', args=[suite.pk])}?{query}")


@post_view("reports.add_savedview")
def view_delete(request: PageRequest, view_id: int) -> HttpResponse:
    """Forget one's own view."""
    view = get_object_or_404(SavedView, pk=view_id, created_by=request.user)
    delete_view(view=view)
    messages.success(request, f"The view “{view}” is deleted.")
    return redirect(f"{reverse('reports:results-detail', args=[view.suite_id])}?{view.query}")
