"""Pages of who has no account yet, or no password any more: invitations, set-up of a new site, new passwords."""

from __future__ import annotations

import hashlib
from typing import Any

from axes.utils import reset as clear_lockout
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordResetConfirmView
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from evalsite.accounts.actions.invitations import create
from evalsite.accounts.audit import record
from evalsite.accounts.forms import InvitationForm, NewAccountForm, SetupForm
from evalsite.accounts.jobs import mail_reset_links
from evalsite.accounts.letters import has_mail_server, organisation_name
from evalsite.accounts.lockouts import times_lately
from evalsite.accounts.new_people import first_admin
from evalsite.accounts.new_people.invitations import MadeInvitation, accept, find_invitation, open_invitations
from evalsite.accounts.second_factors.sign_in_steps import sign_in
from evalsite.base.actions.pages import show_refusal
from evalsite.base.http import PageRequest
from evalsite.base.json_types import JsonDict
from evalsite.base.refusals import Refused
from evalsite.serving.proxies import told_address
from judging.jobs import enqueue_once

INVITATIONS = "accounts/invitation_list.html"
HOUR = 3600
MOST_OF_ONE_CLIENT = 20  # links for new passwords asked in an hour
MOST_TO_ONE_ADDRESS = 3


def invitations_context(_request: PageRequest, _subject: None) -> JsonDict:
    """Return what the page of invitations shows beside its form."""
    return {"invitations": open_invitations(at=timezone.now()).order_by("-pk")}


def invitation_made(request: PageRequest, made: MadeInvitation) -> HttpResponse:
    """Show the link of a new invitation, once."""
    form = InvitationForm(initial={"days": create.fields["days"].initial})
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
    if not (settings.PASSWORDS and first_admin.is_new()):
        raise Http404
    form = SetupForm(request.POST if request.method == "POST" else None)
    if request.method == "GET":
        first_admin.tell_code()
    try:
        if form.is_valid():
            data = form.cleaned_data
            details, organisation = form.details(data["email"]), data["organisation"]
            person = first_admin.set_up(
                code=data["code"], details=details, password=data["password"], organisation=organisation
            )
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
