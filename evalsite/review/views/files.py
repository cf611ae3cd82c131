"""A queue out of a file."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from evalsite.review.forms import QueueFileForm
from evalsite.review.models import OrderPolicy, QueueMode
from evalsite.review.selectors.pages import possible_members
from evalsite.review.services.file_queues import NewQueue, create_queue
from evalsite.review.tables.materials import read_materials
from judging.http import PageRequest

PREVIEW_ROWS = 5


@require_http_methods(["GET", "POST"])
@permission_required("review.add_queue", raise_exception=True)
def queue_create(request: PageRequest) -> HttpResponse:
    """Take a file of pairs or single responses: look at it first, or make the queue."""
    form = QueueFileForm(request.POST or None, request.FILES or None, people=possible_members())
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        upload, data = form.cleaned_data["file"], form.cleaned_data
        parsed = read_materials(upload.read(), upload.name)
        if parsed.value is not None and "check" not in request.POST:
            wanted = NewQueue(
                name=data["name"] or upload.name.rsplit(".", 1)[0],
                file_name=upload.name,
                guidelines=data["guidelines"],
                labels=data["scale"],
                quorum=data["quorum"],
                mode=QueueMode(data["mode"]),
                order=OrderPolicy(data["order"]),
            )
            members = list(data["members"])
            queue = create_queue(
                wanted=wanted, found=parsed.value, members=members, actor=request.user, at=timezone.now()
            )
            messages.success(request, f"The queue has {queue.total_count:,} items")
            return redirect(queue)
        context |= {"problems": parsed.problems, "found": parsed.value}
        context["preview"] = parsed.value.rows[:PREVIEW_ROWS] if parsed.value else ()
    return render(request, "review/queue_create.html", context)
