"""The answers a queue offers: preferences, right or wrong, a rubric's scale, or the scores its levels allow. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.review.blinding import to_system_space
from judging.grading.cascade import criteria_counts, feasible_scores
from judging.specs.types import NodeSpec, ScaleSpec

MOST_LABELS = 11  # 0 to 10: more cannot be told apart at a glance, nor typed with one key
VALUE_LIMIT = 20  # characters


@dataclass(frozen=True, slots=True)
class Label:
    """One answer. `share` is what it is worth from 0 to 1; None for a preference or a name."""

    value: str
    text: str
    share: float | None = None


PREFERENCE = (Label("1", "A is better"), Label("0", "Neither is better"), Label("-1", "B is better"))
JUDGEMENT = (Label("right", "Right", 1.0), Label("partly", "Partly right", 0.5), Label("wrong", "Wrong", 0.0))
_PREFERENCES = frozenset(label.value for label in PREFERENCE)
_PREFERENCE_KEYS = {"1": "1", "0": "0", "-1": "2"}
_DIGITS = "1234567890"


def scale_of(tree: NodeSpec, *, criterion: str = "") -> tuple[Label, ...]:
    """Return the scale of a rubric's tree or of one criterion in it; right, partly, wrong where it has none to use."""
    if tree.aggregator.get("type") == "cascade":
        return level_scale(feasible_scores(criteria_counts(tree)))
    node = find_node(tree, criterion) if criterion else tree
    if node is None or node.scale is None:
        return JUDGEMENT
    return _from_scale(node.scale, node) or JUDGEMENT


def level_scale(scores: Iterable[int]) -> tuple[Label, ...]:
    """Return one label per score of 0 to 100 that the levels allow, the lowest first; 0 always, 100 always."""
    values = sorted({0, 100, *scores})
    return tuple(Label(str(value), f"{value} of 100", value / 100) for value in values)


def joined_scale(scales: Sequence[tuple[Label, ...]]) -> tuple[Label, ...]:
    """Return the scale that all share, the union of level scales, or right, partly, wrong where they differ."""
    different = list(dict.fromkeys(scales))
    if len(different) == 1:
        return different[0]
    if different and all(_is_level_scale(scale) for scale in different):
        return level_scale(int(label.value) for scale in different for label in scale)
    return JUDGEMENT


def is_preference(labels: Sequence[Label]) -> bool:
    """Whether the labels say which of two sides is better, and so turn with the sides."""
    return bool(labels) and {label.value for label in labels} <= _PREFERENCES


def shown_label(value: str, labels: Sequence[Label], *, swapped: bool) -> str:
    """Return a stored label as a person sees it, or a seen one as it is stored: its own inverse."""
    if not swapped or value not in _PREFERENCES or not is_preference(labels):
        return value
    return str(to_system_space(int(value), swapped=True))


def key_of(position: int, labels: Sequence[Label]) -> str:
    """Return the key that gives a label: 1, 0, 2 for A, neither, B; else its place from 1; none after the tenth."""
    if is_preference(labels):
        return _PREFERENCE_KEYS[labels[position].value]
    return _DIGITS[position] if position < len(_DIGITS) else ""


def nearest_label(share: float, labels: Sequence[Label]) -> str:
    """Return the label worth nearest to a share of 0 to 1, the lower one at a tie; "" where none has a worth."""
    worth = [(abs(label.share - share), label.share, label.value) for label in labels if label.share is not None]
    return min(worth)[2] if worth else ""


def labels_to_json(labels: Iterable[Label]) -> list[dict[str, Any]]:
    """Return labels as a queue stores them."""
    return [
        {"value": label.value, "text": label.text} | ({} if label.share is None else {"share": label.share})
        for label in labels
    ]


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a list as people type it, separated by commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def given_scale(words: Sequence[str]) -> tuple[Label, ...]:
    """Return the scale that its owner wrote down, lowest first; each label's worth is its place, or its number's.

    Raises:
        ValueError: one label only, too many, or one that is too long.
    """
    if not words:
        return ()
    if not 2 <= len(words) <= MOST_LABELS:
        raise ValueError(f"A scale has 2 to {MOST_LABELS} labels.")
    if any(len(word) > VALUE_LIMIT for word in words):
        raise ValueError(f"A label has at most {VALUE_LIMIT} characters.")
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = [float(place) for place in range(len(words))]
    low, width = min(numbers), (max(numbers) - min(numbers)) or 1.0
    return tuple(Label(word, word, (value - low) / width) for word, value in zip(words, numbers, strict=True))


def labels_from_words(words: Iterable[str]) -> tuple[Label, ...]:
    """Return labels whose text is their value; the preferences where the words are just those."""
    values = list(words)
    if len(values) > 1 and set(values) == _PREFERENCES:
        return PREFERENCE
    return tuple(Label(value, value) for value in values)


def labels_from_json(rows: Iterable[Mapping[str, Any]]) -> tuple[Label, ...]:
    """Return the labels that `labels_to_json` wrote."""
    return tuple(Label(str(row["value"]), str(row["text"]), row.get("share")) for row in rows)


def find_node(tree: NodeSpec, key: str) -> NodeSpec | None:
    """Return the node with this key in a tree, or None."""
    if tree.key == key:
        return tree
    return next((found for child in tree.children if (found := find_node(child, key)) is not None), None)


def _is_level_scale(scale: tuple[Label, ...]) -> bool:
    return all(label.text == f"{label.value} of 100" for label in scale)


def _from_scale(scale: ScaleSpec, node: NodeSpec) -> tuple[Label, ...]:
    if scale.kind == "boolean":
        return (Label("met", "Met", 1.0), Label("not met", "Not met", 0.0))
    if scale.kind == "nominal":
        return tuple(Label(name, name) for name in scale.labels if 0 < len(name) <= VALUE_LIMIT)[:MOST_LABELS]
    if scale.minimum is None or scale.maximum is None or scale.maximum <= scale.minimum:
        return ()
    step = scale.step or 1.0
    count = round((scale.maximum - scale.minimum) / step) + 1
    if count > MOST_LABELS:
        return ()
    values = [scale.minimum + step * place for place in range(count)]
    width = scale.maximum - scale.minimum
    return tuple(Label(f"{value:g}", _meaning(node, value), (value - scale.minimum) / width) for value in values)


def _meaning(node: NodeSpec, value: float) -> str:
    text = next((anchor.text for anchor in node.anchors if anchor.low <= value <= anchor.high), "")
    first = " ".join(text.split()).split(". ")[0]
    return f"{value:g}" + (f": {first[:80]}" if first else "")
