"""The judge for any rubric: one call for the whole tree, or one for each scored criterion."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evalsite.base.types import JsonDict, JsonObject
from judging.grading.assertions import BadAssertion, computed_verdicts
from judging.grading.rubric_tree import (
    Value,
    full_score,
    is_rated,
    on_scale,
    scale_of_tree,
    score_tree,
    walk,
)
from judging.judges import reply_text
from judging.judges.judge_kinds import CONFIDENCE, JSON_SCHEMA, OptionField, asking_options, shipped_kind
from judging.judges.kinds.relevance import CONTEXT_NOTES
from judging.judges.questions import AskingJudge, ask_all
from judging.judges.reply_text import JSON_OBJECT, reply_form, scale_schema
from judging.judges.subjects import (
    JudgeScore,
    JudgeSubject,
    JudgeVerdict,
    VerdictStatus,
    as_data,
)
from judging.llm.chat import ChatRequest, Conversation, Message
from judging.specs.types import NodeSpec, ScaleSpec

_QUOTED_NUMBER = re.compile(r"\s{0,9}-?[0-9]{1,9}(?:\.[0-9]{1,9})?\s{0,9}")
SHORT_SCALE = 10  # labels of one character only


@dataclass(frozen=True, slots=True)
class GenericJudge(AskingJudge):
    """Options of the judge."""

    prompt_name: ClassVar[str] = "generic"
    per_node: bool = False
    max_tokens: int = 2048
    json_schema: bool = False

    def build_messages(self, subject: JudgeSubject, nodes: Sequence[NodeSpec] | None = None) -> tuple[Message, ...]:
        """Return what is sent for the given criteria, or for all that a judge has to rate."""
        nodes = rated_nodes(subject) if nodes is None else nodes
        reference = f"\nReference answer:\n{as_data(subject.reference, 'REFERENCE')}\n"
        note = CONTEXT_NOTES.get(subject.context_role, CONTEXT_NOTES[""])
        values = {
            "question": as_data(subject.question, "QUESTION"),
            "reference_note": reference if subject.reference else "",
            "context_note": f"{note}\n{as_data(subject.context, 'CONTEXT')}\n" if subject.has_context else "",
            "criteria": _criteria_text(nodes, _guidance(subject)),
            "keys": ", ".join(f'"{node.key}"' for node in nodes),
            "response": as_data(subject.response, "ANSWER"),
        }
        return self.messages_with(values, subject.image_parts())

    def request(self, subject: JudgeSubject, nodes: Sequence[NodeSpec] | None = None) -> ChatRequest:
        """Return the call for the given criteria, or for all of them."""
        nodes = rated_nodes(subject) if nodes is None else nodes
        material = {
            "task": "generic",
            "question": subject.question,
            "reference": subject.reference,
            "context": subject.context,
            "response": subject.response,
            "nodes": [_node_material(node) for node in nodes],
        }
        return self.request_with(self.build_messages(subject, nodes), material, self._reply_form(nodes))

    def _reply_form(self, nodes: Sequence[NodeSpec]) -> JsonDict:
        if not self.json_schema:
            return JSON_OBJECT
        return reply_form("rubric_verdicts", "verdicts", {node.key: scale_schema(node.scale) for node in nodes})

    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict:
        """Return {"nodes": {key: value}} for all criteria that a judge has to rate."""
        return read_nodes(text, rated_nodes(subject), subject.material)

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Ask, re-ask once what cannot be read, and return one verdict over all criteria."""
        nodes = rated_nodes(subject)
        parts = [(node,) for node in nodes] if self.per_node else [tuple(nodes)]
        verdicts = yield from ask_all([(self.request(subject, part), _reader(part, subject)) for part in parts])
        return verdicts[0] if len(verdicts) == 1 else combine_nodes(parts, verdicts)

    def labels(self, subject: JudgeSubject) -> Mapping[str, JsonObject]:
        """Return the values of a single criterion on a short scale."""
        nodes = rated_nodes(subject)
        scale = nodes[0].scale if len(nodes) == 1 else None
        if len(nodes) != 1 or (scale is not None and scale.kind not in ("boolean", "ordinal")):
            return {}
        key = nodes[0].key
        if scale is None or scale.kind == "boolean":
            return {"1": {"nodes": {key: True}}, "0": {"nodes": {key: False}}}
        low, high = scale.minimum, scale.maximum
        if low is None or high is None or scale.step not in (None, 1, 1.0) or low != int(low):
            return {}
        if not 0 <= low <= high < SHORT_SCALE:
            return {}
        return {str(number): {"nodes": {key: number}} for number in range(int(low), int(high) + 1)}

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return the score of the tree; with one criterion picked, that criterion's value."""
        rubric = subject.needed_rubric
        if subject.criterion_key:
            (node,) = rated_nodes(subject)
            rubric = NodeSpec("root", "group", aggregator={"type": "mean"}, children=(node,))
        computed, flags = _computed(rubric, subject.response)
        facts = {"has_context": subject.has_context, **subject.facts}
        tree = score_tree(rubric, {**computed, **value["nodes"]}, facts)
        detail = {"missing": list(tree.missing), "deciding": tree.deciding}
        return JudgeScore(tree.score, full_score(rubric), (*tree.flags, *flags), detail)


def _computed(rubric: NodeSpec, response: str) -> tuple[dict[str, bool], tuple[str, ...]]:
    """Return the results of the rubric's typed checks; one that cannot be carried out leaves all of them missing."""
    try:
        return computed_verdicts(rubric, response), ()
    except BadAssertion as problem:
        return {}, (f"bad_assertion: {problem}",)


def rated_nodes(subject: JudgeSubject) -> tuple[NodeSpec, ...]:
    """Return the criteria that a judge has to rate, in order.

    Raises:
        ValueError: there is no rubric, or nothing in it to rate.
    """
    nodes = tuple(
        node for node in walk(subject.needed_rubric) if is_rated(node) and subject.criterion_key in ("", node.key)
    )
    if not nodes:
        raise ValueError("The rubric has no criterion that a judge could rate.")
    return nodes


def _guidance(subject: JudgeSubject) -> tuple[NodeSpec, ...]:
    return tuple(node for node in walk(subject.needed_rubric) if node.role == "guidance" and node.text)


def leaf_share(leaf: NodeSpec, verdict: Value) -> float | None:
    """Return a verdict on one leaf as a part of the best there, 0 to 1; None where it is not on the leaf's scale.

    A leaf that takes points away is best where it is not met.
    """
    alone = NodeSpec("alone", "group", aggregator={"type": "mean"}, children=(leaf._replace(rules=()),))
    score = score_tree(alone, {leaf.key: verdict}).score
    if score is None:
        return None
    share = float(score / full_score(alone))
    return 1 - share if is_penalty(leaf) else share


def is_penalty(leaf: NodeSpec) -> bool:
    """Return whether a leaf takes points away."""
    return leaf.points is not None and leaf.points < 0


def scale_words(scale: ScaleSpec | None) -> str:
    """Return how a scale is put to a judge."""
    if scale is None or scale.kind == "boolean":
        return "true (met) or false (not met)"
    if scale.kind == "nominal":
        return "one of " + ", ".join(f'"{label}"' for label in scale.labels)
    step = "a whole number" if scale.step and float(scale.step).is_integer() else "a number"
    low = f" from {scale.minimum:g}" if scale.minimum is not None else ""
    high = f" to {scale.maximum:g}" if scale.maximum is not None else ""
    return f"{step}{low}{high}"


def _criteria_text(nodes: Sequence[NodeSpec], guidance: Sequence[NodeSpec]) -> str:
    lines: list[str] = []
    for node in nodes:
        lines.append(f"{node.key} ({scale_words(node.scale)}): {node.text or node.key}")
        for anchor in node.anchors:
            name = _anchor_name(node, anchor.low, anchor.high)
            lines.append(f"  {name}: {anchor.text}")
    if guidance:
        lines += ["", "Questions to consider, without a value of their own:", *(f"- {node.text}" for node in guidance)]
    return "\n".join(lines)


def _anchor_name(node: NodeSpec, low: float, high: float) -> str:
    if node.scale and node.scale.kind == "nominal":
        return next((label for label, value in node.value_map.items() if value == low), f"{low:g}")
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _node_material(node: NodeSpec) -> JsonDict:
    scale = node.scale or ScaleSpec("boolean")
    return {
        "key": node.key,
        "text": node.text,
        "kind": scale.kind,
        "minimum": scale.minimum,
        "maximum": scale.maximum,
        "step": scale.step,
        "labels": list(scale.labels),
        "anchors": [anchor.text for anchor in node.anchors],
    }


def _reader(nodes: Sequence[NodeSpec], subject: JudgeSubject) -> Callable[[str], JudgeVerdict]:
    return lambda text: read_nodes(text, nodes, subject.material)


def _node_reader(node: NodeSpec) -> Callable[[Any], Any]:
    scale = node.scale or ScaleSpec("boolean")

    def read(value: Any) -> Any:
        if scale.kind == "boolean":
            return reply_text.read_boolean(value)
        if on_scale(value, scale):
            return int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(value, str) and scale.kind in ("ordinal", "numeric"):
            if not _QUOTED_NUMBER.fullmatch(value):
                raise LookupError(value)
            number = float(value)
            if on_scale(number, scale):
                return reply_text.RepairedValue(int(number) if number.is_integer() else number)
        raise LookupError(value)

    return read


def read_nodes(text: str, nodes: Sequence[NodeSpec], material: str = "") -> JudgeVerdict:
    """Return {"nodes": {key: value}} from a JSON reply that gives every criterion a value on its scale.

    `material` is what was judged: an object quoted from it is not read.
    """
    reply = reply_text.agreed_object(text, "verdicts", repair=True, material=material)
    if isinstance(reply, JudgeVerdict):
        return reply
    reading = reply_text.read_menu(reply.value, {node.key: _node_reader(node) for node in nodes}, key="verdicts")
    if isinstance(reading, JudgeVerdict):
        return reading
    values, repaired_names = reading
    flags = ((reply.rung,) if reply.is_lenient else ()) + tuple(f"mended:{name}" for name in repaired_names)
    rationale = reply.value.get("reasoning")
    rationale = rationale if isinstance(rationale, str) else reply_text.reasons_text(rationale)
    return reply_text.read({"nodes": values}, rationale=rationale, flags=flags, repaired=bool(flags))


def combine_nodes(parts: Sequence[Sequence[NodeSpec]], verdicts: Sequence[JudgeVerdict]) -> JudgeVerdict:
    """Return one verdict over calls for single criteria; without a value for each of them there is none."""
    raw = tuple(text for verdict in verdicts for text in verdict.raw)
    flags = tuple(dict.fromkeys(flag for verdict in verdicts for flag in verdict.flags))
    bad = [(part[0].key, verdict) for part, verdict in zip(parts, verdicts, strict=True) if verdict.value is None]
    if bad:
        order = (VerdictStatus.FAILED, VerdictStatus.REFUSED, VerdictStatus.UNPARSED)
        status = min((verdict.status for _, verdict in bad), key=order.index)
        reason = "; ".join(f"{key}: {verdict.reason}" for key, verdict in bad)
        return JudgeVerdict(status, flags=flags, reason=reason, raw=raw)
    nodes = {key: value for verdict in verdicts if verdict.value for key, value in verdict.value["nodes"].items()}
    repaired = any(verdict.status is VerdictStatus.REPAIRED for verdict in verdicts)
    rationale = "\n".join(f"{part[0].key}: {verdict.rationale}" for part, verdict in zip(parts, verdicts, strict=True))
    status = VerdictStatus.REPAIRED if repaired else VerdictStatus.OK
    return JudgeVerdict(status, value={"nodes": nodes}, rationale=rationale, flags=flags, raw=raw)


KIND = shipped_kind(
    "generic",
    {"rubric"},
    (
        OptionField("per_node", "boolean", False, "One call for each criterion."),
        CONFIDENCE,
        *asking_options(2048),
        replace(JSON_SCHEMA, help="Request replies with a JSON schema if the endpoint accepts one."),
    ),
    lambda options: GenericJudge(**options),
    rates_on=lambda _, rubric: scale_of_tree(rubric),
)
