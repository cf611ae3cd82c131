"""Images are served to those who signed in, may be kept for ever and are taken for nothing else; pages show them."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.accounts.roles import Role
from judging.models import Case, Prompt
from judging.services.file_imports.imports import store_import
from judging.services.file_imports.intake import ImportOptions
from judging.specs.pictures import encode_picture
from tests import factories, image_files
from tests.judging import import_files

pytestmark = pytest.mark.django_db
ROWS = (
    {"id": 1, "question": "What is it?", "answer": "Red", "images": [{"path": "1.png", "alt": "A <red> field"}]},
    {"id": 2, "answer": "Red", "messages": [
        {"role": "user", "content": ["Look:", {"type": "image", "path": "1.png"}]},
        {"role": "assistant", "tool_calls": [{"id": "c9", "name": "zoom", "arguments": {"by": 2}}]},
        {"role": "user", "content": "Now what is it?"}]},
)  # fmt: skip
FILES = (("QA.jsonl", "\n".join(map(json.dumps, ROWS)).encode()), ("1.png", image_files.image()))


def client_as(role: Role) -> Client:
    client = Client()
    client.force_login(factories.user(role=role))
    return client


def stored() -> list[Prompt]:
    store_import(files=FILES, options=ImportOptions(), source="QA.jsonl", actor=None, at=factories.NOON)
    return list(Prompt.objects.order_by("key"))


def test_picture_is_served_with_its_type_and_for_ever() -> None:
    url = stored()[0].content.images[0].url
    client = client_as(Role.ANNOTATOR)

    answer = client.get(url)

    assert (answer.status_code, answer.content) == (200, encode_picture(image_files.image()))
    assert {name: answer[name] for name in ("Content-Type", "X-Content-Type-Options", "Cache-Control")} == {
        "Content-Type": "image/png",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, max-age=31536000, immutable",
    }
    assert client.get(url, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    assert Client().get(url).status_code == 302


def test_case_page_shows_images_with_their_words_and_turns_with_their_roles() -> None:
    shown, talk = stored()
    client = client_as(Role.RESEARCHER)

    first = client.get(Case.objects.get(prompt=shown).get_absolute_url()).text
    second = client.get(Case.objects.get(prompt=talk).get_absolute_url()).text

    url = shown.content.images[0].url
    assert (first.count(f'src="{url}"'), 'alt="A &lt;red&gt; field"' in first) == (1, True)
    assert (second.count(f'src="{url}"'), second.count('class="turn"')) == (1, 3)
    assert [word in second for word in ("Assistant", "Calls <code>zoom</code>", "{&quot;by&quot;: 2}")] == [True] * 3


def test_preview_of_an_import_shows_images_before_they_are_stored() -> None:
    client = client_as(Role.RESEARCHER)
    name, data = import_files.zipped(*FILES)

    page = client.post("/imports/new/", {"uploaded": SimpleUploadedFile(name, data)}, follow=True)
    url = page.text.split('class="picture" href="')[1].split('"')[0]
    answer = client.get(url)

    assert (answer.status_code, answer["Content-Type"]) == (200, "image/png")
    assert answer.content == encode_picture(image_files.image())
