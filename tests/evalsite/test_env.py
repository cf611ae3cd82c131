from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalsite import env


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {"prepare_threshold": 0}),
        ("?sslmode=require", {"sslmode": "require", "prepare_threshold": 0}),
        ("?prepare_threshold=none", {"prepare_threshold": None}),
        ("?prepare_threshold=5", {"prepare_threshold": 5}),
    ],
)
def test_database_reads_an_address_of_postgresql(
    monkeypatch: pytest.MonkeyPatch, query: str, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(env, "KNOWN", {})  # what the site itself reads is listed there
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
        "OPTIONS": options,
    }
