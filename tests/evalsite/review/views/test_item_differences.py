"""The words in which two answers differ, marked on demand."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.base.formats import MOST_WORDS
from evalsite.review.models import Assignment, ReviewItem
from evalsite.review.states import ItemStatus
from tests import factories
from tests.evalsite.review.views.clients import HTMX, signed_in, take

pytestmark = pytest.mark.django_db


def _fox_item(text_b: str = "The *blue* <fox>") -> ReviewItem:
    one = factories.prompt()
    debate = factories.debate(
        response_a=factories.response(prompt=one, text="The *red* <fox>"),
        response_b=factories.response(prompt=one, text=text_b),
    )
    return factories.review_item(debate=debate)


def _sides(page: str) -> list[str]:
    """The HTML of what stands in the two answers."""
    return re.findall(r'aria-label="Text of response [AB]">(.*?)\n?</div>', page, re.DOTALL)


@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize("swapped", [False, True])
def test_item_detail_marks_differences_on_demand_on_the_sides_as_shown(swapped: bool, headers: dict[str, str]) -> None:
    item = _fox_item()
    client, _ = signed_in("ada")
    claim = take(client, item.queue)
    Assignment.objects.filter(pk=claim.pk).update(swapped=swapped)
    url = reverse("review:item-detail", args=[item.pk])

    plain = client.get(url, headers=headers)
    compared = client.get(url, {"diff": "1"}, headers=headers)

    left, right = ("blue", "red") if swapped else ("red", "blue")
    assert _sides(plain.content.decode()) == [f"<p>The <em>{colour}</em> &lt;fox&gt;</p>" for colour in (left, right)]
    assert _sides(compared.content.decode()) == [
        f"The *<del>{left}</del>* &lt;fox&gt;",
        f"The *<ins>{right}</ins>* &lt;fox&gt;",
    ]
    assert f'href="{url}?diff=1"' in plain.content.decode()
    assert f'href="{url}"' in compared.content.decode()
    assert "HX-Push-Url" not in compared.headers


def test_item_detail_says_when_answers_are_too_long_to_compare() -> None:
    item = _fox_item("word " * MOST_WORDS)
    client, _ = signed_in("ada")
    take(client, item.queue)

    page = client.get(reverse("review:item-detail", args=[item.pk]), {"diff": "1"}).content.decode()

    assert "The responses are too long for a word-by-word comparison." in page
    assert _sides(page)[0].startswith("<p>")


def test_item_adjudicate_marks_differences_on_demand() -> None:
    item = _fox_item()
    for label in ("1", "-1"):
        factories.annotation(item=item, label=label)
    ReviewItem.objects.filter(pk=item.pk).update(status=ItemStatus.NEEDS_ADJUDICATION)
    client, _ = signed_in("rosa", Role.RESEARCHER)
    url = reverse("review:item-adjudicate", args=[item.pk])

    page = client.get(url, {"diff": "1"}).content.decode()

    assert _sides(page) == ["The *<del>red</del>* &lt;fox&gt;", "The *<ins>blue</ins>* &lt;fox&gt;"]
    assert f'href="{url}"' in page


def test_item_detail_shows_unrelated_answers_as_they_read() -> None:
    item = _fox_item(" ".join(f"**word{number}**" for number in range(100)))
    client, _ = signed_in("ada")
    take(client, item.queue)

    page = client.get(reverse("review:item-detail", args=[item.pk]), {"diff": "1"}).content.decode()

    assert "so little in common that nearly every word would be marked" in page
    assert "<ins>" not in page
    assert "<strong>word1</strong>" in page
