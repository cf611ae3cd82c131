"""Single sign-on at a real OpenID Connect provider, in a browser, on a site of its own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests import databases
from tests.flows.axe import faults
from tests.flows.conftest import PATIENCE, REPOSITORY, LiveSite, find_chromium, free_port, stop_site

pytestmark = pytest.mark.flow


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenID Connect provider that knows whom a test names."""

    url: str

    def put(self, subject: str, *groups: str, **claims: object) -> None:
        """Say who somebody is, and in which groups."""
        said = {"preferred_username": subject, "groups": list(groups), **claims}
        requests.put(f"{self.url}/users/{subject}", json=said, timeout=10).raise_for_status()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            return requests.get(url, timeout=10).raise_for_status()
        except requests.RequestException:
            assert process.poll() is None, "it did not start"
            assert time.monotonic() < deadline, "it does not answer"
            time.sleep(0.1)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/", process)
        yield Provider(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="module")
def sign_on_site(
    django_db_setup: None, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveSite]:
    """Return a site without demo data whose people come from the provider."""
    find_chromium()
    folder = tmp_path_factory.mktemp("sign-on")
    with databases.own_database(folder) as url:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "evalsite.settings",
            "EVALSITE_DATA_DIR": str(folder),
            "EVALSITE_DATABASE_URL": url,
            "EVALSITE_LOG_LEVEL": "WARNING",
            "EVALSITE_OIDC_URL": provider.url,
            "EVALSITE_OIDC_CLIENT_ID": "evalsite",
            "EVALSITE_OIDC_CLIENT_SECRET": "a secret of the test",
            "EVALSITE_OIDC_NAME": "Example Org",
            "EVALSITE_OIDC_ROLES": "it=admin,lab=researcher,all=annotator",
            "EVALSITE_OIDC_NEW_PEOPLE": "1",
            "EVALSITE_OIDC_DOMAINS": "example.org",
        }
        environment.pop("EVALSITE_REDIS_URL", None)  # nothing here needs a broker but its own
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "--verbosity=0"], cwd=REPOSITORY, env=environment, check=True)
        port = free_port()
        with (folder / "said").open("wb") as said:
            process = subprocess.Popen(
                [*manage, "serve", f"--port={port}", "--web=1"],
                cwd=REPOSITORY,
                env=environment,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        live = LiveSite(f"http://127.0.0.1:{port}", folder, environment, {}, process)
        try:
            _wait_for(f"{live.url}/livez", process)
            yield live
        finally:
            stop_site(live)


@pytest.fixture
def page(chromium: Browser, sign_on_site: LiveSite) -> Iterator[Page]:
    context = chromium.new_context(base_url=sign_on_site.url)
    context.route(lambda url: "//127.0.0.1:" not in url, lambda route: route.abort())  # the provider's style sheet
    context.set_default_timeout(PATIENCE)
    complaints: list[ConsoleMessage] = []
    opened = context.new_page()
    opened.on("console", lambda message: complaints.append(message))  # playwright marks what it calls
    yield opened
    context.close()
    ours = [
        said.text for said in complaints if said.type == "error" and said.location["url"].startswith(sign_on_site.url)
    ]
    assert [text for text in ours if "status of 40" not in text] == []


def _sign_on(page: Page, subject: str, to: str = "/") -> None:
    page.context.clear_cookies()
    page.goto(to)
    page.get_by_role("link", name="Sign in with Example Org").click()
    page.get_by_placeholder("sub").fill(subject)
    page.get_by_role("button", name="Authorize").click()


def _audit(site: LiveSite, folder: Path, subject: str) -> list[tuple[str, ...]]:
    """Return who did what to a person's account, the oldest first."""
    filters = ("--subject", subject, "--output", str(folder / "audit.csv"))
    assert site.command("export_audit", *filters).returncode == 0
    with (folder / "audit.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    return [tuple(row[1:4]) for row in reversed(rows)]


def test_groups_give_the_role_anew_at_each_sign_in(
    page: Page, provider: Provider, sign_on_site: LiveSite, tmp_path: Path
) -> None:
    provider.put("grace", "it", "chess", given_name="Grace", family_name="Hopper")
    _sign_on(page, "grace", "/people/?q=gra")
    expect(page).to_have_url(f"{sign_on_site.url}/people/?q=gra")
    expect(page.locator(".rail-person-name small")).to_have_text("admin")

    provider.put("grace", "all")
    _sign_on(page, "grace", "/people/")
    expect(page.locator("h1")).to_have_text("You may not open this page")
    page.goto("/")
    expect(page.locator(".rail-person-name small")).to_have_text("annotator")

    provider.put("grace", "chess")
    _sign_on(page, "grace")
    expect(page.locator("h1")).to_have_text("Not signed in")
    expect(page.locator("main")).to_contain_text("None of your groups has a role here")
    assert faults(page) == []
    page.goto("/")
    expect(page).to_have_url(f"{sign_on_site.url}/login/?next=/")
    assert faults(page) == []
    assert _audit(sign_on_site, tmp_path, "grace") == [
        ("", "person.created", "grace"),
        ("grace", "session.opened", "grace"),
        ("", "person.changed", "grace"),
        ("grace", "session.opened", "grace"),
        ("", "person.changed", "grace"),
        ("grace", "session.refused", "grace"),
    ]


def test_a_verified_address_opens_the_account_that_is_here_and_a_link_connects_none(
    page: Page, provider: Provider, sign_on_site: LiveSite, tmp_path: Path
) -> None:
    made = sign_on_site.command("create_admin", "--username", "root", "--email", "mary@example.org")
    assert made.returncode == 0, made.stderr

    provider.put("mary", "lab", email="mary@example.org", email_verified=True)
    _sign_on(page, "mary")
    expect(page.locator(".rail-person-name")).to_contain_text("root")
    expect(page.locator(".rail-person-name small")).to_have_text("researcher")

    provider.put("eve", "lab", email="eve@example.org", email_verified=True)
    page.goto("/sign-on/?process=connect")
    page.get_by_placeholder("sub").fill("eve")
    page.get_by_role("button", name="Authorize").click()
    expect(page.locator("main")).to_contain_text("Single sign-on is for signing in only.")

    page.context.clear_cookies()
    page.goto("/sign-on/")
    page.get_by_role("button", name="Deny").click()
    expect(page.locator("main")).to_contain_text("Example Org did not sign you in.")
    assert _audit(sign_on_site, tmp_path, "root") == [
        ("", "person.created", "root"),
        ("", "person.changed", "root"),
        ("", "person.linked", "root"),
        ("root", "session.opened", "root"),
    ]
