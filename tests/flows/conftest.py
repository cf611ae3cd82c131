"""A live site for flows: `manage.py demo` in a folder of its own, with real workers, driven by a real browser.

The flows of one process share one site (`tests/sharing.py` says which run together). With EVALSITE_DATABASE_URL and
EVALSITE_REDIS_URL set, the site gets a database of its own on that server and uses that Redis; without, SQLite and the
embedded broker.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests import databases

REPOSITORY = Path(__file__).resolve().parents[2]
READY_SECONDS = 300
ACCOUNT = re.compile(r"^\s+(?:annotator|researcher|admin)\s+(\S+)\s+(\S+)\s*$", re.MULTILINE)
PAINTED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
PATIENCE = 180_000
expect.set_options(timeout=PATIENCE)
# what htmx says of a request that ends as its page is left; the browser itself tells of a server that does not answer
GIVEN_UP = ("htmx:afterRequest", "htmx:sendError", "htmx:sendAbort")
FIRST_REDIS_DATABASE = 8  # the tests' own settings begin at 12
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass(slots=True)
class LiveSite:
    """A running demo."""

    url: str
    data_dir: Path
    environment: dict[str, str]
    passwords: dict[str, str]
    process: subprocess.Popen[bytes] | None = None  # where this process started it
    commands: subprocess.Popen[str] | None = None  # runs one after another: each start of Django takes seconds

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a management command on the site's data and return what it said."""
        code, out, complaints = self.ask("manage", *arguments)
        return subprocess.CompletedProcess(arguments, code, out, complaints)

    def ask(self, *words: str) -> Any:
        """Return what `command_process` answers."""
        if self.commands is None:
            self.commands = subprocess.Popen(
                [sys.executable, "-m", "tests.flows.command_process"],
                cwd=REPOSITORY,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.commands.stdin is not None
        assert self.commands.stdout is not None
        self.commands.stdin.write(json.dumps(words) + "\n")
        self.commands.stdin.flush()
        return json.loads(self.commands.stdout.readline())


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_chromium() -> str:
    """Return the system's Chromium, where there is one without a window, which takes a quarter less; skip without."""
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    pytest.skip("no Chromium on this machine; `make browser` installs Debian's")


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Return the headless Chromium of this process. It ends with the flows, since other tests may need an event loop.

    Django would refuse to query beside that of Playwright, which never interrupts a query.
    """
    path = find_chromium()
    with sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Return the Chromium of this process, and close what the test opened in it."""
    yield chromium
    close_pages(chromium)


def close_pages(browser: Browser) -> None:
    """Close all that is open in a browser."""
    for context in browser.contexts:
        context.close()


@pytest.fixture(scope="package")
def site(django_db_setup: None) -> Iterator[LiveSite]:
    """Return a running demo, which ends with the flows; nothing starts where there is no browser."""
    find_chromium()
    folder = Path(tempfile.mkdtemp(prefix="evalsite-flow-"))
    try:
        with databases.own_database(folder) as url:
            live = start_demo(folder, url, further=0)
            try:
                yield live
            finally:
                stop_site(live)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_site(django_db_setup: None) -> LiveSite:
    """Return the one demo of all processes of this run: the first that asks starts it, the last that asks ends it."""
    with databases.alone("shared-demo"):
        if databases.SHARED_DEMO.exists():
            facts = json.loads(databases.SHARED_DEMO.read_text())
            return LiveSite(facts["url"], Path(facts["folder"]), facts["environment"], facts["passwords"])
        find_chromium()
        folder = tempfile.mkdtemp(prefix="evalsite-flow-")
        live = start_demo(Path(folder), databases.make_own_database(Path(folder)), further=-8)
        facts = {"url": live.url, "folder": folder, "environment": live.environment, "passwords": live.passwords}
        databases.SHARED_DEMO.write_text(json.dumps({**facts, "pid": live.process.pid if live.process else 0}))
        return live


def end_shared_site() -> None:
    """Stop the demo that the processes of this run shared, and remove its data."""
    facts = json.loads(databases.SHARED_DEMO.read_text())
    databases.SHARED_DEMO.unlink()
    with suppress(ProcessLookupError):
        os.kill(facts["pid"], signal.SIGINT)
    deadline = time.monotonic() + 60
    while _is_running(facts["pid"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    databases.drop_own_database(facts["environment"]["EVALSITE_DATABASE_URL"])
    shutil.rmtree(facts["folder"], ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def start_demo(folder: Path, database_url: str, *, further: int) -> LiveSite:
    """Start a demo on a migrated database, with the broker under test."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsite.settings", "EVALSITE_LOG_LEVEL": "WARNING"}
    environment |= {"EVALSITE_DEMO": "1", "EVALSITE_DATA_DIR": str(folder), "EVALSITE_DATABASE_URL": database_url}
    environment.pop("EVALSITE_SECRET_KEY", None)
    if databases.ON_POSTGRES:
        base = os.environ["EVALSITE_REDIS_URL"].rsplit("/", 1)[0]
        number = FIRST_REDIS_DATABASE + further + int(os.environ["EVALSITE_TEST_PROCESS"]) % 4
        environment["EVALSITE_REDIS_URL"] = f"{base}/{number}"  # two sites never share one
        import redis

        redis.Redis.from_url(environment["EVALSITE_REDIS_URL"]).flushdb()
    return start_site(free_port(), folder, environment)


def start_site(port: int, folder: Path, environment: dict[str, str]) -> LiveSite:
    """Start the demo and wait until it says that it is ready."""
    output = folder / "said"
    with output.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "demo", "--port", str(port)],
            cwd=REPOSITORY,
            env=environment,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    live = LiveSite(f"http://127.0.0.1:{port}", folder, environment, {}, process)
    deadline = time.monotonic() + READY_SECONDS
    while len(live.passwords) < 5:
        if process.poll() is not None or time.monotonic() > deadline:
            stop_site(live)
            log = folder / "demo.log"
            lines = log.read_text().splitlines()[-60:] if log.exists() else []
            pytest.fail("\n".join(["the demo did not start:", output.read_text(), *lines]))
        time.sleep(0.1)
        live.passwords = dict(ACCOUNT.findall(output.read_text()))
    return live


def stop_site(live: LiveSite) -> None:
    """Stop the demo as Ctrl-C does; fail loudly where it does not end."""
    if live.commands is not None:
        live.commands.communicate(timeout=60)  # ends with its input
    if live.process is not None and live.process.poll() is None:
        live.process.send_signal(signal.SIGINT)
        live.process.wait(timeout=60)


def make_queue(site: LiveSite, folder: Path, name: str, row: dict[str, str]) -> str:
    """Make a queue of one pair that asks five people and return its slug."""
    path = folder / "pair.jsonl"
    path.write_text(json.dumps(row))
    made = site.command("queue", "create", "--file", str(path), "--name", name, "--quorum", "5", "--json")
    assert made.returncode == 0, made.stderr
    return str(json.loads(made.stdout)["queue"])


def open_item(page: Page, queue: str) -> None:
    """Open the next item of the queue, once it is there: the demo's debates take a while."""
    page.goto(f"/review/queues/{queue}/")
    reload_until(page, lambda: page.locator("form[action$='/next/'] button").count() > 0)
    page.locator("form[action$='/next/'] button").first.click()
    expect_item(page)


def reload_until(page: Page, holds: Callable[[], bool]) -> None:
    """Load the page again until something holds that a worker brings about."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < deadline, page.locator("main").inner_text()
        page.wait_for_timeout(300)
        page.reload()


def expect_item(page: Page) -> None:
    """Wait for an item whose keys are alive: they are dead until its scripts have run and it has been painted."""
    expect(page.locator("#item-panel")).to_be_visible()
    page.wait_for_load_state()
    page.evaluate(PAINTED)


@pytest.fixture
def signed_in(chromium: Browser, site: LiveSite) -> Iterator[SignIn]:
    """Return a function that opens an empty page signed in as a person of the demo."""
    opener = SignIn(chromium, site)
    yield opener
    opener.close()


@dataclass(slots=True)
class SignIn:
    """Opens pages signed in as people of the demo, and gathers what the browser complains of."""

    browser: Browser
    site: LiveSite
    pages: list[Page] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __call__(self, username: str, **context: object) -> Page:
        page = self.browser.new_context(base_url=self.site.url, **context).new_page()  # type: ignore[arg-type]
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self._hear(message))  # playwright cannot mark a method of a slotted class
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.pages.append(page)
        cookie = {"name": "sessionid", "value": self.site.ask("session", username), "url": self.site.url}
        page.context.add_cookies([cookie])  # type: ignore[list-item]  # the form is filled in in other tests
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(GIVEN_UP):
            log = self.site.data_dir / "demo.log"
            said = log.read_text()[-6000:] if "500" in message.text and log.exists() else ""  # why a page failed
            self.complaints.append(f"{message.text}\n{said}".strip())

    def close(self) -> None:
        for page in self.pages:
            page.context.close()
