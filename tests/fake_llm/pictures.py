"""What the fake server sees: images of a request, decoded, and the colours of stripes in one."""

from __future__ import annotations

import base64
import binascii
import io
from typing import Any

from PIL import Image

COLOURS = {
    "red": (220, 20, 30),
    "green": (20, 150, 50),
    "blue": (30, 60, 220),
    "yellow": (250, 220, 30),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}


def image_urls(request: dict[str, Any]) -> list[str]:
    """Addresses of every image part, in order."""
    parts = [part for message in request.get("messages") or () for part in _parts(message.get("content"))]
    return [part["image_url"]["url"] for part in parts if part.get("type") == "image_url"]


def decoded(url: str) -> tuple[bytes, Image.Image]:
    """The bytes of a data URI and the image that they are; ValueError for anything else."""
    head, _, text = url.partition(";base64,")
    if head not in ("data:image/png", "data:image/jpeg"):
        raise ValueError(f"not a data URI of an image: {url[:40]}")
    try:
        data = base64.b64decode(text, validate=True)
        image = Image.open(io.BytesIO(data))
        image.load()
    except (binascii.Error, OSError) as problem:
        raise ValueError(str(problem)) from problem
    return data, image.convert("RGB")


def stripe_colours(image: Image.Image, stripes: int = 4) -> list[str]:
    """The colours of equal stripes from left to right."""
    width, height = image.size
    seen = [image.getpixel(((2 * place + 1) * width // (2 * stripes), height // 2)) for place in range(stripes)]
    return [min(COLOURS, key=lambda name, pixel=pixel: _distance(COLOURS[name], pixel)) for pixel in seen]  # type: ignore[misc]


def _distance(colour: tuple[int, int, int], pixel: Any) -> int:
    return sum((one - other) ** 2 for one, other in zip(colour, pixel, strict=True))


def _parts(content: Any) -> list[dict[str, Any]]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
