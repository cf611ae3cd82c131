"""Image files: what may be imported, checked by decoding all of it, and encoded again without metadata."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image  # loaded where a file is opened: commands without images do not wait for it

MAX_BYTES = 10 * 2**20  # of one file; as much as any provider takes
MAX_PIXELS = 40_000_000
MAX_SIDE = 8_000  # pixels; as much as any provider takes
JPEG_QUALITY = 95
KINDS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
ENDINGS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".jfif": "JPEG", ".webp": "WEBP", ".gif": "GIF"}
_PLAIN_MODES = frozenset({"1", "L", "LA", "RGB", "RGBA"})
_BROKEN = (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError, struct.error, zlib.error, OverflowError)


class PictureRefused(ValueError):
    """A file is no image that can be stored; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class PictureFile:
    """An image file that was decoded whole. `digest` is the SHA-256 of the file as it was uploaded."""

    digest: str
    data: bytes
    media_type: str  # of what is stored
    width: int  # pixels, as people see it
    height: int
    frames: int = 1


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """An image as it is stored, shown and sent: one frame, upright, without metadata."""

    data: bytes
    media_type: str


def read_picture(data: bytes, claimed: str = "") -> PictureFile:
    """Return an image file, decoded to its end. `claimed` is the ending or media type that it goes by.

    Raises:
        PictureRefused: too large, of another format than it claims or than is read, or damaged.
    """
    if len(data) > MAX_BYTES:
        raise PictureRefused(f"has {len(data):,} bytes; {MAX_BYTES:,} at most. Save it smaller.")
    image = _opened(data, claimed)
    width, height = upright_size(image)
    media_type = KINDS["JPEG" if _kind(image) == "JPEG" else "PNG"]
    return PictureFile(sha256(data).hexdigest(), data, media_type, width, height, _frames(image))


def encode_picture(data: bytes) -> StoredPicture:
    """Return an image that `read_picture` took, encoded again.

    JPEG stays JPEG, with its own tables where its pixels are; everything else becomes PNG, which loses nothing and
    which every endpoint that sees takes.
    """
    from PIL import ImageOps

    image = _opened(data, "")
    turned = ImageOps.exif_transpose(image)
    out = io.BytesIO()
    if _kind(image) == "JPEG":
        plain = turned if turned.mode in ("L", "RGB") else turned.convert("RGB")
        is_same = image.format == "JPEG" and plain.size == image.size and _orientation(image) in (0, 1)
        bare = image if is_same and image.mode in ("L", "RGB") else _bare(plain)
        quality: int | str = "keep" if bare is image else JPEG_QUALITY
        bare.save(out, "JPEG", quality=quality, exif=b"", icc_profile=None, comment=b"", optimize=True)
    else:
        _bare(_in_plain_mode(turned)).save(out, "PNG", optimize=False, compress_level=6)
    return StoredPicture(out.getvalue(), KINDS["JPEG" if _kind(image) == "JPEG" else "PNG"])


def media_type_of(data: bytes) -> str:
    """Return what an image that `encode_picture` made is."""
    return KINDS["PNG" if data.startswith(b"\x89PNG") else "JPEG"]


def claimed_kind(name: str) -> str:
    """Return the format that a file's ending or a media type claims; empty for none that is read."""
    lower = name.lower()
    by_type = {media_type: kind for kind, media_type in KINDS.items()} | {"image/jpg": "JPEG"}
    return by_type.get(lower) or next((kind for ending, kind in ENDINGS.items() if lower.endswith(ending)), "")


def is_picture_name(name: str) -> bool:
    """Return whether a file is named as an image that is read."""
    return name.lower().endswith(tuple(ENDINGS))


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Return width and height with the camera's orientation applied."""
    width, height = image.size
    return (height, width) if _orientation(image) >= 5 else (width, height)


def _opened(data: bytes, claimed: str) -> Image.Image:
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS  # beyond it Pillow warns, and beyond twice that it refuses by itself
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if claimed.lower() in ("image/svg+xml",) or claimed.lower().endswith((".svg", ".svgz")) or b"<svg" in head:
        raise PictureRefused("is an SVG, which can hold programs and is not read. Export it as PNG.")
    try:
        image = Image.open(io.BytesIO(data), formats=tuple(KINDS))
        _check_head(image, claimed)
        image.load()
    except UnidentifiedImageError:
        raise PictureRefused("is no image that is read. Save it as PNG, JPEG, WebP or GIF.") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureRefused(f"has more than {MAX_PIXELS:,} pixels. Scale it down.") from None
    except PictureRefused:
        raise
    except _BROKEN as problem:
        raise PictureRefused(f"is damaged or cut off ({str(problem)[:100]}). Save it again.") from None
    return image


def _check_head(image: Image.Image, claimed: str) -> None:
    """Check what the head of a file says, before its pixels are decoded."""
    kind, named_kind = _kind(image), claimed_kind(claimed)
    if named_kind and kind != named_kind:
        raise PictureRefused(f"is named as {named_kind} but is {kind}. Give it the ending that it has.")
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise PictureRefused(f"has {width:,} x {height:,} pixels; {MAX_PIXELS:,} in all at most. Scale it down.")
    if max(width, height) > MAX_SIDE:
        raise PictureRefused(f"has {width:,} x {height:,} pixels; {MAX_SIDE:,} a side at most. Scale it down.")


def _kind(image: Image.Image) -> str:
    return "JPEG" if image.format == "MPO" else str(image.format)  # cameras put a preview behind the first JPEG


def _frames(image: Image.Image) -> int:
    return 1 if image.format == "MPO" else int(getattr(image, "n_frames", 1))


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(0x0112, 1) or 1)
    except _BROKEN:
        return 1


def _in_plain_mode(image: Image.Image) -> Image.Image:
    if image.mode in _PLAIN_MODES and "transparency" not in image.info:
        return image
    if image.mode.startswith("I"):  # 16 bits a pixel
        import numpy as np  # images of such depth are rare
        from PIL import Image

        return Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).clip(0, 255).astype(np.uint8))
    return image.convert("RGBA" if "transparency" in image.info or image.mode in ("PA", "La", "RGBa") else "RGB")


def _bare(image: Image.Image) -> Image.Image:
    """Return the pixels alone."""
    bare = image.copy()
    bare.info = {}
    return bare
