"""Presets: what each fills in can be stored, and holds only what is documented."""

from __future__ import annotations

from dataclasses import fields

import pytest

from judging.llm.endpoints import AddressPolicy, Capabilities, KeyHeader, check_base_url, key_variable_refusal
from judging.llm.presets import PRESETS, EndpointPreset

HERE = AddressPolicy(allow_private=True, allow_loopback=True)
# The spelling of the limit as collected in November 2026.
LIMIT_NAMES = {
    "openai": "max_completion_tokens",
    "azure": "max_completion_tokens",
    "groq": "max_completion_tokens",
    "openrouter": "max_tokens",
    "mistral": "max_tokens",
    "deepseek": "max_tokens",
    "together": "max_tokens",
    "ollama": "max_tokens",
    "lmstudio": "max_tokens",
    "llamacpp": "max_tokens",
}


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_preset_fills_in_what_an_endpoint_takes(preset: EndpointPreset) -> None:
    names = {field.name for field in fields(Capabilities)}

    assert preset.refused <= names
    assert preset.key_header in set(KeyHeader)
    assert not preset.key_variable or key_variable_refusal(preset.key_variable) == ""
    assert preset.base_url == "" or check_base_url(preset.base_url, HERE) == preset.base_url


def test_presets_name_the_output_limit_as_documented() -> None:
    others = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

    named = {preset.name: others[name] for preset in PRESETS.values() for name in others if name in preset.refused}
    assert named == LIMIT_NAMES


def test_first_values_are_the_fields_of_a_form() -> None:
    assert PRESETS["azure"].first_values() == {
        "preset": "azure",
        "base_url": "",
        "key_variable": "AZURE_OPENAI_API_KEY",
        "key_header": "api-key",
        "query": "",
        "max_concurrency": 8,
        "stream": False,
    }
    assert PRESETS["deepseek"].known == {"json_schema": False, "max_completion_tokens": False}
