"""A picture drawn for one test of an endpoint: who names its colours in their order has seen it."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from hashlib import sha256
from random import SystemRandom

from PIL import Image

from judging.llm.chat import ChatRequest, Message, MessagePart

COLOURS = {
    "red": (220, 20, 30),
    "green": (20, 150, 50),
    "blue": (30, 60, 220),
    "yellow": (250, 220, 30),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}
STRIPES = 4
STRIPE_SIZE = (80, 160)  # pixels
QUESTION = (
    f"The picture has {STRIPES} vertical stripes. Name their colours from left to right, separated by commas, and "
    f"write nothing else. The colours are among {', '.join(COLOURS)}."
)
_WORD = re.compile(r"\b(" + "|".join(COLOURS) + r")\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SightTest:
    """A request with a picture, and the colours that a right answer names; a guess is right once in 360."""

    request: ChatRequest
    colours: tuple[str, ...]

    def is_passed(self, reply: str) -> bool:
        """Return whether a reply names the colours, each once and in their order."""
        return [word.lower() for word in _WORD.findall(reply)] == list(self.colours)


def new_sight_test() -> SightTest:
    """Return a test whose answer nobody knows before."""
    colours = tuple(SystemRandom().sample(sorted(COLOURS), STRIPES))
    width, height = STRIPE_SIZE
    picture = Image.new("RGB", (width * STRIPES, height))
    for place, colour in enumerate(colours):
        picture.paste(COLOURS[colour], (place * width, 0, (place + 1) * width, height))
    out = io.BytesIO()
    picture.save(out, "PNG")
    data = out.getvalue()
    part = MessagePart(digest=sha256(data).hexdigest(), media_type="image/png", data=data)
    return SightTest(ChatRequest((Message("user", QUESTION, (part,)),), temperature=None, max_tokens=200), colours)
