"""Frozen options."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.protocol.options import DebateOptions, options_from_json
from debate.protocol.orders import OrderScheme
from debate.protocol.setups import RoundMode, Visibility


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
