"""One attempt at a chat completion over HTTP, classified. Request bodies in the chat-completions format."""

from __future__ import annotations

import io
import json
import math
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, NameResolutionError, ProtocolError, ProxyError, ReadTimeoutError
from urllib3.util.connection import create_connection

from evalsite.base.types import JsonDict, JsonObject
from judging.llm.chat import Attempt, AttemptOutcome, ChatRequest, Message, kept_message, sent_message
from judging.llm.completions import StreamReader, StreamTooLarge, read_completion, read_stream
from judging.llm.endpoints import AddressPolicy, Capabilities, EndpointConfig, EndpointRefused, address_refusal, is_pem
from judging.llm.errors import RequestFields, classify_error, read_error

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")  # the second where the first is refused
SEED_NAMES = ("seed", "random_seed")  # the second is Mistral's


@dataclass(frozen=True, slots=True)
class Body:
    """A request body, the optional fields that it relies on, and the body for the ledger.

    `sent` leaves the messages out where they are those of the request, since the ledger has them already.
    """

    content: bytes
    used: frozenset[str]
    sent: JsonObject


def build_body(
    endpoint: EndpointConfig, request: ChatRequest, capabilities: Capabilities, *, max_tokens: int | None
) -> Body:
    """Return the JSON to post; what the endpoint is known to refuse is left out or replaced.

    json_schema falls back to json_object and that to nothing, the names of limit and seed to their other spelling, and
    the system's message into the user's.
    """
    fields: JsonDict = {"model": endpoint.model}
    for name in ("temperature", "top_p"):
        value = getattr(request, name)
        if value is not None and getattr(capabilities, name) is not False:
            fields[name] = value
    fields |= _named_value(SEED_NAMES, request.seed, capabilities) | _named_value(LIMIT_NAMES, max_tokens, capabilities)
    used = set(fields) - {"model"}
    if request.top_logprobs and capabilities.logprobs is not False:
        fields |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        used.add("logprobs")
    streaming = _streaming(endpoint, capabilities)
    fields |= streaming
    used |= set(streaming)
    response_format = _response_format(request.response_format, capabilities)
    if response_format is not None:
        fields["response_format"] = response_format
        used.add(str(response_format.get("type")))
    messages = request.messages
    if any(message.role == "system" for message in messages):
        if capabilities.system_role is False:
            messages = folded(messages)
        else:
            used.add("system_role")
    return _body(
        {**endpoint.extra, **request.extra, **fields},
        messages,
        request,
        frozenset(used) & frozenset(Capabilities.__slots__),
    )


def _body(fields: JsonDict, messages: Sequence[Message], request: ChatRequest, used: frozenset[str]) -> Body:
    sent_messages = [sent_message(message) for message in messages]
    content = json.dumps({**fields, "messages": sent_messages}, separators=(",", ":"), default=dict).encode()
    stored = {} if messages is request.messages else {"messages": [kept_message(message) for message in messages]}
    return Body(content, used, {**fields, **stored})


def _streaming(endpoint: EndpointConfig, capabilities: Capabilities) -> JsonDict:
    """Return what asks for a stream and for its usage; nothing where the reply is to come at once."""
    if not endpoint.is_streamed(capabilities):
        return {}
    usage = {} if capabilities.stream_options is False else {"stream_options": {"include_usage": True}}
    return {"stream": True, **usage}


def _named_value(names: tuple[str, str], value: int | None, capabilities: Capabilities) -> dict[str, int]:
    """Return the value under the first name that the endpoint is not known to refuse; nothing where it refuses both."""
    if value is None:
        return {}
    usable_names = [name for name in names if getattr(capabilities, name) is not False]
    return {usable_names[0]: value} if usable_names else {}


def folded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with the system's text at the head of the first message of the user."""
    rules = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    first = next((index for index, message in enumerate(others) if message.role == "user"), None)
    if first is None:
        return (Message("user", "\n\n".join(rules)), *others)
    others[first] = replace(others[first], content="\n\n".join([*rules, others[first].content]))
    return tuple(others)


def _response_format(wanted_format: JsonObject | None, capabilities: Capabilities) -> JsonObject | None:
    if wanted_format is None:
        return None
    if wanted_format.get("type") == "json_schema" and capabilities.json_schema is False:
        wanted_format = {"type": "json_object"}
    if wanted_format.get("type") == "json_object" and capabilities.json_object is False:
        return None
    return wanted_format


PUBLIC_ONLY = AddressPolicy()
SocketOptions = list[tuple[int, int, int | bytes]]
MOST_HEAD = 16_384  # bytes of a proxy's answer
MOST_SECONDS = 30.0  # until it is whole, where a connection has no timeout


@dataclass(frozen=True, slots=True)
class Proxy:
    """A forward proxy that tunnels by CONNECT."""

    host: str
    port: int
    credentials: str = field(default="", repr=False)  # user:password
    policy: AddressPolicy | None = None  # which addresses it may have; None: any, for whoever runs the site set it

    def connect(
        self, address: str, port: int, *, timeout: float | None, options: SocketOptions | None
    ) -> socket.socket:
        """Return a connection to the address.

        Raises:
            ProxyError: the proxy cannot be reached, or refuses.
            EndpointRefused: the proxy has an address that the policy forbids.
        """
        try:
            connection = create_connection((self.host, self.port), timeout, socket_options=options)
        except OSError as trouble:
            raise ProxyError("The proxy cannot be reached.", trouble) from trouble
        refusal = address_refusal(connection.getpeername()[0], self.policy) if self.policy is not None else ""
        if refusal:
            connection.close()
            raise EndpointRefused(f"The proxy of the endpoint: {refusal}")
        try:
            connection.sendall(self._request(address, port))
            status = _status_of(connection)
        except OSError as trouble:
            connection.close()
            raise ProxyError("The proxy did not answer.", trouble) from trouble
        if status != 200:
            connection.close()
            raise ProxyError("The proxy refused.", OSError(f"HTTP {status}"))
        return connection

    def _request(self, address: str, port: int) -> bytes:
        target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.credentials:
            lines.append(f"Proxy-Authorization: Basic {b64encode(self.credentials.encode()).decode()}")
        return "\r\n".join([*lines, "", ""]).encode()


def proxy_of(url: str, policy: AddressPolicy | None = None) -> Proxy | None:
    """Return the proxy at http://[user:password@]host:port; None for an empty text."""
    if not url:
        return None
    parts = urlsplit(url)
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Proxy(parts.hostname or "", parts.port or 80, credentials, policy)


def public_address(host: str, port: int, policy: AddressPolicy) -> str | None:
    """Return the public address to reach a host at; None where one of its addresses is not public, but allowed.

    Raises:
        EndpointRefused: the policy forbids one of its addresses.
        OSError: the name has none.
    """
    addresses = [str(info[4][0]) for info in socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)]
    for address in addresses:
        refusal = address_refusal(address, policy)
        if refusal:
            raise EndpointRefused(refusal)
    if any(address_refusal(address, PUBLIC_ONLY) for address in addresses):
        return None
    return addresses[0]


def _status_of(connection: socket.socket) -> int:
    """Return the status of a proxy's answer, read to the end of its head: what follows is the model's."""
    head, usual = b"", connection.gettimeout()
    deadline = time.monotonic() + (usual or MOST_SECONDS)
    while not head.endswith(b"\r\n\r\n"):
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        byte = connection.recv(1)
        if not byte or len(head) >= MOST_HEAD:
            raise OSError("no HTTP answer")
        head += byte
    connection.settimeout(usual)
    words = head.split(b"\r\n", 1)[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise OSError("no HTTP answer")
    return int(words[1])


MOST_ADDRESSES = 256  # whose connections are kept
DEFAULT_SECONDS = 600.0  # of a response to a request without a timeout
# A reasoning model may be silent for ten minutes; routers and NAT forget a connection that is silent for less.
KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), seconds)
        for name, seconds in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 30), ("TCP_KEEPCNT", 4))
        if hasattr(socket, name)  # not on every system
    ),
]


def check_peer(connection: socket.socket, policy: AddressPolicy) -> socket.socket:
    """Return the socket, or close it and raise.

    Raises:
        EndpointRefused: it is connected to an address that the policy forbids.
    """
    refusal = address_refusal(connection.getpeername()[0], policy)
    if refusal:
        connection.close()
        raise EndpointRefused(refusal)
    return connection


def connect_through(proxy: Proxy | None, connection: HTTPConnection, policy: AddressPolicy) -> socket.socket | None:
    """Return a socket to the connection's host through the proxy; None where it is to be reached without one.

    Hosts that are not public are reached directly: a proxy would look for them in its own network.

    Raises:
        EndpointRefused: the policy forbids one of the host's addresses.
        NameResolutionError: the host has none.
        ProxyError: the proxy cannot be reached, or refuses.
    """
    if proxy is None:
        return None
    try:
        address = public_address(connection.host, connection.port, policy)
    except socket.gaierror as trouble:
        raise NameResolutionError(connection.host, connection, trouble) from trouble
    if address is None:
        return None
    timeout = connection.timeout if isinstance(connection.timeout, float | int) else None
    return proxy.connect(address, connection.port, timeout=timeout, options=connection.socket_options)


class _TimedReader(io.RawIOBase):
    """What is left to read of a response, each time for no longer than there is."""

    def __init__(self, raw: io.RawIOBase, connection: socket.socket, seconds: Callable[[], float]) -> None:
        self._raw, self._connection, self._seconds = raw, connection, seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what comes.

        Raises:
            TimeoutError: nothing came in time, or the time is over.
        """
        seconds = self._seconds()
        if seconds <= 0:
            raise TimeoutError("The response took too long.")
        self._connection.settimeout(seconds)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedResponse(HTTPResponse):
    def __init__(self, connection: socket.socket, *args: Any, seconds: Callable[[], float], **options: Any) -> None:
        super().__init__(connection, *args, **options)
        self.fp = io.BufferedReader(_TimedReader(self.fp.detach(), connection, seconds))


class TimedConnection(HTTPConnection if TYPE_CHECKING else object):  # type: ignore[misc]  # added to both kinds
    """Gives a response the time that the connection waits for a part of one, unless it is allowed more."""

    ends_at = math.inf  # by the monotonic clock
    response_class: Any

    def allow(self, seconds: float) -> None:
        """Let the response in work last for so long from now; a silence in it stays limited."""
        self.ends_at = time.monotonic() + seconds

    def getresponse(self) -> Any:
        """Return the response, once its head is there."""
        self.allow(self._silence())
        self.response_class = partial(_TimedResponse, seconds=self._seconds_left)
        return super().getresponse()

    def _seconds_left(self) -> float:
        return min(self._silence(), self.ends_at - time.monotonic())

    def _silence(self) -> float:
        return float(self.timeout) if isinstance(self.timeout, int | float) else DEFAULT_SECONDS


class GuardedAdapter(HTTPAdapter):
    """An adapter whose pools check every new connection.

    It remembers for each address which pool and path belong to
    it: looking those up afresh costs a third of a call.
    """

    def __init__(self, *, policy: AddressPolicy, connections: int, proxy: Proxy | None = None) -> None:
        self._known: dict[tuple[str, Any], HTTPConnectionPool] = {}  # by address and certificates
        self._paths: dict[str, str] = {}

        class GuardedHTTPConnection(TimedConnection, HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return connect_through(proxy, self, policy) or check_peer(super()._new_conn(), policy)

        class GuardedHTTPSConnection(TimedConnection, HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                return connect_through(proxy, self, policy) or check_peer(super()._new_conn(), policy)

        class GuardedHTTPPool(HTTPConnectionPool):
            ConnectionCls = GuardedHTTPConnection

        class GuardedHTTPSPool(HTTPSConnectionPool):
            ConnectionCls = GuardedHTTPSConnection

        self._pools = {"http": GuardedHTTPPool, "https": GuardedHTTPSPool}
        super().__init__(pool_connections=MOST_ADDRESSES, pool_maxsize=connections, max_retries=0, pool_block=True)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:
        options = [*HTTPConnection.default_socket_options, *KEEP_ALIVE]
        self.poolmanager = PoolManager(
            num_pools=connections, maxsize=maxsize, block=block, socket_options=options, **pool_kwargs
        )
        self.poolmanager.pool_classes_by_scheme = self._pools

    def get_connection_with_tls_context(
        self, request: requests.PreparedRequest, verify: Any, proxies: Any = None, cert: Any = None
    ) -> HTTPConnectionPool:
        """Return the pool of the request's address; its certificates are set the first time."""
        url = str(request.url)
        if (url, verify) not in self._known:
            if len(self._known) >= MOST_ADDRESSES:  # those kept are then the pools that were used last
                self._known.clear()
                self._paths.clear()
            if is_pem(verify):
                options = {"cert_reqs": "CERT_REQUIRED", "ca_cert_data": verify}
                pool = self.poolmanager.connection_from_url(url, pool_kwargs=options)
            else:
                pool = super().get_connection_with_tls_context(request, verify, proxies, cert)
                super().cert_verify(pool, url, verify, cert)  # type: ignore[no-untyped-call]
            self._known[url, verify] = pool
            self._paths[url] = super().request_url(request, proxies)
        return self._known[url, verify]

    def cert_verify(self, conn: object, url: object, verify: object, cert: object) -> None:
        """Nothing is left to do for a pool that has been looked up."""

    def request_url(self, request: requests.PreparedRequest, proxies: Any) -> str:
        """Return the path that was looked up with the pool."""
        path = self._paths.get(str(request.url))
        return path if path is not None else super().request_url(request, proxies)

    def build_response(self, req: requests.PreparedRequest, resp: BaseHTTPResponse) -> requests.Response:
        """Return the response bare: no cookies are kept, and headers and body are read from `raw`."""
        response = requests.Response()
        response.status_code, response.raw, response.request = resp.status, resp, req
        return response


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
NO_KEY = "The endpoint asks for a key and got none: its key variable is empty or not set in the site's environment."
FALLBACK_READ_SECONDS = 1.0  # the shortest read timeout near a deadline


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
        except (requests.RequestException, HTTPError, OSError, UnicodeError, ReplyTooLarge) as trouble:
            attempt = network_trouble(trouble)
        else:
            sent = RequestFields(body.used, names_in(endpoint.extra), is_streamed)
            attempt = classify(status, headers, content, sent=sent, at=datetime.now(UTC))
        if attempt.error_kind == "key" and not endpoint.api_key:
            attempt = replace(attempt, error_text=NO_KEY)
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
            body = read_stream_body(response) if is_reply else read_body(response)
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


def read_body(response: requests.Response) -> bytes:
    """Return the whole body.

    Raises:
        ReplyTooLarge: it has more than `MAX_REPLY_BYTES`.
    """
    chunks: list[bytes] = []
    size = 0
    while chunk := response.raw.read1(CHUNK, decode_content=True):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            raise ReplyTooLarge
    return b"".join(chunks)


def read_stream_body(response: requests.Response) -> StreamReader:
    """Return the whole stream. It may take `MAX_STREAM_SECONDS`: what counts is the silence in it, which the
    connection's read timeout ends.

    Raises:
        ReplyTooLarge: it has more than `MAX_STREAM_BYTES`, or more text than any chat completion.
    """
    _allow(response, MAX_STREAM_SECONDS)
    reader, size = StreamReader(), 0
    while chunk := read_chunk(response, reader):
        size += len(chunk)
        try:
            reader.feed(chunk)
        except StreamTooLarge as error:
            raise ReplyTooLarge from error
        if size > MAX_STREAM_BYTES:
            raise ReplyTooLarge
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
    return _allow(response, AFTER_END_SECONDS)


def _allow(response: requests.Response, seconds: float) -> bool:
    """Let the rest of a response take so long; return whether its connection is still open."""
    connection = response.raw.connection
    if not isinstance(connection, TimedConnection):
        return False
    connection.allow(seconds)
    return connection.sock is not None


def network_trouble(error: Exception) -> Attempt:
    """Return the attempt for an exchange that broke off; the exception's own text may quote anything and is dropped."""
    kind, sentence = "connection", "The connection to the endpoint failed or was lost."
    if isinstance(error, requests.Timeout | ReadTimeoutError | TimeoutError):
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
