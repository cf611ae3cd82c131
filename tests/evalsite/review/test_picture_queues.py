"""Chats and pictures of a queue's file: shown as in runs, other pictures another item, recordings left out in words."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from PIL import Image

from evalsite.accounts.roles import Role
from evalsite.review.models import Material, Queue, ReviewItem
from evalsite.review.tables.queue_files import read_materials
from judging.models import Picture
from tests.evalsite.review.views.clients import signed_in, take

pytestmark = pytest.mark.django_db
ARABIC = "ما هذا؟"


def png(colour: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 3), colour).save(out, "PNG")
    return out.getvalue()


def asked(colour: str, text: str = "What is it?") -> list[dict[str, Any]]:
    """Return the messages of a question with a picture, as OpenAI's API takes them."""
    url = "data:image/png;base64," + base64.b64encode(png(colour)).decode()
    content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]


def lines(*rows: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def created(name: str, data: bytes) -> Any:
    lea, _ = signed_in("lea", Role.RESEARCHER)
    values = {"quorum": "1", "mode": "blind", "order": "given"}
    return lea.post(reverse("review:queue-create"), {"file": SimpleUploadedFile(name, data)} | values, follow=True)


def test_a_chat_with_a_picture_is_shown_as_turns_with_the_picture() -> None:
    created("chats.jsonl", lines({"id": "c1", "messages": asked("red", ARABIC), "response": "A red square."}))
    client, _ = signed_in("ada")

    page = client.get(reverse("review:item-detail", args=[take(client, Queue.objects.get()).item_id])).text

    material, picture = Material.objects.get(), Picture.objects.get()
    shown = client.get(picture.get_absolute_url())
    assert [turn["role"] for turn in material.turns["question"]] == ["system", "user"]
    assert material.images["question"][0]["digest"] == picture.digest
    assert (shown.status_code, shown["Content-Type"]) == (200, "image/png")
    assert picture.get_absolute_url() in page
    assert page.index("Be brief.") < page.index(ARABIC) < page.index(picture.get_absolute_url())
    assert 'dir="auto"' in page[page.rindex("<", 0, page.index(ARABIC) - 1) - 400 : page.index(ARABIC)]


def test_pictures_come_beside_a_table_in_an_archive_and_as_responses() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("set/items.csv", "id,question,image,response\np1,What is it?,a.png,A square.\n")
        archive.writestr("set/a.png", png("blue"))

    created("set.zip", out.getvalue())

    client, _ = signed_in("ada")
    page = client.get(reverse("review:item-detail", args=[take(client, Queue.objects.get()).item_id])).text
    assert Picture.objects.get().get_absolute_url() in page


def test_equal_texts_with_other_pictures_are_other_items() -> None:
    rows = [
        {"id": f"c{n}", "messages": asked(colour), "response": "A square."}
        for n, colour in enumerate(("red", "blue", "red"))
    ]

    created("chats.jsonl", lines(*rows))

    assert (Material.objects.count(), ReviewItem.objects.count(), Picture.objects.count()) == (3, 2, 2)


def test_a_picture_that_is_not_there_is_left_out_and_said() -> None:
    data = b"id,question,image,response\np1,What is it?,a.png,A square.\n"

    parsed = read_materials(data, "items.csv")

    assert parsed.value is not None
    assert parsed.value.rows[0].images == {}
    assert any("The image a.png" in str(warning) for warning in parsed.warnings)


def test_a_recording_is_left_out_and_said() -> None:
    heard = [
        {"type": "text", "text": "Listen."},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    ]
    data = lines({"id": "c1", "messages": [{"role": "user", "content": heard}], "response": "A bell."})

    parsed = read_materials(data, "chats.jsonl")

    assert parsed.value is not None
    assert parsed.value.rows[0].question == "Listen.\n[audio left out]"
    assert [warning.code for warning in parsed.warnings if "recording" in str(warning)] == ["left-out-audio"]
