"""A client of the site's API on requests, which needs neither Django nor the rest of this package.

    site = Evalsite("https://evals.example.org", token)
    site.upload("benchmark.jsonl", benchmark="Desk")
    run = site.wait(site.run(suite="desk", judges=["Lexical criteria (balance)"]))
    frame(site.scores("desk"))

`token` comes from the page API tokens, or from `manage.py token create`. What each call takes, and what rows hold, is
described at /api/v1/docs of the site.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

if TYPE_CHECKING:
    import pandas

Facts = dict[str, Any]  # of one thing, as the API shows it
RETRIED = (429, 502, 503, 504)  # answers that another try may change
ENDED = ("finished", "paused", "cancelled")
IN_WORK = ("checking", "running")


class EvalsiteError(Exception):
    """A refusal of the site: `status` of HTTP, the sentence, and sentences by field in `errors`."""

    def __init__(self, status: int, detail: str, errors: Mapping[str, list[str]]) -> None:
        self.status, self.detail, self.errors = status, detail, dict(errors)
        said = [f"{name}: {' '.join(sentences)}" for name, sentences in self.errors.items()]
        super().__init__(" ".join([f"{detail} (HTTP {status})", *said]))


class Evalsite:
    """A site, with the rights of a token.

    `patience`: how many seconds a call, or a wait for work of the site, may take with all its repetitions.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60, patience: float = 3600) -> None:
        self.url, self.timeout, self.patience = url.rstrip("/"), timeout, patience
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {token}"

    def call(self, method: str, path: str, entered: Mapping[str, Any] | None = None, **options: Any) -> Facts:
        """Return the answer of an operation, such as `call("POST", "runs/12/pause")`.

        What changes something carries an Idempotency-Key, so that it is done once however often it is sent. Lost
        connections, 429 and failures of a proxy are tried again, after as long as Retry-After says.

        Raises:
            EvalsiteError: the site refuses.
            requests.RequestException: the site was not reached while `patience` lasted.
        """
        if entered is not None:
            options["json"] = entered
        if method != "GET":
            options["headers"] = {"Idempotency-Key": uuid.uuid4().hex}
        with self._response(method, path, **options) as response:
            answer: Facts = response.json()
            return answer

    def rows(self, noun: str, **filters: Any) -> Iterator[Facts]:
        """Yield the rows of a list, such as `rows("runs", status="finished")`, the newest first."""
        after: int | None = None
        while True:
            page = self.call("GET", noun, params={**filters, "limit": 200, **({"after": after} if after else {})})
            yield from page["rows"]
            after = page["next"]
            if after is None:
                return

    def report(self, name: str, *, table: str, **choices: Any) -> Iterator[Facts]:
        """Yield the rows of a table of a report as they arrive; a report that is being computed is waited for."""
        params = {**choices, "table": table, "format": "jsonl"}
        with self._response("GET", f"reports/{name}", params=params, stream=True) as response:
            for line in response.iter_lines():
                if line:
                    yield json.loads(line)

    def upload(self, data: str | Path | Iterable[Mapping[str, Any]], **options: Any) -> Facts:
        """Import a file, or rows as JSON Lines, and return the upload with what was stored.

        `options` are those of the page: `benchmark`, `suite`, `system`, `kind` and so on. What is there already and did
        not change is stored once, so the same rows may be sent again.

        Raises:
            EvalsiteError: the files cannot be used; `errors` says why.
        """
        name, content = _file_of(data)
        made = self.call("POST", "uploads", data=_as_form(options), files={"uploaded": (name, content)})
        checked = self._ended_upload(made, "checked")
        return self._ended_upload(self.call("POST", f"uploads/{checked['id']}/confirm"), "done")

    def run(self, **entered: Any) -> Facts:
        """Start a run, such as `run(suite="desk", judges=["Lexical criteria (balance)"], budget="2.50")`."""
        return self.call("POST", "runs", entered)

    def wait(self, run: Facts | int) -> Facts:
        """Return a run with its figures once it has finished, paused or was cancelled."""
        key = run if isinstance(run, int) else run["run"]
        return self._until(f"runs/{key}", lambda facts: facts["status"] in ENDED)

    def scores(self, suite: str, *, query: str = "columns=judges") -> Iterator[Facts]:
        """Yield the scores of a suite, one for each response and grader.

        `query` is what the address of the page Results says after "?": at most 8 graders and 200 systems stand on it.
        """
        return self.report("results", table="rows", suite=suite, query=query)

    def board(self, suite: str, *, table: str = "systems", **choices: Any) -> list[Facts]:
        """Return the leaderboard of a suite: figures of judges, of people, and corrected where labels allow it."""
        return list(self.report("leaderboard", table=table, suite=suite, **choices))

    def queue(self, data: str | Path | Iterable[Mapping[str, Any]], **options: Any) -> Facts:
        """Make a review queue of a file or of rows, and return it; `options` are those of the page."""
        name, content = _file_of(data)
        return self.call("POST", "queues", data=_as_form(options), files={"file": (name, content)})

    def labels(self, queue: str) -> Iterator[Facts]:
        """Yield the items of a queue with their `label` (None: undecided), the newest first."""
        return self.rows("items", queue=queue)

    def _ended_upload(self, upload: Facts, status: str) -> Facts:
        facts = self._until(f"uploads/{upload['id']}", lambda facts: facts["status"] not in IN_WORK)
        if facts["status"] != status:
            said = [str(problem) for problem in facts["problems"]]
            raise EvalsiteError(422, f"The upload is {facts['status']}.", {"uploaded": said})
        return facts

    def _until(self, path: str, is_over: Callable[[Facts], bool]) -> Facts:
        deadline, pause = time.monotonic() + self.patience, 0.2
        while True:
            facts = self.call("GET", path)
            if is_over(facts):
                return facts
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} is still {facts['status']} after {self.patience:g} s.")
            time.sleep(pause)
            pause = min(2 * pause, 10)

    def _response(self, method: str, path: str, **options: Any) -> requests.Response:
        """Return an answer that is no refusal, after as many tries as `patience` allows."""
        deadline, pause, address = time.monotonic() + self.patience, 0.5, f"{self.url}/api/v1/{path}"
        while True:
            is_last, wait = time.monotonic() > deadline, pause
            try:
                response = self._session.request(method, address, timeout=self.timeout, **options)
            except (requests.ConnectionError, requests.Timeout):
                if is_last:
                    raise
            else:
                is_computing = method == "GET" and response.status_code == requests.codes.accepted
                if is_last or not (is_computing or response.status_code in RETRIED):
                    return _checked(response)
                wait = _seconds(response.headers.get("Retry-After", ""), pause)
                response.close()
            time.sleep(wait)
            pause = min(2 * pause, 30)


def frame(rows: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return rows as a data frame of pandas, which `pip install pandas` brings."""
    import pandas

    return pandas.DataFrame.from_records(list(rows))


def _checked(response: requests.Response) -> requests.Response:
    if response.ok:
        return response
    try:
        facts = response.json()
    except ValueError:
        facts = {}
    raise EvalsiteError(response.status_code, facts.get("detail", response.reason), facts.get("errors", {}))


def _seconds(said: str, otherwise: float) -> float:
    """Return the seconds that Retry-After says, at most five minutes."""
    return min(float(said), 300.0) if said.isascii() and said.isdigit() else otherwise


def _as_form(options: Mapping[str, Any]) -> Facts:
    """Return options as a form sends them beside files."""
    words = {True: "true", False: "false"}
    return {name: words[value] if isinstance(value, bool) else value for name, value in options.items()}


def _file_of(data: str | Path | Iterable[Mapping[str, Any]]) -> tuple[str, bytes]:
    if isinstance(data, str | Path):
        return Path(data).name, Path(data).read_bytes()
    lines = (json.dumps(row, ensure_ascii=False) for row in data)
    return "rows.jsonl", "\n".join(lines).encode()
