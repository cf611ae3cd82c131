"""What a screen reader gets of an item: the whole accessibility tree, word by word."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page

from tests.flows.conftest import LiveSite, SignIn, make_queue, open_item

pytestmark = pytest.mark.flow

FORM = """\
  - separator "Width of the material"
  - group "Which response is better?":
    - text: Which response is better?
    - radio "A is better"
    - text: A is better
    - radio "Neither is better"
    - text: Neither is better
    - radio "B is better"
    - text: B is better
  - text: Reason optional
  - textbox "Reason optional"
  - text: Shown to the person who adjudicates the item if annotators disagree.
  - button "Submit and next Enter"
  - status
  - group: Cannot judge X
  - group: Skip S
  - group: Flag F
"""
ASKED = "Which response is better?"
WORTH = "Compare the two by the rubric: the better response fulfils more of it."
MATH = """\
      - paragraph:
        - text: Two, since
        - math: x 2 = 4
"""
CODE = """\
      - paragraph:
        - strong: Count
        - text: ":"
      - code: assert 1 + 1 == 2
"""


def form_of(criterion: str) -> str:
    """Return the form's part of the tree where the choices name a criterion with levels."""
    named = f"{ASKED} Criterion: {criterion}"
    said = f'text: "{named}"\n    - paragraph: "{WORTH}"'
    return FORM.replace(f'group "{ASKED}"', f"'group \"{named}\"'").replace(f"text: {ASKED}", said)


@pytest.fixture(scope="module")
def queue(site: LiveSite, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the slug of a queue of one pair."""
    row = {
        "id": "aloud",
        "question": "What is *one* and one?",
        "response_a": "Two, since $x^2 = 4$",
        "response_b": "**Count**:\n\n```python\nassert 1 + 1 == 2\n```",
        "criterion_text": "Which one helps more?",
    }
    return make_queue(site, tmp_path_factory.mktemp("tree"), "Read aloud", row)


def tree_of(page: Page) -> str:
    """Return the accessibility tree of the item; its number and this person's place in the queue vary."""
    tree = page.locator("#item-panel").aria_snapshot()
    tree = re.sub(r"/review/items/\w+/", "/review/items/N/", tree)
    place = r'heading "\d+ of \d+"|strong: \d+%|· \d+ of \d+ annotated · \d+ waiting'
    return re.sub(place, lambda found: re.sub(r"\d+", "N", found[0]), tree) + "\n"


def test_a_pair_is_read_whole_and_in_order(queue: str, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_item(page, queue)

    sides = [MATH, CODE] if "since" in page.locator("#answer-a").inner_text() else [CODE, MATH]
    assert tree_of(page) == (
        """\
- region "Item":
  - heading "N of N" [level=2]
  - strong: N%
  - text: · N of N annotated · N waiting
  - progressbar "Your progress"
  - article "Question":
    - heading "Question" [level=3]
    - paragraph:
      - text: What is
      - emphasis: one
      - text: and one?
  - heading "Responses" [level=3]
  - link "Show differences":
    - /url: /review/items/N/?diff=1
  - link "Plain text":
    - /url: /review/items/N/?written=1
  - article "Response A":
    - text: Response A
    - region "Text of response A":
"""
        + sides[0]
        + """\
  - article "Response B":
    - text: Response B
    - region "Text of response B":
"""
        + sides[1]
        + FORM
        + """\
  - group:
    - text: Rubric R
    - list:
      - listitem:
        - paragraph: Which one helps more?
  - group: Guidelines G
  - group: Comments O
"""
    )


def test_a_debated_item_is_read_whole_and_in_order(signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_item(page, "demo-debates-helpfulness")

    scenario = page.locator(".review-bar .chip >> nth=0").inner_text()
    question = text_of(page, "article[aria-label=Question] .card-body", 4)
    left, right = (text_of(page, answer, 4) for answer in ("#answer-a", "#answer-b"))
    reference = text_of(page, "#drawer-rubric .card-body > .prose", 4)
    levels = list(zip(page.locator("dl dt").all_inner_texts(), page.locator("dl dd").all_inner_texts(), strict=True))
    assert tree_of(page) == (
        f"""\
- region "Item":
  - heading "N of N" [level=2]
  - text: {scenario}
  - strong: N%
  - text: · N of N annotated · N waiting
  - progressbar "Your progress"
  - article "Question":
    - heading "Question" [level=3]
{question}  - heading "Responses" [level=3]
  - link "Show differences":
    - /url: /review/items/N/?diff=1
  - link "Plain text":
    - /url: /review/items/N/?written=1
  - article "Response A":
    - text: Response A
{left}  - article "Response B":
    - text: Response B
{right}{form_of("helpfulness")}  - group:
    - text: Rubric R
    - list:
      - listitem:
        - strong: helpfulness
"""
        + "".join(f'        - term: "{value}"\n        - definition: {spoken(text)}\n' for value, text in levels)
        + f"""\
    - heading "Reference answer" [level=4]
{reference}  - group: Guidelines G
  - group: Comments O
"""
    )


def text_of(page: Page, selector: str, depth: int) -> str:
    """Return the tree of one text; what it holds beside words, such as code, is for the tests of rich text."""
    lines = page.locator(selector).aria_snapshot().splitlines()
    return "".join(f"{' ' * depth}{line}\n" for line in lines)


def spoken(text: str) -> str:
    """Return a text as YAML writes it in the tree: in quotes where a colon would end a key."""
    plain = " ".join(text.split())
    return json.dumps(plain, ensure_ascii=False) if re.search(r":( |$)|^[-\"'&*!|>%@`{\[]", plain) else plain
