"""The operations of the API, made in a loop over the declared nouns, and the bodies they take."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import render
from django.utils import timezone
from ninja import NinjaAPI
from ninja.errors import HttpError
from ninja.openapi.docs import Swagger
from ninja.security import APIKeyCookie, HttpBearer

from evalsite.accounts.audit import NamedSubject, record
from evalsite.accounts.roles import Scope, scope_of
from evalsite.accounts.sessions import is_held_back
from evalsite.api.models import ApiToken, KeptAnswer
from evalsite.api.problems import SIGN_IN, RequestProblem, check_rate, problem_response
from evalsite.api.tokens import find_token
from evalsite.base.actions.declarations import CHANGE, CREATE, DELETE, MOST_ROWS, Action, InvalidInput, Noun
from evalsite.base.actions.entries import (
    NamesField,
    TextsField,
    chosen_form,
    names_of_choices,
    perform,
    said_of,
    valid_form,
)
from evalsite.base.actions.reports import BeingComputed, NoSuchTable, Report, ReportTable
from evalsite.base.http import SentFile, table_response
from evalsite.base.rows import NotAllowed, done_through, numbered_row
from evalsite.base.tables import CONTENT_TYPES, DATA_TYPES, PAPER_TYPES, ExtraMissing, check_format
from evalsite.base.types import JsonDict, Refused, whole_number

MOST_BYTES = 2**20
JSON, FORM = "application/json", "multipart/form-data"
TRUTHS = {"true": True, "false": False}
WRONG_KIND = "This is not of the kind that the field takes; see /api/v1/openapi.json."
UNKNOWN = "There is no such field."
TEXT: JsonDict = {"type": "string"}
NAME: JsonDict = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
KINDS: tuple[tuple[type[forms.Field], JsonDict], ...] = (  # the first that a field is one of
    (forms.JSONField, {"type": "object"}),
    (forms.FileField, {"type": "array", "items": {"type": "string", "format": "binary"}}),
    (TextsField, {"type": "array", "items": TEXT}),
    (NamesField, {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}),
    (forms.BooleanField, {"type": "boolean"}),
    (forms.DecimalField, {"anyOf": [{"type": "number"}, TEXT]}),
    (forms.FloatField, {"type": "number"}),
    (forms.IntegerField, {"type": "integer"}),
)
PYTHON: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "number": (int, float),
    "object": dict,
}


def schema_of(field: forms.Field) -> JsonDict:
    """Return the JSON schema of a field, without null, which empties it."""
    if isinstance(field, forms.ModelMultipleChoiceField | forms.MultipleChoiceField):
        return {"type": "array", "items": NAME}
    if isinstance(field, forms.ModelChoiceField):
        return NAME
    if isinstance(field, forms.ChoiceField):
        names = list(names_of_choices(field))
        return {"type": "string", "enum": names} if names else TEXT
    return next((schema for kind, schema in KINDS if isinstance(field, kind)), TEXT)


def documented(field: forms.Field) -> JsonDict:
    """Return the schema of a field with its words, for clients."""
    said = said_of(field)
    kind = schema_of(field)
    nullable = kind if field.required else {"anyOf": [kind, {"type": "null"}]}
    return {**nullable, "description": f"{said}."} if said else nullable


def body_schema(fields: dict[str, forms.Field]) -> JsonDict:
    """Return the schema of a body with these fields; what the page fills in at first need not be given."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: documented(field) for name, field in fields.items()},
    }


def kind_of_body(fields: Mapping[str, forms.Field]) -> str:
    """Return the content type of a body with these fields: files are sent as a browser sends them."""
    return FORM if any(map(_is_file, fields.values())) else JSON


def entries_of(request: HttpRequest, fields: dict[str, forms.Field]) -> JsonDict:
    """Return what a request gives for these fields.

    Raises:
        RequestProblem: it is no JSON object of them; an empty body gives nothing.
    """
    if (request.META.get("CONTENT_LENGTH") or "0") == "0":
        return {}
    if request.content_type == FORM == kind_of_body(fields):
        return _entries_of_form(request, fields)
    if request.content_type != JSON or request.headers.get("Content-Encoding", "identity") != "identity":
        raise RequestProblem(415, "Send JSON (Content-Type: application/json) as it is, without Content-Encoding.")
    entered = _json_of(request.body)
    if not isinstance(entered, dict):
        raise RequestProblem(422, "Send a JSON object.")
    known = {name: fields[name] for name, value in entered.items() if name in fields and value is not None}
    wrong = [name for name, field in known.items() if _is_file(field) or not _fits(entered[name], schema_of(field))]
    _check_fields(entered, fields, wrong)
    return entered


def _is_file(field: forms.Field) -> bool:
    return isinstance(field, forms.FileField)


def _check_fields(entered: Iterable[object], fields: Mapping[str, forms.Field], wrong: Iterable[str]) -> None:
    """Raises: RequestProblem: a field is of another kind, or there is none of its name."""
    errors = {str(name): [UNKNOWN] for name in entered if name not in fields} | {name: [WRONG_KIND] for name in wrong}
    if errors:
        raise RequestProblem(422, "Some fields cannot be used.", errors)


def _entries_of_form(request: HttpRequest, fields: Mapping[str, forms.Field]) -> JsonDict:
    """Return what a form with files gives: texts, of several values a list, and the files."""
    texts, files = request.POST, request.FILES
    entered: JsonDict = {name: files.getlist(name) for name in files}
    wrong = [name for name, field in fields.items() if name in (texts if _is_file(field) else files)]
    for name, values in texts.lists():
        takes_several = name in fields and _takes_several(fields[name])
        entered[name] = values if takes_several else values[-1]
        if name in fields and schema_of(fields[name]).get("type") == "boolean":
            entered[name] = TRUTHS.get(values[-1])
        wrong += [name] if entered[name] is None or (len(values) > 1 and not takes_several) else []
    _check_fields(entered, fields, wrong)
    return entered


def _takes_several(field: forms.Field) -> bool:
    schema = schema_of(field)
    return any(kind.get("type") == "array" for kind in (schema, *schema.get("anyOf", ())))


def _wrong_parameters(
    given: QueryDict, fields: Mapping[str, forms.Field], others: Collection[str]
) -> dict[str, list[str]]:
    """Return what is wrong with the parameters of a request, by name: there is none of it, or it takes one value."""
    errors = {name: ["There is no such parameter."] for name in given if name not in fields and name not in others}
    for name, values in given.lists():
        if len(values) > 1 and name not in errors and not (name in fields and _takes_several(fields[name])):
            errors[name] = ["It takes one value."]
    return errors


def _file_facts(file: UploadedFile[bytes]) -> list[str | None]:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return [file.name, digest.hexdigest()]


def _json_of(body: bytes) -> Any:
    if len(body) > MOST_BYTES:
        raise RequestProblem(413, "A body has at most 1 MiB.")

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        entered = json.loads(body, parse_constant=refuse, object_pairs_hook=_object_of)
        json.dumps(entered, ensure_ascii=False).encode()  # halves of characters are no text
    except (ValueError, RecursionError):
        raise RequestProblem(400, "The body is no JSON in UTF-8.") from None
    return entered


def _object_of(pairs: list[tuple[str, Any]]) -> JsonDict:
    entered = dict(pairs)
    if len(entered) < len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise RequestProblem(400, f"The body gives “{twice[:KEY_LENGTH]}” twice.")
    return entered


def _fits(value: object, schema: JsonDict) -> bool:
    """Return whether a value is of the kind; which of a field's choices there are is said by the form."""
    if "anyOf" in schema:
        return any(_fits(value, one) for one in schema["anyOf"])
    if schema["type"] == "array":
        return isinstance(value, list) and all(_fits(one, schema["items"]) for one in value)
    return isinstance(value, PYTHON[schema["type"]]) and (schema["type"] == "boolean") == isinstance(value, bool)


ANSWERS_ARE_KEPT = timedelta(days=1)
KEY_LENGTH = 200
METHODS = {CHANGE: "PATCH", DELETE: "DELETE"}  # of what is done to one without an address of its own
FILES = CONTENT_TYPES | DATA_TYPES | PAPER_TYPES
RETRY_SECONDS = "5"
TRUE = ("true", "1", "yes", "on")  # of a parameter that says yes or no
ROWS = 50  # of a list where no `limit` is given
OBJECT: JsonDict = {"schema": {"type": "object"}}
ALWAYS, REFUSED, ONE, SENT = (400, 401, 403, 429), (409, 422), (404,), (413, 415)  # how operations may be refused
PROBLEMS = {
    400: "What was sent cannot be read",
    401: "No token, or none that is valid",
    403: "Not allowed to the person, or not in the scope of the token",
    404: "Not there, or not to be seen by this person",
    409: "Refused as things are",
    413: "More than is taken",
    415: "Another kind of body than is taken",
    422: "Entries that are wrong, by field",
    429: "Too many requests; Retry-After says when to go on",
}
PROBLEM_SCHEMA: JsonDict = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence, as a page says it."},
        "errors": {
            "type": "object",
            "description": "Sentences by field.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
}
PAGE_SCHEMA: JsonDict = {
    "type": "object",
    "required": ["rows", "next"],
    "properties": {
        "rows": {"type": "array", "items": {"type": "object"}},
        "next": {"type": ["integer", "null"], "description": "What `after` of the next page is; null at the end."},
    },
}
IDEMPOTENCY: JsonDict = {
    "in": "header",
    "name": "Idempotency-Key",
    "schema": {"type": "string", "maxLength": KEY_LENGTH},
    "description": "The same request with the same key within a day is carried out once and answered alike.",
}


class TokenAuth(HttpBearer):
    """A token in the header Authorization."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        """Let the request be one of the token's owner, and return the token."""
        found = find_token(token, at=timezone.now())
        if found is not None:
            request.user = found.owner
        return found


class SignedInAuth(APIKeyCookie):
    """The session of a browser; what changes something needs the CSRF token as well."""

    param_name = settings.SESSION_COOKIE_NAME

    def __call__(self, request: HttpRequest) -> User | None:
        is_open = request.user.is_authenticated and not is_held_back(request)
        return super().__call__(request) if is_open else None

    def authenticate(self, request: HttpRequest, key: str | None) -> User:
        """Return who has signed in."""
        return _person(request)


class Documentation(Swagger):
    """The page that describes the operations: with the colours of the site, without the network of others."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **arguments: Any) -> HttpResponse:
        """Return the page; what it sends goes with the session of who reads it."""
        facts = {**self.settings, "url": self.get_openapi_url(api, arguments)}
        return render(request, "evalsite/api.html", {"swagger_settings": facts})


def make_api(nouns: Mapping[str, Noun[Any]], reports: Mapping[str, Report[Any]]) -> NinjaAPI:
    """Return the API of these nouns and reports."""
    api = NinjaAPI(
        title="Evalsite",
        version="1",
        urls_namespace="api",
        docs=Documentation(),
        auth=[TokenAuth(), SignedInAuth()],
        description="What pages and commands do, for scripts. Sign in with a token: Authorization: Bearer evs_...",
        openapi_extra={"components": {"schemas": {"Problem": PROBLEM_SCHEMA}}},
    )
    for noun in nouns.values():
        _add_noun(api, noun)
    for report in reports.values():
        _add_report(api, report)
    for kind in (RequestProblem, HttpError, Refused):
        api.add_exception_handler(kind, _answer_of)
    return api


def _answer_of(_request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """Return the answer to a request that is not carried out."""
    if isinstance(error, RequestProblem):
        response = problem_response(error.status, str(error), error.errors)
        if error.retry_after:
            response["Retry-After"] = str(error.retry_after)
        return response
    if isinstance(error, HttpError):
        is_stranger = error.status_code == HTTPStatus.UNAUTHORIZED
        return problem_response(error.status_code, SIGN_IN if is_stranger else str(error))
    if isinstance(error, InvalidInput):
        return problem_response(422, str(error), error.errors)
    if isinstance(error, NotAllowed):
        return problem_response(403, str(error))
    field = error.field if isinstance(error, Refused) else ""
    return problem_response(409, str(error), {field: [str(error)]} if field else None)


def _add_noun(api: NinjaAPI, noun: Noun[Any]) -> None:
    def show(request: HttpRequest, key: int) -> HttpResponse:
        _check(request, noun.view_permission, Scope.READ)
        return _json(noun.detailed(_subject(noun.rows(_person(request)), noun, key)))

    for action in noun.actions.values():  # paths without a number first
        if not action.has_subject:
            path = f"/{noun.plural}" if action.verb == "create" else f"/{noun.plural}/{action.verb}"
            _add_action(api, action, path)
    if not noun.reading:
        return
    _add_listing(api, noun)
    shown = _responses(200, "The row", ONE)
    words = f"Show one {noun.reference.what}."
    _add(api, f"/{noun.plural}/{{int:key}}", "GET", show, f"{noun.name}-show", words, responses=shown)
    for action in noun.actions.values():
        if action.has_subject and action.verb in METHODS:
            _add_action(api, action, f"/{noun.plural}/{{int:key}}", METHODS[action.verb])
        elif action.has_subject:
            _add_action(api, action, f"/{noun.plural}/{{int:key}}/{action.verb}")


def _add_report(api: NinjaAPI, report: Report[Any]) -> None:
    tables: JsonDict = {"type": "string", "enum": report.table_names}
    parameters = [
        *({"in": "query", "name": name, "schema": documented(field)} for name, field in report.fields.items()),
        {"in": "query", "name": "table", "schema": tables, "description": "One table; all figures unless given"},
        {"in": "query", "name": "format", "schema": {"type": "string", "enum": list(FILES)}},
    ]

    def read(request: HttpRequest) -> HttpResponseBase:
        _check(request, report.permission, Scope.READ)
        return _report(report, request)

    path, name = f"/reports/{report.name}", f"report-{report.name}"
    responses = _responses(200, "The figures, or a table in the format that was asked for", REFUSED)
    responses[200]["content"] |= {kind: {} for kind in FILES.values()}
    computing = "The figures are computed; ask again after Retry-After"
    responses[202] = {"description": computing, "content": {JSON: OBJECT}}
    _add(api, path, "GET", read, name, report.words, parameters=parameters, responses=responses)


def _add_listing(api: NinjaAPI, noun: Noun[Any]) -> None:
    parameters = [
        *({"in": "query", "name": name, "schema": documented(field)} for name, field in noun.filters.items()),
        {"in": "query", "name": "after", "schema": {"type": "integer"}, "description": "`next` of the page before"},
        {"in": "query", "name": "limit", "schema": {"type": "integer", "minimum": 1, "maximum": MOST_ROWS}},
    ]

    def listed(request: HttpRequest) -> HttpResponse:
        _check(request, noun.view_permission, Scope.READ)
        return _json(_page(noun, request))

    words = f"List {noun.plural_words}, the newest first."
    responses = _responses(200, "A page of the list", (422,), schema=PAGE_SCHEMA)
    path = f"/{noun.plural}"
    _add(api, path, "GET", listed, f"{noun.name}-list", words, parameters=parameters, responses=responses)


def _add_action(api: NinjaAPI, action: Action[Any, Any], path: str, method: str = "POST") -> None:
    def on_one(request: HttpRequest, key: int) -> HttpResponseBase:
        return _answer(request, action, key)

    def on_none(request: HttpRequest) -> HttpResponseBase:
        return _answer(request, action, None)

    responses = _responses(_success_of(action), "Done", (*SENT, *REFUSED, *(ONE if action.has_subject else ())))
    if kinds := action.options.get("sends_file"):
        responses[200] = {"description": "The file", "content": {kind: {} for kind in kinds}}
    body = {"content": {kind_of_body(action.fields): {"schema": body_schema(action.fields)}}}
    _add(
        api,
        path,
        method,
        on_one if action.has_subject else on_none,
        f"{action.noun.name}-{action.verb}",
        f"{action.words}\n\nScope of the token: {scope_of(action.permission)}.",
        parameters=[IDEMPOTENCY],
        requestBody=body,
        responses=responses,
    )


def _responses(
    status: int, words: str, problems: Iterable[int], *, schema: JsonDict | None = None
) -> dict[int, JsonDict]:
    """Return what an operation may answer: this status, or one of these problems or of those of every operation."""
    refusal = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    done: JsonDict = {"description": words, "content": {JSON: {"schema": schema} if schema else OBJECT}}
    refused = {code: {"description": PROBLEMS[code], "content": refusal} for code in (*ALWAYS, *problems)}
    return {status: done, **refused}


def _add(
    api: NinjaAPI,
    path: str,
    method: str,
    operation: Callable[..., HttpResponseBase],
    name: str,
    words: str,
    **extra: Any,
) -> None:
    api.default_router.add_api_operation(
        path,
        [method],
        operation,
        response=dict.fromkeys((code for code in extra["responses"] if code < HTTPStatus.MULTIPLE_CHOICES), None),
        operation_id=name,
        url_name=_shared_name(name),
        summary=re.split(r"\.(?=\s|$)", words)[0],  # the first sentence; a dot in a file's name ends none
        description=words,
        tags=[path.split("/")[1]],
        openapi_extra=extra,
    )


def _shared_name(name: str) -> str:
    """Return the name of an operation's address, which it may share with one that reads."""
    noun, _, verb = name.partition("-")
    return f"{noun}-{({CREATE: 'list'} | dict.fromkeys(METHODS, 'show')).get(verb, verb)}"


FORBIDDEN = "You are not allowed to do this."


def _check(request: HttpRequest, permission: str, scope: Scope) -> None:
    """Pass where both the person and the token may do it, and have not asked too often. Raises: RequestProblem."""
    token = _token(request)
    check_rate(f"token:{token.pk}" if token is not None else str(_person(request).pk))
    if not request.user.has_perm(permission):
        raise RequestProblem(403, FORBIDDEN)
    if token is not None and scope not in token.scopes:
        raise RequestProblem(403, f"This token has no scope “{scope}”, which this takes. Make one that has it.")


def _token(request: HttpRequest) -> ApiToken | None:
    """Return the token of a request; None in a browser's session."""
    caller = request.auth  # type: ignore[attr-defined]  # set by ninja
    return caller if isinstance(caller, ApiToken) else None


def _origin(request: HttpRequest) -> str:
    """Return through which door a request came, for the audit log."""
    token = _token(request)
    return "API" if token is None else f"API, token {token.name}"


def _person(request: HttpRequest) -> User:
    """Return who sends the request; operations are reached by who is signed in."""
    assert isinstance(request.user, User)
    return request.user


def _subject(rows: QuerySet[Any], noun: Noun[Any], key: int) -> Any:
    subject = numbered_row(rows, str(key))
    if subject is None:
        raise RequestProblem(404, f"There is no {noun.reference.what} {key}.")
    return subject


def _page(noun: Noun[Any], request: HttpRequest) -> JsonDict:
    errors = _wrong_parameters(request.GET, noun.filters, ("after", "limit"))
    after, limit = (
        whole_number(request.GET.get(name, usual)) for name, usual in (("after", "0"), ("limit", str(ROWS)))
    )
    if after is None:
        errors["after"] = ["This is no `next` of a list."]
    if not limit or limit > MOST_ROWS:
        errors["limit"] = [f"A number from 1 to {MOST_ROWS}."]
    filters: JsonDict = {name: request.GET.getlist(name) for name in request.GET if name in noun.filters}
    try:
        form = valid_form(noun, noun.filter_form, filters)
    except InvalidInput as refusal:
        errors |= refusal.errors
    if errors:
        raise RequestProblem(422, "Some parameters cannot be used.", errors)
    rows = noun.rows(_person(request))
    return noun.page(form.cleaned_data, among=rows, after=after or None, limit=limit or ROWS)


def _report(report: Report[Any], request: HttpRequest) -> HttpResponseBase:
    """Return all figures of a report, or one table: as JSON rows, or as a file, which the audit log notes."""
    chosen: JsonDict = {name: request.GET.getlist(name) for name in request.GET}
    table_name, format_name = ((chosen.pop(name, None) or [""])[-1] for name in ("table", "format"))
    errors = _wrong_parameters(request.GET, report.fields, ("table", "format")) | _format_errors(format_name)
    try:
        table = report.table(table_name)
    except NoSuchTable as missing:
        errors["table"] = [str(missing)]
    if errors:
        raise RequestProblem(422, "Some parameters cannot be used.", errors)
    for name, values in chosen.items():
        if isinstance(report.fields[name], forms.BooleanField):
            chosen[name] = values[-1].lower() in TRUE
    if table.permission and not request.user.has_perm(table.permission):
        raise RequestProblem(403, FORBIDDEN)
    try:
        return _report_answer(report, table, request, chosen, format_name=format_name, is_table=bool(table_name))
    except BeingComputed:
        answer = _json_text(json.dumps({"status": "computing"}), 202, "")
        answer["Retry-After"] = RETRY_SECONDS
        return answer


def _format_errors(format_name: str) -> dict[str, list[str]]:
    if format_name not in ("", *FILES):
        return {"format": [f"There is no format “{format_name}”. Formats: {', '.join(FILES)}."]}
    try:
        check_format(format_name)
    except ExtraMissing as missing:
        return {"format": [str(missing)]}
    return {}


def _report_answer(
    report: Report[Any],
    table: ReportTable[Any, Any],
    request: HttpRequest,
    chosen: JsonDict,
    *,
    format_name: str,
    is_table: bool,
) -> HttpResponseBase:
    shown = report.read(chosen_form(report, chosen), False)
    if format_name:
        file_table = table.in_format(shown, format_name)
        with done_through(_origin(request)):
            subject = NamedSubject(report.name, None)
            record(_person(request), "report.exported", subject, table=table.name, format=format_name)
        file_name = f"{report.name} {table.name}"
        return table_response(file_table, format_name, file_name=file_name)
    return _json({"rows": list(table.data(shown).rows)} if is_table else report.facts(shown))


def _answer(request: HttpRequest, action: Action[Any, Any], key: int | None) -> HttpResponseBase:
    """Do what an action says and return the answer; the kept one where the request has been answered before."""
    _check(request, action.permission, scope_of(action.permission))
    subject = None if key is None else _subject(action.rows(_person(request)), action.noun, key)
    entered, idempotency_key = entries_of(request, action.fields), request.headers.get("Idempotency-Key", "")
    if len(idempotency_key) > KEY_LENGTH:
        raise RequestProblem(422, f"An Idempotency-Key has at most {KEY_LENGTH} characters.")
    # What waits for a model holds no transaction open: its key is claimed before.
    in_one = nullcontext() if action.options.get("calls_models") else transaction.atomic()
    with in_one, done_through(_origin(request)):
        kept = _claim(request, idempotency_key, entered) if idempotency_key else None
        if kept is not None and kept.status:
            return _kept(kept)
        try:
            result = perform(action, subject, entered, actor=_person(request), at=timezone.now())
        except Exception:
            if kept is not None and action.options.get("calls_models"):
                kept.delete()  # what was refused may be sent again
            raise
        if isinstance(result, SentFile):
            if kept is not None:
                kept.delete()  # files are sent anew
            return result.response()
        status = _success_of(action)
        location = "" if status == 200 else f"/api/v1/{action.made.plural}/{result.pk}"
        body = json.dumps(action.shown(result), ensure_ascii=False, default=str)
        if kept is not None:
            kept.status, kept.location = status, location
            kept.body = "" if action.options.get("is_secret") else body
            kept.save(update_fields=["status", "location", "body"])
    return _json_text(body, status, location)


def _success_of(action: Action[Any, Any]) -> int:
    """Return the status of an answer to what was done: that something goes on, was made, or is done."""
    is_made = action.verb.partition("-")[0] == CREATE and not action.has_subject
    return 202 if action.options.get("is_long") else 201 if is_made else 200


def _kept(kept: KeptAnswer) -> HttpResponse:
    """Return the answer that was given before. Raises: RequestProblem: it held a secret, which is not kept."""
    if not kept.body:
        raise RequestProblem(409, "This request was carried out before; its answer held a secret and is not kept.")
    return _json_text(kept.body, kept.status, kept.location)


def _claim(request: HttpRequest, key: str, entered: JsonDict) -> KeptAnswer:
    """Return the answer that is kept for a key; one without a status where this request is the first.

    Raises:
        RequestProblem: the key was used for another request.
    """
    now = timezone.now()
    body = json.dumps(sorted(entered.items()), default=_file_facts)
    fingerprint = hashlib.sha256("\n".join((request.method or "", request.path, body)).encode()).hexdigest()
    KeptAnswer.objects.filter(made_at__lt=now - ANSWERS_ARE_KEPT).delete()
    try:
        with transaction.atomic():  # whoever comes second waits here until the first has answered
            return KeptAnswer.objects.create(owner=_person(request), key=key, fingerprint=fingerprint, made_at=now)
    except IntegrityError:
        kept = KeptAnswer.objects.get(owner=_person(request), key=key)
    if kept.fingerprint != fingerprint:
        raise RequestProblem(422, "This Idempotency-Key was used for another request.")
    if not kept.status:
        raise RequestProblem(409, "The request with this Idempotency-Key is still at work.")
    return kept


def _json(facts: JsonDict) -> HttpResponse:
    return _json_text(json.dumps(facts, ensure_ascii=False, default=str), 200, "")


def _json_text(body: str, status: int, location: str) -> HttpResponse:
    response = HttpResponse(body, status=status, content_type="application/json")
    if location:
        response["Location"] = location
    return response
