"""Sign-on by SAML, with a provider that signs what it says: a site of its own in another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onelogin", reason="the extra saml is not installed")

REPOSITORY = Path(__file__).resolve().parents[3]
PROVIDER = "https://provider.example.org/saml"
VARIABLES = {
    "DJANGO_SETTINGS_MODULE": "evalsite.settings",
    "EVALSITE_SECRET_KEY": "a secret of the test",
    "EVALSITE_ALLOWED_HOSTS": "evals.example.org",
    "EVALSITE_SAML_ENTITY_ID": PROVIDER,
    "EVALSITE_SAML_ATTRIBUTES": "lasting=uid,login=username,mail=email,memberOf=groups",
    "EVALSITE_OIDC_NAME": "Example Org",
    "EVALSITE_OIDC_ROLES": "lab=researcher",
    "EVALSITE_OIDC_NEW_PEOPLE": "1",
    "EVALSITE_PASSWORDS": "0",
}


def test_a_signed_word_of_the_provider_signs_in_and_nothing_else_does(tmp_path: Path) -> None:
    script = [sys.executable, "-m", "tests.evalsite.accounts.saml_visit", str(tmp_path)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVALSITE_")}
    environment = {**kept, **VARIABLES, "EVALSITE_DATA_DIR": str(tmp_path)}

    done = subprocess.run(script, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "to": f"{PROVIDER}/login",
        "ada": ["ada", "ada@example.org", "researcher"],
        "again": 1,  # the same account
        "unsigned": "Example Org did not sign you in.",
        "unasked": "Example Org did not sign you in.",
        "nameless": "The provider did not say who you are in a way that lasts.",
        "groupless": "None of your groups has a role here.",
        "people": 1,
    }
