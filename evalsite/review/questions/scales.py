"""The labels a queue offers: preferences, right or wrong, the values of a scale, or scores of 0 to 100. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, product

from evalsite.base.formats import SHARE, WINS, ScaleKind, ScoreScale, finite_number, rating, read_scale, scale_through
from evalsite.base.types import JsonDict, JsonObject
from judging.specs.records.neutral import PREFERENCE_NUMBERS
from judging.specs.records.preferences import preference
from judging.specs.types import NodeSpec
from judging.stored_content import turned_label

MOST_LABELS = 11  # 0 to 10: more cannot be told apart at a glance, nor typed with one key
VALUE_LIMIT = 20  # characters
MEANING_LIMIT = 80  # characters of what a number means
ROW_LABELS = 4  # as many numbers stand in one row
NUMBER = re.compile(r"-?\d{1,3}(\.\d)?")


@dataclass(frozen=True, slots=True)
class Label:
    """One answer. `share` is what it is worth from 0 to 1; None for a preference or a name."""

    value: str
    text: str
    share: float | None = None


PREFERENCE = (Label("1", "A is better"), Label("0", "Neither is better"), Label("-1", "B is better"))
COMPARED = (  # the same of a response and a baseline's, with what it is worth to the response
    Label("1", "A is better", 1.0),
    Label("0", "Neither is better", 0.5),
    Label("-1", "B is better", 0.0),
)
JUDGEMENT = (Label("right", "Right", 1.0), Label("partly", "Partly right", 0.5), Label("wrong", "Wrong", 0.0))
ANSWERED = (Label("answered", "Answered"),)  # of a form whose questions have no few fixed answers
PREFERENCE_SHARES = {"1": 1.0, "0": 0.5, "-1": 0.0}  # what a preference is worth to the first of a pair
_WORTH = {  # of words that say by themselves whether a response is right
    **dict.fromkeys(("right", "correct", "true", "yes", "pass", "passed", "good"), 1.0),
    **dict.fromkeys(("wrong", "incorrect", "false", "no", "fail", "failed", "bad"), 0.0),
    **dict.fromkeys(("partly", "partly right", "partially correct"), 0.5),
}
_PRAISE = re.compile(
    r"\b(best|excellent|perfect|great|good|better|outstanding|complete|right|correct|accurate|strong|helpful|high|highest"
    r"|pass|yes|true|always|agree)\b"
)
_BLAME = re.compile(
    r"\b(worst|terrible|awful|useless|bad|poor|worse|incomplete|wrong|incorrect|inaccurate|weak|unhelpful|low|lowest|fail"
    r"|no|none|false|never|disagree)\b"
)
_PREFERENCES = frozenset(label.value for label in PREFERENCE)
_PREFERENCE_TEXTS = {label.text for label in PREFERENCE}
_PREFERENCE_KEYS = {"1": "1", "0": "0", "-1": "2"}
_DIGITS = tuple("1234567890")
TEN_KEY = "t"  # ten, on a scale whose digits are its values


def level_scale(scores: Iterable[int]) -> tuple[Label, ...]:
    """Return one label per score of 0 to 100 that the levels allow, the lowest first; 0 always, 100 always."""
    values = sorted({0, 100, *scores})
    return tuple(Label(str(value), f"{value} of 100", value / 100) for value in values)


@lru_cache(maxsize=128)
def points_scale(steps: int, scale: ScoreScale = SHARE) -> tuple[Label, ...]:
    """Return the scores of 0 to 100 in so many equal steps, at most 100; each is worth its step exactly.

    `scale` is that of the judge: people read their score as its is shown, as 0.63 of 1 or 37.5%.
    """
    is_of_100 = scale.is_rating and (scale.zero, scale.highest) == (0, 100)
    return tuple(
        Label(str(points), f"{round(100 * share, 1):g} of 100" if is_of_100 else scale.whole_words(share), share)
        for step in range(steps + 1)
        for share, points in ((step / steps, round(100 * step / steps)),)
    )


def is_points_scale(labels: Sequence[Label]) -> bool:
    """Whether labels are the scores of a form in equal steps, whichever words they are shown in."""
    return len(labels) > 1 and _worth_of(labels) == _worth_of(points_scale(len(labels) - 1))


def _worth_of(labels: Iterable[Label]) -> tuple[tuple[str, float | None], ...]:
    return tuple((label.value, label.share) for label in labels)


def _scale_in_words(labels: Sequence[Label]) -> ScoreScale:
    """Return the scale that the words of a form's scores are on, as `points_scale` wrote them."""
    zero, top = labels[0].text.partition(" of ")[0], labels[-1].text.rpartition(" of ")[2]
    if not labels[-1].text.endswith(f" of {top}"):
        return SHARE
    start = float(zero.replace("−", "-"))
    return ScoreScale(ScaleKind.RATING, start, float(top), start)


def joined_scale(scales: Iterable[tuple[Label, ...]]) -> tuple[Label, ...]:
    """Return the scale that all share, the union of scores of 0 to 100, or all labels, without worth, of others.

    What one value is called on several of these stands side by side.

    Right, partly, wrong where there is none.
    """
    different = list({_worth_of(scale): scale for scale in scales}.values())
    if not different:
        return JUDGEMENT
    if len(different) == 1:
        return different[0]
    if all(map(_is_of_100, different)):
        scores = {label.value: label for scale in different for label in scale}
        return tuple(sorted(scores.values(), key=lambda label: label.share or 0.0))
    texts: dict[str, dict[str, None]] = {}
    for label in chain.from_iterable(different):
        texts.setdefault(label.value, {})[label.text] = None
    return tuple(Label(value, " or ".join(words)) for value, words in texts.items())


def is_preference(labels: Sequence[Label]) -> bool:
    """Whether the labels say which of two sides is better, and so turn with the sides."""
    return bool(labels) and {label.value for label in labels} <= _PREFERENCES


def shown_label(value: str, labels: Sequence[Label], *, swapped: bool) -> str:
    """Return a stored label as a person sees it, or a seen one as it is stored: its own inverse."""
    return turned_label(value, turned=swapped and is_preference(labels))


def key_of(position: int, labels: Sequence[Label]) -> str:
    """Return the key that gives a label: 1, 0, 2 for A, neither, B; a scale's own digit; else its place from 1.

    On a scale from 0 to 10 the key T gives 10; no key is given after the tenth of other labels.
    """
    value = labels[position].value
    if is_preference(labels):
        return _PREFERENCE_KEYS[value]
    digits = [label.value.removesuffix(".0") for label in labels]
    if all(digit in _DIGITS or digit == "10" for digit in digits):
        return digits[position] if digits[position] in _DIGITS else TEN_KEY
    return _DIGITS[position] if position < len(_DIGITS) else ""


def short_of(label: Label) -> str:
    """Return a label without what its number means: "4" of "4: mostly right" and "50" of "50 of 100"."""
    if label.text.startswith((f"{label.value}: ", f"{label.value} of ")):
        return label.value
    return label.text


def meaning_of(label: Label) -> str:
    """Return what the number of a label means, "" where nobody has said."""
    before = f"{label.value}: "
    return label.text[len(before) :] if label.text.startswith(before) else ""


def is_number_scale(labels: Sequence[Label]) -> bool:
    """Whether the labels are short numbers that read best in one row."""
    return len(labels) >= ROW_LABELS and all(NUMBER.fullmatch(label.value) for label in labels)


def words_about_worth(labels: Sequence[Label]) -> str:
    """Return how labels that are no numbers relate to a rubric's points, or to the levels that it counts in."""
    if is_preference(labels):
        return "Compare the two by the rubric: the better response fulfils more of it."
    if any(_is_level_scale((label,)) for label in labels):
        return "The choices are the scores from 0 to 100 that the rubric's levels allow."
    worth = [(label.text, label.share) for label in labels if label.share is not None]
    if len(worth) != len(labels) or any(NUMBER.fullmatch(label.value) for label in labels):
        return ""
    return "Share of the points: " + ", ".join(f"{text} = {share:.0%}" for text, share in worth) + "."


def nearest_label(share: float, labels: Sequence[Label]) -> str:
    """Return the label worth nearest to a share of 0 to 1, the lower one at a tie; "" where none has a worth."""
    worth = [(abs(label.share - share), label.share, label.value) for label in labels if label.share is not None]
    return min(worth)[2] if worth else ""


def judge_label(value: JsonObject | None, share: float | None, labels: Sequence[Label]) -> str | None:
    """Return which label of a queue's scale a verdict stands for: its preference, or the one nearest to its score.

    None where the judge gave no verdict, or the scale has no such label.
    """
    if value is None:
        return None
    if is_preference(labels) and "preference" in value:
        return str(value["preference"])
    return nearest_label(share, labels) or None if share is not None else None


def score_scale_of_labels(labels: Sequence[Label]) -> ScoreScale:
    """Return the scale that the worth of labels is shown on: their own numbers, win rates of preferences, or shares."""
    if is_preference(labels):
        return WINS
    if labels and _is_level_scale(tuple(labels)):
        return rating(0, 100)
    if is_points_scale(labels) and (scale := _scale_in_words(labels)).is_rating:
        return scale
    numbers = {number: label.share for label in labels if (number := finite_number(label.value)) is not None}
    shares = {number: share for number, share in numbers.items() if share is not None}
    return scale_through(shares) if len(shares) == len(labels) > 1 else SHARE


def labels_to_json(labels: Iterable[Label]) -> list[JsonDict]:
    """Return labels as a queue stores them; a long scale of points as the number of its steps."""
    rows = tuple(labels)
    if len(rows) > MOST_LABELS and rows == points_scale(len(rows) - 1, scale := _scale_in_words(rows)):
        return [{"points": len(rows) - 1} | ({"scale": scale.to_json()} if scale.is_rating else {})]
    return [
        {"value": label.value, "text": label.text} | ({} if label.share is None else {"share": label.share})
        for label in rows
    ]


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a list as people type it, separated by commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def scale_from_words(words: Sequence[str]) -> tuple[Label, ...]:
    """Return the scale that its owner wrote down, lowest first; each label's worth is its place, or its number's.

    A word may say what it means: "1 = useless".

    Raises:
        ValueError: one label only, too many, or one that is too long.
    """
    if not words:
        return ()
    parts = [[part.strip() for part in word.split("=", 1)] for word in words]
    words, meanings = [part[0] for part in parts], [" ".join(part[1:]) for part in parts]
    if len(set(words)) < len(words):
        raise ValueError("Two labels of the scale are the same.")
    if any(len(meaning) > MEANING_LIMIT for meaning in meanings):
        raise ValueError(f"What a label means has at most {MEANING_LIMIT} characters.")
    if not 2 <= len(words) <= MOST_LABELS:
        raise ValueError(f"A scale has 2 to {MOST_LABELS} labels.")
    if any(len(word) > VALUE_LIMIT for word in words):
        raise ValueError(f"A label has at most {VALUE_LIMIT} characters.")
    texts = [f"{word}: {meaning}" if meaning else word for word, meaning in zip(words, meanings, strict=True)]
    return tuple(replace(row, text=text) for row, text in zip(labels_in_order(words), texts, strict=True))


def reads_highest_first(labels: Sequence[Label]) -> bool:
    """Return whether the words at the ends of a scale say the opposite of what these are worth.

    So it is where the label that is worth nothing says "best", or the one that is worth most says "worst".
    """
    if len(labels) < 2 or any(label.share is None for label in labels):
        return False
    lowest, *_, highest = sorted(labels, key=lambda label: label.share or 0.0)
    return _tone_of(lowest) > 0 or _tone_of(highest) < 0


def _tone_of(label: Label) -> int:
    """Return 1 for words that praise, -1 for words that blame, and 0 for neither, both, and what is negated."""
    text = label.text.casefold()
    return 0 if " not " in f" {text} " else bool(_PRAISE.search(text)) - bool(_BLAME.search(text))


def labels_in_order(words: Sequence[str]) -> tuple[Label, ...]:
    """Return labels that are written down from the lowest to the highest; each is worth its place, or its number's."""
    numbers = [finite_number(word) for word in words]
    values = [float(index) if None in numbers else number or 0.0 for index, number in enumerate(numbers)]
    low, width = min(values, default=0.0), (max(values, default=0.0) - min(values, default=0.0)) or 1.0
    return tuple(Label(word, word, (value - low) / width) for word, value in zip(words, values, strict=True))


def label_on(scale: Sequence[Label], word: str) -> str | None:
    """Return the value of the label that a word of a file means: its value, its text, an equal number, or a response.

    `model_a` and `tie` mean a label of a scale that says which of two responses is better.
    """
    words = " ".join(word.split())
    names = [(label.value, label.text, short_of(label)) for label in scale]
    for is_exact, n in product((True, False), range(3)):  # a spelling as it is before one that differs in case
        for label in names:
            if label[n] == words or (not is_exact and label[n].casefold() == words.casefold()):
                return label[0]
    number = finite_number(words)
    if number is None and {label.text for label in scale} <= _PREFERENCE_TEXTS and (better := preference(word)):
        number = PREFERENCE_NUMBERS[better]
    if number is None:
        return None
    return next((label.value for label in scale if finite_number(label.value) == number), None)


def scale_of_labels(used: Iterable[str], declared: Sequence[float | str | None] = ()) -> tuple[Label, ...]:
    """Return the scale of labels from elsewhere, the lowest first.

    `declared` is the lowest and the highest number, or all words, the best first; empty or None: not known. Then
    numbers come in their order and are worth nothing, since nobody knows where the scale ends, and words are worth
    something only where they say so ("right", "no").
    """
    given = list(dict.fromkeys(used))
    if set(given) == _PREFERENCES:
        return PREFERENCE
    words = [str(word) for word in declared if isinstance(word, str)]
    if len(words) > 1 and len(words) == len(declared):
        known = {word.casefold(): word for word in given}
        scale = [known.get(word.casefold(), word) for word in reversed(words)]
        ordered = tuple(Label(word, word, place / (len(scale) - 1)) for place, word in enumerate(scale))
        return (*ordered, *(Label(word, word) for word in sorted(set(given) - set(scale))))
    numbers = {word: number for word in given if (number := finite_number(word)) is not None}
    ends = [end for end in declared if isinstance(end, int | float)]
    if len(ends) == 2 and ends[0] < ends[1]:
        return _between(ends[0], ends[1], given, numbers)
    if len(numbers) == len(given):
        return tuple(Label(word, word) for word in sorted(given, key=lambda word: (numbers[word], word)))
    worth = {word: _WORTH.get(word.casefold()) for word in given}
    if None not in worth.values() and len(set(worth.values())) == len(worth):
        return tuple(Label(word, word, worth[word]) for word in sorted(given, key=lambda word: worth[word] or 0.0))
    return tuple(Label(word, word) for word in sorted(given))


def _between(low: float, high: float, given: Sequence[str], numbers: dict[str, float]) -> tuple[Label, ...]:
    """Return the whole numbers of a short scale and every other number that was given, then what is no number."""
    steps = range(int(low), int(high) + 1) if high - low < MOST_LABELS and low == int(low) else ()
    missing = [str(step) for step in steps if step not in numbers.values()]
    values = numbers | {word: float(word) for word in missing}
    start = min(low, 0.0)  # as the scores of judges: parts of the best one, unless the scale begins below 0
    within = {word: (value - start) / (high - start) for word, value in values.items()}
    ordered = sorted(values, key=lambda word: (values[word], word))
    rows = [Label(word, word, within[word] if low <= values[word] <= high else None) for word in ordered]
    return (*rows, *(Label(word, word) for word in sorted(set(given) - set(numbers))))


def labels_from_json(rows: Iterable[JsonObject]) -> tuple[Label, ...]:
    """Return the labels that `labels_to_json` wrote."""
    rows = list(rows)
    if len(rows) == 1 and "points" in rows[0]:
        return points_scale(rows[0]["points"], read_scale(rows[0].get("scale")))
    return tuple(Label(str(row["value"]), str(row.get("text") or row["value"]), row.get("share")) for row in rows)


def find_node(tree: NodeSpec, key: str) -> NodeSpec | None:
    """Return the node with this key in a tree, or None."""
    if tree.key == key:
        return tree
    return next((node for child in tree.children if (node := find_node(child, key)) is not None), None)


def _is_of_100(scale: tuple[Label, ...]) -> bool:
    """Whether labels are scores of levels, or of forms that come to shares."""
    is_rounded = all(label.share is not None and label.value == str(round(100 * label.share)) for label in scale)
    return is_rounded and score_scale_of_labels(scale) in (SHARE, rating(0, 100))


def _is_level_scale(scale: tuple[Label, ...]) -> bool:
    return all(label.text == f"{label.value} of 100" for label in scale)
