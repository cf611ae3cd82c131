"""Image files for tests, made as they are needed."""

from __future__ import annotations

import base64
import io
import struct
import zlib

import numpy as np
from PIL import Image

RED, GREEN = (200, 30, 60), (20, 160, 70)
ORIENTATION, DESCRIPTION = 0x0112, 0x010E  # tags of EXIF


def image(kind: str = "PNG", *, size: tuple[int, int] = (40, 20), colour: tuple[int, int, int] = RED) -> bytes:
    """Return an image of one colour."""
    return _saved(Image.new("RGB", size, colour), kind)


def noise(kind: str) -> bytes:
    """Return an image that does not compress, so that a part of it is not the whole."""
    return _saved(Image.fromarray(np.random.default_rng(0).integers(0, 255, (60, 60, 3), dtype=np.uint8)), kind)


def turned_photo() -> bytes:
    """Return a JPEG of 40 x 20 pixels that a camera held upright has taken, with a secret among its details."""
    exif = Image.Exif()
    exif[ORIENTATION], exif[DESCRIPTION] = 6, "secret place"
    out = io.BytesIO()
    Image.new("RGB", (40, 20), RED).save(out, "JPEG", exif=exif)
    return out.getvalue()


def film(kind: str = "GIF") -> bytes:
    """Return an image with three frames, the first of them black."""
    frames = [Image.new("RGB", (10, 10), (number * 90, 0, 0)) for number in range(3)]
    out = io.BytesIO()
    frames[0].save(out, kind, save_all=True, append_images=frames[1:])
    return out.getvalue()


def bomb() -> bytes:
    """Return a PNG of 100 bytes whose head says that it has 900 million pixels."""
    head = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(b"0" * 100)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def data_uri(data: bytes, media_type: str = "image/png") -> str:
    """Return bytes as a data URI."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def _saved(picture: Image.Image, kind: str) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind)
    return out.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
