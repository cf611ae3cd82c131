"""Questions with images, as ORD-MMBench has them, import in one step, once, and change where an image does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judging.models import BatchPicture, Case, Picture, Prompt, Response, Suite
from judging.services.file_imports.imports import ImportRefused, check_import, store_import
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.suites import case_spec
from judging.specs.pictures import encode_picture
from judging.stored_content import hash_of_prompt
from tests import factories, image_files
from tests.judging import import_files

pytestmark = pytest.mark.django_db


def colour(number: int) -> tuple[int, int, int]:
    return number, 255 - number, 90


def questions(count: int) -> import_files.File:
    """Return a questions file with the fields of ORD-MMBench's."""
    rows = [
        {"id": number, "question": f"What is shown in {number}?", "image": f"images/{number}.png",
         "answer": "A colour", "reference": ["c1"], "type": "functionality"}
        for number in range(1, count + 1)
    ]  # fmt: skip
    return "QA.jsonl", "\n".join(map(json.dumps, rows)).encode()


def images(count: int) -> list[import_files.File]:
    return [(f"images/{number}.png", image_files.image(colour=colour(number))) for number in range(1, count + 1)]


def store(*files: import_files.File, **options: Any) -> dict[str, Any]:
    return store_import(
        files=files, options=ImportOptions(**options), source=files[0][0], actor=None, at=factories.NOON
    )


def test_a_zip_of_120_questions_with_120_images_imports_in_one_step_and_once() -> None:
    everything = import_files.zipped(questions(120), *images(120))

    checked = check_import(files=[everything], options=ImportOptions())
    result = store(everything)
    again = store(everything)

    assert ([str(problem) for problem in checked.problems], import_files.facts(checked.parts[0])["Images"]) == ([], 120)
    assert (result["suite"]["cases"], result["changed"], again["changed"]) == (120, True, False)
    assert (Picture.objects.count(), BatchPicture.objects.count(), Suite.objects.count()) == (120, 0, 1)
    prompt = Prompt.objects.get(key="7")
    picture = Picture.objects.get(pk=prompt.images[0]["digest"])
    assert bytes(picture.data) == encode_picture(image_files.image(colour=colour(7)))
    assert prompt.images[0] == {
        "digest": picture.digest, "media_type": "image/png", "width": 40, "height": 20, "name": "images/7.png",
        "alt": "",
    }  # fmt: skip
    case = Case.objects.select_related("prompt").get(key="7")
    assert hash_of_prompt(case_spec(case)) == prompt.content_hash


def test_a_changed_image_is_a_changed_case() -> None:
    store(questions(3), *images(3))

    changed = [questions(3), *images(2), ("images/3.png", image_files.image(colour=colour(9)))]
    facts = import_files.facts(check_import(files=changed, options=ImportOptions()).parts[0])
    store(*changed)

    assert (facts["Changed"], facts["Reused"]) == (1, 2)
    assert (Suite.objects.count(), Prompt.objects.count(), Picture.objects.count()) == (2, 4, 4)


def test_a_missing_image_is_an_error_by_line_unless_the_upload_is_a_cut_one() -> None:
    with pytest.raises(ImportRefused) as refusal:
        store(questions(2), *images(1))

    assert str(refusal.value).startswith(
        "QA.jsonl, line 2: The image images/2.png of Case 2 is not in the upload. Add the file"
    )
    assert (Suite.objects.count(), Picture.objects.count()) == (0, 0)
    store(questions(2), *images(1), allow_missing_files=True)
    assert [len(prompt.images) for prompt in Prompt.objects.order_by("key")] == [1, 0]


def test_a_yaml_suite_names_images_and_conversations_beside_it() -> None:
    suite = b"""\
name: Seen
cases:
- id: a
  prompt: What is it?
  images: [shots/a.png, {path: shots/b.png, alt: A green field}]
- id: b
  messages:
  - {role: user, content: [{type: text, text: And this?}, {type: image, path: shots/b.png}]}
  - {role: assistant, content: A field.}
  - {role: user, content: Sure?}
"""
    files = [("s/suite.yaml", suite), ("s/shots/a.png", image_files.image()),
             ("s/shots/b.png", image_files.image(colour=image_files.GREEN))]  # fmt: skip

    store(*files)

    a, b = Prompt.objects.order_by("key")
    assert [(image["name"], image["alt"]) for image in a.images] == [
        ("shots/a.png", ""), ("shots/b.png", "A green field"),
    ]  # fmt: skip
    assert (b.text, [image["digest"] for image in b.images]) == (
        "User:\nAnd this?\n[image 1]\n\nAssistant:\nA field.\n\nUser:\nSure?", [a.images[1]["digest"]],
    )  # fmt: skip
    assert b.messages[0]["parts"] == [{"text": "And this?"}, {"image": 0}]


def test_responses_bring_images_and_messages_and_a_changed_image_supersedes() -> None:
    store(questions(2), *images(2))
    call = {"id": "c", "function": {"name": "zoom", "arguments": "{}"}}
    rows = [
        {"case_id": 1, "system": "ada", "response": "Like this:", "image": "out.png"},
        {"case_id": 2, "system": "ada", "messages": [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "red"}, {"role": "assistant", "content": "Red."}]},
    ]  # fmt: skip
    answers = ("responses.jsonl", "\n".join(map(json.dumps, rows)).encode())

    store(answers, ("out.png", image_files.image(colour=image_files.GREEN)))
    unchanged = store(answers, ("out.png", image_files.image(colour=image_files.GREEN)))
    changed = store(answers, ("out.png", image_files.image(size=(7, 7))))

    assert (unchanged["responses"]["unchanged"], changed["responses"]["changed"]) == (2, 1)
    old, new, talk = Response.objects.order_by("prompt__key", "pk")
    assert (old.superseded_at is None, new.images[0]["width"], new.text) == (False, 7, "Like this:")
    assert talk.text == "Assistant:\n\n[calls zoom({})]\n\nTool:\nred\n\nAssistant:\nRed."
    assert [turn["role"] for turn in talk.messages] == ["assistant", "tool", "assistant"]
