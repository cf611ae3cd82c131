"""One way to name a thing on a command line."""

from __future__ import annotations

import pytest

from evalsite.base.rows import BadInput, look_up, pick
from judging.models import System
from tests import factories

pytestmark = pytest.mark.django_db


def test_look_up_takes_a_name_in_any_case_or_a_number_and_a_name_before_a_number() -> None:
    ada, bob, zoe = (factories.system(name=name) for name in ("Ada", "bob", "Café  Zoë"))  # of a file
    numeric = factories.system(name=str(ada.pk))

    def found(text: str) -> System:
        return look_up(System.objects.all(), text, what="system")

    assert found("Cafe\u0301 Zoe\u0308") == zoe  # as pages show it, and some keyboards type it
    assert [found("Ada"), found(" ada "), found("BOB"), found(str(bob.pk)), found(str(ada.pk))] == (
        [ada, ada, bob, bob, numeric]
    )


def test_look_up_refuses_with_what_there_is() -> None:
    with pytest.raises(BadInput, match=r"^Name a system. There are none yet. \(--system\)$"):
        look_up(System.objects.all(), "", what="system", option="--system")
    factories.system(name="ada")
    with pytest.raises(BadInput, match=r"^There is no system “9999999999999999999999”. There are: ada.$") as refused:
        look_up(System.objects.all(), "9" * 22, what="system")
    assert refused.value.returncode == 2


@pytest.mark.parametrize(("text", "sentence"), [("", "Name a system."), ("ada", "There is no system “ada”.")])
def test_look_up_refuses_what_is_no_number_where_rows_have_numbers_alone(text: str, sentence: str) -> None:
    system = factories.system(name="ada")

    with pytest.raises(BadInput) as refused:
        look_up(System.objects.all(), text, what="system", fields=("pk",))

    assert str(refused.value) == f"{sentence} There are: {system.pk}."
    assert look_up(System.objects.all(), str(system.pk), what="system", fields=("pk",)) == system


def test_pick_lists_the_names_that_are_like_the_given_one_first() -> None:
    names = [f"judge {number}" for number in range(30)] + ["willow-large"]

    with pytest.raises(BadInput, match=r"^There is no judge “wilow-large”. There are: willow-large, judge 0, .* more"):
        pick(names, "wilow-large", names_of=lambda name: [name], what="judge")


def test_pick_finds_a_judge_by_its_own_name_and_asks_where_it_has_several_baselines() -> None:
    names = ["LLMBar 2 · against one", "LLMBar", "LLMBar 3 · against one", "LLMBar 3 · against two"]

    def found(text: str) -> str:
        return pick(names, text, names_of=lambda name: [name], what="judge")

    assert [found("LLMBar 2"), found("LLMBar"), found("llmbar 3 · against two")] == [names[0], names[1], names[3]]
    with pytest.raises(BadInput, match=r"“LLMBar 3” is the name of several. There are: LLMBar 3 · against one, LLMBar"):
        found("LLMBar 3")


def test_pick_names_the_several_that_a_text_means_in_words_that_it_takes() -> None:
    ada, bob = factories.system(name="ada"), factories.system(name="bob")
    names = {ada.pk: ["LLMBar: tone", "llmbar"], bob.pk: ["LLMBar: facts", "llmbar"]}

    with pytest.raises(BadInput, match=r"several. There are: LLMBar: tone, LLMBar: facts. Name one of them."):
        pick([ada, bob], "llmbar", names_of=lambda system: names[system.pk], what="criterion")
    with pytest.raises(BadInput, match=rf"several. There are: ada \({ada.pk}\), bob \({bob.pk}\). Name one of them."):
        pick([ada, bob], "desk", names_of=lambda _: ["desk"], what="suite")
