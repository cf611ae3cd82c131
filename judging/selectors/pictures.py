"""Reads stored images for requests to models, and which responses have any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from django.db.models import Q, QuerySet

from judging.llm.chat import ChatRequest, images_of, with_data
from judging.models import Picture, Response

KEPT = 64  # images that a process keeps for the next request


def with_pictures(request: ChatRequest) -> ChatRequest:
    """Return a request with the bytes of its images, as it is sent."""
    found: dict[str, bytes] = {}
    for digest in images_of(request):
        try:
            found[digest] = _data_of(digest)
        except Picture.DoesNotExist:
            continue
    return with_data(request, found) if images_of(request) else request


def picture_files(paths: Mapping[str, str]) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the files of an export, with what is stored of each image; `paths` by hash."""
    for digest, path in sorted(paths.items()):
        data = Picture.objects.filter(pk=digest).values_list("data", flat=True).first()
        if data is not None:
            yield path, [bytes(data)]


def with_images(responses: QuerySet[Response]) -> QuerySet[Response]:
    """Return those of the responses that have images, or whose case has."""
    return responses.filter(~Q(images=[]) | ~Q(prompt__images=[]))


@lru_cache(maxsize=KEPT)
def _data_of(digest: str) -> bytes:
    return bytes(Picture.objects.only("data").get(pk=digest).data)
