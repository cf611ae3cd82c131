"""Images are decoded whole before anything is stored, and stored without what they carry beside their pixels."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from judging.specs.pictures import picture_formats
from judging.specs.pictures.picture_formats import PictureRefused, encode_picture, read_picture
from tests import image_files


def stored(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(encode_picture(data).data))


@pytest.mark.parametrize(
    ("kind", "ending", "media_type"),
    [("PNG", ".png", "image/png"), ("JPEG", ".JPG", "image/jpeg"), ("WEBP", ".webp", "image/png"),
     ("GIF", ".gif", "image/png")],
)  # fmt: skip
def test_read_picture_takes_four_formats(kind: str, ending: str, media_type: str) -> None:
    data = image_files.image(kind)

    picture, encoded = read_picture(data, "a" + ending), encode_picture(data)

    assert (picture.media_type, picture.width, picture.height, picture.frames) == (media_type, 40, 20, 1)
    assert (encoded.media_type, picture_formats.media_type_of(encoded.data)) == (media_type, media_type)
    assert stored(data).size == (40, 20)


def test_encode_picture_turns_photos_upright_and_drops_what_cameras_note() -> None:
    data = image_files.turned_photo()

    picture, encoded = read_picture(data), encode_picture(data)

    assert (picture.width, picture.height, stored(data).size) == (20, 40, (20, 40))
    assert (b"secret" in data, b"secret" in encoded.data, dict(stored(data).getexif())) == (True, False, {})


def test_encode_picture_keeps_every_pixel_of_png_and_of_palettes() -> None:
    data = image_files.noise("PNG")

    assert stored(data).tobytes() == Image.open(io.BytesIO(data)).tobytes()
    assert encode_picture(encode_picture(data).data) == encode_picture(data)  # again is the same


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_encode_picture_takes_the_first_frame(kind: str) -> None:
    data = image_files.film(kind)

    assert read_picture(data).frames == 3
    assert (getattr(stored(data), "n_frames", 1), stored(data).convert("RGB").getpixel((5, 5))) == (1, (0, 0, 0))


@pytest.mark.parametrize(
    ("data", "claimed", "message"),
    [
        (image_files.noise("PNG")[:3000], "a.png", "damaged or cut off"),
        (image_files.noise("JPEG")[:1500], "a.jpg", "damaged or cut off"),
        (image_files.noise("WEBP")[:1000], "a.webp", "damaged or cut off"),
        (image_files.noise("GIF")[:1000], "a.gif", "damaged or cut off"),
        (b"<?xml version='1.0'?><svg onload='x'/>", "a.svg", "SVG, which can hold programs"),
        (b"<svg onload='x'/>", "a.png", "SVG, which can hold programs"),
        (image_files.image("JPEG"), "a.png", "named as PNG but is JPEG"),
        (image_files.image("BMP"), "a.bmp", "no image that is read"),
        (b"GIF89a<script>alert(1)</script>", "a.gif", "is"),
        (b"", "a.png", "no image that is read"),
        (image_files.bomb(), "a.png", "40,000,000 pixels"),
        (image_files.image(size=(9000, 2)), "a.png", "9,000 x 2 pixels; 8,000 a side"),
        (b"\x89PNG" + bytes(picture_formats.MAX_BYTES), "a.png", "10,485,764 bytes; 10,485,760 at most"),
    ],
)  # fmt: skip
def test_read_picture_refuses_what_is_no_image_or_too_large(data: bytes, claimed: str, message: str) -> None:
    with pytest.raises(PictureRefused) as refusal:
        read_picture(data, claimed)

    assert message in str(refusal.value)
