"""The images that a debate is about, and the parts of a message that show them."""

from __future__ import annotations

from dataclasses import dataclass

from judging.llm.chat import MessagePart
from judging.specs.types import ImageSpec


@dataclass(frozen=True, slots=True)
class DebateImages:
    """The images of the question and of both responses, and the endpoints that are sent them."""

    question: tuple[ImageSpec, ...] = ()
    response_a: tuple[ImageSpec, ...] = ()
    response_b: tuple[ImageSpec, ...] = ()
    seen_by: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        return len(self.question) + len(self.response_a) + len(self.response_b)

    def parts_for(self, endpoint: str, *, order: int) -> tuple[MessagePart, ...]:
        """Return the images behind a line that says whose they are; none for an endpoint that is sent none.

        `order` is 0 where A is shown as response 1, and 1 where B is.
        """
        if endpoint not in self.seen_by:
            return ()
        first, second = (self.response_a, self.response_b) if order == 0 else (self.response_b, self.response_a)
        named = (("the question", self.question), ("submission 1", first), ("submission 2", second))
        parts: list[MessagePart] = []
        for owner, images in named:
            for number, image in enumerate(images, start=1):
                alt = f" ({image.alt})" if image.alt else ""
                parts.append(MessagePart(f"Image {number} of {owner}{alt}:"))
                parts.append(MessagePart(digest=image.digest, media_type=image.media_type))
        return tuple(parts)


NO_IMAGES = DebateImages()
