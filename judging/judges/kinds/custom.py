"""The judge of a researcher's own prompt: system text, template, examples, and how a reply becomes a score.

What is sent is the researcher's text and nothing else, so that a published prompt keeps its published behaviour: one
conversation with the examples as earlier turns, and one re-ask where a reply cannot be read.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

from evalsite.base.formats import SHARE, WINS, ScoreScale, rating, scale_through
from evalsite.base.types import JsonDict, JsonObject
from judging.grading.contexts import compile_pattern
from judging.grading.grades import BadSpecification, NotDecided
from judging.grading.rubric_tree import is_scored_leaf, walk
from judging.judges import reply_text
from judging.judges.judge_kinds import (
    CONFIDENCE,
    JSON_SCHEMA,
    PROMPT_ROWS,
    TOP_P,
    BadJudgeOption,
    OptionField,
    asking_options,
    shipped_kind,
)
from judging.judges.kinds import custom_templates
from judging.judges.kinds.custom_templates import read_examples, read_template
from judging.judges.kinds.generic import scale_words
from judging.judges.questions import AskingOnce, ask_all
from judging.judges.reply_text import JSON_OBJECT, reply_schema, unparsed
from judging.judges.subjects import (
    OTHER,
    VARIABLES,
    BadPrompt,
    JudgeScore,
    JudgeSubject,
    JudgeVerdict,
    VersionedPrompt,
    load_prompt,
)
from judging.llm.chat import ChatRequest, Conversation, Message
from judging.specs.records.names import Holds, strongest
from judging.specs.turns import plain_text
from judging.specs.types import NodeSpec

if TYPE_CHECKING:
    import regex


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
        rows=PROMPT_ROWS,
    ),
    OptionField(
        "system_text",
        "text",
        "",
        "Sent as the system's message, with the same variables. Empty: none.",
        label="System text",
        words=("none", "set"),
        rows=6,
    ),
    OptionField(
        "examples",
        "text",
        "",
        "Few-shot examples, sent as earlier turns: a YAML list with question, response, reference, context and reply, "
        "and response_b where the prompt compares.",
        words=("none", "set"),
        rows=4,
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


CONFLICT = "conflict"
OTHER_SCALE = "other_scale"
DECORATION = "*_`[](){}\"'“”‘’«».。 \t"  # what may stand around a verdict, and around a label, without a meaning
_N = r"\d{1,9}(?:\.\d{1,9})?"
_ENDS = r"(?<![\w.,])", r"(?![\d]|[.,]\d)"
_UNIT = (
    r"(?:points?|pts?\b|stars?|marks?|punkten?|sternen?|puntos?|estrellas?|étoiles?|punti|punto|stelle|pontos?|"
    r"estrelas?|punten|sterren|балл(?:а|ов)?|звезд\w?|점|点|點|分|星|★)"
)
_OF = (
    r"(?:[/⁄]|out of(?: (?:a )?(?:possible|maximum|max\.?|total)(?: of)?)?|of|von|aus|sur|de|su|di|sobre|em|"
    r"van(?: de)?|av|af|из|z|من)"
)
_DENOMINATOR = re.compile(rf"({_N}) ?{_UNIT}? ?{_OF} ?({_N})(?![\d.,]*\d)", re.IGNORECASE)
_FULL_FIRST = re.compile(rf"({_N}) ?{_UNIT}? ?(?:만점|満点) ?(?:에서|에|中|で|の|,)?", re.IGNORECASE)
_FULL_LAST = re.compile(rf"(?:满分|滿分) ?(?:为|是|[:,])? ?({_N}) ?{_UNIT}?", re.IGNORECASE)
_NO_NUMERATOR = re.compile(rf"(?:/|out of) ?({_N})", re.IGNORECASE)
_PERCENT = re.compile(rf"({_N}) ?%")
_NUMBER = re.compile(rf"-?{_N}")
_WHOLE_NUMBER = re.compile(rf"[^\w-]*(-?{_N}) ?{_UNIT}?[\W_]*", re.IGNORECASE)
_AFTER_NUMBER = re.compile(rf" ?{_UNIT}?[\W_]*", re.IGNORECASE)
_GLUED = re.compile(  # numbers that are parts of names, lists or other notations
    rf"[A-Za-z]\d|\d(?!{_UNIT})[A-Za-z]|\d\.\d+\.\d|\d,\d|(?<!\d)\.\d", re.IGNORECASE
)
_INEXACT = re.compile(r"(?<![-=])[<>≤≥≈~] ?\d|\d ?(?:\+|±)|± ?\d|\d ?[×x] ?\d|\d ?\*{1,3} ?\d")
_LIST_MARK = re.compile(r"^\d{1,2}[.)]\s{1,9}(?=[^\W\d])")
_SCALE_WORDS = (
    r"(?:(?:on|auf|sur|en|in|su|em|na|op) )?(?:(?:an?|the|einer|der|une?|una|uma|een) )?"
    r"(?:(?:rating )?(?:scale|skala|échelle|escala|scala|schaal|шкале) ?(?:of|from|von|van|de|da|от)? ?)?"
    r"(?:between|from|zwischen|entre|tra|von|de|da|от)? ?"
)
_TO = r" ?(?:-|‐|‑|–|—|~|〜|to|and|bis|und|tot|till|through|do|al|à|et|a|y|e|до|から|부터) ?"
_PRONOUN = re.compile(
    r"(?:I|A) (?!(?:or|and|is|was|wins|won|beats|over|vs|than|nor|because|should|then|but|not)\b)[a-z]"
)
_NOT = re.compile(r"(?:\b(?:not|never|nicht|pas|niet)|n['’]t) ?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NumberScale:
    """The two ends of the numbers that a reply may give."""

    lowest: float
    highest: float

    @property
    def words(self) -> str:
        return f"The score is a number from {self.lowest:g} to {self.highest:g}."

    @property
    def mention(self) -> re.Pattern[str]:
        """The scale's own two ends where a reply repeats them: `from 1 to 5`, `(1-5)`."""
        low, high = (rf"{re.escape(f'{end:g}')}(?:\.0{{1,3}})?" for end in (self.lowest, self.highest))
        return re.compile(rf"{_SCALE_WORDS}{_ENDS[0]}{low}{_TO}{high}{_ENDS[1]}(?! ?(?:/|{_UNIT}))", re.IGNORECASE)


def read_number(text: str, scale: NumberScale, *, among_words: bool) -> float | JudgeVerdict:
    """Return the one number that a text gives, or the failure.

    With `among_words` the number ends a sentence; else nothing stands beside it but its denominator and a unit.
    """
    plain = _plain(_LIST_MARK.sub("", text.strip()))
    if plain is None or _INEXACT.search(plain) or _INEXACT.search(text):
        return unparsed("The score must be one exact number.", CONFLICT)
    alone = _without_denominators(scale.mention.sub(" ", plain), scale)
    if isinstance(alone, JudgeVerdict):
        return alone
    numbers = list(_NUMBER.finditer(alone))
    if not numbers:
        return _no_number(scale, among_words=among_words)
    if len({Fraction(number[0]) for number in numbers}) > 1 or _GLUED.search(alone):
        return unparsed("The verdict holds two different numbers.", CONFLICT)
    is_read = _AFTER_NUMBER.fullmatch(alone, numbers[-1].end()) if among_words else _WHOLE_NUMBER.fullmatch(alone)
    if is_read is None:
        return _no_number(scale, among_words=among_words)
    value = float(numbers[-1][0])
    return value if scale.lowest <= value <= scale.highest else unparsed(scale.words, "out_of_range")


def _no_number(scale: NumberScale, *, among_words: bool) -> JudgeVerdict:
    if among_words:
        return unparsed("The last line does not end with the verdict.", "no_verdict")
    return unparsed(scale.words, "out_of_range")


def _plain(text: str) -> str | None:
    """Return a text in plain digits and signs, without marks of emphasis; None for fractions and raised digits."""
    if any(unicodedata.category(letter) in ("No", "Nl") for letter in text):
        return None
    plain = unicodedata.normalize("NFKC", text).replace("−", "-")
    digits = {letter: str(unicodedata.decimal(letter)) for letter in set(plain) if letter.isdecimal()}
    plain = "".join(digits.get(letter, letter) for letter in plain)
    return " ".join(re.sub(r"[*_`\[\](){}\"“”«»]+", " ", plain).split())


def _without_denominators(text: str, scale: NumberScale) -> str | JudgeVerdict:
    """Return the text with the top of the scale taken out where a number is said to be out of it, or the failure."""
    top = Fraction(str(scale.highest))
    other = unparsed(f"The score is not out of {scale.highest:g}.", OTHER_SCALE)
    patterns = ((_FULL_FIRST, 1, " "), (_FULL_LAST, 1, " "), (_DENOMINATOR, 2, r"\1 "), (_NO_NUMERATOR, 1, " "))
    for pattern, group, kept in patterns:
        if any(Fraction(match[group]) != top for match in pattern.finditer(text)):
            return other
        text = pattern.sub(kept, text)
    if _PERCENT.search(text) and top != 100:  # a percentage is out of 100
        return other
    return " ".join(_PERCENT.sub(r"\1 ", text).split())


def number_in_words(value: float) -> str:
    """Return a number in digits without an exponent, and the names of what is no number: True, nan, inf."""
    if isinstance(value, bool) or not math.isfinite(value):
        return str(value)
    return f"{Decimal(str(value)):f}"


def core_of(text: str) -> str:
    """Return a label, or a reply that is one, without what may stand around it; as it is where nothing else is left."""
    return text.strip(DECORATION) or text.strip()


def label_of(text: str, names: Collection[str]) -> str | None:
    """Return the one label that a text is: as written, else without decoration, else in other capitals; else None."""
    for form in (str.strip, core_of, lambda name: core_of(name).casefold()):
        matching = [name for name in names if form(name) == form(text)]
        if matching:
            return matching[0] if len(matching) == 1 else None
    return None


def label_at_end(line: str, names: Collection[str]) -> str | JudgeVerdict:
    """Return the label that ends a line, or the failure: none does, it is denied, or the line has another one too."""
    text = " ".join(line.split())
    cores = {core_of(name): name for name in names}
    exact, loose = _occurrences(text, cores), _occurrences(text, cores, ignore_case=True)
    ending = (match for match in (*exact, *loose) if not text[match.end() :].strip(DECORATION + "#>!"))
    last = next(ending, None)
    if last is None:
        return unparsed("The last line does not end with the verdict.", "no_verdict")
    matches = exact if last in exact else loose
    label = label_of(last[0], names)
    others = {label_of(match[0], names) for match in matches if not _PRONOUN.match(text, match.start())}
    joined = _joined(text, last, loose)
    if label is None or len(others | joined | {label}) > 1 or _NOT.search(text[: last.start()]):
        return unparsed("The last line holds two different verdicts.", CONFLICT)
    return label


def _joined(text: str, last: re.Match[str], matches: Iterable[re.Match[str]]) -> set[str]:
    """Return the labels, in any capitals, that stand as an alternative right before the last one."""
    between = re.compile(r"[\s*_`\"')\]]{0,6}(?:/|\||,|\bor\b|\band\b|&)[\s*_`\"'(\[]{0,6}", re.IGNORECASE)
    return {match[0] for match in matches if between.fullmatch(text, match.end(), last.start())}


def _occurrences(text: str, cores: Iterable[str], *, ignore_case: bool = False) -> list[re.Match[str]]:
    names = "|".join(
        rf"(?<!\w){re.escape(' '.join(core.split()))}" + (r"(?!\w)" if core[-1].isalnum() else "")
        for core in sorted(cores, key=len, reverse=True)
    )
    return list(re.finditer(names, text, re.IGNORECASE if ignore_case else 0))


NAME = "custom"
MAX_LABELS = 100
MAX_LINE = 500  # characters of a last line that holds a label
MOST_MATCHES = 1_000
SEARCH_SECONDS = 0.25
_KEY = re.compile(r"[A-Za-z][\w-]{0,39}")
# the beginning of a sentence that goes on with the verdict
_LEADING = re.compile(r"(?:^|(?<=[\n.!?。]))[^\n.!?。]{0,40}[:：][ *_]*\Z")
_CUSTOM_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?")


@dataclass(frozen=True, slots=True)
class CustomJudge(AskingOnce):
    """Options of the judge; `labels` and the scale say what a reply may be and what it is worth."""

    system_text: str = ""
    examples: str = ""
    reply: str = TAG
    reply_key: str = "score"
    labels_text: str = ""
    lowest: float = 0
    highest: float = 10
    json_schema: bool = False
    both_orders: bool = True
    scores: Mapping[str, Fraction] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", read_labels(self.labels_text))
        if not self.scores and not 0 <= self.lowest < self.highest:
            raise BadJudgeOption("The lowest score is 0 or more, and the highest is higher.")
        _check_reply(self)
        if self.compares:
            custom_templates.check_labels(self.scores)

    @property
    def compares(self) -> bool:
        """Whether it is shown a second response, beside the one that it judges."""
        return custom_templates.is_comparison(self.prompt.text, self.system_text)

    @property
    def asks_twice(self) -> bool:
        return self.compares and self.both_orders

    @property
    def prompt(self) -> VersionedPrompt:
        return VersionedPrompt(NAME, self.prompt_text.strip() or load_prompt(NAME).text)

    @property
    def prompts(self) -> tuple[VersionedPrompt, ...]:
        """The system's text and the examples, where there are any, the template, and the text of a re-ask, checked.

        Raises:
            BadPrompt, BadJudgeOption: one of them cannot be used.
        """
        self.build_messages(JudgeSubject("", ""))
        parts = (("custom_system", self.system_text.strip()), ("custom_examples", self.examples.strip()))
        return (*(VersionedPrompt(name, text) for name, text in parts if text), self.prompt, load_prompt("reask"))

    def build_messages(self, subject: JudgeSubject) -> tuple[Message, ...]:
        """Return the system's text, the examples as earlier turns, and the question about the subject."""
        messages: list[Message] = []
        if self.system_text.strip():
            messages.append(Message("system", read_template(self.system_text.strip()).fill(self._values(subject))))
        for example in read_examples(self.examples):
            messages += [Message("user", self._fill(_as_subject(example))), Message("assistant", example["reply"])]
        return (*messages, Message("user", self._fill(subject), subject.image_parts()))

    def _fill(self, subject: JudgeSubject) -> str:
        return read_template(self.prompt.text).fill(self._values(subject))

    def _values(self, subject: JudgeSubject) -> JsonDict:
        criteria = list(criteria_of(subject.rubric)) if subject.rubric is not None else []
        return {
            "question": subject.question,
            "response": subject.response,
            "response_b": subject.other_response,
            "reference": subject.reference,
            "context": subject.context,
            "context_role": subject.context_role,
            "instruction": subject.instruction,
            "description": subject.about,
            "language": subject.lang,
            "metadata": dict(subject.metadata),
            "lowest": f"{self.lowest:g}",
            "highest": f"{self.highest:g}",
            "labels": ", ".join(self.scores),
            "criteria": criteria,
            "messages": plain_text(subject.messages) if subject.messages else "",
            "rubric": "\n".join(f"{row['key']}: {row['text']}" for row in criteria),
        }

    def request(self, subject: JudgeSubject) -> ChatRequest:
        """Return the one call that judges a subject."""
        material = {
            "task": NAME,
            "question": subject.question,
            "reference": subject.reference,
            "response": subject.response,
            "reply": self.reply,
            "reply_key": self.reply_key,
            "values": list(self.scores) or [f"{self.lowest:g}", f"{self.highest:g}"],
            "is_number": not self.scores,
        }
        if self.compares:
            material |= custom_templates.baseline_choices(subject, self.scores)
        return self.request_with(self.build_messages(subject), material, self._reply_form())

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Ask once, or in both orders at once; re-ask what cannot be read, and return the verdict."""
        shown = (subject, subject.swapped()) if self.asks_twice else (subject,)

        def parse(text: str) -> JudgeVerdict:
            return self.parse_reply(text, subject)

        verdicts = yield from ask_all([(self.request(version), parse) for version in shown])
        return (
            custom_templates.combine_orders(verdicts[0], verdicts[1], self.scores) if self.asks_twice else verdicts[0]
        )

    def _reply_form(self) -> JsonDict | None:
        if self.reply != JSON:
            return None
        if not self.json_schema:
            return JSON_OBJECT
        value: JsonDict = {"type": "string", "enum": list(self.scores)} if self.scores else {"type": "number"}
        return reply_schema("judgement", {"reasoning": {"type": "string"}, self.reply_key: value})

    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict:
        """Return {"score": number} or {"label": label} as the reply says it in the form that was chosen."""
        if self.reply == JSON:
            return self._read_json(text, subject.material)
        body = reply_text.body_of(text)
        if isinstance(body, JudgeVerdict):
            return body
        readers = {TAG: self._tagged, LAST_LINE: self._on_last_line, PATTERN: self._matched}
        reading = readers[self.reply](body, reply_text.stripped_text(subject.material))
        return reading if isinstance(reading, JudgeVerdict) else self._verdict(*reading)

    def _read_json(self, text: str, material: str) -> JudgeVerdict:
        reply = reply_text.agreed_object(text, self.reply_key, repair=True, material=material)
        if isinstance(reply, JudgeVerdict):
            return reply
        value, others = reply.value[self.reply_key], [name for name in reply.value if name != self.reply_key]
        reasons = reply.value.get("reasoning" if "reasoning" in others else strongest(others, Holds.REASON))
        return self._verdict(
            number_in_words(value) if isinstance(value, int | float) else str(value),
            reasons if isinstance(reasons, str) else reply_text.reasons_text(reasons),
            (reply.rung,) if reply.is_lenient else (),
        )

    def _tagged(self, body: str, judged: str) -> tuple[str, str] | JudgeVerdict:
        """Return what the tags say that are the judge's own, and the text before the last of them."""
        pattern = re.compile(rf"<{self.reply_key}>([^<]{{0,200}})</{self.reply_key}>", re.IGNORECASE)
        whole = pattern.fullmatch(body.strip())
        if whole is not None:
            return whole[1], ""
        matches = list(islice(pattern.finditer(body), MOST_MATCHES))
        own_matches = [match for match in matches if reply_text.stripped_text(match[0]) not in judged]
        if not own_matches:
            return reply_text.unparsed(
                f"The reply must hold <{self.reply_key}>VALUE</{self.reply_key}>.", "no_score_tag"
            )
        if self._say_different(match[1] for match in own_matches):
            return reply_text.unparsed("The reply holds two different values.", CONFLICT)
        if not reply_text.only_courtesy(body[own_matches[-1].end() :]):
            return reply_text.unparsed("Nothing may follow the verdict.", "text_after")
        return own_matches[-1][1], _reasons_before(body, own_matches[-1])

    def _on_last_line(self, body: str, judged: str) -> tuple[str, str] | JudgeVerdict:
        """Return the label or number that ends the last line, and the text before."""
        lines = [line for line in body.splitlines() if line.strip()]
        while len(lines) > 1 and reply_text.only_courtesy(lines[-1]):
            lines.pop()
        line = lines[-1].strip().lstrip("#> ")
        if len(line) > MAX_LINE:
            return reply_text.unparsed("The last line must hold the verdict and nothing else.", "long_line")
        if len(lines) > 1 and reply_text.stripped_text(lines[-2]) + reply_text.stripped_text(lines[-1]) in judged:
            return reply_text.unparsed("The last lines are quoted from what was judged.", "quoted")
        reading = label_at_end(line, self.scores) if self.scores else self._number(line, among_words=True)
        if isinstance(reading, JudgeVerdict):
            return reading
        return number_in_words(reading) if isinstance(reading, float) else reading, "\n".join(lines[:-1]).strip()

    def _number(self, text: str, *, among_words: bool) -> float | JudgeVerdict:
        if len(text) > MAX_LINE:
            return reply_text.unparsed("The verdict must be a number and nothing else.", "long_line")
        return read_number(text, NumberScale(self.lowest, self.highest), among_words=among_words)

    def _say_different(self, answers: Iterable[str]) -> bool:
        """Return whether answers of one reply give different verdicts; one that gives none differs from all others."""
        readings = set()
        for answer in answers:
            reading = label_of(answer, self.scores) if self.scores else self._number(answer, among_words=False)
            readings.add(answer.strip() if reading is None or isinstance(reading, JudgeVerdict) else reading)
        return len(readings) > 1

    def _matched(self, body: str, judged: str) -> tuple[str, str] | JudgeVerdict:
        """Return what the last match of the pattern says: its first group, or all of it.

        Earlier lines may have matches that say something else, such as the form that was asked for; its own may not.
        """
        try:
            candidates = compile_pattern(self.reply_key).finditer(body, timeout=SEARCH_SECONDS)
            own_matches = [
                match for match in islice(candidates, MOST_MATCHES) if reply_text.stripped_text(match[0]) not in judged
            ]
        except TimeoutError:
            return reply_text.unparsed("The pattern took too long on this reply.", "pattern_timeout")
        if not own_matches:
            return reply_text.unparsed("The reply does not hold what its pattern looks for.", "no_match")
        last = own_matches[-1]
        line_start = body.rfind("\n", 0, last.end() - 1) + 1
        if self._say_different(_found_by(match) for match in own_matches if match.end() > line_start):
            return reply_text.unparsed("The line of the verdict holds two different ones.", CONFLICT)
        return _found_by(last), _reasons_before(body, last)

    def _verdict(self, answer: str, rationale: str, flags: tuple[str, ...] = ()) -> JudgeVerdict:
        """Return the verdict of what a reply says, where it is a label or on the scale."""
        if self.scores:
            label = label_of(answer, self.scores)
            if label is None:
                return reply_text.unparsed(f"The verdict is one of {', '.join(self.scores)}.", "off_menu")
            return reply_text.read({"label": label}, rationale=rationale, flags=flags, repaired=bool(flags))
        number = self._number(answer.strip(), among_words=False)
        if isinstance(number, JudgeVerdict):
            return number
        return reply_text.read({"score": number}, rationale=rationale, flags=flags, repaired=bool(flags))

    def labels(self, subject: JudgeSubject) -> dict[str, dict[str, str]]:
        """Return the labels, where each is one character and says all that there is to the verdict."""
        if self.asks_twice:
            return {}
        return {name: {"label": name} for name in self.scores} if all(len(name) == 1 for name in self.scores) else {}

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return the score of the label, of those in both orders, or the number, of the best that can be had."""
        if custom_templates.FIRST in value:
            return JudgeScore(custom_templates.score_of_orders(value, self.scores), max(self.scores.values()))
        if "label" in value:
            return JudgeScore(self.scores[value["label"]], max(self.scores.values()))
        return JudgeScore(Fraction(str(value["score"])), Fraction(str(self.highest)))

    def example_reply(self, share: float, reasons: str) -> str:
        """Return a reply in the chosen form that comes to a share of the best, for an example; a pattern has no form.

        Raises:
            BadJudgeOption: no label, and no number of the scale, is worth this.
        """
        best = max(self.scores.values(), default=Fraction(str(self.highest)))
        worth = round(share * float(best), 6)
        answer = next((name for name, score in self.scores.items() if round(float(score), 6) == worth), "")
        if not self.scores and self.lowest <= worth <= self.highest:
            answer = f"{worth:g}"
        if not answer:
            raise BadJudgeOption(f"No verdict of this judge is worth {share:.0%} of its best.")
        if self.reply == JSON:
            value = answer if self.scores else worth
            return json.dumps({"reasoning": reasons, self.reply_key: value}, ensure_ascii=False)
        verdict = f"<{self.reply_key}>{answer}</{self.reply_key}>" if self.reply == TAG else answer
        return f"{reasons.strip()}\n{verdict}".strip()


def _found_by(match: regex.Match[str]) -> str:
    """Return what a match of the pattern says: its first group, or all of it."""
    return (match[1] or "") if match.re.groups else match[0]


def read_labels(text: str) -> dict[str, Fraction]:
    """Return the score of each label from lines "LABEL = SCORE"; empty where numbers are asked for.

    Raises:
        BadJudgeOption: a line cannot be read, a label stands twice, or no label is worth more than 0.
    """
    scores: dict[str, Fraction] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, number = (part.strip() for part in line.rpartition("="))
        if not equals or not name or not _CUSTOM_NUMBER.fullmatch(number):
            raise BadJudgeOption(f"Write each label as LABEL = SCORE, not {line!r}.")
        if name in scores:
            raise BadJudgeOption(f"The label {name!r} stands twice.")
        twin = next((label for label in scores if core_of(label) == core_of(name)), None)
        if twin is not None:
            raise BadJudgeOption(f"The labels {twin!r} and {name!r} differ by brackets, quotes or full stops alone.")
        scores[name] = Fraction(number)
    if len(scores) > MAX_LABELS:
        raise BadJudgeOption(f"There are {len(scores)} labels; {MAX_LABELS} at most.")
    if scores and (min(scores.values()) < 0 or max(scores.values()) <= 0):
        raise BadJudgeOption("Scores of labels are 0 or more, and one of them is more than 0.")
    return scores


def _rates_on(options: JsonObject) -> ScoreScale:
    """Return the scale of a judge's numbers, or of labels that are numbers; shares of labels that are words."""
    if custom_templates.is_comparison(str(options["prompt_text"]), str(options["system_text"])):
        return WINS
    try:
        scores = read_labels(str(options["labels_text"]))
    except BadJudgeOption:
        return SHARE  # stored before such labels were refused
    if not scores:
        return rating(options["lowest"], options["highest"])
    if not all(_CUSTOM_NUMBER.fullmatch(name) for name in scores):
        return SHARE
    return scale_through({float(name): float(worth / max(scores.values())) for name, worth in scores.items()})


def _as_subject(example: Mapping[str, str]) -> JudgeSubject:
    return JudgeSubject(
        question=example.get("question", ""),
        response=example["response"],
        other_response=example.get("response_b", ""),
        reference=example.get("reference", ""),
        context=example.get("context", ""),
    )


def _reasons_before(body: str, verdict: re.Match[str] | regex.Match[str]) -> str:
    """Return what stands before the verdict, without the words that only lead to it, such as "Rating:"."""
    return _LEADING.sub("", body[: verdict.start()]).strip()


def _check_reply(judge: CustomJudge) -> None:
    """Pass where the reply's key is one of its form. The templates are checked as prompts are, on reading them."""
    if judge.reply == PATTERN:
        try:
            if compile_pattern(judge.reply_key).search(""):
                raise BadJudgeOption("The pattern finds an empty text, which is no verdict. Write + where it has *.")
        except (NotDecided, BadSpecification) as error:
            raise BadJudgeOption(f"The pattern cannot be used: {error}") from None
    elif judge.reply != LAST_LINE and not _KEY.fullmatch(judge.reply_key):
        raise BadJudgeOption("The name of the tag or key begins with a letter and has letters, digits, - and _ only.")


def _needs(options: JsonObject) -> frozenset[str]:
    """Return a rubric and a second response as needs, where the texts name them."""
    texts = (str(options.get("prompt_text", "")).strip(), str(options.get("system_text", "")).strip())
    try:
        uses = any(read_template(text).uses_rubric for text in texts if text)
    except BadPrompt:
        return frozenset()
    pair = frozenset({"pair"}) if custom_templates.is_comparison(*texts) else frozenset()
    return pair | (frozenset({"any_rubric"}) if uses else frozenset())


def _idle(options: JsonObject) -> frozenset[str]:
    """Return the options that change nothing beside the others, such as the order of one response alone."""
    idle = set() if options["reply"] == JSON else {"json_schema"}
    idle |= {"reply_key"} if options["reply"] == LAST_LINE else set()
    idle |= set() if "pair" in _needs(options) else {"both_orders"}
    return frozenset(idle | ({"lowest", "highest"} if str(options["labels_text"]).strip() else set()))


def _refusal(options: JsonObject) -> str:
    """Return why a judge of these texts would not see what it judges; empty where it does."""
    texts = [str(options.get(name, "")).strip() for name in ("prompt_text", "system_text")]
    if not texts[0]:
        return ""  # the shipped prompt
    names = frozenset[str]().union(*(read_template(text).names for text in texts if text))
    if "response" in names:
        return ""
    if OTHER in names:
        return "The prompt compares but names only {{ response_b }}. Write {{ response }} where the other one belongs."
    return "The prompt does not name {{ response }}, so the judge would not see it. Write it where it belongs."


KIND = shipped_kind(
    NAME,
    (),
    OPTIONS,
    lambda options: CustomJudge(**options),
    variables=VARIABLES,
    needs_by=_needs,
    refusal=_refusal,
    idle=_idle,
    scale=("labels_text", "lowest", "highest"),
    worth_by=lambda options: read_labels(str(options.get("labels_text", ""))),
    rates_on=lambda options, _: _rates_on(options),
)
