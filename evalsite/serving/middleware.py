"""Middleware: names of requests, addresses behind proxies, headers of answers, cut bodies, and NUL characters."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import IO, Any
from urllib.parse import unquote

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.core.checks import CheckMessage, Tags, Warning, register
from django.core.exceptions import BadRequest
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParser
from django.utils.datastructures import MultiValueDict

from evalsite.base.log_lines import logged_with

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]  # of WSGI
HEADER = "X-Request-ID"
_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIdMiddleware:
    """Takes the name that a proxy gave a request, or makes one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        given = request.headers.get(HEADER, "")
        name = given if _ID.fullmatch(given) else secrets.token_hex(8)
        with logged_with(request_id=name):
            response = self.get_response(request)
        response[HEADER] = name
        return response


Network = IPv4Network | IPv6Network
ADDRESS_IS_TOLD = "evalsite.address_is_told"  # in META: whether a named proxy told the client's address


class ProxyMiddleware:
    """Puts the client's address into REMOTE_ADDR when the request came through a proxy that the settings name.

    A header that anybody else sends is not believed: sign-in attempts are counted by this address.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        forwarded = request.headers.get("X-Forwarded-For", "").split(",")
        peer = str(request.META.get("REMOTE_ADDR", ""))
        address = client_address(peer, forwarded, settings.TRUSTED_PROXIES)
        request.META.update({"REMOTE_ADDR": address, ADDRESS_IS_TOLD: address != peer})
        return self.get_response(request)


def told_address(request: HttpRequest) -> str:
    """Return the address of who asks where a named proxy told it, so that it counts by itself; empty where all clients
    of a proxy may have one, and a limit of the address would be a limit of everybody.
    """
    return str(request.META["REMOTE_ADDR"]) if request.META.get(ADDRESS_IS_TOLD, False) else ""


def client_address(peer: str, forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """Return the nearest address that is no proxy of ours, reading `forwarded` from its end.

    Each proxy adds the address that it saw behind those it was told; what stands before the first stranger was made up
    by the stranger or a proxy of theirs.
    """
    address = peer
    for forwarded_address in reversed([word.strip() for word in forwarded if word.strip()]):
        if not _is_ours(address, proxies):
            break
        try:
            address = str(ip_address(forwarded_address))
        except ValueError:
            break
    return address


def _is_ours(address: str, proxies: Sequence[Network]) -> bool:
    try:
        ip = ip_address(address)
    except ValueError:
        return not address and bool(proxies)  # a proxy at the other end of a socket file has no address
    return any(ip in proxy for proxy in proxies)


@register(Tags.security, deploy=True)
def check_proxies(app_configs: Any, **extra: Any) -> list[CheckMessage]:
    """Return a warning where a site with HTTPS names no proxy, so that all its clients seem to have one address."""
    if not settings.HTTPS or settings.TRUSTED_PROXIES:
        return []
    return [
        Warning(
            "No proxy is named: the audit log shows the address of the proxy for everybody, and failed sign-ins are "
            "not counted by address.",
            hint="Set EVALSITE_TRUSTED_PROXIES to the address of the proxy that terminates TLS, and let the proxy send "
            "X-Forwarded-For with the client's address.",
            id="serving.W001",
        )
    ]


NO_FEATURES = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class PageHeadersMiddleware:
    """Allows no page a device or another site's embedding, and nobody to keep what a signed-in person was sent."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", NO_FEATURES)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        if SESSION_KEY in getattr(request, "session", ()):
            response.headers.setdefault("Cache-Control", "no-store, private")
        return response


CUT = "The connection ended before the request was complete. Nothing was stored. Send it again."
NO_LENGTH = "A request with a body must state its length (Content-Length)."


MOST_CHUNKED_BYTES = 16 * 2**20  # as many as a request of traces has


def with_lengths(application: Application) -> Application:
    """Return a WSGI application for which a body has a length that came in chunks: programs send so what they still
    write, and proxies hand it on.

    A body that is larger than 16 MiB, or whose end the web server does not tell, stays without a length, which
    `WholeBodyMiddleware` refuses.
    """

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        is_chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
        if is_chunked and environ.get("wsgi.input_terminated") and not environ.get("CONTENT_LENGTH"):
            _give_length(environ)
        return application(environ, start_response)

    return answer


def _give_length(environ: dict[str, Any]) -> None:
    try:
        body = environ["wsgi.input"].read(MOST_CHUNKED_BYTES + 1)
        length = len(body)
    except OSError:  # it ends early, so that a byte is missing
        body, length = b"", 1
    if length <= MOST_CHUNKED_BYTES:
        del environ["HTTP_TRANSFER_ENCODING"]
        environ |= {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(length)}


class WholeBodyMiddleware:
    """Reads the body of a request before anything looks at it, and refuses it with 400 where bytes are missing.

    Web servers hand on what has arrived when a connection ends early, and a form that is cut after `label=1` of
    `label=10` reads as a valid answer.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request once its body is here.

        Raises:
            BadRequest: a part of the body is missing, or its length is not said.
        """
        if "chunked" in request.headers.get("Transfer-Encoding", "").lower() and not _length(request):
            raise BadRequest(NO_LENGTH)
        if _length(request):
            try:
                _read_whole(request)
            except UnreadablePostError as error:
                raise BadRequest(CUT) from error
        return self.get_response(request)


def _length(request: HttpRequest) -> int:
    header = request.META.get("CONTENT_LENGTH") or "0"
    return int(header) if header.isascii() and header.isdigit() else 0


def _read_whole(request: HttpRequest) -> None:
    if request.method == "POST" and request.content_type == "multipart/form-data":
        request.upload_handlers.insert(0, _WholeUpload(request))
        request.POST  # noqa: B018  # reads the body: files go to disk as they come
    elif len(request.body) < _length(request):
        raise BadRequest(CUT)


class _WholeUpload(FileUploadHandler):
    """Parses an upload as Django does, from a stream that notices its early end."""

    def handle_raw_input(
        self,
        input_data: IO[bytes],
        META: dict[str, str],  # noqa: N803  # Django's name for it
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> tuple[Any, MultiValueDict[str, Any]]:
        """Return the fields and files of a whole upload."""
        assert self.request is not None
        others = [handler for handler in self.request.upload_handlers if handler is not self]
        stream = _WholeStream(input_data, content_length)
        return MultiPartParser(META, stream, others, encoding).parse()  # type: ignore[arg-type]  # reads only

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Hand the chunk on; another handler takes it."""
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to another handler."""


class _WholeStream:
    """A stream that has to hold `length` bytes."""

    def __init__(self, source: IO[bytes], length: int) -> None:
        self.source = source
        self.missing = length

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, none once all are read.

        Raises:
            BadRequest: the stream ends before its length.
        """
        data = self.source.read(size)
        self.missing -= len(data)
        if not data and size != 0 and self.missing > 0:
            raise BadRequest(CUT)
        return data


NUL = "The address or the form contains a NUL character, which is not allowed in text. Nothing was stored."


class TextMiddleware:
    """Refuses a NUL in an address or in a field of a form with 400, before any view reads it. Files may hold NULs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request.

        Raises:
            BadRequest: its address or a field of its form holds a NUL.
        """
        if "\0" in request.path or "\0" in unquote(request.META.get("QUERY_STRING", "")) or _form_has_nul(request):
            raise BadRequest(NUL)
        return self.get_response(request)


def _form_has_nul(request: HttpRequest) -> bool:
    return request.method == "POST" and any("\0" in text for _, texts in request.POST.lists() for text in texts)
