"""Requests cut in mid-body, over a plain socket, against both web servers that the site is started with."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from evalsite.accounts.roles import Role
from evalsite.review.models import Annotation, Assignment, Queue
from evalsite.serving import middleware
from evalsite.serving.middleware import NO_LENGTH, WholeBodyMiddleware, with_lengths
from evalsite.serving.supervisor import web_command
from tests import databases, factories

REPOSITORY = Path(__file__).resolve().parents[4]
READY_SECONDS = 90
CSRF = "c" * 32


@dataclass(slots=True)
class Site:
    """A web server, somebody signed in to it, and the item they are on."""

    port: int
    session: str
    item: str  # its address
    token: str
    takes_chunks: bool

    def send(
        self, path: str, body: bytes, *, content_type: str, length: int | None = None, in_chunks: bool = False
    ) -> bytes:
        """Send a POST whose connection ends after `body` and return the first line of the answer."""
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"Cookie: sessionid={self.session}; csrftoken={CSRF}",
            f"X-CSRFToken: {CSRF}",
            "Connection: close",
            f"Content-Type: {content_type}",
            "Transfer-Encoding: chunked" if in_chunks else f"Content-Length: {len(body) if length is None else length}",
        ]
        if in_chunks:
            body = b"%x\r\n%s\r\n" % (len(body), body) + (b"" if length else b"0\r\n\r\n")
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
            connection.shutdown(socket.SHUT_WR)
            heard = b""
            while piece := connection.recv(65536):
                heard += piece
        return heard.split(b"\r\n", 1)[0].split(b" ", 1)[1]


def _stored() -> list[object]:
    """Return the labels, drafts and number of queues in the site's database."""
    drafts = [claim.draft for claim in Assignment.objects.all()]
    return [list(Annotation.objects.values_list("label", flat=True)), drafts, Queue.objects.count()]


def _commands(port: int) -> dict[str, list[str]]:
    address = f"127.0.0.1:{port}"
    return {
        "gunicorn": web_command(address=address, web_processes=1),
        "runserver": [sys.executable, "manage.py", "runserver", "--noreload", "--insecure", address],
    }


@pytest.fixture(params=["gunicorn", "runserver"])
def site(request: pytest.FixtureRequest, transactional_db: None, tmp_path: Path) -> Iterator[Site]:
    """Return a site on the database of this test, served by one of the two web servers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environment = {**os.environ, "EVALSITE_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "evalsite.settings"}
    environment |= {"EVALSITE_DATABASE_URL": databases.address_of_test_database()}
    environment |= {"EVALSITE_LOG_LEVEL": "ERROR", "EVALSITE_REDIS_URL": "redis://127.0.0.1:1/0"}
    client = Client()
    client.force_login(factories.user("ada", Role.RESEARCHER))
    labels = [{"value": str(number), "text": str(number)} for number in range(11)]
    item = factories.review_item(queue=factories.queue(labels=labels), verdict=factories.verdict())
    client.post(f"/review/queues/{item.queue.slug}/next/")
    server = subprocess.Popen(
        _commands(port)[request.param],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        session, token = client.cookies["sessionid"].value, str(item.assignments.get().token)
        yield Site(port, session, item.address, token, takes_chunks=request.param == "gunicorn")
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_whole_body_middleware_refuses_every_body_that_is_cut(site: Site) -> None:
    form = f"token={site.token}&note=ann17%7C265&label=10".encode()
    edge = "edge"
    upload = (
        f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="pairs.csv"\r\n\r\n'
        "question,response_a,response_b\r\nq,a,b\r\n"
        f'--{edge}\r\nContent-Disposition: form-data; name="quorum"\r\n\r\n2\r\n'
        f'--{edge}\r\nContent-Disposition: form-data; name="mode"\r\n\r\nblind\r\n'
        f'--{edge}\r\nContent-Disposition: form-data; name="order"\r\n\r\ngiven\r\n--{edge}--\r\n'
    ).encode()
    multipart = f"multipart/form-data; boundary={edge}"
    url_encoded = "application/x-www-form-urlencoded"
    item = f"/review/items/{site.item}"

    answers = {
        "answer": site.send(f"{item}/annotate/", form[:-1], content_type=url_encoded, length=len(form)),
        "draft": site.send(f"{item}/draft/", form[:-1], content_type=url_encoded, length=len(form)),
        "nothing": site.send(f"{item}/draft/", b"", content_type=url_encoded, length=len(form)),
        "json": site.send(f"{item}/draft/", b'{"a": ', content_type="application/json", length=40),
        "file": site.send("/review/queues/new/", upload[:-80], content_type=multipart, length=len(upload)),
        "end": site.send("/review/queues/new/", upload[:-2], content_type=multipart, length=len(upload)),
        "chunks": site.send(f"{item}/annotate/", form, content_type=url_encoded, length=1000, in_chunks=True),
    }

    assert answers == dict.fromkeys(answers, b"400 Bad Request")
    assert _stored() == [[], [{}], 1]

    whole = [
        site.send("/review/queues/new/", upload, content_type=multipart, in_chunks=site.takes_chunks),
        site.send(f"{item}/annotate/", form, content_type=url_encoded, in_chunks=site.takes_chunks),
    ]

    assert whole == [b"302 Found", b"302 Found"]
    labels, _, queues = _stored()
    assert (labels, queues) == (["10"], 2)


@pytest.mark.parametrize(
    ("size", "ends", "length"), [(0, True, "0"), (9, True, "9"), (9, False, None), (10, True, None)]
)
def test_with_lengths_counts_what_came_in_chunks(
    size: int, ends: bool, length: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "MOST_CHUNKED_BYTES", 9)
    heard: list[tuple[str | None, str | None, bytes]] = []

    def application(environ: dict[str, Any], start_response: object) -> list[bytes]:
        length, coding = environ.get("CONTENT_LENGTH"), environ.get("HTTP_TRANSFER_ENCODING")
        heard.append((length, coding, environ["wsgi.input"].read() if length else b""))
        return []

    body = b"x" * size
    environ = {"HTTP_TRANSFER_ENCODING": "Chunked", "wsgi.input_terminated": ends, "wsgi.input": BytesIO(body)}
    with_lengths(application)(environ, None)

    assert heard == [(None, "Chunked", b"") if length is None else (length, None, body)]


def test_whole_body_middleware_refuses_a_body_without_a_length() -> None:
    def answer(request: HttpRequest) -> HttpResponse:
        return HttpResponse("seen")

    request = RequestFactory().post("/", headers={"Transfer-Encoding": "chunked"})
    request.META["CONTENT_LENGTH"] = ""

    with pytest.raises(BadRequest) as refusal:
        WholeBodyMiddleware(answer)(request)

    assert str(refusal.value) == NO_LENGTH
