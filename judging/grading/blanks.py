"""Blank filling: answers are cut out of a response by aligning it with a template, then compared with targets.

Which blank got what, and the texts handed to post handlers, are those of InfiBench's grader to the letter.

The character alignment behind blank filling: a longest common subsequence with the quirks of InfiBench's grader.

Tables over template index i and response index j: f (length) and s (response index of the last matched character). On
the border (i = 0 or j = 0): equal characters give f = 1, s = j; others f = 0, s = 0; the border does not inherit from
its neighbours. Inside, equal: f = f(i-1, j-1) + 1, s = j. Inside, different: the larger f of left and above with its
s; on a tie the larger s. So a cell is the larger of its neighbours by (f, s), and one integer key f * 2^bits + s
holds both: a row is a running maximum of the row above that starts again at every equal character.

The new starts matter in the first rows only. Once f does not fall along row i-1, f(i, j) <= f(i-1, j) + 1 for every j,
by induction over j: an equal cell has f(i-1, j-1) + 1 <= f(i-1, j) + 1, and any other the larger of f(i, j-1) <=
f(i-1, j-1) + 1 and f(i-1, j). So no equal cell is below its left neighbour, which has f(i, j-1) <= f(i-1, j-1) + 1: row
i does not fall either, and the plain running maximum gives the same keys in a third of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalsite.base.types import JsonDict
from judging.grading.contexts import BadCondition, GradingContext, evaluate_condition
from judging.grading.grades import (
    BadSpecification,
    CriterionGrade,
    GradingOptions,
    NotDecided,
    Note,
    number,
    readable_weight,
)
from judging.grading.rubric_tree import ScoreStatus

_Ints = NDArray[Any]  # int64, or int32 for keys that fit

DEPTH = 8
DEEP_FROM = 4000  # columns; fewer are done sooner one by one
NARROW_BELOW = 2**31  # the largest key must be below this to be held in 32 bits
FILLER = "\0"


@dataclass(frozen=True, slots=True)
class Alignment:
    """`length` of the common subsequence; `positions`: one response index per template character."""

    length: int
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The responses laid end to end, each from one of `starts` to the next, and filled up to a multiple of `depth`.

    Column c is kept at place (c % depth) * width + c // depth, so that `depth` columns that follow each other stand
    below each other: a running maximum then takes `depth` steps over whole vectors instead of one step per column.
    """

    codes: NDArray[Any]  # by column
    starts: _Ints  # columns; the last one is the end of the last response
    floors: _Ints  # by column: added to its keys, so that those of a response are above all of the one before
    bits: int  # the low bits of a key hold s
    span: int  # larger than any key before its floor is added
    depth: int
    width: int

    @property
    def end(self) -> int:
        """Return a number larger than any key."""
        return self.span * (len(self.starts) - 1)

    def place(self, column: Any) -> Any:
        """Return where a column, or each of several, is kept."""
        return column % self.depth * self.width + column // self.depth

    def kept(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values by column in the order in which columns are kept."""
        return np.ascontiguousarray(values.reshape(self.width, self.depth).T).ravel()


@dataclass(frozen=True, slots=True)
class _Letter:
    """Where one template character stands in the columns."""

    equal: NDArray[np.bool_]  # by column; true for the first column of every response, where a row starts again as well
    inside: _Ints  # places of the columns where it stands, not counting the first of a response
    before: _Ints  # places of the columns left of those
    gain: _Ints  # what a match adds to f's part of the key, plus its own response index as s
    border: _Ints  # keys for the first column of each response


def align(template: str, response: str) -> Alignment:
    """Return the alignment of one response. Both texts must have at least one character."""
    return align_many(template, [response])[0]


def align_many(template: str, responses: Sequence[str]) -> list[Alignment]:
    """Return the alignment of each response with `template`; faster together than one by one.

    Memory: 4 bytes per template character and response character, 8 for very long texts.
    """
    columns = _lay_out(template, responses)
    keys = _fill(template, columns)
    starts = columns.starts.tolist()
    return [
        _back_track(template, response, keys, columns, (start, end))
        for response, start, end in zip(responses, starts, starts[1:], strict=False)
    ]


def _lay_out(template: str, responses: Sequence[str]) -> _Columns:
    lengths = np.array([len(response) for response in responses])
    starts = np.concatenate(([0], np.cumsum(lengths)))
    count = int(starts[-1])
    depth = DEPTH if count >= DEEP_FROM else 1
    width = -(-count // depth)
    filled = width * depth - count
    codes = np.frombuffer(("".join(responses) + FILLER * filled).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    bits = int(lengths.max()).bit_length()
    span = (len(template) + 1) << bits
    lengths[-1] += filled
    return _Columns(codes, starts, np.repeat(np.arange(len(lengths)) * span, lengths), bits, span, depth, width)


def _locate(character: str, columns: _Columns, kind: type[np.signedinteger[Any]]) -> _Letter:
    starts = columns.starts[:-1]
    equal = columns.codes == ord(character)
    equal[columns.starts[-1] :] = False
    at_start = equal[starts]
    equal[starts] = False
    inside = np.flatnonzero(equal)
    equal[starts] = True
    unit = 1 << columns.bits
    offsets = inside - starts[columns.floors[inside] // columns.span]
    return _Letter(
        equal=equal,
        inside=columns.place(inside),
        before=columns.place(inside - 1),
        gain=(offsets + unit).astype(kind),
        border=(np.where(at_start, unit, 0) + columns.floors[starts]).astype(kind),
    )


def _fill(template: str, columns: _Columns) -> _Ints:
    """Return the keys, one row per template character, in the order in which columns are kept."""
    kind = np.int32 if columns.end < NARROW_BELOW else np.int64
    letters = {character: _locate(character, columns, kind) for character in set(template)}
    keys = np.empty((len(template), len(columns.codes)), dtype=kind)
    starts = columns.place(columns.starts[:-1])
    first = letters[template[0]]
    keys[0] = columns.kept(columns.floors)
    keys[0, first.inside] += first.gain
    keys[0, starts] = first.border
    rows_filled = _fill_restarting(template, columns, letters, keys)
    length_part = -1 << columns.bits
    above = keys[rows_filled - 1]
    for row, character in zip(keys[rows_filled:], template[rows_filled:], strict=True):
        letter = letters[character]
        row[:] = above
        row[starts] = letter.border
        row[letter.inside] = (above[letter.before] & length_part) + letter.gain
        _run_maximum(row.reshape(columns.depth, columns.width))
        above = row
    return keys


def _fill_restarting(template: str, columns: _Columns, letters: dict[str, _Letter], keys: _Ints) -> int:
    """Fill rows from the second on, up to the first that falls in no response; return how many are filled then.

    An offset that grows at every restart lets one running maximum start again there; it is taken off afterwards.
    """
    starts = columns.place(columns.starts[:-1])
    length_part = -1 << columns.bits
    offsets: dict[str, _Ints] = {}
    above = keys[0].astype(np.int64)
    for rows_filled, character in enumerate(template[1:], start=2):
        letter = letters[character]
        if character not in offsets:
            offsets[character] = columns.kept(np.cumsum(letter.equal, dtype=np.int64) * columns.end)
        offset = offsets[character]
        row = above + offset
        row[starts] = letter.border + offset[starts]
        row[letter.inside] = (above[letter.before] & length_part) + letter.gain + offset[letter.inside]
        _run_maximum(row.reshape(columns.depth, columns.width))
        row -= offset
        keys[rows_filled - 1] = above = row
        if (row[letter.before] <= row[letter.inside]).all():
            return rows_filled
    return len(template)


def _run_maximum(columns: _Ints) -> None:
    """Replace each value by the largest of those in the columns up to its own."""
    above = columns[0]
    for row in columns[1:]:
        np.maximum(above, row, out=row)
        above = row
    if len(columns) == 1:
        np.maximum.accumulate(above, out=above)
    else:
        so_far = np.maximum.accumulate(above)
        np.maximum(columns[:, 1:], so_far[:-1], out=columns[:, 1:])


def _back_track(template: str, response: str, keys: _Ints, columns: _Columns, ends: tuple[int, int]) -> Alignment:
    """Return positions by walking up from the last cell; column -1 is the last one, as in InfiBench."""
    start, end = ends
    depth, width = columns.depth, columns.width
    low = (1 << columns.bits) - 1
    last = int(keys[-1, columns.place(end - 1)]) % columns.span
    position = last & low
    positions = [0] * len(template)
    for index in range(len(template) - 1, -1, -1):
        if template[index] != response[position]:
            positions[index] = position + 1
            continue
        positions[index] = position
        if index:
            cell = start + position - 1 if position else end - 1  # its place is spelt out: a call costs a quarter here
            position = int(keys[index - 1, cell % depth * width + cell // depth]) & low
    return Alignment(last >> columns.bits, tuple(positions))


DEFAULT_BLANK = "[blank]"
DEFAULT_ESCAPE = " '\"`"
LOWEST_RATE = 0.8
_CELLS_AT_ONCE = 8_000_000  # in a batch; larger ones no longer fit the processor's cache


@dataclass(frozen=True, slots=True)
class BlankSpec:
    """The `blank_filling` mapping, read once per response."""

    template: str
    targets: Sequence[Any]
    blank: str = DEFAULT_BLANK
    escape: str | None = DEFAULT_ESCAPE
    prefix: str = ""
    post_handler: Any = None

    def filled(self, text: str) -> str:
        """Return what is aligned with the template: prefix and response, one space where both are empty."""
        return (self.prefix + text) or " "


@dataclass(frozen=True, slots=True)
class _Target:
    answers: Sequence[Any]
    weight: float
    to_lower: bool
    substring: bool


@dataclass(slots=True)
class _Trial:
    """One blank: the answer cut out of the response, and what it has been compared with so far."""

    answer: str
    matched: bool | None = False
    text: str = "unmatched"
    target: str = ""
    notes: list[Note] = field(default_factory=list)


def read_blank_spec(spec: object) -> BlankSpec:
    """Return the mapping as a BlankSpec.

    Raises:
        BadSpecification: `template` or `targets` is missing or of the wrong kind.
    """
    if not isinstance(spec, Mapping):
        raise BadSpecification("TypeError", "`blank_filling` must be a mapping.")
    for key in ("template", "targets"):
        if key not in spec:
            raise BadSpecification("KeyError", f"`blank_filling` needs `{key}`.")
    template, targets = spec["template"], spec["targets"]
    texts = {"template": template, "blank_str": spec.get("blank_str", DEFAULT_BLANK), "prefix": spec.get("prefix", "")}
    for name, value in texts.items():
        if not isinstance(value, str) or (not value and name != "prefix"):
            raise BadSpecification("TypeError", f"`{name}` must be text, not {value!r}.")
    escape = spec.get("escape", DEFAULT_ESCAPE)
    if escape is not None and not isinstance(escape, str):
        raise BadSpecification("TypeError", f"`escape` must be text, not {escape!r}.")
    if not isinstance(targets, (list, tuple)):
        raise BadSpecification("TypeError", "`targets` must be a list.")
    return BlankSpec(template, targets, texts["blank_str"], escape, texts["prefix"], spec.get("post_handler"))


def align_responses(spec: object, texts: Sequence[str], options: GradingOptions) -> list[Alignment | None]:
    """Return one alignment per response, computed together, equal responses once; None where it is over the limit.

    Raises: as `read_blank_spec`.
    """
    blanks = read_blank_spec(spec)
    filled = [blanks.filled(text) for text in texts]
    allowed = [text for text in dict.fromkeys(filled) if _affordable(blanks, text, options)]
    alignments: dict[str, Alignment] = {}
    batch: list[str] = []
    cells = 0
    for text in sorted(allowed, key=len):
        cells += len(text) * len(blanks.template)
        if batch and cells > _CELLS_AT_ONCE:
            alignments |= dict(zip(batch, align_many(blanks.template, batch), strict=True))
            batch, cells = [], len(text) * len(blanks.template)
        batch.append(text)
    if batch:
        alignments |= dict(zip(batch, align_many(blanks.template, batch), strict=True))
    return [alignments.get(text) for text in filled]


def grade_blanks(
    spec: object, text: str, context: GradingContext, alignment: Alignment | None = None
) -> CriterionGrade:
    """Return points for the blanks, with the answer, its place in `text` and the outcome for each.

    `alignment` saves the work where `align_responses` has done it.

    Raises:
        BadSpecification: the specification is malformed or a post handler failed.
        NotDecided: a limit was reached, or a post handler could not be run.
    """
    blanks = read_blank_spec(spec)
    filled = blanks.filled(text)
    places = _places(blanks)
    if alignment is None:
        if not _affordable(blanks, filled, context.options):
            raise NotDecided("limit.size", f"A response of {len(text)} characters is too long to align.")
        alignment = align(blanks.template, filled)
    rate = _rate(alignment, blanks, len(places))
    got = total = 0.0
    texts: list[str] = []
    shown: list[JsonDict] = []
    notes: list[Note] = []
    for index, raw in enumerate(blanks.targets):
        weight = _weight(raw)
        total += weight
        start, end = _cut(alignment, blanks, places[index]) if rate >= LOWEST_RATE else (0, 0)
        trial = _try_blank(raw, filled[start:end].strip(blanks.escape), texts, context, rate)
        got += weight if trial.matched else 0.0
        texts.append(trial.text)
        notes.extend(trial.notes)
        span = [max(0, start - len(blanks.prefix)), max(0, end - len(blanks.prefix))]
        shown.append(
            {
                "answer": trial.answer,
                "span": span,
                "matched": trial.matched,
                "target": trial.target,
                "weight": weight,
                "points": weight if trial.matched else 0.0,
                "text": trial.text,
            }
        )
    detail: JsonDict = {"texts": texts, "blanks": shown, "match_rate": rate, "lowest_rate": LOWEST_RATE}
    if any(entry["matched"] is None for entry in shown):
        return CriterionGrade("blank_filling", None, total, ScoreStatus.INCOMPLETE, detail, tuple(notes))
    if blanks.post_handler is not None:
        reply = context.handlers.post_process(blanks.post_handler, got, total, texts)
        detail |= {"before_post_handler": [got, total], "post_handler_detail": reply.detail}
        got, total = reply.got, reply.total
    return CriterionGrade("blank_filling", got, total, ScoreStatus.COMPLETE, detail, tuple(notes))


def nominal_total(spec: object) -> float:
    """Return the points a faulty specification would have been worth: the sum of readable weights."""
    targets = spec.get("targets") if isinstance(spec, Mapping) else None
    targets = targets if isinstance(targets, (list, tuple)) else ()
    weights = [entry.get("weight", 1.0) if isinstance(entry, Mapping) else 1.0 for entry in targets]
    return sum(readable_weight(weight) for weight in weights)


def _affordable(blanks: BlankSpec, filled: str, options: GradingOptions) -> bool:
    return len(blanks.template) * len(filled) <= options.alignment_cells


def _places(blanks: BlankSpec) -> list[int]:
    places: list[int] = []
    start = blanks.template.find(blanks.blank)
    while start >= 0:
        places.append(start)
        start = blanks.template.find(blanks.blank, start + 1)
    if not len(blanks.targets) == len(places) == blanks.template.count(blanks.blank):
        message = f"The template has {len(places)} blanks (overlapping ones counted) for {len(blanks.targets)} targets."
        raise BadSpecification("AssertionError", message, "13.16")
    return places


def _rate(alignment: Alignment, blanks: BlankSpec, count: int) -> float:
    """Return matched characters over template characters outside blanks; may exceed 1, infinite without any."""
    outside = len(blanks.template) - count * len(blanks.blank)
    return alignment.length / outside if outside else float("inf")


def _cut(alignment: Alignment, blanks: BlankSpec, position: int) -> tuple[int, int]:
    """Return where the answer to the blank at `position` starts and ends in the aligned text."""
    after = position + len(blanks.blank)
    if after >= len(blanks.template):
        raise BadSpecification("IndexError", "The template must not end with a blank.", "13.16")
    start = alignment.positions[position - 1] + 1 if position else alignment.positions[0]
    return start, alignment.positions[after]


def _weight(raw: object) -> float:
    if isinstance(raw, str):
        return 1.0
    if not isinstance(raw, Mapping):
        raise BadSpecification("AttributeError", f"A target must be text or a mapping, not {raw!r}.")
    return number(raw.get("weight", 1.0), "`weight`")


def _try_blank(raw: object, answer: str, texts: list[str], context: GradingContext, rate: float) -> _Trial:
    trial = _Trial(answer)
    if rate < LOWEST_RATE:
        trial.answer, trial.text = "", f"unmatched: match rate too low - {rate}"
        return trial
    target = _read_target(raw)
    for acceptable in target.answers:
        _try_answer(acceptable, target, trial, texts, context)
        if trial.matched:
            break
    prefix = "matched: " if trial.matched else "unmatched: "
    trial.text = prefix + trial.text
    return trial


def _read_target(raw: Any) -> _Target:
    if isinstance(raw, str):
        return _Target([raw], 1.0, to_lower=False, substring=False)
    if "content" not in raw:
        raise BadSpecification("KeyError", "A target needs `content`.")
    content = raw["content"]
    # A mapping is gone through by its keys, as InfiBench does: {or: [...]} asks for the answer "or".
    answers = [content] if isinstance(content, str) else content
    if not isinstance(answers, (list, tuple, Mapping)):
        raise BadSpecification("TypeError", f"`content` must be text or a list, not {content!r}.")
    return _Target(list(answers), 1.0, bool(raw.get("to_lower", False)), bool(raw.get("substr_match", False)))


def _try_answer(acceptable: object, target: _Target, trial: _Trial, texts: list[str], context: GradingContext) -> None:
    content, is_regex, condition = _read_answer(acceptable)
    trial.target = content
    trial.text = f"response string: {trial.answer}, ans: {content}"
    needle = content
    if target.to_lower:
        trial.answer, needle = trial.answer.lower(), content.lower()
    try:
        hit = _hits(needle, trial.answer, is_regex=is_regex, target=target, context=context)
    except NotDecided as reason:
        trial.notes.append(Note(reason.code, reason.message))
        trial.matched = None
        return
    if hit and condition is not None:
        names = {"grading_details": list(texts), "ans_str": needle, "ans_re": is_regex, "response_str": trial.answer}
        hit = _condition_holds(condition, names, trial, context)
    if hit:
        trial.matched = True


def _read_answer(acceptable: object) -> tuple[str, Any, Any]:
    """Return text, whether it is a regular expression, and the condition, of one acceptable answer."""
    if isinstance(acceptable, str):
        return acceptable, False, None
    if not isinstance(acceptable, Mapping):
        raise BadSpecification("TypeError", f"An answer must be text or a mapping, not {acceptable!r}.")
    if "content" not in acceptable:
        raise BadSpecification("KeyError", "An answer needs `content`.")
    if not isinstance(acceptable["content"], str):
        raise BadSpecification("TypeError", f"An answer's `content` must be text, not {acceptable['content']!r}.")
    return acceptable["content"], acceptable.get("regex", False), acceptable.get("cond")


def _hits(needle: str, answer: str, *, is_regex: object, target: _Target, context: GradingContext) -> bool:
    if is_regex:
        matcher = context.matcher
        return (matcher.search if target.substring else matcher.fullmatch)(needle, answer) is not None
    return needle in answer if target.substring else needle == answer


def _condition_holds(condition: object, names: JsonDict, trial: _Trial, context: GradingContext) -> bool:
    try:
        return evaluate_condition(condition, names)
    except BadCondition as fault:
        if context.options.compat:
            raise BadSpecification(fault.kind, str(fault), "13.12") from fault
        trial.notes.append(Note("13.12", str(fault)))
        return False
