"""Requests whose body is cut: a browser that loses its connection has sent a part of a form, never a form."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any

from django.core.exceptions import BadRequest
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParser
from django.utils.datastructures import MultiValueDict

CUT = "The connection ended before the request was complete. Nothing was stored. Send it again."
NO_LENGTH = "A request with a body must state its length (Content-Length)."


class WholeBodyMiddleware:
    """Reads the body of a request before anything looks at it, and refuses it with 400 where bytes are missing.

    Web servers hand on what has arrived when a connection ends early, and a form that is cut after `label=1` of
    `label=10` reads as a valid answer.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request once its body is here.

        Raises:
            BadRequest: a part of the body is missing, or its length is not said.
        """
        if "chunked" in request.headers.get("Transfer-Encoding", "").lower() and not _length(request):
            raise BadRequest(NO_LENGTH)
        if _length(request):
            try:
                _read_whole(request)
            except UnreadablePostError as error:
                raise BadRequest(CUT) from error
        return self.get_response(request)


def _length(request: HttpRequest) -> int:
    header = request.META.get("CONTENT_LENGTH") or "0"
    return int(header) if header.isascii() and header.isdigit() else 0


def _read_whole(request: HttpRequest) -> None:
    if request.method == "POST" and request.content_type == "multipart/form-data":
        request.upload_handlers.insert(0, _WholeUpload(request))
        request.POST  # noqa: B018  # reads the body: files go to disk as they come
    elif len(request.body) < _length(request):
        raise BadRequest(CUT)


class _WholeUpload(FileUploadHandler):
    """Parses an upload as Django does, from a stream that notices its early end."""

    def handle_raw_input(
        self,
        input_data: IO[bytes],
        META: dict[str, str],  # noqa: N803  # Django's name for it
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> tuple[Any, MultiValueDict[str, Any]]:
        """Return the fields and files of a whole upload."""
        assert self.request is not None
        others = [handler for handler in self.request.upload_handlers if handler is not self]
        stream = _WholeStream(input_data, content_length)
        return MultiPartParser(META, stream, others, encoding).parse()  # type: ignore[arg-type]  # reads only

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Hand the chunk on; another handler takes it."""
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to another handler."""


class _WholeStream:
    """A stream that has to hold `length` bytes."""

    def __init__(self, source: IO[bytes], length: int) -> None:
        self.source = source
        self.missing = length

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, none once all are read.

        Raises:
            BadRequest: the stream ends before its length.
        """
        data = self.source.read(size)
        self.missing -= len(data)
        if not data and size != 0 and self.missing > 0:
            raise BadRequest(CUT)
        return data
