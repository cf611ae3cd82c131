"""The kinds of judges by name. A new kind is one module with its `KIND`, and its name in `KINDS`.

Judges and graders of other tools, whose values are read from a log, have a kind too, which is not among those that new
judges can have: it is never asked, and has a page, versions, figures and certificates as any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import PurePosixPath

from evalsite.base.formats import SHARE, ScoreScale, rating
from evalsite.base.types import JsonDict, JsonObject
from judging.judges.judge_kinds import (
    IMPORTED,
    IMPORTED_JUDGE,
    BadJudgeOption,
    JudgeKind,
)
from judging.judges.kinds import (
    accuracy,
    custom,
    generic,
    integrity,
    level_cascade,
    pairwise,
    panel,
    relevance,
)
from judging.judges.subjects import (
    BadPrompt,
    ComputedJudge,
    JudgeScore,
    JudgeSubject,
    JudgeVerdict,
    VerdictStatus,
)
from judging.specs.types import GRADE_VALUES, GRADES, UNKNOWN_SCALE, Scale

SCALE_UNKNOWN, OFF_SCALE = "scale_unknown", "off_scale"  # flags of a score without a share
CRITERION_LENGTH = 100  # characters as an evaluator holds it
CRITERION_HASH = 8  # digits that tell a cut one from others

KINDS: dict[str, JudgeKind] = {
    module.KIND.name: module.KIND
    for module in (
        custom,
        generic,
        level_cascade,
        relevance,
        accuracy,
        integrity,
        pairwise,
    )
}
KINDS[panel.NAME] = panel.panel_kind(lambda name: judge_kind(name))
EDITABLE: Mapping[str, str] = {prompt: kind.name for kind in KINDS.values() for prompt in kind.prompts}
COMPARING = frozenset(kind.name for kind in KINDS.values() if "pair" in kind.needs)  # two responses, as debates do


def check_judge_prompt(name: str, text: str) -> None:
    """Accept an edited text for a shipped file. Raises: BadPrompt, as its judge does."""
    kind = KINDS[EDITABLE[name]]
    options = {**kind.prompts[name], "prompt_text": text}
    kind.prompt_hash(options)
    if refusal := kind.refusal(options):
        raise BadPrompt(refusal)


class UnknownJudge(LookupError):
    """There is no judge of this name."""


def judge_kind(name: str) -> JudgeKind:
    """Return the judge of a name.

    Raises:
        UnknownJudge: there is none.
    """
    if name == IMPORTED_JUDGE:
        return IMPORTED_KIND
    if name not in KINDS:
        raise UnknownJudge(f"There is no judge {name!r}; there are {', '.join(KINDS)}.")
    return KINDS[name]


def label_preferences(options: JsonObject) -> dict[str, int]:
    """Return which response each label of a comparing own prompt prefers: 1 the one shown as A, -1 B, 0 neither.

    `options` are those of an evaluator; none for other kinds of judges, and where numbers are asked for.
    """
    kind = KINDS.get(options.get("judge_kind", ""))
    try:
        scores = kind.worth_by(options.get("judge_options", {})) if kind is not None else {}
    except BadJudgeOption:  # of a run older than a rule of labels
        return {}
    middle = max(scores.values(), default=Fraction(0)) / 2
    return {label: (score > middle) - (score < middle) for label, score in scores.items()}


@dataclass(frozen=True, slots=True)
class ImportedLog:
    """Which log an imported run was read from."""

    upload: int
    file: str
    tool: str  # empty: the file names none
    version: str
    digest: str  # of everything that was read, so that it is stored once

    @property
    def source(self) -> str:
        """The tool with its version, else the file."""
        return " ".join(filter(None, (self.tool, self.version))) or PurePosixPath(self.file).name

    def to_json(self) -> JsonDict:
        """Return it as the options of a run hold it."""
        return {IMPORTED: asdict(self)}


@dataclass(frozen=True, slots=True)
class ImportedGrader:
    """Who gave the values of an evaluator, about what, and on which scale."""

    name: str  # as the log has it
    tool: str  # with its version; empty where the log names none
    scale: Scale = UNKNOWN_SCALE
    criterion: str = ""
    turn: int | None = None
    repeat: int = 0  # further values of the same about one response have an evaluator of their own

    def to_json(self) -> JsonDict:
        """Return it as the options of an evaluator hold it."""
        return {IMPORTED: asdict(self) | {"scale": list(self.scale)}}

    @property
    def asked(self) -> str:
        """What it is about beside the response, in words."""
        return ", ".join(filter(None, (self.criterion, f"turn {self.turn}" if self.turn is not None else "")))

    def share(self, value: float | str) -> float | None:
        """Return a value as a part of the best one, as own judges' are; None where its scale does not tell.

        Numbers are divided by the highest value, as those of a rubric are; on a scale that begins below 0 it is the
        part of the way from the lowest to the highest.
        """
        low, high = self.ends
        if isinstance(value, str):
            return _worth(value, self.scale)
        if low is None or high is None or not low <= value <= high:
            return None
        return (value - low) / (high - low) if low < 0 else value / high

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The lowest and the highest number; None, None of letters and of a scale that is not known."""
        if len(self.scale) != 2:
            return None, None
        low, high = self.scale
        if isinstance(low, str) or isinstance(high, str) or low is None or high is None or not low < high:
            return None, None
        return float(low), float(high)

    @property
    def score_scale(self) -> ScoreScale:
        """The numbers in which its scores are shown; shares of letters and of a scale that is not known."""
        low, high = self.ends
        return SHARE if low is None or high is None else rating(low, high, zero=min(low, 0.0))

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of a grade, best first; none of numbers."""
        return tuple(letter for letter in self.scale if isinstance(letter, str))


def _worth(letter: str, scale: Sequence[object]) -> float | None:
    """Return what a letter is worth: of Inspect's grades as it counts them, else by its place, the first one 1."""
    if tuple(scale) == GRADES:
        return GRADE_VALUES.get(letter)
    return 1 - scale.index(letter) / (len(scale) - 1) if letter in scale and len(scale) > 1 else None


def imported_grader(options: JsonObject) -> ImportedGrader | None:
    """Return what the options of an evaluator say of a grader or judge of another tool; None for those of this site."""
    stored = options.get(IMPORTED)
    return ImportedGrader(**(stored | {"scale": tuple(stored["scale"])})) if stored else None


def imported_log(options: JsonObject) -> ImportedLog | None:
    """Return which log a run with these options was read from; None for a run of this site."""
    stored = options.get(IMPORTED)
    return ImportedLog(**stored) if stored else None


def short_criterion(text: str) -> str:
    """Return a criterion as an evaluator holds it: a long one is cut, and told from others by a hash."""
    if len(text) <= CRITERION_LENGTH:
        return text
    end = f"… ({sha256(text.encode()).hexdigest()[:CRITERION_HASH]})"
    return text[: CRITERION_LENGTH - len(end)] + end


class ImportedJudge(ComputedJudge):
    """A judge of another tool: it has no prompt, and no verdict but those that were imported."""

    def verdict(self, subject: JudgeSubject) -> JudgeVerdict:
        """Return that there is none."""
        reason = "This judge was imported and cannot be asked."
        return JudgeVerdict(VerdictStatus.FAILED, reason=reason, flags=("not-asked",))

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return that there is none: scores are imported with their verdicts."""
        return JudgeScore(None, Fraction(1))


IMPORTED_KIND = JudgeKind(
    IMPORTED_JUDGE,
    "Imported judge",
    "Its verdicts were imported from the log of another tool. It cannot be asked here.",
    frozenset(),
    (),
    lambda _: ImportedJudge(),
    is_imported=True,
)
