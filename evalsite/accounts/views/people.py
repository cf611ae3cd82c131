"""Pages about people, the audit log and one's own details."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.accounts import selectors, services
from evalsite.accounts.audit import record
from evalsite.accounts.exports import audit_csv
from evalsite.accounts.forms import AuditFilterForm, DetailsForm
from evalsite.accounts.open_sessions import SessionRefused, end_sessions, open_sessions
from evalsite.accounts.personal_data import personal_document
from evalsite.accounts.roles import Role
from evalsite.base.http import PageRequest, get_view, page_of
from evalsite.base.json_types import JsonDict


@get_view("auth.view_user")
def person_list(request: PageRequest) -> HttpResponse:
    """Show who has an account."""
    search, role = request.GET.get("q", "").strip(), request.GET.get("role", "")
    page = page_of(request, selectors.people(search=search, role=role, sort=request.GET.get("sort", "")))
    context = {
        "page_obj": page,
        "rows": [selectors.person_row(person) for person in page],
        "search": search,
        "chosen_role": role,
        "roles": list(Role),
    }
    return render(request, "accounts/person_list.html", context)


def person_created(request: PageRequest, issued: services.IssuedPassword) -> HttpResponse:
    """Show the first password of a new account, once."""
    return render(request, "accounts/person_password.html", {"issued": issued, "is_new": True})


def person_changed(_request: PageRequest, _person: User) -> HttpResponse:
    """Go back to the list of people."""
    return redirect("accounts:person-list")


def password_issued(request: PageRequest, issued: services.IssuedPassword) -> HttpResponse:
    """Show a new password, once."""
    return render(request, "accounts/person_password.html", {"issued": issued, "is_new": False})


def person_exported(_request: PageRequest, document: JsonDict) -> HttpResponse:
    """Send what is held about a person as a file."""
    response = JsonResponse(document, json_dumps_params={"indent": 1, "ensure_ascii": False})
    name = slugify(document["account"]["username"])
    response["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response


@get_view("accounts.view_auditentry")
def audit_list(request: PageRequest) -> HttpResponse:
    """Show who did what."""
    form = AuditFilterForm(request.GET)
    form.is_valid()
    page = page_of(request, selectors.audit_entries(form.filters()), per_page=100)
    return render(request, "accounts/audit_list.html", {"form": form, "page_obj": page})


@get_view("accounts.view_auditentry")
def audit_export(request: PageRequest) -> HttpResponse:
    """Send the entries that the list shows as CSV."""
    form = AuditFilterForm(request.GET)
    form.is_valid()
    with transaction.atomic():
        record(request.user, "audit.exported", "audit log", filter=request.GET.urlencode())
    response = StreamingHttpResponse(audit_csv(selectors.audit_entries(form.filters())), content_type="text/csv")
    response["Content-Disposition"] = 'attachment; filename="audit.csv"'
    return response  # type: ignore[return-value]  # a streaming response is no HttpResponse in the stubs


@require_http_methods(["GET", "POST"])
def preferences(request: PageRequest) -> HttpResponse:
    """Change one's own name and address."""
    person = request.user
    initial = {"first_name": person.first_name, "last_name": person.last_name, "email": person.email}
    form = DetailsForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        services.update_own_details(person=person, details=form.details(person.username))
        messages.success(request, "Saved.")
        return redirect("accounts:preferences")
    sessions = open_sessions(person=person, key=request.session.session_key, at=timezone.now())
    return render(request, "accounts/preferences.html", {"form": form, "sessions": sessions})


@require_POST
def own_data(request: PageRequest) -> HttpResponse:
    """Send what is held about oneself."""
    return person_exported(request, personal_document(person=request.user, actor=request.user))


@require_POST
def session_end(request: PageRequest) -> HttpResponse:
    """End one of one's own sessions, or all but this one."""
    try:
        name = request.POST.get("session", "")
        end_sessions(person=request.user, name=name, key=request.session.session_key, at=timezone.now())
    except SessionRefused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, "Signed out there.")
    return redirect("accounts:preferences")
