from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsite import env


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "KNOWN", {})  # what the site itself reads is listed there


def test_file_takes_only_one_that_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = tmp_path / "own.pem"
    there.write_text("")

    found = []
    for value in ("", str(there)):
        monkeypatch.setenv("EVALSITE_CA_BUNDLE", value)
        found.append(env.file("EVALSITE_CA_BUNDLE", ""))
    monkeypatch.setenv("EVALSITE_CA_BUNDLE", str(tmp_path))

    assert found == [None, there]
    with pytest.raises(ImproperlyConfigured, match="there is no such file"):
        env.file("EVALSITE_CA_BUNDLE", "")


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {"prepare_threshold": 0}),
        ("?sslmode=require", {"sslmode": "require", "prepare_threshold": 0}),
        ("?prepare_threshold=none", {"prepare_threshold": None}),
        ("?prepare_threshold=5", {"prepare_threshold": 5}),
        ("?options=&connect_timeout=3", {"options": "", "connect_timeout": "3", "prepare_threshold": 0}),
    ],
)
def test_database_reads_an_address_of_postgresql(
    monkeypatch: pytest.MonkeyPatch, query: str, options: dict[str, Any]
) -> None:
    monkeypatch.setenv("EVALSITE_DATABASE_URL", f"postgres://eva:p%40ss@db.example.org:6432/evals{query}")

    found = env.database("EVALSITE_DATABASE_URL", Path("unused"), "")

    assert found == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "evals",
        "USER": "eva",
        "PASSWORD": "p@ss",
        "HOST": "db.example.org",
        "PORT": "6432",
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": env.POSTGRES_OPTIONS | options,
    }


def test_database_lets_no_frozen_process_hold_up_the_others() -> None:
    options = env.POSTGRES_OPTIONS["options"]

    assert re.search(r"-c lock_timeout=[1-9]\d?s ", options)
    assert re.search(r"-c idle_in_transaction_session_timeout=[1-9]\d?s ", options)


@pytest.mark.parametrize(
    "value", ["https://cache:3128", "cache:3128", "http://", "http://cache:port", "http://cache/x"]
)
def test_proxy_url_refuses_what_is_no_proxy_and_does_not_repeat_it(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_PROXY", value)

    with pytest.raises(ImproperlyConfigured) as refusal:
        env.proxy_url("EVALSITE_PROXY", "")

    assert "cache:3128" not in str(refusal.value)
    monkeypatch.setenv("EVALSITE_PROXY", "http://me:secret@cache:3128")
    assert env.proxy_url("EVALSITE_PROXY", "") == "http://me:secret@cache:3128"


@pytest.mark.parametrize(
    ("security", "flags"), [("", [False, False]), ("starttls", [True, False]), ("TLS", [False, True])]
)
def test_mail_is_sent_with_a_login_and_over_tls(security: str, flags: list[bool]) -> None:
    variables = {"HOST": "mail.example.org", "PORT": "587", "USER": "eva", "PASSWORD": "p@ss", "SECURITY": security}
    names = ["EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD", "EMAIL_TIMEOUT", "EMAIL_USE_TLS", "EMAIL_USE_SSL"]
    code = f"import json; from evalsite import settings; print(json.dumps([getattr(settings, n) for n in {names}]))"
    environment = {**os.environ, **{f"EVALSITE_EMAIL_{name}": value for name, value in variables.items()}}

    read = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    assert json.loads(read.stdout) == ["eva", "p@ss", 20, *flags]


def test_choice_takes_one_of_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_EMAIL_SECURITY", "ssl")

    with pytest.raises(ImproperlyConfigured, match="EVALSITE_EMAIL_SECURITY='ssl' is not valid: use none, tls"):
        env.choice("EVALSITE_EMAIL_SECURITY", "none", ("none", "tls"), "")


def test_provider_url_takes_https_and_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for value in ("", "https://login.example.org/realms/main/", "http://127.0.0.1:9400"):
        monkeypatch.setenv("EVALSITE_OIDC_URL", value)
        found.append(env.provider_url("EVALSITE_OIDC_URL", ""))

    assert found == ["", "https://login.example.org/realms/main", "http://127.0.0.1:9400"]
    for value in ("http://login.example.org", "login.example.org", "https://", "https://login.example.org/?realm=main"):
        monkeypatch.setenv("EVALSITE_OIDC_URL", value)
        with pytest.raises(ImproperlyConfigured, match=r"EVALSITE_OIDC_URL=.* is not valid: use https://host/path"):
            env.provider_url("EVALSITE_OIDC_URL", "")


def test_pairs_takes_values_that_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_OIDC_ROLES", " staff = viewer, CN=it,OU=evals=admin,")
    with pytest.raises(ImproperlyConfigured, match="use key=value pairs with one of viewer, admin"):
        env.pairs("EVALSITE_OIDC_ROLES", ("viewer", "admin"), "")

    monkeypatch.setenv("EVALSITE_OIDC_ROLES", " staff = viewer, OU=it=admin,")
    assert env.pairs("EVALSITE_OIDC_ROLES", ("viewer", "admin"), "") == {"staff": "viewer", "OU=it": "admin"}


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"EVALSITE_OIDC_URL": "https://login.example.org"}, "EVALSITE_OIDC_CLIENT_ID is not set"),
        ({"EVALSITE_OIDC_NEW_PEOPLE": "1"}, "EVALSITE_OIDC_ROLES is not set"),
        ({"EVALSITE_PASSWORDS": "0"}, "EVALSITE_OIDC_URL is not set; without passwords nobody could sign in"),
        ({"EVALSITE_SAML_METADATA_URL": "https://login.example.org/saml"}, "needs EVALSITE_SAML_ENTITY_ID"),
        (
            {
                "EVALSITE_SAML_METADATA_URL": "https://login.example.org/saml",
                "EVALSITE_SAML_ENTITY_ID": "example",
                "EVALSITE_SAML_ATTRIBUTES": "mail=email",
            },
            "and an attribute that is uid",
        ),
    ],
)
def test_settings_of_sign_on_that_make_no_sense_stop_the_start(variables: dict[str, str], complaint: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import evalsite.settings"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, complaint in done.stderr) == (1, True), done.stderr
