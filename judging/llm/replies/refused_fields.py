"""Which field of a request an error refuses."""

from __future__ import annotations

import re

from judging.llm.replies.error_pages import ErrorPage

UNSUPPORTED = re.compile(
    r"unsupported|not supported?|n.t support|unrecogni[sz]ed|unknown|not permitted|not allowed|unexpected|"
    r"extra (?:inputs|fields)|extra_forbidden|unavailable|not available|not enabled|deprecated|"
    r"only [\w.'\"]+ is allowed|may only be set|cannot both be|can ?not be used|not one of|must be set to|must be '|"
    r"must contain the word|invalid schema|invalid \S+ and \S+ value|roles are supported|additionalproperties|"
    r"no endpoints found that (?:can handle|support)"
)
SPELLINGS = {
    "json_schema": ("response_format", "json_schema", "response_schema", "response_json_schema"),
    "json_object": ("response_format", "json_object"),
    "logprobs": ("logprobs", "top_logprobs", "response_logprobs"),
}
ROLE = re.compile(r"\brole|(?:developer|system) (?:instruction|message|prompt)")
LIMITS = frozenset({"max_tokens", "max_completion_tokens"})
# Where an error says only that no server takes all that was asked, this is left out first.
DISPENSABLE = ("logprobs", "json_schema", "json_object", "random_seed", "seed", "top_p", "temperature")


def refused_fields(page: ErrorPage, *, sent: frozenset[str]) -> frozenset[str]:
    """Return which of the fields that were sent this error refuses.

    `system_role` stands for a message with the role of the system, and so for any other role.
    """
    at_param = frozenset(name for name in sent if _stands_for(name, _tokens(page.param)))
    if not UNSUPPORTED.search(page.words):
        return at_param - LIMITS  # "max_tokens is too large" is no refusal of the field
    named = at_param or frozenset(name for name in sent if _is_named(name, page.words))
    if "cannot both be" in page.words and "top_p" in named:
        return frozenset({"top_p"})
    return named


def dispensable_field(sent: frozenset[str]) -> frozenset[str]:
    """Return the field to leave out first; empty where none of those sent is optional."""
    return frozenset([name for name in DISPENSABLE if name in sent][:1])


def _tokens(words: str) -> frozenset[str]:
    return frozenset(token.replace("_", "") for token in re.findall(r"[a-z_]+", words))


def _stands_for(name: str, tokens: frozenset[str]) -> bool:
    spellings = SPELLINGS.get(name, (name,))
    return any(spelling.replace("_", "") in tokens for spelling in spellings)


def _is_named(name: str, words: str) -> bool:
    if name.endswith("_role"):
        role = name.removesuffix("_role")
        others_only = "only user and assistant roles" in words
        return ROLE.search(words) is not None and (role in _tokens(words) or "developer" in words or others_only)
    return _stands_for(name, _tokens(words))
