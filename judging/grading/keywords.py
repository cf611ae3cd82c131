"""Keyword rules: and/or trees of literal texts and regular expressions, with weights, negation and conditions.

Beyond InfiBench's grader, `json: whole` and `json: part` ask whether the response is, or holds, JSON.

Order of work and quirks are those of InfiBench's grader: `to_lower` counts at rule level only and lower-cases a
regular expression too; `regex` is inherited downwards; `or` beats `and` beats `content`; a condition may veto, never
rescue.

Similarity to reference texts (ROUGE) is graded at the end of the module.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

from rapidfuzz.distance import LCSseq

from evalsite.base.types import JsonDict, JsonObject
from judging.grading.assertions import passes
from judging.grading.contexts import BadCondition, GradingContext, evaluate_condition
from judging.grading.grades import BadSpecification, CriterionGrade, NotDecided, Note, finite, number, readable_weight
from judging.grading.rubric_tree import ScoreStatus

MOST_SPANS = 20  # of one needle
DEEPEST = 100  # nesting of content
JSON_CHECKS: Mapping[str, str] = {"whole": "is-json", "part": "contains-json"}
MATCH, UNMATCH, UNDECIDED = "match", "unmatch", "undecided"
_WORDS = {True: MATCH, False: UNMATCH, None: UNDECIDED}


@dataclass(frozen=True, slots=True)
class _KeywordRule:
    content: Any
    weight: float = 1.0
    to_lower: bool = False
    neg: bool = False


@dataclass(slots=True)
class _Pass:
    """One run over the rules: what is shared, and what has been found so far."""

    context: GradingContext
    text: str
    lowered: str
    status: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    nodes_left: int = 0


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a node inherits from its rule and its parents."""

    rule: _KeywordRule
    regex: Any = False
    depth: int = 0


def grade_keywords(rules: object, text: str, context: GradingContext) -> CriterionGrade:
    """Return points for `rules` (a list of texts and mappings), with what matched where.

    `detail.status` has one word per rule; `detail.spans` gives start and end of every match in `text`.

    Raises:
        BadSpecification: a rule is malformed, or its post handler failed.
        NotDecided: a post handler could not be run, or a limit was reached.
    """
    run = _Pass(context, text, text.lower(), nodes_left=context.options.nodes)
    got = total = 0.0
    post_handler: Any = None
    shown: list[JsonDict] = []
    for entry in _entries(rules, "keywords"):
        if isinstance(entry, Mapping) and "post_handler" in entry:
            post_handler = entry["post_handler"]
            continue
        rule = _read_rule(entry, run)
        tree = _grade_node(rule.content, _Scope(rule), run)
        points = _points(rule, tree["matched"])
        run.status.append(_WORDS[tree["matched"]])
        got += points
        total += 0.0 if rule.neg else rule.weight
        shown.append(
            {
                "status": _WORDS[tree["matched"]],
                "weight": rule.weight,
                "neg": rule.neg,
                "to_lower": rule.to_lower,
                "points": points,
                "tree": tree,
            }
        )
    return _finish(run, got, total, shown, post_handler)


def nominal_total(rules: object) -> float:
    """Return the points that faulty rules would have been worth: the sum of readable weights, 1 for unreadable ones."""
    total = 0.0
    for entry in rules if isinstance(rules, list) else []:
        if isinstance(entry, Mapping):
            weight = entry.get("weight", 1.0)
            counts = "post_handler" not in entry and not entry.get("neg")
            total += readable_weight(weight) if counts else 0.0
        else:
            total += 1.0
    return total


def _entries(value: object, what: str) -> Iterable[Any]:
    """Return what Python's `for` runs over: the items of a list, the characters of a text, the keys of a mapping."""
    if isinstance(value, (list, tuple, str, Mapping)):
        return value
    raise BadSpecification("TypeError", f"`{what}` must be a list, not {value!r}.")


def _read_rule(entry: object, run: _Pass) -> _KeywordRule:
    if isinstance(entry, str):
        return _KeywordRule(entry)
    if not isinstance(entry, Mapping):
        raise BadSpecification("TypeError", f"A keyword rule must be text or a mapping, not {entry!r}.")
    weight = finite(entry.get("weight", 1.0), "`weight`")
    return _KeywordRule(
        _rule_content(entry, run), weight, bool(entry.get("to_lower", False)), bool(entry.get("neg", False))
    )


def _rule_content(entry: JsonObject, run: _Pass) -> Any:
    if "content" in entry:
        return entry["content"]
    branch = next((key for key in ("or", "and") if key in entry), None)
    if branch is None or run.context.options.compat:
        raise BadSpecification("KeyError", "A keyword rule needs `content`.", "13.10" if branch else "13.07")
    run.notes.append(
        Note("13.10", f"Rule {len(run.status) + 1} has `{branch}` without `content`; it was read as if under it.")
    )
    return {branch: entry[branch]}


def _points(rule: _KeywordRule, matched: bool | None) -> float:
    if not matched:
        return 0.0
    return -rule.weight if rule.neg else rule.weight


def _grade_node(node: object, scope: _Scope, run: _Pass) -> JsonDict:
    """Return what became of a content node: `matched` is None where it could not be decided."""
    run.nodes_left -= 1
    if run.nodes_left < 0:
        raise NotDecided("limit.size", f"There are more than {run.context.options.nodes} keyword nodes to look for.")
    if scope.depth > DEEPEST:
        raise NotDecided("limit.size", f"Keywords are nested more than {DEEPEST} deep.")
    if isinstance(node, str):
        return _grade_leaf(node, scope, run)
    if not isinstance(node, Mapping):
        raise _malformed(node)
    inner = _Scope(scope.rule, node.get("regex", scope.regex), scope.depth + 1)
    kinds = ("or", "and", "content") if run.context.options.compat else ("or", "and", "content", "json")
    kind = next((key for key in kinds if key in node), None)
    if kind is None:
        raise BadSpecification("AssertionError", "A keyword node needs `content`, `or` or `and`.")
    shown = _grade_branch(kind, node[kind], inner, run)
    if "cond" in node:
        _apply_condition(node, inner, shown, run)
    return shown


def _grade_branch(kind: str, branch: object, scope: _Scope, run: _Pass) -> JsonDict:
    if kind == "json":
        return _grade_json(branch, run)
    if kind == "content":
        return dict(_grade_node(branch, scope, run))
    children = [_grade_node(child, scope, run) for child in _entries(branch, kind)]
    return {"kind": kind, "matched": _combine(kind, [child["matched"] for child in children]), "children": children}


def _grade_json(wanted: object, run: _Pass) -> JsonDict:
    """Return whether the response is JSON (`json: whole`) or holds an object or list of it (`json: part`)."""
    if wanted not in JSON_CHECKS:
        raise BadSpecification("ValueError", f"`json` is whole or part, not {wanted!r}.")
    return {"kind": "json", "needle": wanted, "matched": passes(JSON_CHECKS[str(wanted)], "", run.text), "spans": []}


def _malformed(node: object) -> BadSpecification:
    kind = "AssertionError" if isinstance(node, list) else "TypeError"
    return BadSpecification(kind, f"Keyword content must be text or a mapping, not {node!r}.")


def _combine(kind: str, results: list[bool | None]) -> bool | None:
    """Return or/and over results of which some may be undecided (None)."""
    decisive = kind == "or"
    if decisive in results:
        return decisive
    return None if None in results else not decisive


def _grade_leaf(needle: str, scope: _Scope, run: _Pass) -> JsonDict:
    lower = scope.rule.to_lower
    haystack, searched = (run.lowered, needle.lower()) if lower else (run.text, needle)
    shown: JsonDict = {"kind": "regex" if scope.regex else "text", "needle": needle, "matched": None, "spans": []}
    if scope.regex:
        try:
            match = run.context.matcher.search(searched, haystack)
        except NotDecided as reason:
            run.notes.append(Note(reason.code, reason.message))
            return shown | {"note": reason.message}
        shown["matched"] = match is not None
        spans = [match] if match else []
    else:
        shown["matched"] = searched in haystack
        spans = _occurrences(searched, haystack) if shown["matched"] else []
    if lower and len(run.lowered) != len(run.text):
        origins = [index for index, character in enumerate(run.text) for _ in character.lower()]  # a few letters grow
        origin = [*origins, len(run.text)]
        spans = [(origin[start], origin[end]) for start, end in spans]
    shown["spans"] = [list(span) for span in spans]
    return shown


def _occurrences(needle: str, haystack: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    start = haystack.find(needle) if needle else -1
    while start >= 0 and len(spans) < MOST_SPANS:
        spans.append((start, start + len(needle)))
        start = haystack.find(needle, start + len(needle))
    return spans


def _apply_condition(node: JsonObject, scope: _Scope, shown: JsonDict, run: _Pass) -> None:
    """Veto a match whose condition does not hold; note it in `shown`."""
    shown["cond"] = node["cond"] if isinstance(node["cond"], str) else repr(node["cond"])
    if not shown["matched"]:
        return
    if UNDECIDED in run.status:
        shown["matched"] = None
        return
    names: JsonDict = {"ans": True, "context": list(run.status)}
    if run.context.options.compat:
        names |= {"rule": node, "regex": scope.regex, "to_lower": scope.rule.to_lower, "response": run.text}
    try:
        holds = evaluate_condition(node["cond"], names)
    except BadCondition as fault:
        if run.context.options.compat:
            raise BadSpecification(fault.kind, str(fault), "13.12") from fault
        run.notes.append(Note("13.12", str(fault)))
        holds = False
    shown["cond_held"] = shown["matched"] = holds


def _finish(run: _Pass, got: float, total: float, shown: list[JsonDict], post_handler: object) -> CriterionGrade:
    detail: JsonDict = {"status": run.status, "rules": shown, "spans": _all_spans(shown)}
    if UNDECIDED in run.status:
        return CriterionGrade("keywords", None, total, ScoreStatus.INCOMPLETE, detail, tuple(run.notes))
    if post_handler is not None:
        reply = run.context.handlers.post_process(post_handler, got, total, run.status)
        detail |= {"before_post_handler": [got, total], "post_handler_detail": reply.detail}
        got, total = reply.got, reply.total
    return CriterionGrade("keywords", got, total, ScoreStatus.COMPLETE, detail, tuple(run.notes))


def _all_spans(rules: list[JsonDict]) -> list[JsonDict]:
    """Return every span with its rule's index, sorted by start, for highlighting."""
    spans: list[JsonDict] = []
    for index, rule in enumerate(rules):
        pending = [rule["tree"]]
        while pending:
            node = pending.pop()
            pending.extend(node.get("children", ()))
            spans.extend(
                {"start": start, "end": end, "rule": index, "status": rule["status"], "neg": rule["neg"]}
                for start, end in node.get("spans", ())
            )
    return sorted(spans, key=lambda span: (span["start"], span["end"], span["rule"]))


# Similarity to reference texts: ROUGE F-measures mapped onto 0..1.
#
# Values are those of rouge-score 0.1.2 without stemming (Lin 2004, "ROUGE: a package for automatic evaluation of
# summaries"), computed on bit vectors instead of tables: rouge-score itself, asked for the one metric of a rule,
# grades 377 attempts a processor second in `tests.bench.bench_rules`, these 1,423, and 1,000 are wanted. The tests
# compare both. Of several references the best counts, for each ROUGE type by itself.

Lines = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Bit positions of a reference's tokens."""

    masks: dict[str, int]  # token -> its bits
    body: int  # every token's bit; the guards are the gaps
    shifts: tuple[tuple[int, int], ...]  # (k, bits whose k-th higher neighbour is in the same line), k = 1, 2, 4, ...


def lay_out(reference: Lines) -> Layout:
    """Return the layout of the reference's lines."""
    masks: dict[str, int] = {}
    body = offset = 0
    for line in reference:
        for index, token in enumerate(line, start=offset):
            masks[token] = masks.get(token, 0) | 1 << index
        body |= ((1 << len(line)) - 1) << offset
        offset += len(line) + 1
    longest = max(map(len, reference), default=0)
    shifts: list[tuple[int, int]] = []
    distance, within = 1, body & (body >> 1)
    while distance < longest:
        shifts.append((distance, within))
        within &= within >> distance
        distance *= 2
    return Layout(masks, body, tuple(shifts))


def union_hits(layout: Layout, answer: Lines) -> int:
    """Return how many reference tokens are hit, each word at most as often as the answer has it."""
    union = 0
    for line in answer:
        tokens = _known(layout, line)
        if any(tokens):
            union |= _walk(layout, tokens)
    if not union:
        return 0
    counts = Counter(token for line in answer for token in line)
    return sum(min((mask & union).bit_count(), counts[word]) for word, mask in layout.masks.items() if word in counts)


def _known(layout: Layout, line: Sequence[str]) -> list[int]:
    """Return the line's masks. Of unknown tokens in a row one is kept: the walk back goes up there, but only once."""
    masks = [layout.masks.get(token, 0) for token in line]
    return [mask for index, mask in enumerate(masks) if mask or not index or masks[index - 1]]


def _walk(layout: Layout, tokens: list[int]) -> int:
    """Return the bits that the subsequences of `tokens` with each reference line take."""
    level = layout.body  # a cleared bit: one more token of the line increases the length
    rises: list[int] = []
    for mask in tokens:
        hit = level & mask
        level = ((level + hit) | (level - hit)) & layout.body
        rises.append(layout.body ^ level)
    below = layout.body  # of each line, the tokens before the walk's place
    taken_bits = 0
    for mask, rise in zip(reversed(tokens), reversed(rises), strict=True):
        filled = (rise | mask) & below
        if not filled:
            break
        for distance, within in layout.shifts:
            filled |= (filled >> distance) & within
        top = filled ^ ((filled >> 1) & layout.shifts[0][1]) if layout.shifts else filled
        hit = top & mask
        taken_bits |= hit
        below = filled ^ hit
    return taken_bits


TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
MOST_CELLS = 1_000_000_000  # reference tokens x response tokens
_TOKEN = re.compile("[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as ROUGE sees it."""

    words: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]  # words per line; lines without characters left out
    counts: Mapping[str, int]
    pairs: Mapping[tuple[str, str], int]


def tokenize(text: str) -> Tokens:
    """Return the tokens of `text`: lower-cased runs of a-z and 0-9, so other scripts have none."""
    lines = tuple(tuple(_TOKEN.findall(line.lower())) for line in text.split("\n") if line)
    words = tuple(_TOKEN.findall(text.lower()))
    return Tokens(words, lines, Counter(words), Counter(pairwise(words)))


@lru_cache(maxsize=512)
def _reference_tokens(text: str) -> tuple[Tokens, Layout]:
    tokens = tokenize(text)
    return tokens, lay_out(tokens.lines)


def rouge_scores(references: Sequence[str], text: str) -> dict[str, float]:
    """Return the best F-measure (0..1) over `references` (at least one) for each ROUGE type."""
    answer = tokenize(text)
    scores = [_scores(*_reference_tokens(reference), answer) for reference in references]
    return {kind: max(score[kind] for score in scores) for kind in TYPES}


def grade_similarity(metrics: object, text: str) -> CriterionGrade:
    """Return points for each metric: clip((raw - min_score) / (max_score - min_score), 0, 1) x weight.

    Raises:
        BadSpecification: a metric is malformed, or its min_score equals its max_score.
        NotDecided: a reference file is not stored.
    """
    if not isinstance(metrics, (list, tuple)):
        raise BadSpecification("TypeError", "`similarity` must be a list.")
    got = total = 0.0
    shown: list[JsonDict] = []
    for metric in metrics:
        entry = _grade_metric(metric, text)
        total += entry["weight"]
        got += entry["normalized_score"] * entry["weight"]
        shown.append(entry)
    return CriterionGrade("similarity", got, total, detail={"metrics": shown})


def similarity_total(metrics: object) -> float:
    """Return the points that faulty metrics would have been worth: the sum of readable weights."""
    entries = metrics if isinstance(metrics, list) else []
    weights = [entry.get("weight", 1.0) if isinstance(entry, Mapping) else 1.0 for entry in entries]
    return sum(readable_weight(weight) for weight in weights)


def _grade_metric(metric: object, text: str) -> JsonDict:
    if not isinstance(metric, Mapping):
        raise BadSpecification("TypeError", f"A similarity metric must be a mapping, not {metric!r}.")
    for key in ("references", "metric"):
        if key not in metric:
            raise BadSpecification("KeyError", f"A similarity metric needs `{key}`.")
    raw = rouge_scores(_references(metric["references"]), text)
    name = metric["metric"]
    if not isinstance(name, str) or name not in raw:
        raise BadSpecification("KeyError", f"There is no metric {name!r}; use one of {', '.join(TYPES)}.")
    low = finite(metric.get("min_score", 0.3), "`min_score`")
    high = finite(metric.get("max_score", 0.53 if name == "rouge1" else 0.51), "`max_score`")
    if low == high:
        raise BadSpecification("ZeroDivisionError", f"min_score and max_score of {name} are both {low}.")
    normalized = max(min((raw[name] - low) / (high - low), 1.0), 0.0)
    weight = number(metric.get("weight", 1.0), "`weight`")
    return {
        "metric": name,
        **raw,
        "normalized_score": normalized,
        "min_score": low,
        "max_score": high,
        "weight": weight,
    }


def _references(entries: object) -> list[str]:
    if not isinstance(entries, (list, tuple)) or not entries:
        raise BadSpecification("ValueError", "`references` must be a list with at least one reference.")
    return [_reference(entry) for entry in entries]


def _reference(entry: object) -> str:
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, Mapping):
        raise BadSpecification("TypeError", f"A reference must be text or a mapping with `path`, not {entry!r}.")
    content = entry.get("content")
    if not isinstance(content, str):
        raise NotDecided("not-run", f"The reference file {entry.get('path')!r} is not stored with the case.")
    return content


def _scores(reference: Tokens, layout: Layout, answer: Tokens) -> dict[str, float]:
    length, words = len(reference.words), len(answer.words)
    if not length or not words:
        return dict.fromkeys(TYPES, 0.0)
    if length * words > MOST_CELLS:
        raise NotDecided("limit.size", f"A response of {words} words is too long to compare with {length} words.")
    ones = sum(min(count, answer.counts[word]) for word, count in reference.counts.items() if word in answer.counts)
    twos = sum(min(count, answer.pairs[pair]) for pair, count in reference.pairs.items() if pair in answer.pairs)
    longest = LCSseq.similarity(reference.words, answer.words)
    lined = union_hits(layout, answer.lines)
    return {
        "rouge1": _f_measure(ones, words, length),
        "rouge2": _f_measure(twos, max(words - 1, 1), max(length - 1, 1)),
        "rougeL": _f_measure(longest, words, length),
        "rougeLsum": _f_measure(lined, words, length),
    }


def _f_measure(hits: int, answered: int, expected: int) -> float:
    precision, recall = hits / answered, hits / expected
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
