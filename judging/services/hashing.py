"""Content hashes: equal content, equal hash, whatever file it came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from hashlib import sha256
from typing import Any

from judging.llm.identity import canonical_json
from judging.services.trees import tree_to_json
from judging.specs.types import CaseSpec, RubricSpec


def content_hash(value: Any) -> str:
    """Return the SHA-256 (64 hex digits) of a JSON-like value or a dataclass of such."""
    return sha256(canonical_json(_plain(value))).hexdigest()


def text_hash(text: str) -> str:
    """Return the SHA-256 (64 hex digits) of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def prompt_hash(case: CaseSpec) -> str:
    """Return the hash of what systems are shown."""
    return content_hash([case.prompt, case.context, case.context_role])


def case_hash(case: CaseSpec) -> str:
    """Return the hash of everything that a case's grading depends on, without its place and weight in a suite."""
    left_out = {"weight", "source_path", "prompt", "context", "context_role", "key"}
    return content_hash({name: value for name, value in asdict(case).items() if name not in left_out})


@dataclass(frozen=True, slots=True)
class RubricContent:
    """The hash of a rubric's trees and rules, without where in a file they stood, and one for each item's tree."""

    content_hash: str
    digests: Mapping[str, bytes]  # by case key


def rubric_content(rubric: RubricSpec) -> RubricContent:
    """Return a rubric's hashes; every tree is looked at once."""
    head = [rubric.shape, rubric.scope, rubric.contract, rubric.options, rubric.benchmark_aggregate]
    whole = sha256(canonical_json(_plain(head)))
    digests: dict[str, bytes] = {}
    for item in rubric.items:
        digests[item.case_key] = item_digest(item.case_key, tree_to_json(item.root))
        whole.update(digests[item.case_key])
        whole.update(canonical_json(_plain(item.metadata)) if item.metadata else b"{}")
    return RubricContent(whole.hexdigest(), digests)


def rubric_hash(rubric: RubricSpec) -> str:
    """Return the hash of a rubric's trees and rules, without where in a file they stood."""
    return rubric_content(rubric).content_hash


def item_digest(case_key: str, tree: Mapping[str, Any]) -> bytes:
    """Return the SHA-256 (32 bytes) of a stored tree with the case it is bound to."""
    text = json.dumps([case_key, tree], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).digest()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
