"""Typed readers of `EVALSITE_*` environment variables. A bad value stops start-up and is named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from evalsite.base.types import JsonDict

_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


KNOWN: dict[str, tuple[str, str]] = {}  # by name: default and meaning; evalsite/help/settings.md is made of these


def _read(name: str, default: str, meaning: str) -> str:
    KNOWN[name] = default, meaning
    return os.environ.get(name, "").strip()


def _refuse(name: str, value: str, expected: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}={value!r} is not valid: {expected}.")


def text(name: str, default: str, meaning: str, *, shown_default: str | None = None) -> str:
    """Return the variable's text, or `default` where it is unset or blank."""
    return _read(name, default if shown_default is None else shown_default, meaning) or default


def choice(name: str, default: str, choices: Sequence[str], meaning: str) -> str:
    """Return the variable as one of these words, however its letters are written.

    Raises:
        ImproperlyConfigured: another one.
    """
    value = text(name, default, meaning)
    for word in choices:
        if word.lower() == value.lower():
            return word
    raise _refuse(name, value, f"use {', '.join(choices)}")


def secret(name: str, meaning: str) -> str:
    """Return the variable's text, which is never shown; empty where it is unset."""
    return _read(name, "", meaning)


def flag(name: str, default: bool, meaning: str) -> bool:
    """Return whether the variable is on.

    Raises:
        ImproperlyConfigured: neither an on-word nor an off-word.
    """
    value = _read(name, "1" if default else "0", meaning).lower()
    if not value:
        return default
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise _refuse(name, value, "use 1 or 0")


def integer(name: str, default: int, meaning: str, *, low: int, high: int) -> int:
    """Return the variable as a whole number between `low` and `high`, both included.

    Raises:
        ImproperlyConfigured: not a whole number, or out of range.
    """
    value = _read(name, str(default), meaning)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise _refuse(name, value, f"use a whole number from {low} to {high}") from None
    if not low <= number <= high:
        raise _refuse(name, value, f"use a whole number from {low} to {high}")
    return number


def fraction(name: str, default: float, meaning: str) -> float:
    """Return the variable as a number from 0 to 1.

    Raises:
        ImproperlyConfigured: not a number, or out of range.
    """
    value = _read(name, f"{default:g}", meaning)
    if not value:
        return default
    try:
        number = float(value)
    except ValueError:
        raise _refuse(name, value, "use a number from 0 to 1") from None
    if not 0 <= number <= 1:
        raise _refuse(name, value, "use a number from 0 to 1")
    return number


def words(name: str, default: tuple[str, ...], meaning: str) -> list[str]:
    """Return the comma-separated words of the variable, trimmed, blanks dropped."""
    value = _read(name, ",".join(default), meaning)
    return [word.strip() for word in value.split(",") if word.strip()] if value else list(default)


def pairs(name: str, values: Sequence[str], meaning: str) -> dict[str, str]:
    """Return the comma-separated `key=value` pairs of the variable.

    Raises:
        ImproperlyConfigured: one is no pair, or its value is not among `values`.
    """
    text_value = _read(name, "", meaning)
    found: dict[str, str] = {}
    for pair in filter(None, (word.strip() for word in text_value.split(","))):
        key, _, value = (part.strip() for part in pair.rpartition("="))
        if not key or value not in values:
            raise _refuse(name, text_value, f"use key=value pairs with one of {', '.join(values)}")
        found[key] = value
    return found


def networks(name: str, meaning: str) -> list[IPv4Network | IPv6Network]:
    """Return the comma-separated addresses or networks of the variable.

    Raises:
        ImproperlyConfigured: one is neither.
    """
    value = _read(name, "", meaning)
    try:
        return [ip_network(word.strip()) for word in value.split(",") if word.strip()]
    except ValueError:
        raise _refuse(name, value, "use addresses such as 10.0.0.5 or networks such as 10.0.0.0/24") from None


def folder(name: str, default: Path, meaning: str, *, shown_default: str) -> Path:
    """Return the variable as an absolute folder path.

    Raises:
        ImproperlyConfigured: a relative path, or one that is a file.
    """
    value = _read(name, shown_default, meaning)
    if not value:
        return default
    path = Path(value).expanduser()
    if not path.is_absolute():
        raise _refuse(name, value, "use an absolute path")
    if path.exists() and not path.is_dir():
        raise _refuse(name, value, "this is a file; name a folder")
    return path


def file(name: str, meaning: str) -> Path | None:
    """Return the variable as the path of a file that is there; None where it is unset.

    Raises:
        ImproperlyConfigured: no such file.
    """
    value = _read(name, "", meaning)
    if value and not Path(value).expanduser().is_file():
        raise _refuse(name, value, "there is no such file")
    return Path(value).expanduser().absolute() if value else None


def redis_url(name: str, meaning: str) -> str:
    """Return a redis://, rediss:// or unix:// address, or an empty text where none is set.

    Raises:
        ImproperlyConfigured: another scheme, or no host.
    """
    value = _read(name, "", meaning)
    if not value:
        return ""
    parts = urlsplit(value)
    has_place = parts.path if parts.scheme == "unix" else parts.hostname
    if parts.scheme not in {"redis", "rediss", "unix"} or not has_place:
        raise ImproperlyConfigured(f"{name} is not valid: use redis://host:6379/0, rediss://... or unix:///path?db=0.")
    return value


def provider_url(name: str, meaning: str) -> str:
    """Return an https:// address, or an http:// one of this machine, without a slash at its end; empty where unset.

    Raises:
        ImproperlyConfigured: another one, whose replies somebody on the way could have written.
    """
    value = _read(name, "", meaning).rstrip("/")
    if not value:
        return ""
    parts = urlsplit(value)
    is_here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not parts.hostname or not (is_here or parts.scheme == "https") or parts.query or parts.fragment:
        raise _refuse(name, value, "use https://host/path")
    return value


def proxy_url(name: str, meaning: str) -> str:
    """Return an http:// address of host and port, or an empty text where none is set.

    Raises:
        ImproperlyConfigured: another scheme, or no host. The message never repeats the address, which may hold a
            password.
    """
    value = _read(name, "", meaning)
    if not value:
        return ""
    problem = ImproperlyConfigured(f"{name} is not valid: use http://host:3128 or http://user:password@host:3128.")
    try:
        parts = urlsplit(value)
        _ = parts.port  # reading it is what checks it
    except ValueError:
        raise problem from None
    if parts.scheme != "http" or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise problem
    return value


def database(name: str, default: Path, meaning: str) -> JsonDict:
    """Return Django's database settings for a postgres:// or sqlite:// address; SQLite at `default` where unset.

    Raises:
        ImproperlyConfigured: another scheme, or no database name. The message never repeats the address, which may
            hold a password.
    """
    value = _read(name, "sqlite in the data folder", meaning)
    if not value:
        return sqlite(default)
    parts = urlsplit(value)
    path = unquote(parts.path.removeprefix("/"))
    if parts.scheme == "sqlite" and path:
        return sqlite(Path("/" + path) if not path.startswith("/") else Path(path))
    if parts.scheme not in {"postgres", "postgresql"} or not path:
        raise ImproperlyConfigured(
            f"{name} is not valid: use postgres://user:password@host:5432/name or sqlite:////absolute/path.sqlite3."
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": path,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": _postgres_options(parts.query),
    }


# A process that is frozen or cut off in the middle of a transaction keeps its locks: after this time the server ends
# the transaction, and nobody waits longer for a lock. A server that is gone is noticed within half a minute.
POSTGRES_OPTIONS = {
    # jit: compiling a long statement takes longer (25 to 108 ms) than it saves on any page or job of this site
    "options": "-c lock_timeout=30s -c idle_in_transaction_session_timeout=30s -c jit=off",
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


def _postgres_options(query: str) -> JsonDict:
    """Return what the address says after ? over our own options, with `prepare_threshold` as the driver wants it.

    What judging/selectors/prepared_queries.py sends apart from its values is planned once a connection; anything but a
    number turns that off, for poolers that hand a connection on between statements.
    """
    options: JsonDict = POSTGRES_OPTIONS | dict(parse_qsl(query, keep_blank_values=True))
    threshold = options.get("prepare_threshold", "0")
    return options | {"prepare_threshold": int(threshold) if threshold.isdecimal() else None}


def sqlite(path: Path) -> JsonDict:
    """Return settings for SQLite that stand several processes: write-ahead log, immediate transactions, patience."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": 60,  # a new connection has to read the schema and warm its cache, on every request
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536; "
                "PRAGMA mmap_size=268435456; PRAGMA temp_store=MEMORY;"
            ),
        },
        "TEST": {"NAME": None},
    }
