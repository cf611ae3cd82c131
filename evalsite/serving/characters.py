"""Requests with a NUL character, which no text holds and PostgreSQL refuses: browsers never send one by themselves."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

NUL = "The address or the form contains a NUL character, which is not allowed in text. Nothing was stored."


class TextMiddleware:
    """Refuses a NUL in an address or in a field of a form with 400, before any view reads it. Files may hold NULs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request.

        Raises:
            BadRequest: its address or a field of its form holds a NUL.
        """
        if "\0" in request.path or "\0" in unquote(request.META.get("QUERY_STRING", "")) or _form_has_nul(request):
            raise BadRequest(NUL)
        return self.get_response(request)


def _form_has_nul(request: HttpRequest) -> bool:
    return request.method == "POST" and any("\0" in text for _, texts in request.POST.lists() for text in texts)
