"""Pages of second factors: asked for at sign-in, and set up under one's own details."""

from __future__ import annotations

from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.accounts.forms import AppForm, CodeForm, FactorForm
from evalsite.accounts.lockouts import remember_browser
from evalsite.accounts.models import SecondFactor
from evalsite.accounts.roles import Role, role_of
from evalsite.accounts.second_factors import factors, passkeys
from evalsite.accounts.second_factors.one_time_codes import app_address, new_secret, secret_in_letters
from evalsite.accounts.second_factors.sign_in_steps import (
    count_failure,
    is_fresh,
    keep_question,
    lock_out,
    sign_in,
    take_question,
    who_waits,
)
from evalsite.accounts.sessions import ENROL
from evalsite.base.actions.pages import show_refusal
from evalsite.base.http import PageRequest
from evalsite.base.refusals import Refused

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
            digest = passkeys.digest_in(answer)
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
    question = _asked(request, passkeys.ask_for_one(host, known=known, alone=False)) if known else ""
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
            digest = passkeys.digest_in(answer)
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
    question = _asked(request, passkeys.ask_for_one(host, known=(), alone=True))
    context = {"question": question, "next": to, "refusal": said}
    return render(request, ASK, context, status=400 if said else 200)


def _signed_in(request: HttpRequest, person: User, to: str) -> HttpResponse:
    sign_in(request, person)
    is_ours = to.startswith("/") and url_has_allowed_host_and_scheme(to, {request.get_host()}, request.is_secure())
    response = redirect(to if is_ours else "home")
    remember_browser(response, person.username)
    return response


def _asked(request: HttpRequest, question: passkeys.PasskeyQuestion) -> str:
    keep_question(request, question.state)
    return question.options


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
    if sealed is None or request.method == "GET":
        request.session[NEW_APP] = sealed = factors.seal(new_secret())
    try:
        if form.is_valid():
            made = factors.add_app(person=person, sealed=sealed, at=at, **form.cleaned_data)
            del request.session[NEW_APP]
            return _added(request, made)
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
            new = passkeys.read_new(host, state=take_question(request), answer=request.POST.get("answer", ""))
            return _added(
                request, factors.add_passkey(person=person, passkey=new, name=form.cleaned_data["name"], at=at)
            )
    except Refused as refusal:
        show_refusal(form, refusal)
    known = factors.passkeys_of(person)
    question = passkeys.ask_for_new(host, person_key=person.pk, name=person.username, known=known)
    context = {"form": form, "question": _asked(request, question)}
    return render(request, "accounts/second_factor_passkey.html", context, status=400 if form.errors else 200)


def _added(request: PageRequest, made: factors.NewFactor) -> HttpResponse:
    """Go back to the list; with the first factor, show the recovery codes once."""
    request.session[ENROL] = False
    messages.success(request, f"{made.factor.name} is set up.")
    return _codes_shown(request, made.codes) if made.codes else redirect(LIST)


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
