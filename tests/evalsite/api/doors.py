"""Examples of declared actions, and each door through which one is done: page, command and API."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management.base import BaseCommand, CommandParser
from django.db.models import Model
from django.forms import BaseForm, Field, NullBooleanField
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone

from evalsite.accounts.roles import Scope
from evalsite.api.tokens import make_token
from evalsite.base.actions.declarations import CHANGE, CREATE, DELETE, Action
from evalsite.base.actions.entries import filled_form
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict, JsonObject
from tests.architecture.test_page_commands import addresses
from tests.commands import command_of

FORMS = ("form", "revision_form")  # of pages
METHODS = {CHANGE: "patch", DELETE: "delete"}


@dataclass(frozen=True)
class Example:
    """What is done to what; `shows`: what the command then prints, among other things.

    `refused` are entries that are refused with `sentence`, after `spoil` where it is things that forbid it.
    `hidden` are fields that the page sends beside those of the form.
    """

    subject: Model | None = None
    entered: JsonDict = field(default_factory=dict)
    shows: JsonDict = field(default_factory=dict)
    refused: JsonDict = field(default_factory=dict)
    sentence: str = ""
    spoil: Callable[[], object] | None = None
    prepare: Callable[[], object] | None = None  # what no transaction takes back, before each door
    hidden: Mapping[str, object] = field(default_factory=dict)
    query: str = ""  # of the page's address
    keys: tuple[object, ...] = ()  # of the page's address, where it is not the subject
    notice: str = ""  # that the page shows as an error, though it was done


@dataclass(frozen=True)
class Outcome:
    """What a door answers: whether the person may, what it shows where it shows facts, and why it refused."""

    is_allowed: bool
    facts: JsonDict | None = None
    refusals: Sequence[str] = ()


def page_of_action(action: Action[Any, Any], others: Mapping[str, str]) -> str | None:
    """Return the name of the address where a page does an action: its own, that of buttons, or one of the others."""
    if "button" in action.options:
        return "act"
    own = (name for name, pattern in _patterns().items() if getattr(pattern.callback, "action", None) is action)
    return next(own, others.get(f"{action.noun.name} {action.verb}"))


@cache
def _patterns() -> dict[str, URLPattern]:
    return dict(addresses(get_resolver()))


@cache
def _command(noun: str) -> tuple[BaseCommand, CommandParser]:
    """Return the command of a noun and what reads its words, which takes as long to make as what most acts do."""
    command = command_of(noun)
    return command, command.create_parser("manage.py", noun)


def by_page(action: Action[Any, Any], example: Example, entered: JsonObject, person: User, address: str) -> Outcome:
    """Send what the page would send with these entries."""
    client = Client()
    client.force_login(person)
    names = _patterns()[address].pattern.converters if example.subject is not None else ()
    of_button = {"noun": action.noun.name, "verb": action.verb} if address == "act" else {}
    keys = example.keys or [
        of_button.get(name) or getattr(example.subject, "pk" if name == "key" else name) for name in names
    ]
    data = {**_sent(action, example, entered), **_uploads(entered), **example.hidden}
    answer: Any = client.post(reverse(address, args=keys) + example.query, data)
    if answer.status_code == 403:
        return Outcome(False)
    if answer.status_code == 302:
        levels = [(message.level_tag, str(message)) for message in get_messages(answer.wsgi_request)]
        return Outcome(
            True, refusals=[text for level, text in levels if level in {"error", "danger"} and text != example.notice]
        )
    forms = [answer.context.get(name) for name in FORMS] if answer.context is not None else []
    errors = [each for form in forms if isinstance(form, BaseForm) for each in form.errors.values()]
    return Outcome(True, refusals=[str(error) for each in errors for error in each])


def _sent(action: Action[Any, Any], example: Example, entered: JsonObject) -> JsonDict:
    """Return what a browser sends where these entries were made in a form that stands as it was first shown."""
    form = filled_form(action, example.subject, {name: entered[name] for name in entered.keys() - _uploads(entered)})
    return dict(form.data.lists()) if form.is_bound else {}


def _uploads(entered: JsonObject) -> dict[str, SimpleUploadedFile]:
    """Return the files among entries, which name them by their paths."""
    paths = {name: value for name, value in entered.items() if isinstance(value, Path)}
    return {name: SimpleUploadedFile(path.name, path.read_bytes()) for name, path in paths.items()}


def by_command(action: Action[Any, Any], example: Example, entered: JsonObject, person: User) -> Outcome:
    """Give the entries to the noun's command."""
    words = [action.verb, *([str(example.subject.pk)] if example.subject is not None else [])]
    for name, value in entered.items():
        words += _flags(name, value, action.fields[name])
    out, file = io.StringIO(), Path(tempfile.mkdtemp(dir=settings.DATA_DIR), "file")
    if action.options.get("sends_file"):
        words += ["--output", str(file)]
    command, parser = _command(action.noun.name)
    try:
        command.execute(**vars(parser.parse_args([*words, "--by", person.username, "--json"])), stdout=out)
    except BadInput as refusal:
        if "may not do this" in str(refusal):
            return Outcome(False)
        return Outcome(True, refusals=[str(refusal)])
    if file.exists():
        return Outcome(True, _sent_file(file.read_bytes()))
    return Outcome(True, json.loads(out.getvalue()))


def _flags(name: str, value: object, of: Field) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool) and not isinstance(of, NullBooleanField):
        return [flag if value else f"--no-{flag[2:]}"]
    if isinstance(value, list):
        return [flag, *map(str, value)]
    if isinstance(value, dict):
        return [f"{flag}={json.dumps(value)}"]
    return [f"{flag}={'' if value is None else value}"]


def _sent_file(data: bytes) -> JsonDict:
    """Return the text of a file, of an archive its files: pages in it say when their figures were computed."""
    if not data.startswith(b"PK"):
        return {"sent": data.decode(errors="replace")}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {"sent": archive.namelist()}


def by_api(action: Action[Any, Any], example: Example, entered: JsonObject, client: Client) -> Outcome:
    """Send the entries as JSON, with files as a form."""
    path = f"/api/v1/{action.noun.plural}"
    if example.subject is not None:
        path += f"/{example.subject.pk}"
    if action.verb not in (CREATE, CHANGE, DELETE):
        path += f"/{action.verb}"
    method = METHODS.get(action.verb, "post")
    if uploads := _uploads(entered):
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in entered.items()}
        answer: Any = client.post(path, {**texts, **uploads})
    else:
        answer = getattr(client, method)(path, json.dumps(entered), content_type="application/json")
    assert answer.status_code < 500, answer.text
    if answer.status_code == 403:
        return Outcome(False)
    if answer.status_code >= 400:
        facts = answer.json()
        errors = [text for texts in (facts.get("errors") or {}).values() for text in texts]
        return Outcome(True, refusals=errors or [facts["detail"]])
    return Outcome(True, _sent_file(answer.getvalue()) if answer.streaming else answer.json())


def api_client(person: User) -> Client:
    """Return a client that signs in with a new token of a person."""
    token = make_token(owner=person, name="script", scopes=Scope, days=1, at=timezone.now()).secret
    return Client(headers={"authorization": f"Bearer {token}"}, enforce_csrf_checks=True, raise_request_exception=False)
