"""Lexical baselines: what counting words alone would reply to a judge's prompt.

No model is behind them and none is imitated: every reply says that it is a lexical baseline and states the figures that
decide. They give a floor that any language model should beat. Replies have the very form that the prompt asks for and
go through the same parser.

How much of one text's content another text holds: the whole knowledge of the lexical baselines.

Content terms are words without stop words and without the verbs in which criteria are phrased; code tokens such as
`-zone` or `park_mount` are kept whole. Nothing here understands a sentence, negation or synonym.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from evalsite.base.types import JsonObject
from judging.grading.rubric_tree import CascadeOptions, cascade_score
from judging.llm.chat import ChatRequest

LENSES = ("reference", "criterion", "balance")
CONCISE_WORDS = 150  # up to here an answer is not penalised for length
MAX_TEXT = 60_000  # characters that are looked at

_TERM = re.compile(r"-{0,2}[a-z_][a-z0-9_]*(?:[.\-][a-z0-9_]+)*|\d+(?:\.\d+)*|[\u4e00-\u9fff]")
_STOP = frozenset(
    _TERM.findall(
        "a an and any are as at be because been being both but by can could did do does doing each either for "
        "from had has have he her here his how i if in into is it its may me might more most must my no nor not "
        "of on only or other our out over own same she should so some such than that the their them then there "
        "these they this those through to too under up us very was we were what when where which while who whom "
        "why will with would you your "
    )
)
_PHRASING = frozenset(
    _TERM.findall(
        "advise answer answers command commands correct correctly criterion describe describes example explain "
        "explains flag give gives good great mention mentions name names number option options point points poor "
        "pick provide provides question reason response responses say says set state states submission text whole "
        "score level "
    )
)


class UnknownLens(ValueError):
    """There is no lexical baseline of this name."""


@lru_cache(maxsize=4096)
def terms(text: str) -> frozenset[str]:
    """Return the content terms of a text, lower-cased, plurals as singulars."""
    singulars = map(_singular, _TERM.findall(text[:MAX_TEXT].casefold()))
    return frozenset(term for term in singulars if term not in _STOP and term not in _PHRASING)


def _singular(term: str) -> str:
    return term[:-1] if len(term) > 3 and term.endswith("s") and not term.endswith("ss") else term


def coverage(source: str, target: str) -> float | None:
    """Return the share of the source's content terms that the target holds; None where the source has none."""
    source_terms = terms(source)
    return len(source_terms & terms(target)) / len(source_terms) if source_terms else None


def conciseness(text: str) -> float:
    """Return 1 up to 150 words, falling as 150 / words beyond; 0 for an empty text."""
    words = len(text.split())
    return 0.0 if not words else min(1.0, CONCISE_WORDS / words)


def structure(text: str) -> float:
    """Return 1 for a text with paragraphs, a list or code, 1/2 for one block of prose, 0 for an empty text."""
    body = text.strip()
    if not body:
        return 0.0
    listed = re.search(r"^\s*(?:[-*\u2022]|\d+[.)])\s", body, re.MULTILINE)
    return 1.0 if listed or "```" in body or "\n\n" in body else 0.5


def measure(lens: str, response: str, *, question: str, reference: str, criterion: str) -> tuple[float, str]:
    """Return how the lens rates a response as a whole, from 0 to 1, and in words what was measured.

    Raises:
        UnknownLens: not one of reference, criterion and balance.
    """
    if lens not in LENSES:
        raise UnknownLens(f"A lexical baseline is one of {', '.join(LENSES)}, not {lens!r}.")
    question_coverage = coverage(question, response) or 0.0
    if lens == "balance":
        share = 0.6 * question_coverage + 0.25 * conciseness(response) + 0.15 * structure(response)
        return share, "coverage of the question's terms, weighed with conciseness and structure"
    source, name = (reference, "reference") if lens == "reference" else (criterion, "criterion")
    source_coverage = coverage(source, response)
    if source_coverage is None:
        return question_coverage, f"no {name} terms to look for, so coverage of the question's terms"
    return source_coverage, f"coverage of the {name}'s terms"


def criterion_share(lens: str, response: str, *, question: str, reference: str, criterion: str) -> float:
    """Return how far a response meets one criterion, 0..1; the other two lenses average it with their own view."""
    whole = measure(lens, response, question=question, reference=reference, criterion=criterion)[0]
    met = coverage(criterion, response)
    if met is None:
        return whole
    return met if lens == "criterion" else (met + whole) / 2


VERSION = "1"  # part of a call's identity: raise it when replies change

MET = 0.6  # a criterion counts as met from this share of its terms
TIE_MARGIN = 0.02  # two answers closer than this are a tie
STRICTNESS = {"L1": 0.4, "L2": 0.6, "L3": 0.8}
_LAST_VERDICT = re.compile(r"(?:\A|\n)[\s*_]*([012])[\s*_.]*\Z")
_STATED = re.compile(r"submission 1: ?(\d\.\d+), ?submission 2: ?(\d\.\d+)", re.IGNORECASE)

Material = JsonObject


class UnknownTask(ValueError):
    """The request carries no material that a lexical baseline could work on."""


def lexical_reply(request: ChatRequest, lens: str) -> str:
    """Return the reply of a lexical baseline to a judge's or a debate's request.

    Raises:
        UnknownLens: not one of reference, criterion and balance.
        UnknownTask: the request's material names no task that is known here.
    """
    if lens not in LENSES:
        raise UnknownLens(f"A lexical baseline is one of {', '.join(LENSES)}, not {lens!r}.")
    writer = _WRITERS.get(str(request.material.get("task")))
    if writer is None:
        raise UnknownTask(f"A lexical baseline cannot work on the task {request.material.get('task')!r}.")
    return writer(request.material, lens)


def _intro(lens: str) -> str:
    return f"Lexical baseline, lens {lens}: no model, only shares of content terms."


def _share(material: Material, lens: str, criterion: str, response: str | None = None) -> float:
    return criterion_share(
        lens,
        material["response"] if response is None else response,
        question=material["question"],
        reference=material.get("reference", ""),
        criterion=criterion,
    )


def _level_cascade(material: Material, lens: str) -> str:
    shares = {c["key"]: _share(material, lens, c["text"]) for level in material["levels"] for c in level["criteria"]}
    figures = ", ".join(f"{key} {share:.2f}" for key, share in shares.items())
    reasoning = f"{_intro(lens)} Shares by criterion, met from {MET:.2f}: {figures or 'none'}."
    if material["mode"] == "itemised":
        return json.dumps({"reasoning": reasoning, "met": {key: share >= MET for key, share in shares.items()}})
    counts = {level["level"]: len(level["criteria"]) for level in material["levels"]}
    met = {
        level["level"]: sum(shares[criterion["key"]] >= MET for criterion in level["criteria"])
        for level in material["levels"]
    }
    options = CascadeOptions(level_25_value=material["level_25_value"], level_100=material["level_100"])
    score = cascade_score(counts, met, options)
    return f"<analysis>\n{reasoning}\n</analysis>\n\n<score>\n{score}\n</score>"


def _relevance(material: Material, lens: str) -> str:
    """Four lines and nothing else: the format leaves no room for a reasoning."""
    response, context = material["response"], material["context"]
    truth = material["reference"] or context
    lens_share = measure(
        lens, response, question=material["question"], reference=truth, criterion=f"{material['question']} {context}"
    )[0]
    accuracy = round(10 * lens_share)
    complete = round(10 * (coverage(material["question"], response) or 0.0))
    precise = round(10 * (coverage(response, context) or 0.0)) if context.strip() else 0
    if accuracy <= 2:
        complete, precise = min(complete, 4), min(precise, 4)
    final = (accuracy + complete + precise) / 30
    return f"Accuracy: {accuracy}\nComprehensiveness: {complete}\nContext Precision: {precise}\nFinal: {final:.1f}"


def _custom(material: Material, lens: str) -> str:
    """Return the place of the share on the scale, or the label at that place, in the form that was asked for."""
    share, values = _share(material, lens, material["question"]), material["values"]
    answer = values[min(len(values) - 1, int(share * len(values)))]
    if "choices" in material:
        first, second = (round(_whole(material, lens, text, ""), 4) for text in material["responses"])
        answer = material["choices"][1 - _choice(first, second)]
    if material["is_number"]:
        low, high = map(float, values)
        answer = f"{round(low + share * (high - low)):g}"
    reasoning = f"{_intro(lens)} The share is {share:.2f}."
    if material["reply"] == "json":
        value = float(answer) if material["is_number"] else answer
        return json.dumps({"reasoning": reasoning, material["reply_key"]: value})
    if material["reply"] == "tag":
        return f"{reasoning}\n<{material['reply_key']}>{answer}</{material['reply_key']}>"
    return f"{reasoning}\n{answer}"


def _accuracy(material: Material, lens: str) -> str:
    share = _share(material, lens, material["reference"])
    threshold = STRICTNESS[material["strictness"]]
    figures = set(re.findall(r"\d+(?:\.\d+)?", material["reference"]))
    missing = figures - set(re.findall(r"\d+(?:\.\d+)?", material["response"]))
    correct = share >= threshold and (material["strictness"] == "L1" or not missing)
    reasoning = (
        f"{_intro(lens)} Share {share:.2f} of the terms looked for, {threshold:.2f} needed at "
        f"{material['strictness']}; {len(missing)} of the reference's {len(figures)} figures are missing."
    )
    return json.dumps({"is_judged_correct": correct, "reasoning": reasoning})


def _integrity(material: Material, lens: str) -> str:
    question_coverage = coverage(material["question"], material["response"]) or 0.0
    shape = structure(material["response"])
    score = round(100 * (0.7 * question_coverage + 0.3 * shape))
    reasoning = f"{_intro(lens)} Coverage of the task's terms {question_coverage:.2f}, structure {shape:.1f}."
    return json.dumps({"integrity_score": score, "integrity_reasoning": reasoning})


def _pairwise(material: Material, lens: str) -> str:
    first, second = (round(_whole(material, lens, text, material["criterion"]), 4) for text in material["responses"])
    label = {1: "[[A]]", 2: "[[B]]", 0: "[[C]]"}[_choice(first, second)]
    words = f"Answer A: {first:.2f}, answer B: {second:.2f}; closer than {TIE_MARGIN} is a tie."
    return f"{_intro(lens)} {words}\n{label}"


def _whole(material: Material, lens: str, text: str, criterion: str) -> float:
    return measure(
        lens, text, question=material["question"], reference=material.get("reference", ""), criterion=criterion
    )[0]


def _choice(first: float, second: float) -> int:
    """Return 1 or 2 for the better place, 0 for a tie."""
    if abs(first - second) < TIE_MARGIN:
        return 0
    return 1 if first > second else 2


def _generic(material: Material, lens: str) -> str:
    shares = {
        node["key"]: _share(material, lens, " ".join([node["text"], *node["anchors"][-1:]]))
        for node in material["nodes"]
    }
    figures = ", ".join(f"{key} {share:.2f}" for key, share in shares.items())
    verdicts = {node["key"]: _on_scale(node, shares[node["key"]]) for node in material["nodes"]}
    return json.dumps({"reasoning": f"{_intro(lens)} Shares by criterion: {figures}.", "verdicts": verdicts})


def _on_scale(node: Material, share: float) -> bool | float | int | str:
    """Return the value of a node's scale that lies at the share: 0 is the lowest, 1 the highest."""
    if node["kind"] == "boolean":
        return share >= MET
    if node["kind"] == "nominal":
        return str(node["labels"][min(int(share * len(node["labels"])), len(node["labels"]) - 1)])
    low = 0 if node["minimum"] is None else node["minimum"]
    high = 100 if node["maximum"] is None else node["maximum"]
    step = node["step"] or (high - low) / 100 or 1
    value = low + round(share * (high - low) / step) * step
    value = min(max(value, low), high)
    return int(value) if float(value).is_integer() else round(value, 6)


def _debate_statement(material: Material, lens: str) -> str:
    levels = material["criterion"]["levels"]
    best = str(list(levels.values())[-1]) if levels else ""
    criterion = f"{material['criterion']['name']} {best}"
    first, second = (round(_whole(material, lens, text, criterion), 2) for text in material["responses"])
    _, words = measure(
        lens, "", question=material["question"], reference=material.get("reference", ""), criterion=criterion
    )
    choice = _choice(first, second)
    statement = f"{_intro(lens)} I measured {words}: submission 1: {first:.2f}, submission 2: {second:.2f}."
    if material["round"] == 0:
        return f"{statement}\n{choice}"
    before = _verdict_of(material.get("own_previous") or "")
    current = choice if before is None else before
    move = _majority_against(material["others"], current, margin=abs(first - second))
    if move is None:
        return (
            f"{statement} {_others_summary(material['others'])} Nothing they state outweighs my margin; "
            f"I keep {current}.\n{current}"
        )
    verdict, margin = move
    return (
        f"{statement} {_others_summary(material['others'])} A majority chose {verdict} with a stated margin "
        f"of {margin:.2f}, larger than my {abs(first - second):.2f}; I move from {current} to {verdict}.\n{verdict}"
    )


def _verdict_of(text: str) -> int | None:
    match = _LAST_VERDICT.search(text)
    return int(match[1]) if match else None


def _latest(others: Sequence[Material]) -> dict[Any, str]:
    return {other["agent"]: str(other["text"]) for other in others}


def _others_summary(others: Sequence[Material]) -> str:
    verdicts = [f"speaker {number}: {_verdict_of(text)}" for number, text in _latest(others).items()]
    return f"I heard {', '.join(verdicts) or 'nobody'}."


def _majority_against(others: Sequence[Material], current: int, *, margin: float) -> tuple[int, float] | None:
    """Return the verdict of more than half of the others and their mean stated margin, where it beats one's own.

    An agent that states no figures (a language model) carries no margin and so moves nobody.
    """
    texts = list(_latest(others).values())
    for verdict in (1, 2, 0):
        voters = [text for text in texts if _verdict_of(text) == verdict]
        stated = [abs(float(figures[1]) - float(figures[2])) for text in voters if (figures := _STATED.search(text))]
        if verdict != current and 2 * len(voters) > len(texts) and stated:
            mean = sum(stated) / len(stated)
            if mean > margin:
                return verdict, mean
    return None


_WRITERS: Mapping[str, Callable[[Material, str], str]] = {
    "level_cascade": _level_cascade,
    "relevance": _relevance,
    "accuracy": _accuracy,
    "integrity": _integrity,
    "pairwise": _pairwise,
    "generic": _generic,
    "custom": _custom,
    "debate_statement": _debate_statement,
}
