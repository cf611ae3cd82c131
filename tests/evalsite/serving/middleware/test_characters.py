"""A NUL in an address or a form never reaches a view."""

from __future__ import annotations

from io import BytesIO

import pytest
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from evalsite.serving.middleware import NUL, TextMiddleware

pytestmark = pytest.mark.backend_free
ANSWERS = TextMiddleware(lambda request: HttpResponse("answered"))


def refused(request: HttpRequest) -> bool:
    """Return whether the middleware refuses a request."""
    try:
        return ANSWERS(request).content != b"answered"
    except BadRequest:
        return True


def test_text_middleware_refuses_nul_in_addresses_and_forms_only() -> None:
    make = RequestFactory()
    upload = {"note": "fine", "file": BytesIO(b"a\0b")}

    found = [
        refused(request)
        for request in (
            make.get("/runs/?q=%00"),
            make.get("/runs/%00/"),
            make.post("/runs/", {"note": "a\0b"}),
            make.get("/runs/?q=%2500&page=0"),
            make.post("/runs/", {"note": "plain"}),
            make.post("/runs/", upload),
        )
    ]

    assert found == [True, True, True, False, False, False]


def test_the_page_of_a_refused_request_says_why(client: Client) -> None:
    page = client.get("/runs/?q=%00")

    assert (page.status_code, NUL in page.text) == (400, True)
