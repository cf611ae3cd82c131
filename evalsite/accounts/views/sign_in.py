"""The pages on which people sign in and change their password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.audit import record
from evalsite.accounts.forms import SignInForm
from evalsite.accounts.letters import has_mail_server, organisation_name
from evalsite.accounts.lockouts import remember_browser
from evalsite.accounts.new_people.first_admin import is_new
from evalsite.accounts.second_factors.factors import has_factor
from evalsite.accounts.second_factors.sign_in_steps import wait_for_factor
from evalsite.base.json_types import JsonDict


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
