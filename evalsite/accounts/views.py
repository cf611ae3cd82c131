"""Pages about people, the audit log and one's own details."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.accounts import selectors, services
from evalsite.accounts.audit import record
from evalsite.accounts.exports import audit_csv
from evalsite.accounts.forms import AuditFilterForm, DetailsForm, SignInForm
from evalsite.accounts.lockouts import remember_browser
from evalsite.accounts.open_sessions import SessionRefused, end_sessions, open_sessions
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


class SignInView(LoginView):
    """Signs a person in, and remembers that they did so in this browser."""

    authentication_form = SignInForm

    def get_context_data(self, **kwargs: Any) -> JsonDict:
        """Return what the page shows: a form, single sign-on, or both."""
        sign_on = settings.OIDC_NAME if settings.OIDC_URL else ""
        return super().get_context_data(**kwargs, sign_on=sign_on, passwords=settings.PASSWORDS)

    def get_success_url(self) -> str:
        """Return the page of this site that the person wanted; that of home for what is none."""
        wanted = self.get_redirect_url()
        return wanted if wanted.startswith("/") else self.get_default_redirect_url()

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        remember_browser(response, form.get_user().get_username())
        return response


class OwnPasswordView(PasswordChangeView):
    """Django's page for a new password of one's own, which tells the audit log."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Show the form to who signs in with a password."""
        if isinstance(request.user, User) and not (settings.PASSWORDS and request.user.has_usable_password()):
            messages.info(request, f"You sign in with {settings.OIDC_NAME}, without a password of this site.")
            return redirect("accounts:preferences")
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Store the password."""
        with transaction.atomic():
            answer = super().form_valid(form)
            person = form.user
            record(person, "person.password_changed", person)
        return answer
