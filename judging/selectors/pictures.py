"""Reads stored images for requests to models and exports, and how many responses have any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from django.db.models import Q, QuerySet

from judging.llm.chat import ChatRequest, images_of, with_data
from judging.models import Picture, Response

CACHED_IMAGES = 64  # images that a process keeps for the next request


def with_pictures(request: ChatRequest) -> ChatRequest:
    """Return a request with the bytes of its images, as it is sent."""
    data: dict[str, bytes] = {}
    for digest in images_of(request):
        try:
            data[digest] = _data_of(digest)
        except Picture.DoesNotExist:
            continue
    return with_data(request, data) if images_of(request) else request


def picture_files(paths: Mapping[str, str]) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the files of an export, with what is stored of each image; `paths` by hash."""
    for digest, path in sorted(paths.items()):
        data = Picture.objects.filter(pk=digest).values_list("data", flat=True).first()
        if data is not None:
            yield path, [bytes(data)]


def count_with_images(responses: QuerySet[Response]) -> int:
    """Return how many of the responses have images, or whose case has. Two queries, of which each has an index."""
    bare = responses.order_by()
    of_cases = bare.filter(~Q(prompt__images=[])).count()
    return of_cases + bare.filter(~Q(images=[])).filter(prompt__images=[]).count()


@lru_cache(maxsize=CACHED_IMAGES)
def _data_of(digest: str) -> bytes:
    return bytes(Picture.objects.only("data").get(pk=digest).data)
