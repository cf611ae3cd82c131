"""Pictures of an upload: what their bytes are, and which of them a row or a case names."""

from __future__ import annotations

import base64
import binascii
import io
import re
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from evalsite.base.types import JsonDict
from judging.specs.files.bundles import UNSAFE_PATH, Bundle, UnsafePath, folder_of, join_path
from judging.specs.files.findings import Findings, error_rule, shorten, warning_rule
from judging.specs.types import ImageSpec

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
    frames = 1 if image.format == "MPO" else int(getattr(image, "n_frames", 1))
    return PictureFile(sha256(data).hexdigest(), data, media_type, width, height, frames)


def encode_picture(data: bytes) -> bytes:
    """Return an image that `read_picture` took as it is stored, shown and sent: one frame, upright, without metadata.

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
    return out.getvalue()


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


MISSING_IMAGE = error_rule("missing-image", "Add the file to the upload; paths are relative to the file that names it.")
OMITTED_IMAGE = warning_rule("missing-image", "It is stored without this image; the path stays among its details.")
BAD_IMAGE = error_rule("bad-image", "Images are PNG, JPEG, WebP or GIF files.")
BAD_IMAGE_FIELD = error_rule(
    "bad-image-field", "Write the path of a file of the upload, a data URI, {path: …, alt: …}, or a list of these."
)
REMOTE_IMAGE = error_rule("remote-image", "Images are not fetched from elsewhere. Add the file to the upload.")
TOO_MANY_IMAGES = error_rule("too-many-images", "Split the case, or leave some out.")
FIRST_FRAME = warning_rule("first-frame", "No action is needed unless a later frame matters.")
UNUSED_IMAGES = warning_rule("unused-image", "No action is needed unless a case or response should have it.")

MAX_IMAGES = 20  # of one case or response
MAX_ALT = 500
IMAGE_FIELDS = ("image", "images")
RESPONSE_IMAGE_FIELDS = ("response_image", "response_images")
NAMED = 5  # unused files that a remark lists
_DATA_URI = re.compile(r"data:([\w.+/-]*)((?:;[\w.+=-]+)*),", re.IGNORECASE)
_BEGINNINGS = {"iVBORw0KGgo": "png", "/9j/": "jpeg", "R0lGOD": "gif", "UklGR": "webp"}  # of images in base64
_BASE64 = re.compile(rf"({'|'.join(_BEGINNINGS)})[A-Za-z0-9+/\s]{{40,}}=*\s*")
_DIGEST = re.compile(r"(?:^|/)([0-9a-f]{64})\.(?:png|jpg)$")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImageSource:
    """Where images are named: the file, the place in it, and the case or response that they belong to, in words."""

    file: str
    location: str
    owner: str
    top: str = ""  # a folder below which paths are looked for too


@dataclass(slots=True)
class PictureShelf:
    """The images of one upload that are named so far, by hash, and whether missing ones are let pass."""

    files: dict[str, PictureFile] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # paths
    by_path: dict[str, PictureFile | str] = field(default_factory=dict)  # the image, or why it is none
    by_name: dict[str, list[str]] | None = None  # paths by file name, made when a bare name is looked for
    is_cut: bool = False
    # Whether a file is what is stored of the image with a hash.
    is_stored_copy: Callable[[str, bytes], bool] = lambda digest, data: False


def shelf_of(bundle: Bundle) -> PictureShelf:
    """Return the images of an upload that were named so far."""
    return bundle.cached("pictures", PictureShelf)


def read_images(bundle: Bundle, findings: Findings, source: ImageSource, values: Iterable[object]) -> list[ImageSpec]:
    """Return the images that fields name, with every fault among the findings; empty fields name none."""
    entries = [entry for value in values for entry in (value if isinstance(value, list) else [value])]
    entries = [entry for entry in entries if entry not in (None, "", {})]
    if len(entries) > MAX_IMAGES:
        message = f"{source.owner} has {len(entries)} images; {MAX_IMAGES} at most."
        findings.add(TOO_MANY_IMAGES, source.file, source.location, message)
        return []
    reader = _ImageReader(bundle, findings, source, shelf_of(bundle))
    return [spec for entry in entries if (spec := reader.image(entry)) is not None]


def holds_data_uri(name: str, value: object) -> bool:
    """Return whether a field of images holds the bytes of one, which are no detail to keep as text."""
    is_image = name in (*IMAGE_FIELDS, *RESPONSE_IMAGE_FIELDS)
    return is_image and bool("data:image/" in str(value).lower() or _BASE64.fullmatch(str(value)))


def report_unused_images(bundle: Bundle, findings: Findings) -> None:
    """Remark on the images of an upload that nothing names."""
    unused = [path for path in bundle if is_picture_name(path) and path not in shelf_of(bundle).used]
    if unused:
        more = f" and {len(unused) - NAMED:,} more" if len(unused) > NAMED else ""
        count = f"{len(unused):,} images are" if len(unused) > 1 else "1 image is"
        message = f"{count} named by no case or response: {', '.join(unused[:NAMED])}{more}."
        findings.add(UNUSED_IMAGES, unused[0], "", message)


@dataclass(slots=True)
class _ImageReader:
    bundle: Bundle
    findings: Findings
    source: ImageSource
    shelf: PictureShelf

    def image(self, entry: object) -> ImageSpec | None:
        """Return one image; None, with a finding, where it cannot be had."""
        name, alt = _name_and_alt(entry)
        if not name:
            self.findings.add(
                BAD_IMAGE_FIELD, self.source.file, self.source.location, "This does not name an image.", shorten(entry)
            )
            return None
        if match := _BASE64.fullmatch(name):
            name = f"data:image/{_BEGINNINGS[match[1]]};base64,{name}"
        if name[:5].lower() == "data:":
            return self._of_data_uri(name, alt)
        if _ADDRESS.match(name):
            if not self._is_allowed_missing(f"{self.source.owner} names an image at an address.", name):
                message = f"{self.source.owner} names an image at an address."
                self.findings.add(REMOTE_IMAGE, self.source.file, self.source.location, message, name)
            return None
        return self._of_file(name, alt)

    def _of_file(self, name: str, alt: str) -> ImageSpec | None:
        tried: list[str] = []
        for folder in dict.fromkeys((folder_of(self.source.file), self.source.top, "")):
            try:
                path = join_path(folder, name)
            except UnsafePath as refusal:
                self.findings.add(UNSAFE_PATH, self.source.file, self.source.location, str(refusal), name)
                return None
            if path in self.bundle:
                return self._decoded(path, name, alt)
            tried.append(path)
        elsewhere = self._named(name)
        if len(elsewhere) == 1:
            return self._decoded(elsewhere[0], name, alt)
        message = f"The image {' or '.join(dict.fromkeys(tried))} of {self.source.owner} is not in the upload."
        if elsewhere:
            message = f"The image {name} of {self.source.owner} is in several folders: {', '.join(elsewhere[:NAMED])}."
        if not self._is_allowed_missing(message, name):
            self.findings.add(MISSING_IMAGE, self.source.file, self.source.location, message, name)
        return None

    def _named(self, name: str) -> list[str]:
        """Return the files of the upload with a bare name, in whatever folders they are."""
        if "/" in name or "\\" in name:
            return []
        if self.shelf.by_name is None:
            self.shelf.by_name = {}
            for path in self.bundle:
                self.shelf.by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return self.shelf.by_name.get(name, [])

    def _is_allowed_missing(self, message: str, name: str) -> bool:
        if self.shelf.is_cut:
            self.findings.add(OMITTED_IMAGE, self.source.file, self.source.location, message, name)
        return self.shelf.is_cut

    def _decoded(self, path: str, name: str, alt: str) -> ImageSpec | None:
        self.shelf.used.add(path)
        if path not in self.shelf.by_path:
            try:
                self.shelf.by_path[path] = self._read(path)
            except PictureRefused as refusal:
                self.shelf.by_path[path] = str(refusal)
        return self._kept(self.shelf.by_path[path], name, alt)

    def _read(self, path: str) -> PictureFile:
        """Return the image of a file; one that an export has named after the hash of a stored image is that image."""
        data = self.bundle.read(path)
        picture, named = read_picture(data, path), _DIGEST.search(path)
        if named is not None and self.shelf.is_stored_copy(named[1], data):
            return replace(picture, digest=named[1])
        return picture

    def _of_data_uri(self, uri: str, alt: str) -> ImageSpec | None:
        head = _DATA_URI.match(uri)
        if head is None or not head[2].lower().endswith(";base64"):
            return self._kept("is no data URI with base64, such as data:image/png;base64,….", "The data URI", alt)
        if len(uri) > MAX_BYTES * 2:
            return self._kept(f"has more than {MAX_BYTES:,} bytes. Save it smaller.", "The data URI", alt)
        try:
            data = base64.b64decode("".join(uri[head.end() :].split()), validate=True)
            picture: PictureFile | str = read_picture(data, head[1])
        except (binascii.Error, ValueError) as problem:
            is_refused = isinstance(problem, PictureRefused)
            picture = str(problem) if is_refused else "is cut off or holds other characters than those of base64."
        if not claimed_kind(head[1]) and not isinstance(picture, str):
            picture = f"has the type {head[1] or 'text/plain'}, which is no image that is read."
        return self._kept(picture, "", alt)

    def _kept(self, picture: PictureFile | str, name: str, alt: str) -> ImageSpec | None:
        """Put an image on the shelf and return it, or say what is wrong with it."""
        shown = name or "The image"
        if isinstance(picture, str):
            message = f"{self.source.owner}: {shown} {picture}"
            self.findings.add(BAD_IMAGE, self.source.file, self.source.location, message, name)
            return None
        if picture.frames > 1:
            message = f"{self.source.owner}: {shown} has {picture.frames:,} frames; the first one is taken."
            self.findings.add(FIRST_FRAME, self.source.file, self.source.location, message, name)
        self.shelf.files.setdefault(picture.digest, picture)
        return ImageSpec(
            picture.digest, picture.media_type, picture.width, picture.height, name=name[:300], alt=alt[:MAX_ALT]
        )


def _name_and_alt(entry: object) -> tuple[str, str]:
    """Return the path or data URI of an entry and its alternative text; an empty path where there is none."""
    if isinstance(entry, dict):
        fields: JsonDict = entry
        address: Any = fields.get("image_url")
        inner = address.get("url") if isinstance(address, dict) else address
        name = next((fields[key] for key in ("path", "url", "image") if isinstance(fields.get(key), str)), inner)
        alt = fields.get("alt")
        return (name.strip() if isinstance(name, str) else "", alt.strip() if isinstance(alt, str) else "")
    return (entry.strip(), "") if isinstance(entry, str) else ("", "")
