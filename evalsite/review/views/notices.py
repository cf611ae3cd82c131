"""What the site tells a person, and their own page."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from evalsite.base.http import PageRequest, get_view, page_of, post_view
from evalsite.review.models import MailChoice, Notice
from evalsite.review.selectors.screens.pages import my_queues
from evalsite.review.services.items.notices import choose_mail, read_notices, sentence_of


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
