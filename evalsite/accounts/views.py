"""Pages that are no declared action's own: people and their details, sign-in, second factors, who comes anew."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from axes.utils import reset as clear_lockout
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, PasswordResetForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, PasswordChangeView, PasswordResetConfirmView
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.accounts import second_factors as factors
from evalsite.accounts import services
from evalsite.accounts.actions import invite_person
from evalsite.accounts.audit import record
from evalsite.accounts.backends import remember_browser, times_lately
from evalsite.accounts.forms import (
    AppForm,
    AuditFilterForm,
    CodeForm,
    DetailsForm,
    FactorForm,
    InvitationForm,
    NewAccountForm,
    SetupForm,
    SignInForm,
)
from evalsite.accounts.models import SecondFactor
from evalsite.accounts.personal_data import personal_document
from evalsite.accounts.roles import Role, role_of
from evalsite.accounts.second_factors import (
    app_address,
    count_failure,
    has_factor,
    is_fresh,
    keep_question,
    lock_out,
    new_secret,
    secret_in_letters,
    sign_in,
    take_question,
    wait_for_factor,
    who_waits,
)
from evalsite.accounts.services import (
    MadeInvitation,
    accept,
    find_invitation,
    has_mail_server,
    is_new,
    mail_reset_links,
    open_invitations,
    organisation_name,
    set_up,
    tell_code,
)
from evalsite.accounts.sessions import ENROL, SessionRefused, end_sessions, open_sessions
from evalsite.base.actions.pages import show_refusal
from evalsite.base.http import PageRequest, get_view, page_of
from evalsite.base.rows import Issued
from evalsite.base.types import JsonDict, Refused
from evalsite.serving.middleware import told_address
from judging.services.long_jobs import enqueue_once


@get_view("auth.view_user")
def person_list(request: PageRequest) -> HttpResponse:
    """Show who has an account."""
    search, role = request.GET.get("q", "").strip(), request.GET.get("role", "")
    page = page_of(request, services.people(search=search, role=role, sort=request.GET.get("sort", "")))
    context = {
        "page_obj": page,
        "rows": [services.person_row(person) for person in page],
        "search": search,
        "chosen_role": role,
        "roles": list(Role),
    }
    return render(request, "accounts/person_list.html", context)


def person_created(request: PageRequest, issued: Issued[User]) -> HttpResponse:
    """Show the first password of a new account, once."""
    return render(request, "accounts/person_password.html", {"issued": issued, "is_new": True})


def person_changed(_request: PageRequest, _person: User) -> HttpResponse:
    """Go back to the list of people."""
    return redirect("accounts:person-list")


def password_issued(request: PageRequest, issued: Issued[User]) -> HttpResponse:
    """Show a new password, once."""
    return render(request, "accounts/person_password.html", {"issued": issued, "is_new": False})


def person_exported(_request: PageRequest, document: JsonDict) -> HttpResponse:
    """Send what is held about a person as a file."""
    response = JsonResponse(document, json_dumps_params={"indent": 1, "ensure_ascii": False})
    name = slugify(document["account"]["username"]) or "person"
    response["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response


@get_view("accounts.view_auditentry")
def audit_list(request: PageRequest) -> HttpResponse:
    """Show who did what."""
    form = AuditFilterForm(request.GET)
    form.is_valid()
    page = page_of(request, services.audit_entries(**form.cleaned_data), per_page=100)
    return render(request, "accounts/audit_list.html", {"form": form, "page_obj": page})


@require_http_methods(["GET", "POST"])
def preferences(request: PageRequest) -> HttpResponse:
    """Change one's own name and address."""
    person = request.user
    initial = {"first_name": person.first_name, "last_name": person.last_name, "email": person.email}
    form = DetailsForm(request.POST if request.method == "POST" else None, initial=initial)
    try:
        if form.is_valid():
            services.update_own_details(person=person, details=form.details(person.username))
            messages.success(request, "Saved.")
            return redirect("accounts:preferences")
    except Refused as refusal:
        show_refusal(form, refusal)
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


def _sign_on_url() -> str:
    """Return where single sign-on begins; empty where there is none."""
    if settings.SAML_METADATA_URL:
        return reverse("saml_login", args=["provider"])
    return reverse("openid_connect_login") if settings.OIDC_URL else ""


class SignInView(LoginView):
    """Signs a person in, and remembers that they did so in this browser."""

    authentication_form = SignInForm

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form; on a new site to which no provider sends people, the page that sets it up."""
        is_unset = not _sign_on_url() and is_new()
        return redirect("site-setup") if is_unset else super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> JsonDict:
        """Return what the page shows: a form, single sign-on, or both."""
        return super().get_context_data(
            **kwargs,
            sign_on=settings.OIDC_NAME,
            sign_on_url=_sign_on_url(),
            passwords=settings.PASSWORDS,
            can_reset=settings.PASSWORDS and has_mail_server(),
            organisation=organisation_name(),
        )

    def get_success_url(self) -> str:
        """Return the page of this site that the person wanted; that of home for what is none."""
        wanted = self.get_redirect_url()
        return wanted if wanted.startswith("/") else self.get_default_redirect_url()

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Open a session, or ask for the second factor of who has one."""
        person = form.get_user()
        assert isinstance(person, User), "the site has people of one kind"
        if has_factor(person):
            return wait_for_factor(self.request, person, to=self.get_success_url(), at=timezone.now())
        response = super().form_valid(form)
        remember_browser(response, person.get_username())
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


INVITATIONS = "accounts/invitation_list.html"
HOUR = 3600
MOST_OF_ONE_CLIENT = 20  # links for new passwords asked in an hour
MOST_TO_ONE_ADDRESS = 3


def invitations_context(_request: PageRequest, _subject: None) -> JsonDict:
    """Return what the page of invitations shows beside its form."""
    return {"invitations": open_invitations(at=timezone.now()).order_by("-pk")}


def invitation_made(request: PageRequest, made: MadeInvitation) -> HttpResponse:
    """Show the link of a new invitation, once, with the port of this page, which settings need not say."""
    site = urlsplit(settings.SITE_URL)
    if site.hostname == request.get_host().partition(":")[0]:
        made = replace(made, secret=request.build_absolute_uri(urlsplit(made.secret).path))
    form = InvitationForm(initial={"days": invite_person.fields["days"].initial})
    return render(request, INVITATIONS, invitations_context(request, None) | {"form": form, "made": made})


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def invitation_accept(request: HttpRequest, token: str) -> HttpResponse:
    """Make the account of who was invited; links that are not valid, whyever, look alike."""
    invitation = find_invitation(token, at=timezone.now())
    if invitation is None:
        return render(request, "registration/invitation_ended.html", status=404)
    form = NewAccountForm(request.POST if request.method == "POST" else None)
    try:
        if form.is_valid():
            details, password = form.details(invitation.email), form.cleaned_data["password"]
            sign_in(request, accept(invitation=invitation, details=details, password=password, at=timezone.now()))
            return redirect("home")
    except Refused as refusal:
        show_refusal(form, refusal)
    context = {"form": form, "invitation": invitation, "organisation": organisation_name()}
    return render(request, "registration/invitation_accept.html", context, status=400 if form.errors else 200)


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def site_setup(request: HttpRequest) -> HttpResponse:
    """Make the first admin of a site on which nobody has an account."""
    if not (settings.PASSWORDS and is_new()):
        raise Http404
    form = SetupForm(request.POST if request.method == "POST" else None)
    if request.method == "GET":
        tell_code()
    try:
        if form.is_valid():
            data = form.cleaned_data
            details, organisation = form.details(data["email"]), data["organisation"]
            person = set_up(code=data["code"], details=details, password=data["password"], organisation=organisation)
            sign_in(request, person)
            return redirect("first-steps")
    except Refused as refusal:
        show_refusal(form, refusal)
    return render(request, "registration/setup.html", {"form": form}, status=400 if form.errors else 200)


@login_not_required
@require_http_methods(["GET", "POST"])
def password_forgotten(request: HttpRequest) -> HttpResponse:
    """Send a link for a new password, and never say whether an address has an account."""
    if not (settings.PASSWORDS and has_mail_server()):
        raise Http404
    form = PasswordResetForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return render(request, "registration/password_forgotten.html", {"form": form})
    email, client = form.cleaned_data["email"].lower(), told_address(request)
    if client and times_lately(f"reset:client:{client}", seconds=HOUR) > MOST_OF_ONE_CLIENT:
        return render(request, "registration/locked_out.html", status=429)
    if times_lately(f"reset:address:{email}", seconds=HOUR) <= MOST_TO_ONE_ADDRESS:
        queued = enqueue_once(mail_reset_links, email, job_id=f"reset-{hashlib.sha256(email.encode()).hexdigest()}")
        if queued is None:
            text = "Letters cannot be sent now. Try again later, or ask an admin for a new password."
            return render(request, "registration/sign_on_refused.html", {"text": text}, status=503)
    return render(request, "registration/password_forgotten.html", {"is_sent": True})


@method_decorator([login_not_required, never_cache], name="dispatch")
class ResetPasswordView(PasswordResetConfirmView):
    """Takes a new password from who has the link; a second factor is asked for at sign-in as before."""

    template_name = "registration/password_reset.html"
    success_url = reverse_lazy("login")

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer where the site takes passwords."""
        if not settings.PASSWORDS:
            raise Http404
        return super().dispatch(*args, **kwargs)

    def form_valid(self, form: SetPasswordForm[User]) -> HttpResponse:
        """Store the password: all sessions end, and so does a lock-out."""
        with transaction.atomic():
            answer = super().form_valid(form)
            record(None, "person.password_reset", form.user)
        clear_lockout(username=form.user.username)
        messages.success(self.request, "Your new password is set. Sign in with it.")
        return answer


NEW_APP = "new_app"  # in the session: the encrypted secret of an app that is being set up
ASK = "registration/second_factor.html"
LIST = "accounts:second-factor-list"


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def second_step(request: HttpRequest) -> HttpResponse:
    """Ask who has shown a password for their second factor."""
    at, host = timezone.now(), _host(request)
    waiting = who_waits(request, at=at)
    if waiting is None:
        return redirect("login")
    person, to = waiting
    if page := lock_out(request, person.username):
        return page
    form = CodeForm(request.POST if "code" in request.POST else None)
    said, answer = "", request.POST.get("answer", "")
    try:
        if "answer" in request.POST:
            state = take_question(request)
            factors.check_patience(person=person, at=at)
            digest = factors.digest_in(answer)
            factors.check_passkey(person=person, digest=digest, host=host, state=state, answer=answer, at=at)
            return _signed_in(request, person, to)
        if form.is_valid():
            factors.check_patience(person=person, at=at)
            factors.check_code(person=person, text=form.cleaned_data["code"], at=at)
            return _signed_in(request, person, to)
    except Refused as refusal:
        count_failure(request, person.username)
        said = str(refusal)
    known = factors.passkeys_of(person)
    question = _asked(request, factors.ask_for_one(host, known=known, alone=False)) if known else ""
    context = {"form": form, "has_codes": factors.has_codes(person), "question": question, "refusal": said}
    return render(request, ASK, context, status=400 if said or form.errors else 200)


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def passkey_sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in who shows a passkey on a device that knows them: two factors at once, so no password is asked."""
    if not settings.PASSWORDS:
        raise Http404
    at, host = timezone.now(), _host(request)
    username, said, answer = "", "", request.POST.get("answer", "")
    to = request.POST.get("next") or request.GET.get("next") or ""
    try:
        if request.method == "POST":
            state = take_question(request)
            digest = factors.digest_in(answer)
            person = factors.owner_of_passkey(digest)
            username = person.username if person else ""
            if page := lock_out(request, username):
                return page
            if person is None:
                raise Refused("This passkey belongs to no account here. Sign in with your password.")
            factors.check_passkey(person=person, digest=digest, host=host, state=state, answer=answer, at=at)
            return _signed_in(request, person, to)
    except Refused as refusal:
        count_failure(request, username)
        said = str(refusal)
    question = _asked(request, factors.ask_for_one(host, known=(), alone=True))
    context = {"question": question, "next": to, "refusal": said}
    return render(request, ASK, context, status=400 if said else 200)


def _signed_in(request: HttpRequest, person: User, to: str) -> HttpResponse:
    sign_in(request, person)
    is_ours = to.startswith("/") and url_has_allowed_host_and_scheme(to, {request.get_host()}, request.is_secure())
    response = redirect(to if is_ours else "home")
    remember_browser(response, person.username)
    return response


def _asked(request: HttpRequest, question: tuple[str, JsonDict]) -> str:
    options, state = question
    keep_question(request, state)
    return options


def _host(request: HttpRequest) -> str:
    return request.get_host().partition(":")[0]


def _freshly_signed_in(view: Any) -> Any:
    """Let a page be used by who has signed in a short while ago; others are asked to do so again."""

    @wraps(view)
    def guarded(request: PageRequest, **named: Any) -> HttpResponse:
        if is_fresh(request, at=timezone.now()):
            return view(request, **named)  # type: ignore[no-any-return]  # a page
        messages.info(request, "Sign in again first: second factors are changed shortly after signing in only.")
        return redirect(f"{reverse('login')}?next={reverse(LIST)}")

    return guarded


@require_safe
def factor_list(request: PageRequest) -> HttpResponse:
    """Show one's own second factors."""
    context = {
        "factors": SecondFactor.objects.filter(person=request.user).order_by("pk"),
        "codes_left": request.user.recovery_codes.count(),
        "has_to_enrol": request.session.get(ENROL, False),
        "is_required": factors.is_required(role_of(request.user)),
    }
    return render(request, "accounts/second_factor_list.html", context)


@require_http_methods(["GET", "POST"])
@_freshly_signed_in
def app_add(request: PageRequest) -> HttpResponse:
    """Set up an app that makes codes."""
    person, at = request.user, timezone.now()
    form = AppForm(request.POST if request.method == "POST" else None, initial={"name": "Phone"})
    sealed = request.session.get(NEW_APP)
    if sealed is None:  # a page that is opened again shows what was scanned
        request.session[NEW_APP] = sealed = factors.seal(new_secret())
    try:
        if form.is_valid():
            made = factors.add_app(person=person, sealed=sealed, at=at, **form.cleaned_data)
            del request.session[NEW_APP]
            return _added(request, *made)
    except Refused as refusal:
        show_refusal(form, refusal)
    secret = factors.unseal(sealed)
    address = app_address(secret, account=person.username, site=f"Evalsite {request.get_host()}")
    context = {"form": form, "letters": secret_in_letters(secret), "picture": _picture(address)}
    return render(request, "accounts/second_factor_app.html", context, status=400 if form.errors else 200)


def _picture(address: str) -> str:
    import segno

    return segno.make(address, error="m").svg_data_uri(scale=5, light="white")


@require_http_methods(["GET", "POST"])
@_freshly_signed_in
def passkey_add(request: PageRequest) -> HttpResponse:
    """Set up a passkey."""
    person, at, host = request.user, timezone.now(), _host(request)
    form = FactorForm(request.POST if request.method == "POST" else None, initial={"name": "This device"})
    try:
        if form.is_valid():
            new = factors.read_new(host, state=take_question(request), answer=request.POST.get("answer", ""))
            made = factors.add_passkey(person=person, passkey=new, name=form.cleaned_data["name"], at=at)
            return _added(request, *made)
    except Refused as refusal:
        show_refusal(form, refusal)
    known = factors.passkeys_of(person)
    question = factors.ask_for_new(host, person_key=person.pk, name=person.username, known=known)
    context = {"form": form, "question": _asked(request, question)}
    return render(request, "accounts/second_factor_passkey.html", context, status=400 if form.errors else 200)


def _added(request: PageRequest, factor: SecondFactor, codes: list[str]) -> HttpResponse:
    """Go back to the list; with the first factor, show the recovery codes once."""
    request.session[ENROL] = False
    messages.success(request, f"{factor.name} is set up.")
    return _codes_shown(request, codes) if codes else redirect(LIST)


def _codes_shown(request: PageRequest, codes: list[str]) -> HttpResponse:
    return render(request, "accounts/second_factor_codes.html", {"codes": codes})


@require_POST
@_freshly_signed_in
def codes_make(request: PageRequest) -> HttpResponse:
    """Make new recovery codes and show them once."""
    try:
        return _codes_shown(request, factors.make_recovery_codes(person=request.user))
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect(LIST)


@require_POST
@_freshly_signed_in
def factor_remove(request: PageRequest, key: int) -> HttpResponse:
    """Remove one of one's own second factors."""
    try:
        factors.remove_factor(person=request.user, key=key)
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, "Removed.")
    return redirect(LIST)


def roles_required(request: PageRequest, roles: list[Role]) -> HttpResponse:
    """Go back to the list of people, and say whose second factor is required."""
    words = ", ".join(role.value for role in roles) or "nobody"
    messages.success(request, f"A second factor is required of: {words}.")
    return redirect("accounts:person-list")
