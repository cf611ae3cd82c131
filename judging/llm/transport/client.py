"""One attempt at a chat completion over HTTP, classified."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import requests
from urllib3.exceptions import HTTPError, ProtocolError, ReadTimeoutError

from evalsite.base.json_types import JsonObject
from judging.llm.attempts import Attempt, AttemptOutcome
from judging.llm.bodies import build_body
from judging.llm.chat import ChatRequest
from judging.llm.endpoints import AddressPolicy, Capabilities, EndpointConfig, EndpointRefused
from judging.llm.replies.completions import read_completion, read_stream
from judging.llm.replies.error_pages import read_error
from judging.llm.replies.errors import RequestFields, classify_error
from judging.llm.replies.streams import StreamReader, StreamTooLarge
from judging.llm.transport.connections import GuardedAdapter
from judging.llm.transport.tunnels import Proxy, proxy_of

MAX_REPLY_BYTES = 8_000_000  # a reply is text of some kilobytes; more is a fault or an attack
MAX_STREAM_BYTES = 64_000_000  # each token comes with a head
MAX_STREAM_SECONDS = 1_800.0
AFTER_END_SECONDS = 0.5
CHUNK = 65_536
CERTIFICATE_FAULTS = {  # by the codes of OpenSSL's verification
    10: "The endpoint's certificate has expired.",
    62: "The endpoint's certificate is for a different host name.",
    64: "The endpoint's certificate is for a different address.",
}
UNTRUSTED = (
    "The endpoint's certificate comes from an authority that this site does not trust. If it is your own authority, "
    "enter its certificate with the endpoint, or set EVALSITE_CA_BUNDLE to a file with it."
)
FALLBACK_READ_SECONDS = 1.0  # the shortest read timeout near a deadline


class ReplyTooSlow(Exception):
    """The body trickled in for longer than the read timeout."""


class ReplyTooLarge(Exception):
    """The body is larger than any chat completion."""


class ChatClient:
    """Sends requests for up to `threads` threads at once over shared connections."""

    def __init__(self, *, threads: int = 50, policy: AddressPolicy | None = None, proxy: Proxy | None = None) -> None:
        self._policy, self._proxy = policy or AddressPolicy(), proxy
        self._connections = 2 * threads  # see `LEAST_SHARE`
        self._adapters: dict[Proxy | None, GuardedAdapter] = {}
        self._heads: dict[tuple[object, ...], requests.PreparedRequest] = {}  # by all that they hold

    def close(self) -> None:
        for adapter in self._adapters.values():
            adapter.close()

    def send(
        self,
        endpoint: EndpointConfig,
        request: ChatRequest,
        *,
        capabilities: Capabilities | None = None,
        max_tokens: int | None = None,
        seconds_left: float | None = None,
    ) -> Attempt:
        """Return what one HTTP attempt came to; network trouble is an outcome, not an exception.

        `capabilities` and `max_tokens` replace those of endpoint and request; `seconds_left` shortens the timeouts.
        """
        body = build_body(
            endpoint,
            request,
            endpoint.capabilities if capabilities is None else capabilities,
            max_tokens=endpoint.output_limit(request.max_tokens) if max_tokens is None else max_tokens,
        )
        read_seconds = endpoint.read_seconds
        if seconds_left is not None:
            read_seconds = min(read_seconds, max(FALLBACK_READ_SECONDS, seconds_left))
        started, is_streamed = time.monotonic(), "stream" in body.used
        try:
            status, headers, content = self._post(endpoint, body.content, read_seconds, is_streamed=is_streamed)
        except EndpointRefused as refusal:
            attempt = Attempt(AttemptOutcome.FORBIDDEN, error_kind="refused-address", error_text=str(refusal))
        except (requests.RequestException, HTTPError, OSError, UnicodeError, ReplyTooSlow, ReplyTooLarge) as trouble:
            attempt = network_trouble(trouble)
        else:
            sent = RequestFields(body.used, names_in(endpoint.extra), is_streamed)
            attempt = classify(status, headers, content, sent=sent, at=datetime.now(UTC))
        return replace(
            attempt,
            seconds=time.monotonic() - started,
            provider_text=without_key(attempt.provider_text, endpoint.api_key),
            sent=body.sent,
        )

    def _post(
        self, endpoint: EndpointConfig, content: bytes, read_seconds: float, *, is_streamed: bool
    ) -> tuple[int, Mapping[str, str], bytes | StreamReader]:
        prepared = self._head(endpoint).copy()
        prepared.body = content
        prepared.headers["Content-Length"] = str(len(content))
        response = self._adapter(endpoint).send(
            prepared,
            timeout=(min(endpoint.connect_timeout, read_seconds), read_seconds),
            stream=True,
            verify=endpoint.ca_certificates or endpoint.ca_bundle or True,
        )
        try:
            is_reply = is_streamed and response.status_code == 200
            body = read_stream_body(response) if is_reply else read_body(response, read_seconds)
            return response.status_code, response.raw.headers, body
        finally:
            response.raw.close()
            response.raw.release_conn()

    def _adapter(self, endpoint: EndpointConfig) -> GuardedAdapter:
        """Return what connects through the endpoint's proxy, or that of the site."""
        proxy = self._proxy if endpoint.proxy is None else proxy_of(endpoint.proxy, self._policy)
        adapter = self._adapters.get(proxy)
        if adapter is None:
            new_adapter = GuardedAdapter(policy=self._policy, connections=self._connections, proxy=proxy)
            adapter = self._adapters.setdefault(proxy, new_adapter)
        return adapter

    def _head(self, endpoint: EndpointConfig) -> requests.PreparedRequest:
        """Return the request to this endpoint without its body; it is checked and spelt out once."""
        key = (
            *(endpoint.base_url, endpoint.query, endpoint.api_key, endpoint.key_header),
            *endpoint.headers.items(),
        )
        head = self._heads.get(key)
        if head is None:
            headers = {**endpoint.headers, "Content-Type": "application/json", "Accept": "application/json"}
            if endpoint.api_key:
                headers[endpoint.key_header.value] = endpoint.key_header.value_of(endpoint.api_key)
            url = f"{endpoint.base_url.rstrip('/')}/chat/completions"
            head = requests.PreparedRequest()
            head.prepare(method="POST", url=f"{url}?{endpoint.query}" if endpoint.query else url, headers=headers)
            self._heads[key] = head
        return head


def read_body(response: requests.Response, seconds: float) -> bytes:
    """Return the whole body.

    Raises:
        ReplyTooLarge: it has more than `MAX_REPLY_BYTES`.
        ReplyTooSlow: it was still coming after that many seconds, however steadily.
    """
    deadline = time.monotonic() + seconds
    chunks: list[bytes] = []
    size = 0
    while chunk := response.raw.read1(CHUNK, decode_content=True):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            raise ReplyTooLarge
        if time.monotonic() > deadline:
            raise ReplyTooSlow
    return b"".join(chunks)


def read_stream_body(response: requests.Response) -> StreamReader:
    """Return the whole stream. It may take long: what counts is the silence in it, which the connection's read timeout
    ends.

    Raises:
        ReplyTooLarge: it has more than `MAX_STREAM_BYTES`, or more text than any chat completion.
        ReplyTooSlow: it was still coming after `MAX_STREAM_SECONDS`.
    """
    deadline = time.monotonic() + MAX_STREAM_SECONDS
    reader, size = StreamReader(), 0
    while chunk := read_chunk(response, reader):
        size += len(chunk)
        try:
            reader.feed(chunk)
        except StreamTooLarge as error:
            raise ReplyTooLarge from error
        if size > MAX_STREAM_BYTES:
            raise ReplyTooLarge
        if time.monotonic() > deadline:
            raise ReplyTooSlow
        if reader.is_over and not wait_for_end(response):
            break
    reader.end()
    return reader


def read_chunk(response: requests.Response, reader: StreamReader) -> bytes:
    """Return the next part of a stream; none where the connection broke off after its end."""
    try:
        return bytes(response.raw.read1(CHUNK, decode_content=True))
    except (HTTPError, OSError):
        if reader.is_over:
            return b""
        raise


def wait_for_end(response: requests.Response) -> bool:
    """Give an endpoint that said its stream is over a moment to end it, so that the connection can be kept.

    False: it is not kept in any case.
    """
    connection = getattr(response.raw.connection, "sock", None)
    if connection is not None:
        connection.settimeout(AFTER_END_SECONDS)
    return connection is not None


def network_trouble(error: Exception) -> Attempt:
    """Return the attempt for an exchange that broke off; the exception's own text may quote anything and is dropped."""
    kind, sentence = "connection", "The connection to the endpoint failed or was lost."
    if isinstance(error, requests.Timeout | ReadTimeoutError | ReplyTooSlow | TimeoutError):
        kind, sentence = "timeout", "The endpoint did not reply in time."
    elif isinstance(error, ReplyTooLarge):
        kind, sentence = "too-large", "The endpoint's reply is too large for a chat completion."
    elif isinstance(error, requests.exceptions.SSLError):
        kind, sentence = "tls", tls_sentence(error)
    elif isinstance(error, requests.exceptions.ProxyError):
        kind, sentence = "proxy", "The proxy (EVALSITE_PROXY, or that of the endpoint) cannot be reached or refused."
    elif isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidHeader | UnicodeError):
        return Attempt(
            AttemptOutcome.SETUP, error_kind="bad-endpoint", error_text="The endpoint's address or key is not valid."
        )
    return Attempt(AttemptOutcome.PASSING, error_kind=kind, error_text=sentence, is_unheard=was_sent(error))


def tls_sentence(error: requests.exceptions.SSLError) -> str:
    """Return why no secure connection was made, as far as the certificate says so."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    fault = reason.args[0] if isinstance(reason, HTTPError) and reason.args else None
    if not isinstance(fault, ssl.SSLCertVerificationError):
        return "No secure connection to the endpoint was possible; check its certificate."
    return CERTIFICATE_FAULTS.get(fault.verify_code, UNTRUSTED)


def was_sent(error: Exception) -> bool:
    """Return whether the request may have reached the endpoint before the exchange broke off."""
    if isinstance(error, requests.ConnectTimeout | requests.exceptions.SSLError):
        return False
    if isinstance(error, requests.ConnectionError):  # of a refused connection it wraps no protocol error
        return bool(error.args) and isinstance(error.args[0], ProtocolError)
    return True


def names_in(extra: JsonObject) -> frozenset[str]:
    """Return the names of an endpoint's extra fields and of the fields right within them."""
    inner = [name for value in extra.values() if isinstance(value, Mapping) for name in value]
    return frozenset([*extra, *inner])


def classify(
    status: int, headers: Mapping[str, str], content: bytes | StreamReader, *, sent: RequestFields, at: datetime
) -> Attempt:
    """Return the attempt that this answer to a request stands for."""
    if isinstance(content, StreamReader):
        return read_stream(content, sent=sent, headers=headers, at=at)
    if status == 200:
        return read_completion(content, sent=sent, headers=headers, at=at)
    return classify_error(status, read_error(content), sent=sent, headers=headers, at=at)


def without_key(text: str, key: str) -> str:
    """Return a provider's sentence without the key, should it repeat it."""
    return text.replace(key, "[key]") if key else text
