"""Where a model is reached, what it is known to accept, and which addresses may be called at all.

`PRESETS` says what providers and servers of models are known to want: address, key, and the fields that they refuse. A
preset fills the form of an endpoint; every value can be changed there, and what an answer teaches comes on top. The
facts were collected in November 2026 from documentation and public reports; no provider was called to verify them.

Certificates are those of authorities that an endpoint's own network uses, as PEM text.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from evalsite.base.types import JsonDict, JsonObject, LabelledEnum
from judging.llm.limits import RateLimits

MOST_PEM = 200_000  # characters
BEGIN = "-----BEGIN CERTIFICATE-----"


def is_pem(verify: object) -> bool:
    """Whether certificates are given as text, not as the name of a file."""
    return isinstance(verify, str) and BEGIN in verify


def certificates_refusal(pem: str) -> str:
    """Return why a text cannot be trusted as certificates; empty where it can."""
    if "PRIVATE KEY" in pem:
        return "Remove the private key: only certificates are stored."
    if len(pem) > MOST_PEM:
        return f"The certificates can have at most {MOST_PEM:,} characters."
    if BEGIN not in pem:
        return f"Enter certificates in PEM, each starting with {BEGIN}."
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        return "These certificates cannot be read. Paste each whole, with its first and last line."
    return ""


REASONING_TOKENS = 8_192  # what thinking and an answer take; judges ask for 256 to 2,048


class EndpointKind(LabelledEnum):
    """`openai`: chat completions over HTTP. `lexical`: a baseline computed here, without a model."""

    OPENAI = "openai", "OpenAI-compatible"
    LEXICAL = "lexical", "Lexical baseline (not a language model)"


class KeyHeader(LabelledEnum):
    """The header that takes a key."""

    BEARER = "Authorization", "Authorization: Bearer KEY"
    API_KEY = "api-key", "api-key: KEY"

    def value_of(self, key: str) -> str:
        """Return what the header holds."""
        return f"Bearer {key}" if self is KeyHeader.BEARER else key


SERVER_FIELDS = ("base_url", "model", "extra", "query", "headers")  # what was learned holds for one value of these


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint takes: None not known, False refused.

    True is seen to work for JSON modes, log-probabilities and streams, and for the others not refused, which is all
    that shows.
    """

    json_schema: bool | None = None
    json_object: bool | None = None
    seed: bool | None = None
    temperature: bool | None = None
    top_p: bool | None = None
    logprobs: bool | None = None
    max_tokens: bool | None = None  # False: the endpoint wants `max_completion_tokens` instead
    max_completion_tokens: bool | None = None
    random_seed: bool | None = None  # tried where `seed` is refused
    stream: bool | None = None
    stream_options: bool | None = None  # with which a stream tells its usage
    unstreamed: bool | None = None  # False: the endpoint replies as a stream only
    system_role: bool | None = None  # False: the system's text goes into the user's first message
    images: bool | None = None  # True: it told the colours of a picture

    def learn(self, *, accepted: frozenset[str] = frozenset(), refused: frozenset[str] = frozenset()) -> Capabilities:
        """Return these capabilities with what one answer taught; a refusal outweighs an earlier acceptance."""
        learned: dict[str, bool] = {name: True for name in accepted if getattr(self, name) is None}
        learned.update(dict.fromkeys(refused, False))
        return replace(self, **learned)


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """One model behind one URL, ready to be called: the key is already resolved and never shown."""

    name: str
    base_url: str = ""  # up to and including /v1; empty for lexical endpoints
    model: str = ""
    kind: EndpointKind = EndpointKind.OPENAI
    api_key: str = field(default="", repr=False)
    key_header: KeyHeader = KeyHeader.BEARER
    query: str = ""  # behind the path, e.g. api-version=2024-10-21
    headers: JsonObject = field(default_factory=dict)  # further headers of each request; never a key
    reasoning: bool = False
    stream: bool = False  # whether replies are asked for as a stream, which proxies let pass however long it takes
    connect_timeout: float = 10.0  # seconds
    read_timeout: float | None = None  # seconds; None: 180, or 600 for a reasoning model
    ca_bundle: str = ""  # file of certificates to trust instead of the usual ones
    ca_certificates: str = ""  # or these, in PEM
    proxy: str | None = field(default=None, repr=False)  # http://[user:password@]host:port; "": none; None: the usual
    max_concurrency: int = 50  # calls in flight over all workers
    requests_per_minute: int | None = None  # over all workers; None or 0: no limit
    tokens_per_minute: int | None = None
    capabilities: Capabilities = Capabilities()
    extra: JsonObject = field(default_factory=dict)  # further request fields, e.g. reasoning_effort
    min_output_tokens: int | None = None  # None: 0, or `REASONING_TOKENS` for a reasoning model

    @property
    def read_seconds(self) -> float:
        if self.read_timeout is not None:
            return self.read_timeout
        return 600.0 if self.reasoning else 180.0

    def output_limit(self, requested: int | None) -> int | None:
        """Return the token limit of a request that asks for `requested`; a model's thinking counts against it."""
        if requested is None:
            return None
        least = self.min_output_tokens
        return max(requested, (REASONING_TOKENS if self.reasoning else 0) if least is None else least)

    def is_streamed(self, capabilities: Capabilities) -> bool:
        """Whether to ask for a stream, given what the endpoint is known to take."""
        return (self.stream or capabilities.unstreamed is False) and capabilities.stream is not False

    @property
    def rate_limits(self) -> RateLimits:
        return RateLimits(self.requests_per_minute or 0, self.tokens_per_minute or 0)

    @property
    def identity(self) -> tuple[str, str, str]:
        """What one rate limit applies to: URL, key, model."""
        return self.base_url.rstrip("/"), self.api_key, self.model


# Of clouds, elsewhere.
METADATA = frozenset(map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")))
GIVEN_OUT = IPv6Network("2000::/3")  # the rest of IPv6 is reserved, whatever `ipaddress` knows of it
# Ranges that this version of `ipaddress` takes for public: documentation (RFC 9637), relays of 6to4 (RFC 7526).
NOT_PUBLIC = (IPv6Network("3fff::/20"), IPv4Network("192.88.99.0/24"))
WITH_IPV4_AT_THE_END = tuple(
    IPv6Network(prefix) for prefix in ("::ffff:0:0/96", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
)


KEY_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,90}_(?:KEY|TOKEN)")
# Names of what is no key of a model: the site's own secrets, and those of clouds, databases and tools beside it.
FORBIDDEN_VARIABLE = re.compile(
    r"(?:EVALSITE|DJANGO|RAILS|FLASK|AWS|POSTGRES|MYSQL|REDIS|DATABASE|SSH|GPG|VAULT|KUBE|GITHUB|GITLAB|CI|NPM|PYPI|DOCKER|"
    r"STRIPE|SENTRY|CLOUDFLARE|SLACK|TWILIO|SENDGRID|MAILGUN|DATADOG|FERNET|JWT)_.*|PG[A-Z]*|"
    r".*(?:SECRET|PASSW|PRIVATE|CREDENTIAL|SESSION|ENCRYPTION|SIGNING|STORAGE|BOT_TOKEN).*"
)


def key_variable_refusal(variable: str, *, allowed: Collection[str] = ()) -> str:
    """Return why an environment variable of this name cannot be named as an endpoint's key; empty where it can.

    `allowed`: the only names that this site takes, or with * at the end how they begin; none: every name that looks
    like the key of a model.
    """
    if allowed and not any(_is_named(variable, name) for name in allowed):
        return f"This site sends only the keys in {', '.join(allowed)} to models; whoever operates it can add a name."
    if is_forbidden_variable(variable):
        return f"{variable} is not sent to a model: such variables hold secrets of this site or of other services."
    if not allowed and KEY_VARIABLE.fullmatch(variable) is None:
        return (
            "Enter the NAME of an environment variable that ends in _KEY or _TOKEN, such as OPENAI_API_KEY, never the "
            "key itself."
        )
    return ""


def _is_named(variable: str, name: str) -> bool:
    return variable.startswith(name[:-1]) if name.endswith("*") else variable == name


def is_forbidden_variable(variable: str) -> bool:
    """Whether the value of this environment variable is never sent to an endpoint."""
    return FORBIDDEN_VARIABLE.fullmatch(variable) is not None


class EndpointRefused(Exception):
    """This address may not be called, or is not one. The message is for the person who entered it."""


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Which addresses besides public ones may be called.

    Multicast, unspecified and link-local ones never may: at link-local addresses clouds hand out credentials.
    """

    allow_private: bool = False  # private, shared and reserved ranges
    allow_loopback: bool = False


def address_refusal(address: str, policy: AddressPolicy) -> str:
    """Return why this IP address may not be called; empty when it may.

    Raises:
        ValueError: not an IP address.
    """
    ip: IPv4Address | IPv6Address = ip_address(address.split("%")[0])
    if isinstance(ip, IPv6Address):
        ip = embedded_ipv4(ip) or ip
    if ip.is_multicast or ip.is_unspecified:
        return f"{ip} is not the address of a server."
    if ip.is_link_local or ip in METADATA:
        return f"{ip} is never called: such addresses return credentials of the machine."
    if ip.is_loopback:
        return "" if policy.allow_loopback else f"{ip} is this machine, which the settings of the site forbid."
    if not is_public(ip) and not policy.allow_private:
        return f"{ip} is in a private network, which the settings of the site forbid."
    return ""


def is_public(ip: IPv4Address | IPv6Address) -> bool:
    """Whether hosts of the internet may have this address."""
    is_given_out = ip in GIVEN_OUT if isinstance(ip, IPv6Address) else True
    return ip.is_global and is_given_out and not any(ip in network for network in NOT_PUBLIC)


def embedded_ipv4(ip: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that traffic to this address ends at; None where it is no such address.

    Mapped (RFC 4291), compatible (its predecessor), translated (RFC 7915), behind NAT64 (RFC 6052, RFC 8215), 6to4
    (RFC 3056) and Teredo (RFC 4380).
    """
    if ip.teredo is not None:
        return ip.teredo[1]
    if ip.sixtofour is not None:
        return ip.sixtofour
    is_own = ip.is_unspecified or ip.is_loopback  # :: and ::1 look like compatible ones
    if not is_own and any(ip in network for network in WITH_IPV4_AT_THE_END):
        return IPv4Address(int(ip) & 0xFFFF_FFFF)
    return None


def check_address(url: str, policy: AddressPolicy) -> str:
    """Return the URL as it is written, where the site may call it.

    A host name is checked here only by spelling; what it resolves to is checked at each new connection, since it may
    change in between.

    Raises:
        EndpointRefused: not an http(s) URL, or with credentials or a fragment, or an address the policy forbids.
    """
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EndpointRefused("Write the whole address, starting with https:// or http://.")
    if parts.username is not None or parts.password is not None:
        raise EndpointRefused("Remove the user name and password from the address.")
    if parts.fragment:
        raise EndpointRefused("Remove everything after #.")
    refusal = _host_refusal(parts.hostname, policy)
    if refusal:
        raise EndpointRefused(refusal)
    return url.strip()


def check_base_url(url: str, policy: AddressPolicy) -> str:
    """Return the URL without its trailing slash, and without the path of the one call that is made there.

    Raises:
        EndpointRefused: as of any address, or with a query.
    """
    parts = _split(url)
    if parts.hostname and (parts.username is not None or parts.password is not None):
        raise EndpointRefused("Remove the user name and password from the address; enter the key variable instead.")
    if parts.hostname and (parts.query or parts.fragment):
        raise EndpointRefused("Remove everything after ? or #.")
    return check_address(url, policy).rstrip("/").removesuffix("/chat/completions").rstrip("/")


PROXY_LOGIN_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,80}_PROXY_LOGIN")
NO_PROXY = "none"


def check_proxy_url(url: str, policy: AddressPolicy) -> str:
    """Return the address of a proxy without its trailing slash; empty, or "none", as it is.

    Raises:
        EndpointRefused: not http://host:port, or with credentials, or an address the policy forbids.
    """
    if url in ("", NO_PROXY):
        return url
    parts = _split(url)
    if parts.username is not None or parts.password is not None:
        raise EndpointRefused("Remove the user name and password from the proxy; enter the login variable instead.")
    if parts.scheme != "http" or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise EndpointRefused('Enter the proxy as http://host:port, or "none" for no proxy.')
    refusal = _host_refusal(parts.hostname, policy)
    if refusal:
        raise EndpointRefused(f"The proxy: {refusal}")
    return url.strip().rstrip("/")


def login_variable_refusal(variable: str) -> str:
    """Return why an environment variable of this name cannot be named as a proxy's login; empty where it can."""
    if is_forbidden_variable(variable) or PROXY_LOGIN_VARIABLE.fullmatch(variable) is None:
        return (
            "Enter the NAME of an environment variable that ends in _PROXY_LOGIN and holds user:password, never the "
            "login itself."
        )
    return ""


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        _ = parts.port  # reading it is what checks it
    except ValueError:
        raise EndpointRefused("This is not a valid address.") from None
    if any(character.isspace() for character in parts.netloc):
        raise EndpointRefused("This is not a valid address.")
    return parts


def _host_refusal(host: str, policy: AddressPolicy) -> str:
    if host == "localhost" or host.endswith(".localhost"):
        host = "127.0.0.1"
    try:
        return address_refusal(host, policy)
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True)
class EndpointPreset:
    """A provider or server. `refused` are names of `Capabilities` that are not even tried."""

    name: str
    title: str
    base_url: str = ""  # empty: everybody has one of their own
    key_variable: str = ""  # empty: usually without a key
    max_concurrency: int = 4
    stream: bool = False  # its long replies do not pass proxies otherwise
    key_header: KeyHeader = KeyHeader.BEARER
    query: str = ""
    refused: frozenset[str] = field(default_factory=frozenset)
    note: str = ""  # what to know before the form is filled in

    @property
    def known(self) -> dict[str, bool]:
        """What is known of an endpoint before its first call."""
        return dict.fromkeys(sorted(self.refused), False)

    def first_values(self) -> JsonDict:
        """Return what the form of a new endpoint starts with."""
        return {
            "preset": self.name,
            "base_url": self.base_url,
            "key_variable": self.key_variable,
            "key_header": self.key_header,
            "query": self.query,
            "max_concurrency": self.max_concurrency,
            "stream": self.stream,
        }


NO_JSON = frozenset({"json_schema", "json_object"})
PRESETS: Mapping[str, EndpointPreset] = {
    preset.name: preset
    for preset in (
        EndpointPreset(
            "openai",
            "OpenAI",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            max_concurrency=8,
            refused=frozenset({"max_tokens"}),
            note="Mark GPT-5 and o models as reasoning models. Their effort is an extra field: "
            '{"reasoning_effort": "low"}.',
        ),
        EndpointPreset(
            "azure",
            "Azure OpenAI",
            key_variable="AZURE_OPENAI_API_KEY",
            max_concurrency=8,
            key_header=KeyHeader.API_KEY,
            refused=frozenset({"max_tokens"}),
            note="Address: https://RESOURCE.openai.azure.com/openai/v1 with the deployment as the model. Older "
            "resources: https://RESOURCE.openai.azure.com/openai/deployments/DEPLOYMENT, query api-version=VERSION.",
        ),
        EndpointPreset(
            "anthropic",
            "Anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            stream=True,
            refused=NO_JSON | {"seed", "random_seed", "logprobs"},
            note="This interface ignores JSON modes, seeds and log-probabilities, so they are not sent.",
        ),
        EndpointPreset(
            "gemini",
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
            note="Mark thinking models as reasoning models: their thoughts count against the output limit.",
        ),
        EndpointPreset(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            stream=True,
            refused=frozenset({"max_completion_tokens"}),
            note='Effort is an extra field: {"reasoning": {"effort": "low"}}. Fields that a model does not know are '
            "ignored without a word.",
        ),
        EndpointPreset(
            "mistral",
            "Mistral",
            "https://api.mistral.ai/v1",
            "MISTRAL_API_KEY",
            refused=frozenset({"seed", "max_completion_tokens"}),
        ),
        EndpointPreset(
            "deepseek",
            "DeepSeek",
            "https://api.deepseek.com",
            "DEEPSEEK_API_KEY",
            max_concurrency=16,
            stream=True,
            refused=frozenset({"json_schema", "max_completion_tokens"}),
            note="Its models think unless told otherwise: mark the endpoint as a reasoning model.",
        ),
        EndpointPreset(
            "groq",
            "Groq",
            "https://api.groq.com/openai/v1",
            "GROQ_API_KEY",
            refused=frozenset({"max_tokens", "logprobs"}),
        ),
        EndpointPreset(
            "together",
            "Together",
            "https://api.together.ai/v1",
            "TOGETHER_API_KEY",
            refused=frozenset({"max_completion_tokens"}),
        ),
        EndpointPreset(
            "vllm",
            "vLLM",
            "http://127.0.0.1:8000/v1",
            max_concurrency=32,
            note="The model is the name it was served under.",
        ),
        EndpointPreset(
            "ollama",
            "Ollama",
            "http://127.0.0.1:11434/v1",
            max_concurrency=1,
            refused=frozenset({"max_completion_tokens"}),
            note="It cuts what exceeds the context of the model without a word: set OLLAMA_CONTEXT_LENGTH there.",
        ),
        EndpointPreset(
            "lmstudio",
            "LM Studio",
            "http://127.0.0.1:1234/v1",
            max_concurrency=1,
            refused=frozenset({"json_object", "max_completion_tokens"}),
        ),
        EndpointPreset(
            "llamacpp",
            "llama.cpp",
            "http://127.0.0.1:8080/v1",
            max_concurrency=1,
            refused=frozenset({"max_completion_tokens"}),
        ),
    )
}
