"""Content as it is stored: values that every database takes, rubric trees as JSON, hashes, and how pages show it.

The key of what is judged is a hash as well: equal question, responses, rubric part and scale, equal key. Keys and
hashes are stored for good, so what is computed here must never change.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from operator import attrgetter
from typing import Any

from evalsite.base.types import JsonDict, JsonObject
from judging.llm.chat import canonical_json
from judging.specs.records.neutral import CaseRecord, ResponseRecord
from judging.specs.types import AnchorSpec, NodeSpec, RubricSpec, ScaleSpec, heading_of

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u(?:0000|d[89a-f])")  # as json.dumps writes them
REPLACEMENT = "\ufffd"


def storable(value: object) -> Any:
    """Return a JSON-like value with NUL and lone surrogates replaced by U+FFFD and NaN or infinities by None.

    Models can escape such characters in their JSON, and programs under test can print them.
    """
    if isinstance(value, str):
        return _UNSTORABLE.sub(REPLACEMENT, value)
    return value if _is_storable(value) else _replaced(value)


def _is_storable(value: object) -> bool:
    """Return whether nothing needs replacing; False where that takes a closer look."""
    try:
        return not _ESCAPED.search(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):  # no plain data, or a number that JSON does not know
        return False


def _replaced(value: object) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub(REPLACEMENT, value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_replaced(str(key)): _replaced(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item) for item in value]
    return value


_DEFAULTS = NodeSpec._field_defaults
_SCALE_FIELDS = tuple(field.name for field in fields(ScaleSpec))
_ANCHOR_FIELDS = tuple(field.name for field in fields(AnchorSpec))


def tree_text(node: NodeSpec) -> str:
    """Return a node and everything below it as one canonical JSON text; fields at their default are left out.

    It is what is hashed and what is stored.

    Raises:
        ValueError: a number in the tree is not finite.
    """
    return canonical_json(_tree(node)).decode()


def tree_to_json(node: NodeSpec) -> JsonDict:
    """Return a tree as a database gives it back: what JSON makes of `tree_text`."""
    data: JsonDict = json.loads(tree_text(node))
    return data


def _tree(node: NodeSpec) -> JsonDict:
    data = {name: value for name, value in node._asdict().items() if name not in _DEFAULTS or value != _DEFAULTS[name]}
    if node.scale is not None:
        data["scale"] = {name: getattr(node.scale, name) for name in _SCALE_FIELDS}
    if node.anchors:
        data["anchors"] = [{name: getattr(anchor, name) for name in _ANCHOR_FIELDS} for anchor in node.anchors]
    if node.children:
        data["children"] = [_tree(child) for child in node.children]
    return data


def tree_from_json(data: JsonDict) -> NodeSpec:
    """Return the node that `tree_to_json` wrote.

    Raises:
        TypeError: the data holds fields that a node does not have.
    """
    fields = dict(data)
    scale = fields.pop("scale", None)
    return NodeSpec(
        scale=ScaleSpec(**{**scale, "labels": tuple(scale.get("labels", ()))}) if scale else None,
        anchors=tuple(AnchorSpec(**anchor) for anchor in fields.pop("anchors", ())),
        children=tuple(tree_from_json(child) for child in fields.pop("children", ())),
        tags=tuple(fields.pop("tags", ())),
        rules=tuple(fields.pop("rules", ())),
        **fields,
    )


# Follows from the shape and says nothing new, but stands in the hashes of the rubrics that are stored.
_SHAPE_WORDS = {"levels": "level_cascade", "scaleeval": "pairwise"}


def content_hash(value: object) -> str:
    """Return the SHA-256 (64 hex digits) of a JSON-like value."""
    return sha256(canonical_json(value)).hexdigest()


def text_hash(text: str) -> str:
    """Return the SHA-256 (64 hex digits) of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hash_of_prompt(case: CaseRecord) -> str:
    """Return the hash of what systems are shown."""
    return content_hash([case.prompt, case.whole_context, case.context_role, *_beside_text(case)])


def response_hash(response: ResponseRecord) -> str:
    """Return the hash of a response; of a text alone it is that of the text."""
    further = _beside_text(response)
    return content_hash([response.text, *further]) if further else text_hash(response.text)


def _beside_text(spec: CaseRecord | ResponseRecord) -> list[Any]:
    """Return the images and turns that are hashed with a text; none where there is only text, as there once was."""
    if not spec.images and not spec.messages:
        return []
    return [{"images": [[image.digest, image.alt] for image in spec.images], "messages": list(spec.messages)}]


_GRADED = (*("grading", "reference", "scenario", "question_type", "lang", "full_score", "null_score", "handlers"),)


def case_hash(case: CaseRecord) -> str:
    """Return the hash of everything that a case's grading depends on, without its place and weight in a suite."""
    return content_hash({name: getattr(case, name) for name in _GRADED} | {"metadata": case.details})


def rubric_head_json(rubric: RubricSpec) -> bytes:
    """Return the canonical JSON of what a rubric says beside its items; its name and source are no content."""
    word = _SHAPE_WORDS.get(rubric.shape, "generic")
    head = [rubric.shape, rubric.scope, word, rubric.options, rubric.benchmark_aggregate]
    return canonical_json(head)


def tree_digest(case_key: str, tree: str) -> str:
    """Return the SHA-256 (64 hex digits) of the canonical JSON of a tree with the case that it is bound to."""
    return sha256(f"[{json.dumps(case_key)},{tree}]".encode()).hexdigest()


_TURNED = {"1": "-1", "-1": "1"}


def part_of(tree: JsonDict | None, criterion: str) -> JsonDict | None:
    """Return the criterion's own node of a tree as stored; the whole tree where no node has that key."""
    if tree is None or not criterion:
        return tree
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node.get("key") == criterion:
            return node
        waiting.extend(node.get("children", ()))
    return tree


def part_json(tree: JsonDict | None, criterion: str) -> bytes:
    """Return the canonical JSON of the criterion's part of a tree."""
    return canonical_json(part_of(tree, criterion) or {})


def shown_hash(*, prompt_hash: str, text_hashes: Sequence[str], part: bytes, criterion: str) -> str:
    """Return the SHA-256 of what people are shown: of [prompt, texts, rubric part, criterion] as canonical JSON."""
    head, tail = canonical_json([prompt_hash, list(text_hashes)]), canonical_json([criterion])
    return sha256(b"".join((head[:-1], b",", part, b",", tail[1:]))).hexdigest()


def subject_key(
    *,
    prompt_hash: str,
    text_hashes: Sequence[str],
    part: bytes,
    criterion: str,
    reference: str,
    scale: Iterable[tuple[str, float | None]],
) -> str:
    """Return the key of a subject, whichever way round a pair comes; the scale is its labels and their worth."""
    texts = sorted(text_hashes)
    shown = shown_hash(prompt_hash=prompt_hash, text_hashes=texts, part=part, criterion=criterion)
    return key_of(shown=shown, reference=reference, scale=scale)


def key_of(*, shown: str, reference: str, scale: Iterable[tuple[str, float | None]]) -> str:
    """Return the key of a subject from the hash of what is shown, with a pair in canonical order."""
    return sha256(canonical_json([shown, reference, [list(label) for label in scale]])).hexdigest()


def content_key(*, prompt_hash: str, text_hashes: Sequence[str], criterion: str) -> str:
    """Return the key of labels that name no rubric and no judge: what was asked, the responses, and a criterion's name.

    Whoever judges this content under a criterion of that name finds them, whichever way round a pair comes.
    """
    named = [prompt_hash, sorted(text_hashes), " ".join(criterion.split()).casefold()]
    return sha256(canonical_json(named)).hexdigest()


@dataclass(frozen=True, slots=True)
class KeyFrame:
    """What the keys of all responses, or pairs, to one question under one criterion share, as canonical JSON."""

    prompt_hash: bytes
    part: bytes
    criterion: bytes
    reference: bytes
    scale: bytes

    def key(self, *text_hashes: str) -> str:
        """Return what `subject_key` returns for one response with this hash, or for a pair, whichever way round."""
        parts = (self.prompt_hash, canonical_json(sorted(text_hashes)), self.part, self.criterion)
        shown = sha256(b"".join((b"[", b",".join(parts), b"]"))).hexdigest()
        return sha256(b"".join((b'["', shown.encode(), b'",', self.reference, b",", self.scale, b"]"))).hexdigest()


def key_frame(
    *, prompt_hash: str, part: bytes, criterion: str, reference: str, scale: Iterable[tuple[str, float | None]]
) -> KeyFrame:
    """Return the frame of the keys of responses or pairs."""
    scale_json = canonical_json([list(label) for label in scale])
    return KeyFrame(canonical_json(prompt_hash), part, canonical_json(criterion), canonical_json(reference), scale_json)


def is_turned(text_hashes: Sequence[str]) -> bool:
    """Return whether a pair comes the other way round than in its subject, whose texts are in the order of hashes."""
    return list(text_hashes) != sorted(text_hashes)


def turned_label(label: str, *, turned: bool) -> str:
    """Return a preference as the other way round has it; its own inverse."""
    return _TURNED.get(label, label) if turned else label


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image as a page shows it; `number` counts from 1."""

    number: int
    url: str
    width: int
    height: int
    name: str
    alt: str

    @property
    def words(self) -> str:
        """What is read in place of the image."""
        return self.alt or f"Image {self.number}" + (f", {self.name}" if self.name else "") + ", without a description"


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn; each part is {"text": …} or {"image": ShownImage}."""

    role: str
    heading: str
    parts: tuple[JsonDict, ...]
    calls: tuple[JsonObject, ...]
    call_id: str


@dataclass(frozen=True, slots=True)
class ShownContent:
    """A text with its images, or a conversation; `images` are those that no turn shows."""

    text: str
    turns: tuple[ShownTurn, ...] = ()
    images: tuple[ShownImage, ...] = ()

    @property
    def all_images(self) -> list[ShownImage]:
        """The images of turns and those beside them, in order."""
        in_turns = [part["image"] for turn in self.turns for part in turn.parts if "image" in part]
        return sorted({image.number: image for image in (*in_turns, *self.images)}.values(), key=attrgetter("number"))


def shown_content(
    text: str, images: Sequence[JsonObject], messages: Sequence[JsonObject], address: Callable[[str], str]
) -> ShownContent:
    """Return what a page shows; `address` says where the image with a hash lies."""
    shown = [_shown(image, number, address) for number, image in enumerate(images, start=1)]
    turns = tuple(_turn(turn, shown) for turn in messages)
    in_turns = {part["image"].number for turn in turns for part in turn.parts if "image" in part}
    return ShownContent(text, turns, tuple(image for image in shown if image.number not in in_turns))


def _shown(image: JsonObject, number: int, address: Callable[[str], str]) -> ShownImage:
    return ShownImage(
        number, address(image["digest"]), image["width"], image["height"], image.get("name", ""), image.get("alt", "")
    )


def _turn(turn: JsonObject, images: Sequence[ShownImage]) -> ShownTurn:
    parts: list[JsonDict] = []
    for part in turn["parts"]:
        number = part.get("image")
        if number is None:
            parts.append({"text": part["text"]})
        elif number < len(images):
            parts.append({"image": images[number]})
        else:  # a preview has the first ones only
            parts.append({"text": f"[image {number + 1}]"})
    return ShownTurn(
        turn["role"], heading_of(turn), tuple(parts), tuple(turn.get("calls", ())), str(turn.get("call_id", ""))
    )
