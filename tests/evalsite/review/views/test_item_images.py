"""Whoever annotates an item sees the images of its question and responses, and conversations turn by turn."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from evalsite.accounts.roles import Role
from evalsite.review.questions.scales import JUDGEMENT, labels_to_json
from judging.models import Response, Suite
from judging.services.file_imports.imports import store_import
from judging.services.file_imports.intake import ImportOptions
from tests import factories, image_files
from tests.factories import NOON
from tests.judging import import_files

pytestmark = pytest.mark.django_db
QUESTIONS = (
    {"id": 1, "question": "What is it?", "answer": "Red", "image": {"path": "1.png", "alt": "A red field"}},
    {"id": 2, "messages": [{"role": "user", "content": ["Look", {"type": "image", "path": "1.png"}]},
                           {"role": "assistant", "content": "Red"}, {"role": "user", "content": "Sure?"}]},
)  # fmt: skip
ANSWERS = (
    {"case_id": 1, "system": "ada", "response": "Like this", "image": "out.png"},
    {"case_id": 2, "system": "ada", "response": "Sure."},
)


def imported() -> list[Response]:
    """Return a response with an image to a question with one, and one to a conversation with one."""
    rows = [("QA.jsonl", QUESTIONS), ("answers.jsonl", ANSWERS)]
    files = [(name, "\n".join(map(json.dumps, lines)).encode()) for name, lines in rows]
    pictures = [("1.png", image_files.image()), ("out.png", image_files.image(colour=image_files.GREEN))]
    everything = import_files.zipped(*files, *pictures)
    store_import(files=[everything], options=ImportOptions(), source="all.zip", actor=None, at=NOON)
    return list(Response.objects.select_related("prompt").order_by("prompt__key"))


def page_of(response: Response) -> str:
    run = factories.run(suite=Suite.objects.get())
    verdict = factories.verdict(response=response, run=run, evaluator=factories.evaluator(run=run))
    item = factories.review_item(verdict=verdict, queue=factories.queue(labels=labels_to_json(JUDGEMENT)))
    client = Client()
    client.force_login(factories.user(role=Role.RESEARCHER))
    return client.get(item.get_absolute_url()).text


def test_item_page_shows_images_of_question_and_response() -> None:
    shown = imported()[0]

    page = page_of(shown)

    urls = [content.images[0].url for content in (shown.prompt.content, shown.content)]
    assert [page.count(f'src="{url}"') for url in urls] == [1, 1]
    assert 'alt="A red field"' in page


def test_item_page_shows_a_conversation_turn_by_turn() -> None:
    shown = imported()[1]

    page = page_of(shown)

    url = shown.prompt.content.all_images[0].url
    assert (page.count('class="turn"'), page.count(f'src="{url}"')) == (3, 1)
