"""Images are decoded whole before anything is stored, and stored without what they carry beside their pixels."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.pictures import (
    MAX_BYTES,
    ImageSource,
    PictureRefused,
    encode_picture,
    holds_data_uri,
    media_type_of,
    read_images,
    read_picture,
    report_unused_images,
    shelf_of,
)
from judging.specs.types import ImageSpec
from tests import image_files


def stored(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(encode_picture(data)))


@pytest.mark.parametrize(
    ("kind", "ending", "media_type"),
    [("PNG", ".png", "image/png"), ("JPEG", ".JPG", "image/jpeg"), ("WEBP", ".webp", "image/png"),
     ("GIF", ".gif", "image/png")],
)  # fmt: skip
def test_read_picture_takes_four_formats(kind: str, ending: str, media_type: str) -> None:
    data = image_files.image(kind)

    picture, encoded = read_picture(data, "a" + ending), encode_picture(data)

    assert (picture.media_type, picture.width, picture.height, picture.frames) == (media_type, 40, 20, 1)
    assert media_type_of(encoded) == media_type
    assert stored(data).size == (40, 20)


def test_encode_picture_turns_photos_upright_and_drops_what_cameras_note() -> None:
    data = image_files.turned_photo()

    picture, encoded = read_picture(data), encode_picture(data)

    assert (picture.width, picture.height, stored(data).size) == (20, 40, (20, 40))
    assert (b"secret" in data, b"secret" in encoded, dict(stored(data).getexif())) == (True, False, {})


def test_encode_picture_keeps_every_pixel_of_png_and_of_palettes() -> None:
    data = image_files.noise("PNG")

    assert stored(data).tobytes() == Image.open(io.BytesIO(data)).tobytes()
    assert encode_picture(encode_picture(data)) == encode_picture(data)  # again is the same


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
        (b"\x89PNG" + bytes(MAX_BYTES), "a.png", "10,485,764 bytes; 10,485,760 at most"),
    ],
)  # fmt: skip
def test_read_picture_refuses_what_is_no_image_or_too_large(data: bytes, claimed: str, message: str) -> None:
    with pytest.raises(PictureRefused) as refusal:
        read_picture(data, claimed)

    assert message in str(refusal.value)


RED, GREEN = image_files.image(), image_files.image("JPEG", colour=image_files.GREEN)
FILES = {"q/a.jsonl": b"", "q/images/1.png": RED, "2.jpg": GREEN, "q/bad.png": b"x", "q/film.gif": image_files.film()}
PLACE = ImageSource("q/a.jsonl", "line 3", "Case 7")


def read(*values: object, is_cut: bool = False) -> tuple[list[ImageSpec], list[str]]:
    bundle, findings = Bundle(FILES), Findings()
    shelf_of(bundle).is_cut = is_cut
    images = read_images(bundle, findings, PLACE, values)
    return images, [str(problem) for problem in findings.as_tuple()]


def test_read_images_finds_a_bare_name_in_any_folder_if_it_is_the_only_one() -> None:
    findings, files = Findings(), {"QA.jsonl": b"", "images/1.png": RED, "a/2.png": RED, "b/2.png": GREEN}
    source = ImageSource("QA.jsonl", "line 1", "Case 1")

    images = read_images(Bundle(files), findings, source, ["1.png", "2.png"])

    assert [image.name for image in images] == ["1.png"]
    message = "The image 2.png of Case 1 is in several folders: a/2.png, b/2.png."
    assert [problem.message for problem in findings.as_tuple()] == [message]


def test_read_images_takes_paths_lists_and_data_uris_once_each() -> None:
    bundle, findings = Bundle(FILES), Findings()
    entries: list[Any] = ["images/1.png", {"path": "2.jpg", "alt": "A green field"}, image_files.data_uri(RED)]
    bare = image_files.data_uri(RED).partition(",")[2]  # as tables of benchmarks have them

    images = read_images(bundle, findings, PLACE, ["", None, entries])

    assert read_images(bundle, findings, PLACE, [bare]) == images[2:]
    assert holds_data_uri("image", bare)
    red, green = (shelf_of(bundle).files[image.digest] for image in images[:2])
    assert images == [
        ImageSpec(red.digest, "image/png", 40, 20, name="images/1.png"),
        ImageSpec(green.digest, "image/jpeg", 40, 20, name="2.jpg", alt="A green field"),
        ImageSpec(red.digest, "image/png", 40, 20),
    ]
    assert ({red.data, green.data}, len(shelf_of(bundle).files), findings.listed) == ({RED, GREEN}, 2, [])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("images/2.png", "The image q/images/2.png or images/2.png of Case 7 is not in the upload."),
        ("../../etc/passwd.png", "leads outside the uploaded files"),
        ("https://example.org/1.png", "Case 7 names an image at an address."),
        ("bad.png", "Case 7: bad.png is no image that is read."),
        ("data:image/png;base64,AAA", "Case 7: The image is cut off or holds other characters"),
        ("data:image/png,xyz", "Case 7: The data URI is no data URI with base64"),
        (image_files.data_uri(RED, "image/jpeg"), "Case 7: The image is named as JPEG but is PNG."),
        (image_files.data_uri(b"<svg/>", "image/svg+xml"), "Case 7: The image is an SVG"),
        (image_files.data_uri(RED, "text/html"), "Case 7: The image has the type text/html"),
        (7, "This does not name an image."),
        ({"alt": "nothing"}, "This does not name an image."),
        (["images/1.png"] * 21, "Case 7 has 21 images; 20 at most."),
    ],
)
def test_read_images_says_what_is_wrong(value: object, message: str) -> None:
    images, problems = read(value)

    assert (images, len(problems), problems[0].startswith("q/a.jsonl, line 3: ")) == ([], 1, True)
    assert message in problems[0]


def test_read_images_of_a_cut_upload_leaves_missing_ones_out() -> None:
    images, problems = read("images/2.png", "https://example.org/1.png", is_cut=True)

    assert (images, len(problems), "stored without this image" in problems[0]) == ([], 2, True)


def test_read_images_takes_the_first_frame_with_a_remark() -> None:
    images, problems = read("film.gif")

    assert [(image.width, image.height) for image in images] == [(10, 10)]
    assert problems[0].startswith("q/a.jsonl, line 3: Case 7: film.gif has 3 frames; the first one is taken.")


def test_say_unused_names_images_that_nothing_names() -> None:
    bundle, findings = Bundle(FILES), Findings()
    read_images(bundle, findings, PLACE, ["images/1.png", "film.gif"])

    report_unused_images(bundle, findings)

    assert findings.listed[-1].message == "2 images are named by no case or response: 2.jpg, q/bad.png."
