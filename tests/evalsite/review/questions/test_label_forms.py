"""The form of items that people give one label: what is asked, read, stored and turned."""

from __future__ import annotations

import pytest

from evalsite.review.questions.forms import PartsMissing, letters_seen, part_texts_in
from evalsite.review.questions.label_forms import label_form
from evalsite.review.questions.scales import JUDGEMENT, PREFERENCE, Label, scale_from_words


def test_a_label_is_the_answer_to_the_one_question_and_nothing_is_stored_beside_it() -> None:
    form = label_form(JUDGEMENT)

    values = form.read({"label": "partly", "note": "hm"})

    assert values == {"label": "partly"}
    assert (form.label(values), form.stored(values)) == ("partly", {})
    assert form.answers("partly", {}) == values
    assert form.answers("", {}) == {}
    assert form.texts(values) == {"label": "partly"}
    assert [part.digit(index) for part in form.parts for index in range(3)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("said", "refusal"),
    [({}, "Choose a label first."), ({"label": "9"}, "“9” is not on this item's scale: right, partly, wrong.")],
)
def test_what_is_no_label_of_the_scale_is_refused(said: dict[str, str], refusal: str) -> None:
    with pytest.raises(PartsMissing) as refused:
        label_form(JUDGEMENT).read(said)

    assert str(refused.value) == refusal


@pytest.mark.parametrize(
    ("labels", "order", "stored", "seen"),
    [
        (PREFERENCE, "ba", "1", "-1"),
        (PREFERENCE, "ba", "0", "0"),
        (PREFERENCE, "", "1", "1"),
        ((Label("0", "0"), Label("1", "1")), "bac", "1", "1"),  # only a pair has sides that turn
        (JUDGEMENT, "ba", "right", "right"),
    ],
)
def test_a_preference_turns_with_the_sides(labels: tuple[Label, ...], order: str, stored: str, seen: str) -> None:
    form = label_form(labels)

    assert form.turned({"label": stored}, letters_seen(order)) == {"label": seen}
    assert form.turned({"label": seen}, letters_seen(order)) == {"label": stored}


def test_what_numbers_mean_stands_beside_them() -> None:
    (question,) = label_form(scale_from_words(["1 = useless", "2", "3", "4 = complete"])).parts

    assert [choice.text for choice in question.choices] == ["1", "2", "3", "4"]
    assert question.anchors == (("1", "useless"), ("4", "complete"))
    assert not question.is_words


def test_words_of_an_earlier_form_are_still_told() -> None:
    assert label_form(JUDGEMENT).words({"label": "right", "50.1": True}) == "Met: 50.1"


def test_drafts_of_a_label_and_of_parts_are_read_by_one_reader() -> None:
    draft = {"label": "1", "note": "so", "page": "ab", "part-why": "style"}

    assert part_texts_in(draft) == {"label": "1", "why": "style"}
