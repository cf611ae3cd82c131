"""Results show conversations turn by turn and images, in exports too; a bundle of the board holds the images."""

from __future__ import annotations

import io
import json
import zipfile
from hashlib import sha256

import pytest
from django.test import Client
from django.urls import reverse

from judging.models import Picture, Prompt, Response
from tests import image_files
from tests.evalsite.reports.conftest import Scored
from tests.factories import NOON

pytestmark = pytest.mark.django_db
TALK = [
    {"role": "system", "parts": [{"text": "Be brief."}]},
    {"role": "user", "parts": [{"text": "What is this?"}, {"image": 0}]},
    {"role": "assistant", "parts": [{"text": "A wall."}]},
    {"role": "user", "parts": [{"text": "Which colour has it?"}]},
]
CALL = {"id": "c1", "name": "zoom", "arguments": "{}"}
SAID = [
    {
        "role": "assistant",
        "parts": [{"text": "Let me look."}],
        "calls": [CALL],
    },
    {"role": "tool", "parts": [{"text": "200 30 60"}], "call_id": "c1"},
    {"role": "assistant", "parts": [{"text": "Red."}]},
]


@pytest.fixture
def digest(scored: Scored) -> str:
    """Make a conversation with an image of the first case, and one of ada's response; return the image's hash."""
    data = image_files.image()
    digest = sha256(data).hexdigest()
    Picture.objects.create(digest=digest, media_type="image/png", data=data, created_at=NOON)
    shown = [{"digest": digest, "media_type": "image/png", "width": 40, "height": 20, "alt": "a wall"}]
    Prompt.objects.filter(key="case-1").update(messages=TALK, images=shown)
    Response.objects.filter(prompt__key="case-1", system=scored.ada).update(messages=SAID, text="all of it")
    return digest


def test_rows_name_the_last_turn_and_a_row_shows_all(researcher: Client, scored: Scored, digest: str) -> None:
    address = reverse("reports:results-detail", args=[scored.suite.pk])

    table = researcher.get(address).content.decode()
    row = researcher.get(f"{address}?row={scored.cases[0].pk}").content.decode()

    assert "4 turns · 1 image · User: Which colour has it?" in table
    assert row.count('class="turn"') == len(TALK) + len(SAID)
    assert f'src="{reverse("judging:picture", args=[digest])}"' in row
    assert "<code>zoom</code>" in row


def test_exports_name_images_by_hash_and_hold_the_messages(researcher: Client, scored: Scored, digest: str) -> None:
    results = reverse("reports:results-export", args=[scored.suite.pk, "rows", "jsonl"])
    of_case = reverse("reports:case-export", args=[scored.cases[0].pk, "jsonl"])

    rows = [json.loads(line) for line in b"".join(researcher.get(results)).splitlines()]
    lines = [json.loads(line) for line in b"".join(researcher.get(of_case)).splitlines()]

    row = next(row for row in rows if (row["case"], row["system"]) == ("case-1", "ada"))
    assert (row["prompt_images"], row["response_images"]) == ([digest], [])
    assert row["prompt_messages"][1]["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "path": f"images/{digest}.png", "alt": "a wall"},
    ]
    assert [message["role"] for message in row["response_messages"]] == ["assistant", "tool", "assistant"]
    assert {line["system"]: len(line["response_messages"]) for line in lines} == {"ada": 3, "bob": 0, "cy": 0}


def test_the_page_of_a_case_shows_the_turns_of_its_responses(researcher: Client, scored: Scored, digest: str) -> None:
    page = researcher.get(reverse("judging:case-detail", args=[scored.cases[0].pk])).content.decode()

    texts = page[page.index('id="texts"') :]
    assert digest in page
    assert texts.count('class="turn"') == len(SAID)


def test_a_bundle_holds_the_images_of_its_rows(researcher: Client, scored: Scored, digest: str) -> None:
    archive = b"".join(researcher.get(reverse("reports:leaderboard-bundle", args=[scored.suite.pk])))

    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        page = opened.read(f"row-{scored.cases[0].pk}.html").decode()
        picture = opened.read(f"images/{digest}.png")

    assert picture == bytes(Picture.objects.get().data)
    assert f'src="images/{digest}.png"' in page
    assert "shown to people with an account" not in page
