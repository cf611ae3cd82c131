"""What a debate is set up with and what it leaves behind.

With it the criteria that a rubric's tree offers to a debate (a name and the text of its levels), and the images that a
debate is about, with the parts of a message that show them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from random import Random

from debate.protocol.verdicts import HowRead, StopReason, to_system_space
from evalsite.base.types import JsonDict, JsonObject, LabelledEnum
from judging.grading.rubric_tree import walk
from judging.judges.subjects import VerdictStatus, image_parts
from judging.llm.chat import MessagePart
from judging.specs.types import ImageSpec, NodeSpec
from judging.stored_content import tree_from_json


@dataclass(frozen=True, slots=True)
class DebateImages:
    """The images of the question and of both responses, and the endpoints that are sent them."""

    question: tuple[ImageSpec, ...] = ()
    response_a: tuple[ImageSpec, ...] = ()
    response_b: tuple[ImageSpec, ...] = ()
    seen_by: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        return len(self.question) + len(self.response_a) + len(self.response_b)

    def parts_for(self, endpoint: str, *, order: int) -> tuple[MessagePart, ...]:
        """Return the images behind a line that says whose they are; none for an endpoint that is sent none.

        `order` is 0 where A is shown as response 1, and 1 where B is.
        """
        if endpoint not in self.seen_by:
            return ()
        first, second = (self.response_a, self.response_b) if order == 0 else (self.response_b, self.response_a)
        return image_parts((("the question", self.question), ("submission 1", first), ("submission 2", second)))


NO_IMAGES = DebateImages()


OVERALL = "overall"


def criteria_in(tree: JsonDict) -> dict[str, Criterion]:
    """Return the criteria of a stored tree by name: its dimensions, or all of it as `overall` where it has none.

    Levels come from a dimension's anchors, lowest first, or else are its text. Of a tree of levels and checks the
    levels are the checks' texts.
    """
    nodes = list(walk(tree_from_json(tree)))
    dimensions = {node.key: Criterion(node.key, _anchor_texts(node)) for node in nodes if node.kind == "dimension"}
    return dimensions or {OVERALL: Criterion(OVERALL, _check_texts(nodes))}


def _anchor_texts(node: NodeSpec) -> dict[str, str]:
    anchors = sorted(node.anchors, key=lambda anchor: (anchor.low, anchor.high))
    if anchors:
        return {anchor.range_words: anchor.text for anchor in anchors}
    return {"meaning": node.text} if node.text not in ("", node.key) else {}


def _check_texts(nodes: Sequence[NodeSpec]) -> dict[str, str]:
    """Return the texts of a tree: by level where there are levels, else by check."""
    levels = [node for node in nodes if node.kind == "level"]
    if levels:
        return {level.key: "; ".join(node.text for node in walk(level) if node.text) for level in levels}
    return {node.key: node.text for node in nodes if node.text}


class RoundMode(StrEnum):
    """Whether the agents of a discussion round speak at once or in turn. The independent round is always blind."""

    SIMULTANEOUS = "simultaneous"
    SEQUENTIAL = "sequential"


class Method(LabelledEnum):
    """How a decision about two responses comes about: by debate, or by one of the baselines beside it."""

    DEBATE = "debate", "Debate"
    SINGLE = "single", "Single judge"  # one judge, asked once
    SELF_CONSISTENCY = "self-consistency", "Self-consistency"  # one judge, several times; the most frequent answer
    MULTI_JUDGE = "multi-judge", "Multi-judge consistency"  # several judges, apart; the most frequent answer


class Visibility(StrEnum):
    """Which earlier rounds an agent reads."""

    PREVIOUS = "previous"
    FULL = "full"


class Outcome(StrEnum):
    """How a debate ended."""

    AGREED = "agreed"
    UNRESOLVED = "unresolved"


_FORM = re.compile(r"-[1-6]$")


@dataclass(frozen=True, slots=True)
class Criterion:
    """What the responses are compared by: a name and the text of its levels, lowest first."""

    name: str
    levels: Mapping[str, str] = field(default_factory=dict)  # {"1": "...", "5": "..."}

    @property
    def title(self) -> str:
        """The name as judges read it: without the number by which a criteria file counts the forms of one criterion,
        which would tell them that this form is perturbed, and would look like a level."""
        return _FORM.sub("", self.name)


@dataclass(frozen=True, slots=True)
class DebateSetup:
    """Everything that decides what a debate asks. The same setup and the same replies give the same debate.

    Raises:
        ValueError: too few agents, fewer than zero rounds, less than one sample, or an order that is neither 0 nor 1.
    """

    question: str
    response_a: str
    response_b: str
    response_order: int  # 0: A is shown as response 1; 1: B is
    agents: tuple[str, ...]  # endpoint names, agent 1 first; from `agents.draw_orders`
    criterion: Criterion
    reference: str = ""
    max_rounds: int = 2  # discussion rounds after the independent round
    mode: RoundMode = RoundMode.SIMULTANEOUS
    visibility: Visibility = Visibility.PREVIOUS
    stop_on_consensus: bool = True
    stop_on_stability: bool = False
    independent_both_orders: bool = (
        False  # ask for the independent vote in both orders; one that follows the place is void
    )
    refusal_as_tie: bool = False  # compatibility with the original: a refusal votes for a tie
    seed: int = 0  # that the orders were drawn from; kept for the record, asks nothing
    temperature: float | None = 0.0
    max_tokens: int | None = 512
    llm_seed: int | None = None  # sent with every request
    method: Method = Method.DEBATE
    samples: int = 1  # how often each agent is asked where nobody is heard
    images: DebateImages = NO_IMAGES

    def __post_init__(self) -> None:
        if len(self.agents) < 2 and self.method is Method.DEBATE:
            raise ValueError("A debate needs at least two agents.")
        if not self.agents:
            raise ValueError("A decision needs at least one judge.")
        if self.samples < 1:
            raise ValueError("A judge is asked at least once.")
        if self.max_rounds < 0:
            raise ValueError("A debate cannot have fewer than zero discussion rounds.")
        if self.response_order not in (0, 1):
            raise ValueError("The order of the responses is 0 (A first) or 1 (B first).")

    @property
    def shown(self) -> tuple[str, str]:
        """The responses in the order they are shown."""
        return self.shown_in(self.response_order)

    def shown_in(self, order: int) -> tuple[str, str]:
        return (self.response_a, self.response_b) if order == 0 else (self.response_b, self.response_a)


@dataclass(frozen=True, slots=True)
class StatementResult:
    """What one agent said in one round and how it was read."""

    round: int  # 0 is the independent round
    agent_number: int  # from 1; the only name an agent has in the prompts
    endpoint: str
    text: str
    status: VerdictStatus  # ok: final line; repaired: by phrase; refused | unparsed | failed: no verdict
    how: HowRead
    position_verdict: int | None  # 1 | 2 | 0, of the responses as shown in this statement's order
    response_order: int
    reasked: bool = False  # `text` is the second answer; the first had no verdict
    first_text: str = ""  # that first answer
    mirrored: bool = False  # independent vote asked in the other order (`independent_both_orders`)
    error_kind: str = ""  # why there was no reply at all

    @property
    def system_verdict(self) -> int | None:
        """1: A is better, 0: tie, -1: B is better; None: no verdict."""
        return to_system_space(self.position_verdict, response_order=self.response_order)


@dataclass(frozen=True, slots=True)
class DebateResult:
    """A debate that is over."""

    statements: tuple[StatementResult, ...]  # by round, then agent; a mirrored one follows its agent's statement
    outcome: Outcome
    agreed_round: int | None  # the round from which on all agreed; None: unresolved
    verdict: int | None  # in system space: 1 | 0 | -1; None: unresolved
    stop_reason: StopReason
    rounds: tuple[tuple[int | None, ...], ...]  # votes per round and agent, in system space; the first are blind


# What a set of debates is held with, frozen as JSON when it is created.
#
# Which response is shown first and in which order the agents speak is drawn once from a seed, and stored.
#
# A criterion's text is perturbed in five ways, reproducibly from a seed. They are those of the seed paper's third
# experiment: shortened, gibberish, shuffled, flipped, masked. The name of the criterion and the numbers of its levels
# stay; only the levels' texts are perturbed.

PERTURBED_SHARE = 0.35  # of the letters, for gibberish and masked
SYMBOLS = "$%&#@!*?<>()^€17490"
_WORD = re.compile(r"\w(?:[\w'’-]*\w)?")
_LABEL = re.compile(r"\A\s*[^.!?\n]{1,40}? [-–—] (?=\S)")


class Perturbation(StrEnum):
    """What is done to the text of each level."""

    NONE = "none"
    SHORTENED = "shortened"  # the level's label is taken off; without one, only the first sentence or half stays
    GIBBERISH = "gibberish"  # letters become symbols
    SHUFFLED = "shuffled"  # the words change places
    FLIPPED = "flipped"  # each word is written backwards
    MASKED = "masked"  # letters become underscores


# The numbers that ScaleEval's criteria files end in: helpfulness-1 (or no number) to helpfulness-6.
FILE_SUFFIXES = {
    1: Perturbation.NONE,
    2: Perturbation.SHORTENED,
    3: Perturbation.GIBBERISH,
    4: Perturbation.SHUFFLED,
    5: Perturbation.FLIPPED,
    6: Perturbation.MASKED,
}


def perturbed(criterion: Criterion, perturbation: Perturbation, *, seed: int) -> Criterion:
    """Return the criterion with every level's text perturbed: a function of the arguments alone.

    Each level has its own draw, so that changing one level's text does not change another's perturbation.
    """
    levels = {
        level: _PERTURB[perturbation](text, Random(f"{seed}|{perturbation}|{criterion.name}|{level}"))  # noqa: S311 - no secret
        for level, text in criterion.levels.items()
    }
    return Criterion(criterion.name, levels)


def _shortened(text: str, _: Random) -> str:
    label = _LABEL.match(text)
    if label:
        return text[label.end() :]
    sentences = re.split(r"(?<=[.!?])\s+", text.strip())
    if len(sentences) > 1:
        return sentences[0]
    words = text.split()
    return " ".join(words[: (len(words) + 1) // 2])


def _shuffled(text: str, rng: Random) -> str:
    """Return the words in another order, where they allow one."""
    words = text.split()
    mixed = list(words)
    while len(set(words)) > 1 and mixed == words:
        rng.shuffle(mixed)
    return " ".join(mixed)


def _replace_letters(text: str, rng: Random, symbol: Callable[[], str]) -> str:
    """Return the text with the declared share of its letters replaced, at least one; all else stays in place."""
    letters = [index for index, character in enumerate(text) if character.isalpha()]
    if not letters:
        return text
    characters = list(text)
    for index in sorted(rng.sample(letters, max(1, round(len(letters) * PERTURBED_SHARE)))):
        characters[index] = symbol()
    return "".join(characters)


_PERTURB: dict[Perturbation, Callable[[str, Random], str]] = {
    Perturbation.NONE: lambda text, _: text,
    Perturbation.SHORTENED: _shortened,
    Perturbation.GIBBERISH: lambda text, rng: _replace_letters(text, rng, lambda: rng.choice(SYMBOLS)),
    Perturbation.SHUFFLED: _shuffled,
    Perturbation.FLIPPED: lambda text, _: _WORD.sub(lambda match: match[0][::-1], text),
    Perturbation.MASKED: lambda text, rng: _replace_letters(text, rng, lambda: "_"),
}


class OrderScheme(StrEnum):
    """From which orders of the agents that of a debate is drawn."""

    PERMUTATIONS = "permutations"  # any order, all equally likely
    CYCLIC = "cyclic"  # rotations of the configured order only, as ScaleEval does


@dataclass(frozen=True, slots=True)
class Orders:
    """The stored draw for one debate."""

    response_order: int  # 0: A is shown as response 1; 1: B is
    agents: tuple[str, ...]  # endpoint names, agent 1 first


def draw_orders(
    *, seed: int, key: str, endpoints: Sequence[str], scheme: OrderScheme = OrderScheme.PERMUTATIONS
) -> Orders:
    """Return the orders for the debate called `key`: a function of the arguments alone, independent between keys.

    `key` names the debate within its run (case, pair, criterion), so that adding or leaving out items does not move
    the draw of any other. An endpoint may stand for several agents.
    """
    response_order = Random(f"{seed}|submissions|{key}").randrange(2)  # noqa: S311 - a draw to be repeated, no secret
    rng = Random(f"{seed}|seats|{key}")  # noqa: S311
    if scheme is OrderScheme.CYCLIC:
        start = rng.randrange(len(endpoints)) if endpoints else 0
        return Orders(response_order, (*endpoints[start:], *endpoints[:start]))
    return Orders(response_order, tuple(rng.sample(list(endpoints), len(endpoints))))


MOST_ROUNDS = 8  # discussion rounds
MOST_SAMPLES = 25
FEWEST_AGENTS, MOST_AGENTS = 2, 5
MOST_TOKENS = 32_768
SAMPLING_TEMPERATURE = 0.7  # of self-consistency

_ENUMS: tuple[tuple[str, type[StrEnum]], ...] = (
    ("mode", RoundMode),
    ("visibility", Visibility),
    ("agent_order", OrderScheme),
    ("method", Method),
    ("perturbation", Perturbation),
)


@dataclass(frozen=True, slots=True)
class DebateOptions:
    """The protocol of a set of debates.

    Raises:
        ValueError: more rounds, samples or tokens than allowed, or none; the message is for the person who chose them.
    """

    max_rounds: int = 2  # discussion rounds after the independent round
    mode: RoundMode = RoundMode.SIMULTANEOUS
    visibility: Visibility = Visibility.PREVIOUS
    stop_on_consensus: bool = True
    stop_on_stability: bool = False
    independent_both_orders: bool = False
    refusal_as_tie: bool = False
    agent_order: OrderScheme = OrderScheme.PERMUTATIONS
    seed: int = 0
    temperature: float | None = 0.0
    max_tokens: int | None = 512
    llm_seed: int | None = None
    method: Method = Method.DEBATE
    samples: int = 1  # how often each judge is asked; a debate asks by rounds, and a single judge once
    perturbation: Perturbation = Perturbation.NONE  # what has been done to the criterion that agents read
    perturbation_seed: int = 0
    perturbation_is_given: bool = False  # the stored criterion is the perturbed text; nothing is done to it here
    shown_criterion: str = ""  # the name that agents read, where the stored one would give a perturbation away
    order_key: str = ""  # draws the orders in place of the criterion's name, so that its variants are shown alike

    def __post_init__(self) -> None:
        if not 0 <= self.max_rounds <= MOST_ROUNDS:
            raise ValueError(f"A debate has 0 to {MOST_ROUNDS} discussion rounds, not {self.max_rounds}.")
        if self.max_tokens is not None and not 1 <= self.max_tokens <= MOST_TOKENS:
            raise ValueError(f"A statement is limited to 1 to {MOST_TOKENS:,} tokens, not {self.max_tokens:,}.")
        if not 1 <= self.samples <= MOST_SAMPLES:
            raise ValueError(f"A judge is asked 1 to {MOST_SAMPLES} times, not {self.samples}.")

    @property
    def perturbation_to_do(self) -> Perturbation:
        return Perturbation.NONE if self.perturbation_is_given else self.perturbation

    @property
    def fewest_judges(self) -> int:
        return FEWEST_AGENTS if self.method in (Method.DEBATE, Method.MULTI_JUDGE) else 1

    @property
    def most_judges(self) -> int:
        return MOST_AGENTS if self.method in (Method.DEBATE, Method.MULTI_JUDGE) else 1

    @property
    def steps_least(self) -> int:
        """How often each agent is asked at least, both orders counted once."""
        if self.method is not Method.DEBATE:
            return self.samples
        if self.stop_on_consensus or not self.max_rounds:
            return 1
        return 2 if self.stop_on_stability else 1 + self.max_rounds

    def to_json(self) -> JsonDict:
        """Return plain data that `options_from_json` reads back to an equal value."""
        return {name: getattr(value, "value", value) for name, value in asdict(self).items()}


def options_from_json(data: JsonObject) -> DebateOptions:
    """Return the options stored by `to_json`; what is not an option is passed over, what is missing has its default."""
    names = {field.name for field in fields(DebateOptions)}
    options: JsonDict = {name: value for name, value in data.items() if name in names}
    for name, kind in _ENUMS:
        if name in options:
            options[name] = kind(options[name])
    return DebateOptions(**options)


def samples_for(method: Method, chosen: int | None) -> int:
    """Return how often each judge is asked by a method: as wanted where it may be chosen, else what the method says."""
    usual = {Method.SELF_CONSISTENCY: 3, Method.MULTI_JUDGE: 2}
    return (chosen or usual[method]) if method in usual else 1


def temperature_for(method: Method, chosen: float | None) -> float:
    """Return the temperature of a method: as chosen, else 0; samples of one judge would then be copies, so 0.7."""
    usual = SAMPLING_TEMPERATURE if method is Method.SELF_CONSISTENCY else 0.0
    return usual if chosen is None else chosen
