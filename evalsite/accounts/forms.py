"""Forms of this app."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator

from evalsite.accounts.roles import Role
from evalsite.accounts.services import PersonDetails, known_actions
from evalsite.base.form_fields import DayField, NameField, check_period, offer_choices

ROLE_CHOICES = [
    (Role.VIEWER.value, "Viewer: reads benchmarks, runs and reports, without annotators' names, and changes nothing"),
    (Role.ANNOTATOR.value, "Annotator: annotates items of review queues"),
    (Role.RESEARCHER.value, "Researcher: imports, runs, debates, adjudicates and reads reports"),
    (Role.ADMIN.value, "Admin: also manages endpoints and people, and reads the audit log and health"),
]


class SignInForm(AuthenticationForm):
    """Name and password. A name longer than any person's is refused before anything tries to look it up or log it."""

    username = UsernameField(
        max_length=User._meta.get_field("username").max_length,
        widget=forms.TextInput(attrs={"autofocus": True}),
        error_messages={"max_length": "A user name has at most %(limit_value)d characters."},
    )


class CodeForm(forms.Form):
    """A code of an app, or a recovery code."""

    code = forms.CharField(
        max_length=40,
        label="Code",
        help_text="Six digits of your app, or one of your recovery codes.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}),
    )


class FactorForm(forms.Form):
    """What a second factor is called."""

    name = NameField(max_length=60, label="Name", help_text="The device, so that you know it again.")


class AppForm(FactorForm):
    """An app that makes codes."""

    code = forms.CharField(
        max_length=10,
        label="Code",
        help_text="The six digits that the app shows now.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )


class RequiredRolesForm(forms.Form):
    """Whose second factor is required."""

    roles = forms.MultipleChoiceField(
        required=False,
        choices=[(role.value, role.value.capitalize()) for role in Role],
        widget=forms.CheckboxSelectMultiple,
        label="Roles that need a second factor",
        help_text="People without one are signed out, and set one up at the next sign-in.",
    )


class DetailsForm(forms.Form):
    """Name and address of a person."""

    first_name = NameField(max_length=150, required=False, label="First name")
    last_name = NameField(max_length=150, required=False, label="Last name")
    email = forms.EmailField(max_length=254, required=False, help_text="Shown to admins only.")

    def details(self, username: str) -> PersonDetails:
        """Return what was filled in."""
        filled = self.cleaned_data
        return PersonDetails(username, filled["first_name"], filled["last_name"], filled["email"])


class PersonCreateForm(DetailsForm):
    """A new person."""

    username = forms.CharField(
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        help_text="Used to sign in; it cannot be changed later.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=ROLE_CHOICES, widget=forms.RadioSelect, initial=Role.ANNOTATOR.value, label="Role")
    field_order = ["username", "first_name", "last_name", "email", "role"]


class InvitationForm(forms.Form):
    """Who is invited."""

    email = forms.EmailField(max_length=254, label="Mail address")
    role = forms.ChoiceField(choices=ROLE_CHOICES, widget=forms.RadioSelect, initial=Role.ANNOTATOR.value, label="Role")
    days = forms.IntegerField(min_value=1, max_value=60, initial=7, label="Valid for, days")


class NewAccountForm(forms.Form):
    """Who makes their own account."""

    username = PersonCreateForm.base_fields["username"]
    first_name = DetailsForm.base_fields["first_name"]
    last_name = DetailsForm.base_fields["last_name"]
    password = forms.CharField(
        label="Password",
        max_length=200,
        strip=False,
        help_text="At least ten characters, and none of the common ones.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def details(self, email: str) -> PersonDetails:
        """Return what was filled in."""
        filled = self.cleaned_data
        return PersonDetails(filled["username"], filled["first_name"], filled["last_name"], email)


class SetupForm(NewAccountForm):
    """The first admin of a site."""

    code = forms.CharField(
        max_length=60,
        label="Set-up code",
        help_text="It stands in the log of the web server, after accounts.setup_code.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    email = forms.EmailField(max_length=254, required=False, label="Mail address")
    organisation = forms.CharField(
        max_length=100, required=False, label="Organisation", help_text="Shown on the sign-in page and in letters."
    )
    field_order = ["code", "organisation", "username", "first_name", "last_name", "email", "password"]


class PersonUpdateForm(DetailsForm):
    """Changes of a person."""

    role = forms.ChoiceField(choices=ROLE_CHOICES, widget=forms.RadioSelect, label="Role")
    is_active = forms.BooleanField(
        required=False, label="May sign in", help_text="If it is off, the account and its annotations are kept."
    )


class AuditFilterForm(forms.Form):
    """Which entries of the audit log to show. Sent by GET, so the choice stays in the address."""

    person = forms.ModelChoiceField(
        queryset=User.objects.order_by("username", "pk"), required=False, label="Person", empty_label="All people"
    )
    action = forms.ChoiceField(choices=[], required=False, label="Action")
    subject = forms.CharField(
        required=False, label="What", max_length=200, widget=forms.TextInput(attrs={"type": "search"})
    )
    since = DayField(label="From")
    until = DayField(label="To")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = ((action, action) for action in known_actions())
        offer_choices(self, "action", [("", "Everything"), *known])

    def clean(self) -> None:
        """Refuse a period that ends before it starts."""
        super().clean()
        check_period(self, "since", "until")
