"""What can be done with tokens of the API: each person has their own, the site sees all."""

from __future__ import annotations

from django import forms

from evalsite.accounts.roles import Scope
from evalsite.api.models import ApiToken
from evalsite.api.tokens import make_token, revoke_token, tokens_of
from evalsite.base.actions.declarations import (
    CREATE,
    ActionCall,
    NoInput,
    Noun,
    Reference,
    columns,
)
from evalsite.base.form_fields import NameField
from evalsite.base.rows import Issued

ADDS_TOKENS = "api.add_apitoken"


class TokenForm(forms.Form):
    """A new token."""

    name = NameField(max_length=100, label="Name", help_text="What uses it; the audit log shows the name.")
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, f"{scope.value}: {scope.words}") for scope in Scope],
        initial=[Scope.READ.value],
        widget=forms.CheckboxSelectMultiple,
        label="Scopes",
        help_text="What it may be used for, as far as your role allows it.",
    )
    days = forms.IntegerField(min_value=1, max_value=366, initial=90, label="Valid for, days")


_token_facts = columns(
    "id", "name", "owner.username as owner", "prefix", "scopes", "created_at", "ends_at", "last_used_at", "revoked_at"
)


TOKENS: Noun[ApiToken] = Noun(
    name="token",
    plural="tokens",
    help="Make, revoke, list or show tokens of the API.",
    reference=Reference("token"),
    rows=tokens_of,
    view_permission=ADDS_TOKENS,
    shown=_token_facts,
)


@TOKENS.new(
    CREATE,
    permission=ADDS_TOKENS,
    form=TokenForm,
    shown=lambda made: _token_facts(made.row) | {"token": made.secret},
    is_secret=True,
    needs_person=True,
)
def add_token(act: ActionCall[None, TokenForm]) -> Issued[ApiToken]:
    """Make a token, which a script signs in with. Its text is shown once; only a hash of it is stored."""
    data = act.data
    scopes = [Scope(name) for name in data["scopes"]]
    return make_token(owner=act.person, name=data["name"], scopes=scopes, days=data["days"], at=act.at)


@TOKENS.one("revoke", permission=ADDS_TOKENS, said=lambda token: f"{token.name} revoked.")
def end_token(act: ActionCall[ApiToken, NoInput]) -> ApiToken:
    """End a token at once."""
    return revoke_token(token=act.subject, actor=act.actor, at=act.at)
