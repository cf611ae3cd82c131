"""The options of the judge of one's own prompt, as its form and its file show them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evalsite.base.json_types import JsonDict
from judging.grading.rubric_tree import is_scored_leaf, walk
from judging.judges.judge_kinds import CONFIDENCE, JSON_SCHEMA, TOP_P, OptionField, asking_options
from judging.judges.kinds.generic import scale_words
from judging.specs.types import NodeSpec


def criteria_of(tree: NodeSpec) -> Iterator[JsonDict]:
    """Yield what templates may say of each criterion of a rubric."""
    levels = {child.key: level.key for level in tree.children if level.kind == "level" for child in level.children}
    for node in walk(tree):
        if is_scored_leaf(node):
            yield {
                "key": node.key,
                "text": node.text,
                "level": levels.get(node.key, ""),
                "points": "" if node.points is None else f"{node.points:g}",
                "scale": scale_words(node.scale),
                "anchors": [{"value": anchor.range_words, "text": anchor.text} for anchor in node.anchors],
            }


TAG, LAST_LINE, JSON, PATTERN = "tag", "last_line", "json", "pattern"
_TEXTS = (
    OptionField(
        "prompt_text",
        "text",
        "",
        "Template of the question about a response, with the variables listed beside. Empty: the shipped one.",
        label="Prompt",
    ),
    OptionField(
        "system_text",
        "text",
        "",
        "Sent as the system's message, with the same variables. Empty: none.",
        label="System text",
        words=("none", "set"),
    ),
    OptionField(
        "examples",
        "text",
        "",
        "Few-shot examples, sent as earlier turns: a YAML list with question, response, reference, context and reply, "
        "and response_b where the prompt compares.",
        words=("none", "set"),
    ),
)
_REPLY = (
    OptionField(
        "reply",
        "choice",
        TAG,
        "Where the verdict stands in the reply.",
        (TAG, LAST_LINE, JSON, PATTERN),
        words=("in a tag", "at the end of the last line", "in a JSON object", "where a pattern finds it"),
        label="Form of the reply",
    ),
    OptionField(
        "reply_key",
        "line",
        "score",
        "Name of the tag or JSON key. A pattern is a regular expression: its last match, or the first group, counts.",
        label="Tag, key or pattern",
    ),
    OptionField(
        "labels_text",
        "text",
        "",
        "What the verdict may be and what it is worth, one per line: LABEL = SCORE. Empty: a number on the scale.",
        label="Labels",
        words=("none", "set"),
    ),
    OptionField("lowest", "number", 0, "Lowest number of the scale.", low=0, label="Lowest score"),
    OptionField("highest", "number", 10, "Highest number of the scale; a full score.", low=0, label="Highest score"),
    OptionField(
        "both_orders",
        "boolean",
        True,
        "A prompt with response_b is asked twice, with the responses swapped; the score is the mean over both orders.",
    ),
)
_ASKING = tuple(
    replace(option, group="Sampling and confidence")
    for option in (JSON_SCHEMA, TOP_P, CONFIDENCE, *asking_options(2048))
    if option.name != "prompt_text"
)
OPTIONS = (*_TEXTS, *_REPLY, *_ASKING)
