"""What the pages of one's own tokens, of webhooks and of traces show, and the address to which traces are sent."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import unquote

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from evalsite.accounts.roles import scope_of
from evalsite.api.actions.tokens import TokenForm
from evalsite.api.actions.trace_sources import SENDS_TRACES, trace_sources
from evalsite.api.actions.webhooks import WebhookChangeForm
from evalsite.api.models import ApiToken, Webhook
from evalsite.api.problems import SIGN_IN, RequestProblem, check_rate
from evalsite.api.tokens import find_token, tokens_of
from evalsite.api.traces import SURPLUS, TooMuchWaiting, open_source, receive
from evalsite.api.webhooks import secret_text
from evalsite.base.http import PageRequest, get_view, page_of
from evalsite.base.rows import Issued
from evalsite.base.types import JsonDict, Refused
from judging.specs.records.files.otlp import (
    JSON,
    MOST_REQUEST_BYTES,
    PROTOBUF,
    BadOtlp,
    SentSpan,
    answer,
    refusal,
    sent_spans,
    unpacked,
)

PAGE = "evalsite/token_list.html"
WEBHOOKS_PAGE, WEBHOOK_PAGE = "evalsite/webhook_list.html", "evalsite/webhook_detail.html"
BENCHMARK_HEADER, STEP_HEADER, LONGEST_NAME = "Evalsite-Benchmark", "Evalsite-Step", 200
BAD_IDS = "Spans whose ids are not those of OTLP are not kept."
RPC_CODES = {400: 3, 401: 16, 403: 7, 413: 8, 415: 3, 429: 8}  # of google.rpc.Code, by status


def token_context(request: PageRequest, _subject: None) -> JsonDict:
    """Return what the page shows beside its form."""
    return {"tokens": tokens_of(request.user), "now": timezone.now()}


def token_made(request: PageRequest, made: Issued[ApiToken]) -> HttpResponse:
    """Show the text of a new token, once."""
    context = token_context(request, None) | {"form": TokenForm(), "made": made.secret}
    return render(request, PAGE, context)


def webhooks_context(_request: PageRequest, _subject: None) -> JsonDict:
    """Return what the list of webhooks shows beside its form."""
    return {"webhooks": Webhook.objects.order_by("-pk")}


def webhook_context(request: PageRequest, webhook: Webhook) -> JsonDict:
    """Return what the page of a webhook shows beside its form: its log, the newest first."""
    return {"page_obj": page_of(request, webhook.deliveries.order_by("-pk"))}


def webhook_secret(request: PageRequest, webhook: Webhook) -> HttpResponse:
    """Show the secret of a webhook, once."""
    form = WebhookChangeForm(initial=vars(webhook))
    context = webhook_context(request, webhook) | {"webhook": webhook, "form": form, "secret": secret_text(webhook)}
    return render(request, WEBHOOK_PAGE, context)


@get_view(SENDS_TRACES)
def trace_source_list(request: PageRequest) -> HttpResponse:
    """What programs send, what waits of it, and what was dropped."""
    context = {"sources": trace_sources(), "site": request.build_absolute_uri("/").rstrip("/")}
    return render(request, "evalsite/trace_source_list.html", context)


@csrf_exempt
@login_not_required
@require_POST
def trace_receiver(request: HttpRequest) -> HttpResponse:
    """Take spans as OTLP/HTTP brings them: with a token, and with the benchmark in a header."""
    is_json = request.content_type == JSON
    try:
        person = _sender(request)
        spans, bad = _sent(request, is_json=is_json)
        at = timezone.now()
        benchmark, step = (_named(request, header) for header in (BENCHMARK_HEADER, STEP_HEADER))
        if not benchmark:
            raise RequestProblem(400, f"Say in the header {BENCHMARK_HEADER} to which benchmark the traces belong.")
        source = open_source(benchmark, step=step, person=person, at=at)
        surplus = receive(source, spans, person=person, at=at)
    except RequestProblem as problem:
        return _refused(problem, is_json=is_json)
    except BadOtlp as problem:
        return _refused(RequestProblem(400, f"The traces cannot be read: {problem}."), is_json=is_json)
    except Refused as problem:
        return _refused(RequestProblem(400, str(problem)), is_json=is_json)
    except TooMuchWaiting:
        words = "Too many spans wait to be stored. Send them again later."
        return _refused(RequestProblem(429, words, retry_after=60), is_json=is_json)
    why = " ".join(words for words, count in ((BAD_IDS, bad), (SURPLUS, surplus)) if count)
    body = answer(rejected=bad + surplus, why=why, is_json=is_json)
    return HttpResponse(body, content_type=JSON if is_json else PROTOBUF)


def _sender(request: HttpRequest) -> User:
    """Return whose token a request has. Raises: RequestProblem: it has none, or one that may not send traces."""
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    token = find_token(text.strip(), at=timezone.now()) if kind.lower() == "bearer" else None
    if token is None:
        raise RequestProblem(401, SIGN_IN)
    check_rate(f"token:{token.pk}")
    scope = scope_of(SENDS_TRACES)
    if not token.owner.has_perm(SENDS_TRACES) or scope not in token.scopes:
        raise RequestProblem(
            403, f"Traces are sent by researchers and admins, with a token that has the scope {scope}."
        )
    return token.owner


def _named(request: HttpRequest, header: str) -> str:
    """Return the name that a header has. Raises: RequestProblem: it is none."""
    name = unquote(request.headers.get(header, "")).strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise RequestProblem(400, f"The header {header} has at most {LONGEST_NAME} printable characters.")
    return name


def _sent(request: HttpRequest, *, is_json: bool) -> tuple[list[SentSpan], int]:
    """Return the spans of a request, and how many more it has that cannot be kept.

    Raises:
        RequestProblem, BadOtlp: it is larger than is taken, or no OTLP.
    """
    packing = request.headers.get("Content-Encoding", "identity").lower()
    if request.content_type not in (JSON, PROTOBUF) or packing not in ("identity", "gzip"):
        raise RequestProblem(415, f"Send {PROTOBUF} or {JSON}, as it is or packed by gzip.")
    if len(request.body) > MOST_REQUEST_BYTES:
        raise RequestProblem(413, f"A request has at most {MOST_REQUEST_BYTES >> 20} MiB.")
    return sent_spans(unpacked(request.body) if packing == "gzip" else request.body, is_json=is_json)


def _refused(problem: RequestProblem, *, is_json: bool) -> HttpResponse:
    """Return a refusal as OTLP has them: only 429 is sent again."""
    body = refusal(RPC_CODES[problem.status], problem.detail, is_json=is_json)
    response = HttpResponse(body, status=problem.status, content_type=JSON if is_json else PROTOBUF)
    if problem.status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    if problem.retry_after:
        response["Retry-After"] = str(problem.retry_after)
    return response
