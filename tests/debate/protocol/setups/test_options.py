"""Frozen options."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from debate.protocol.setups import (
    PERTURBED_SHARE,
    SYMBOLS,
    Criterion,
    DebateOptions,
    Orders,
    OrderScheme,
    Perturbation,
    RoundMode,
    Visibility,
    draw_orders,
    options_from_json,
    perturbed,
)


@given(
    st.builds(
        DebateOptions,
        max_rounds=st.integers(0, 8),
        mode=st.sampled_from(RoundMode),
        visibility=st.sampled_from(Visibility),
        agent_order=st.sampled_from(OrderScheme),
        max_tokens=st.none() | st.integers(1, 1000),
        seed=st.integers(),
    )
)
def test_options_survive_json(options: DebateOptions) -> None:
    assert options_from_json(json.loads(json.dumps(options.to_json()))) == options


def test_options_from_json_takes_defaults_for_what_is_missing_and_passes_over_the_rest() -> None:
    assert options_from_json({"endpoints": ["a"], "max_rounds": 1}) == DebateOptions(max_rounds=1)


@pytest.mark.parametrize("wrong", [{"max_rounds": -1}, {"max_rounds": 9}, {"max_tokens": 0}])
def test_options_refuse_what_cannot_be_held(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="not"):
        DebateOptions(**wrong)  # type: ignore[arg-type]


JUDGES = ("ada", "bob", "cy")


def test_draw_orders_gives_the_same_orders_again() -> None:
    first = draw_orders(seed=7, key="item-1", endpoints=JUDGES)

    assert first == draw_orders(seed=7, key="item-1", endpoints=JUDGES)
    assert sorted(first.agents) == sorted(JUDGES)


def test_draw_orders_reaches_every_permutation_about_equally() -> None:
    draws = [draw_orders(seed=1, key=str(number), endpoints=JUDGES) for number in range(1200)]

    agents = Counter(draw.agents for draw in draws)
    swapped = sum(draw.response_order for draw in draws)

    assert len(agents) == 6
    assert all(140 < count < 260 for count in agents.values())  # 200 expected each; 4.6 standard deviations of 12.9
    assert 520 < swapped < 680  # 600 expected; 4.6 standard deviations of 17.3


def test_draw_orders_cyclic_only_rotates() -> None:
    draws = {
        draw_orders(seed=1, key=str(number), endpoints=JUDGES, scheme=OrderScheme.CYCLIC).agents for number in range(60)
    }

    assert draws == {("ada", "bob", "cy"), ("bob", "cy", "ada"), ("cy", "ada", "bob")}


def test_draw_orders_keeps_an_endpoint_that_sits_twice() -> None:
    assert Counter(draw_orders(seed=3, key="x", endpoints=("ada", "ada", "bob")).agents) == {"ada": 2, "bob": 1}


def test_draw_orders_are_pinned() -> None:
    # Stored runs are replayed from these draws: if this fails, an upgrade has changed them.
    assert [draw_orders(seed=0, key=key, endpoints=JUDGES) for key in ("a", "b")] == [
        Orders(1, ("cy", "ada", "bob")),
        Orders(1, ("bob", "cy", "ada")),
    ]


TEXT = "Helpful - The user's reply is on-point, clear and short."
CRITERION = Criterion("helpfulness", {"1": "Not helpful at all. It is off the mark.", "5": TEXT})


def test_perturbed_is_the_same_again_from_the_same_seed_only() -> None:
    assert perturbed(CRITERION, Perturbation.SHUFFLED, seed=4) == perturbed(CRITERION, Perturbation.SHUFFLED, seed=4)
    assert perturbed(CRITERION, Perturbation.SHUFFLED, seed=4) != perturbed(CRITERION, Perturbation.SHUFFLED, seed=5)


def test_perturbed_shortens_by_label_or_first_sentence_or_half() -> None:
    criterion = Criterion("x", {"1": TEXT, "2": "One. Two.", "3": "one two three four five"})

    assert perturbed(criterion, Perturbation.SHORTENED, seed=0).levels == {
        "1": "The user's reply is on-point, clear and short.",
        "2": "One.",
        "3": "one two three",
    }


def test_perturbed_flips_each_word_and_leaves_punctuation_in_place() -> None:
    assert perturbed(CRITERION, Perturbation.FLIPPED, seed=0).levels["5"] == (
        "lufpleH - ehT s'resu ylper si tniop-no, raelc dna trohs."
    )


def test_perturbed_shuffles_the_same_words() -> None:
    mixed = perturbed(CRITERION, Perturbation.SHUFFLED, seed=0).levels["5"]

    assert sorted(mixed.split()) == sorted(TEXT.split())
    assert mixed != TEXT


@given(st.text(), st.integers())
def test_perturbed_masks_the_declared_share_of_letters(text: str, seed: int) -> None:
    masked = perturbed(Criterion("x", {"1": text}), Perturbation.MASKED, seed=seed).levels["1"]

    letters = sum(character.isalpha() for character in text)
    hidden = [index for index, (before, after) in enumerate(zip(text, masked, strict=True)) if before != after]
    assert len(hidden) == (max(1, round(letters * PERTURBED_SHARE)) if letters else 0)
    assert all(text[index].isalpha() and masked[index] == "_" for index in hidden)


@given(st.text(), st.integers())
def test_perturbed_writes_gibberish_over_letters_only(text: str, seed: int) -> None:
    mad = perturbed(Criterion("x", {"1": text}), Perturbation.GIBBERISH, seed=seed).levels["1"]

    changed = [(before, after) for before, after in zip(text, mad, strict=True) if before != after]
    assert all(before.isalpha() and after in SYMBOLS for before, after in changed)
    assert bool(changed) == any(character.isalpha() for character in text)


@given(st.text(), st.sampled_from(list(Perturbation)))
def test_perturbed_takes_any_text(text: str, perturbation: Perturbation) -> None:
    assert set(perturbed(Criterion("x", {"1": text}), perturbation, seed=1).levels) == {"1"}


@pytest.mark.shared_data
def test_perturbed_shortens_as_the_shipped_criteria_do(shared_data: Path) -> None:
    path = shared_data / "debate/original/criteria/metaeval_creativity.yaml"
    criteria = yaml.safe_load(path.read_bytes())["criteria"]

    whole, shortened = (Criterion("creativity", criteria[key]) for key in ("creativity", "creativity-2"))

    assert perturbed(whole, Perturbation.SHORTENED, seed=0) == shortened
