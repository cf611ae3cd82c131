"""What providers and servers of models are known to want: address, key, and the fields that they refuse.

A preset fills the form of an endpoint; every value can be changed there, and what an answer teaches comes on top. The
facts were collected in November 2026 from documentation and public reports; no provider was called to verify them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalsite.base.json_types import JsonDict
from judging.llm.endpoints import KeyHeader


@dataclass(frozen=True, slots=True)
class EndpointPreset:
    """A provider or server. `refused` are names of `Capabilities` that are not even tried."""

    name: str
    title: str
    base_url: str = ""  # empty: everybody has one of their own
    key_variable: str = ""  # empty: usually without a key
    max_concurrency: int = 4
    stream: bool = False  # its long replies do not pass proxies otherwise
    key_header: KeyHeader = KeyHeader.BEARER
    query: str = ""
    refused: frozenset[str] = field(default_factory=frozenset)
    note: str = ""  # what to know before the form is filled in

    @property
    def known(self) -> dict[str, bool]:
        """What is known of an endpoint before its first call."""
        return dict.fromkeys(sorted(self.refused), False)

    def first_values(self) -> JsonDict:
        """Return what the form of a new endpoint starts with."""
        return {
            "preset": self.name,
            "base_url": self.base_url,
            "key_variable": self.key_variable,
            "key_header": self.key_header,
            "query": self.query,
            "max_concurrency": self.max_concurrency,
            "stream": self.stream,
        }


NO_JSON = frozenset({"json_schema", "json_object"})
PRESETS: Mapping[str, EndpointPreset] = {
    preset.name: preset
    for preset in (
        EndpointPreset(
            "openai",
            "OpenAI",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            max_concurrency=8,
            refused=frozenset({"max_tokens"}),
            note="Mark GPT-5 and o models as reasoning models. Their effort is an extra field: "
            '{"reasoning_effort": "low"}.',
        ),
        EndpointPreset(
            "azure",
            "Azure OpenAI",
            key_variable="AZURE_OPENAI_API_KEY",
            max_concurrency=8,
            key_header=KeyHeader.API_KEY,
            refused=frozenset({"max_tokens"}),
            note="Address: https://RESOURCE.openai.azure.com/openai/v1 with the deployment as the model. Older "
            "resources: https://RESOURCE.openai.azure.com/openai/deployments/DEPLOYMENT, query api-version=VERSION.",
        ),
        EndpointPreset(
            "anthropic",
            "Anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            stream=True,
            refused=NO_JSON | {"seed", "random_seed", "logprobs"},
            note="This interface ignores JSON modes, seeds and log-probabilities, so they are not sent.",
        ),
        EndpointPreset(
            "gemini",
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
            note="Mark thinking models as reasoning models: their thoughts count against the output limit.",
        ),
        EndpointPreset(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            stream=True,
            refused=frozenset({"max_completion_tokens"}),
            note='Effort is an extra field: {"reasoning": {"effort": "low"}}. Fields that a model does not know are '
            "ignored without a word.",
        ),
        EndpointPreset(
            "mistral",
            "Mistral",
            "https://api.mistral.ai/v1",
            "MISTRAL_API_KEY",
            refused=frozenset({"seed", "max_completion_tokens"}),
        ),
        EndpointPreset(
            "deepseek",
            "DeepSeek",
            "https://api.deepseek.com",
            "DEEPSEEK_API_KEY",
            max_concurrency=16,
            stream=True,
            refused=frozenset({"json_schema", "max_completion_tokens"}),
            note="Its models think unless told otherwise: mark the endpoint as a reasoning model.",
        ),
        EndpointPreset(
            "groq",
            "Groq",
            "https://api.groq.com/openai/v1",
            "GROQ_API_KEY",
            refused=frozenset({"max_tokens", "logprobs"}),
        ),
        EndpointPreset(
            "together",
            "Together",
            "https://api.together.ai/v1",
            "TOGETHER_API_KEY",
            refused=frozenset({"max_completion_tokens"}),
        ),
        EndpointPreset(
            "vllm",
            "vLLM",
            "http://127.0.0.1:8000/v1",
            max_concurrency=32,
            note="The model is the name it was served under.",
        ),
        EndpointPreset(
            "ollama",
            "Ollama",
            "http://127.0.0.1:11434/v1",
            max_concurrency=1,
            refused=frozenset({"max_completion_tokens"}),
            note="It cuts what exceeds the context of the model without a word: set OLLAMA_CONTEXT_LENGTH there.",
        ),
        EndpointPreset(
            "lmstudio",
            "LM Studio",
            "http://127.0.0.1:1234/v1",
            max_concurrency=1,
            refused=frozenset({"json_object", "max_completion_tokens"}),
        ),
        EndpointPreset(
            "llamacpp",
            "llama.cpp",
            "http://127.0.0.1:8080/v1",
            max_concurrency=1,
            refused=frozenset({"max_completion_tokens"}),
        ),
    )
}
