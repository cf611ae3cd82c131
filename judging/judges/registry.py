"""The judges by name: what each needs, its options, its number of calls and the hash of what it sends."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from judging.grading.cascade import CascadeOptions
from judging.grading.relevance import RelevanceOptions
from judging.grading.rubric_tree import walk
from judging.judges.interface import Judge
from judging.judges.kinds.accuracy import STRICTNESS, AccuracyJudge
from judging.judges.kinds.generic import GenericJudge, is_rated
from judging.judges.kinds.integrity import IntegrityJudge
from judging.judges.kinds.level_cascade import LevelCascadeJudge
from judging.judges.kinds.pairwise import PairwiseJudge
from judging.judges.kinds.relevance import RelevanceJudge
from judging.judges.measured_confidence import MeasuredJudge
from judging.judges.prompt_texts import load_prompt
from judging.judges.subjects import JudgeSubject

HIGHEST_SEED = 2**31 - 10  # providers take 32 bits at least; samples add their number


class BadJudgeOption(ValueError):
    """A judge was given an option that it does not have, or a value that the option cannot take."""


class UnknownJudge(LookupError):
    """There is no judge of this name."""


@dataclass(frozen=True, slots=True)
class OptionField:
    """One option as a form shows it."""

    name: str
    kind: str  # choice | integer | number | boolean | text
    default: Any
    help: str
    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    affects_calls: bool = True  # False: only how verdicts become scores; stored verdicts stay good
    label: str = ""  # empty: the name
    words: tuple[str, ...] = ()  # the choices as a form shows them; empty: as they are
    group: str = ""  # heading under which a form folds the option
    initial: Any = None  # what a new judge gets; None: the default, which stands for judges stored without the option

    @property
    def value_for_new(self) -> Any:
        """What a new judge gets unless told otherwise."""
        return self.default if self.initial is None else self.initial


@dataclass(frozen=True, slots=True)
class JudgeKind:
    """A kind of judge. `needs` is any of rubric (with something to rate), levels, reference and pair."""

    name: str
    title: str
    description: str
    needs: frozenset[str]
    options: tuple[OptionField, ...]
    builder: Callable[[Mapping[str, Any]], Judge]

    def build(self, options: Mapping[str, Any] | None = None) -> Judge:
        """Return the judge with the given options; those left out have their defaults.

        Raises:
            BadJudgeOption: an unknown option or a value it cannot take.
        """
        complete = self.complete_options(options or {})
        way = complete.pop("confidence", NOT_MEASURED)
        judge = self.builder(complete)
        return judge if way == NOT_MEASURED else MeasuredJudge(judge, way)

    def complete_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every option with its value, checked."""
        unknown = set(given) - {option.name for option in self.options}
        if unknown:
            raise BadJudgeOption(f"The judge {self.name!r} has no option {min(unknown)!r}.")
        return {option.name: _checked(option, given.get(option.name, option.default)) for option in self.options}

    def new_options(self) -> dict[str, Any]:
        """Return every option as a new judge gets it."""
        return {option.name: option.value_for_new for option in self.options}

    def missing_needs(self, subject: JudgeSubject) -> tuple[str, ...]:
        """Return which needs a subject does not meet."""
        levels = subject.rubric is not None and all(node.kind == "level" for node in subject.rubric.children)
        there = {
            "rubric": subject.rubric is not None and any(map(is_rated, walk(subject.rubric))),
            "levels": levels and subject.rubric is not None and bool(subject.rubric.children),
            "reference": bool(subject.reference.strip()),
            "pair": bool(subject.other_response),
        }
        return tuple(sorted(need for need in self.needs if not there[need]))

    def prompt_hash(self, options: Mapping[str, Any] | None = None) -> str:
        """Return the sha256 over every prompt text that the judge sends with these options."""
        judge = self.build(options)
        judge = judge.inner if isinstance(judge, MeasuredJudge) else judge
        texts = [load_prompt("system").text, judge.prompt.text, load_prompt("reask").text]
        if isinstance(judge, AccuracyJudge):
            texts.append(load_prompt(f"strictness_{judge.strictness.lower()}").text)
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def prompt_names(self, options: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Return the names of the prompt files used, the editable one first."""
        return (self.build(options).prompt.name, "system", "reask")


def _checked(option: OptionField, value: Any) -> Any:
    problem = BadJudgeOption(f"{option.name} cannot be {value!r}.")
    if option.kind == "choice":
        if value not in option.choices or isinstance(value, bool):
            raise BadJudgeOption(f"{option.name} is one of {', '.join(map(str, option.choices))}, not {value!r}.")
        return value
    if option.kind == "boolean" or option.kind == "text":
        if not isinstance(value, bool if option.kind == "boolean" else str):
            raise problem
        return value
    if value is None and option.default is None:
        return None
    whole = option.kind == "integer"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise problem
    if (option.low is not None and value < option.low) or (option.high is not None and value > option.high):
        raise BadJudgeOption(f"{option.name} is from {option.low:g} to {option.high:g}, not {value}.")
    return value


def _common(max_tokens: int) -> tuple[OptionField, ...]:
    return (
        OptionField("temperature", "number", 0.0, "Sampling temperature.", low=0, high=2),
        OptionField("max_tokens", "integer", max_tokens, "Most tokens of a reply.", low=16, high=64_000),
        OptionField(
            "seed",
            "integer",
            None,
            "Sent where the endpoint takes one, so that a question gets the same reply again; samples count up. "
            "Empty: not sent.",
            low=0,
            high=HIGHEST_SEED,
            initial=1,
        ),
        OptionField("prompt_text", "text", "", "Edited version of the shipped prompt; empty: as shipped."),
    )


_JSON_SCHEMA = OptionField(
    "json_schema",
    "boolean",
    False,
    "Ask for itemised replies by a JSON schema where the endpoint takes one.",
    label="JSON schema",
    initial=True,
)
NOT_MEASURED = "no"
_CONFIDENCE = OptionField(
    "confidence",
    "choice",
    NOT_MEASURED,
    "Measure it by 3 samples (5 if they differ), or by label probabilities where the endpoint gives them.",
    (NOT_MEASURED, "samples", "labels"),
)


def _split(options: Mapping[str, Any], part: type, name: str) -> dict[str, Any]:
    """Return the options with those of a nested options class gathered under `name`."""
    inner = {field.name for field in dataclasses.fields(part)}
    outer = {key: value for key, value in options.items() if key not in inner}
    return {**outer, name: part(**{key: value for key, value in options.items() if key in inner})}


ODD_SCORES = "Odd scores"
_CASCADE = (
    OptionField("mode", "choice", "holistic", "One score, or each criterion met or not.", ("holistic", "itemised")),
    OptionField(
        "level_25_value",
        "choice",
        25,
        "What the judge is told and what counts. 20 is what the original prompt said; its recorded scores follow 25.",
        (25, 20),
        label="Points of a criterion at level 25",
    ),
    OptionField("level_100", "choice", "any", "Whether any or all level-100 criteria give 100.", ("any", "all")),
    OptionField(
        "clip",
        "boolean",
        True,
        "Several criteria met at one level can reach more than 100 points; they count 100.",
        affects_calls=False,
        label="Keep scores within 0 to 100",
        group=ODD_SCORES,
    ),
    OptionField(
        "off_grid",
        "choice",
        "keep",
        "A score between the rubric's steps, such as 40 where 25, 50, 75 and 100 are the steps.",
        ("keep", "normalise", "reject"),
        affects_calls=False,
        label="A score between the steps",
        words=("Keep it and flag it", "Read 20, 40, 60, 80 as 25, 50, 75, 100", "Leave the response without a score"),
        group=ODD_SCORES,
    ),
    OptionField(
        "infeasible",
        "choice",
        "keep",
        "A score that no set of met criteria gives, such as 25 for a case without a criterion at level 25. "
        "Whichever you choose, the verdict goes to people.",
        ("keep", "reject"),
        affects_calls=False,
        label="An impossible score",
        words=("Keep it and flag it", "Leave the response without a score"),
        group=ODD_SCORES,
    ),
)
_RELEVANCE = (
    OptionField("enforce_rules", "boolean", True, "Apply caps here, not only in the prompt.", affects_calls=False),
    OptionField(
        "without_context", "choice", "zero", "Context precision without context.", ("zero", "drop"), affects_calls=False
    ),
    OptionField("decimals", "choice", 1, "Decimals shown.", (1, 2), affects_calls=False),
)
_TOP_P = OptionField("top_p", "number", None, "Nucleus sampling; empty: not sent.", low=0, high=1)

KINDS: Mapping[str, JudgeKind] = {
    kind.name: kind
    for kind in (
        JudgeKind(
            "level_cascade",
            "Level cascade",
            "Criteria in levels 100, 50 and 25; the highest level with one met decides.",
            frozenset({"rubric", "levels"}),
            (*_CASCADE, _CONFIDENCE, *_common(1024), _JSON_SCHEMA),
            lambda options: LevelCascadeJudge(**_split(options, CascadeOptions, "cascade")),
        ),
        JudgeKind(
            "relevance",
            "Relevance 0-10",
            "Accuracy, comprehensiveness and context precision, with caps; one score of 0 to 1.",
            frozenset(),
            (*_RELEVANCE, _CONFIDENCE, *_common(256)),
            lambda options: RelevanceJudge(**_split(options, RelevanceOptions, "scoring")),
        ),
        JudgeKind(
            "accuracy",
            "Accuracy against a reference",
            "Correct or not, in three degrees of strictness.",
            frozenset({"reference"}),
            (OptionField("strictness", "choice", "L2", "How strict.", STRICTNESS), _TOP_P, _CONFIDENCE, *_common(1024)),
            lambda options: AccuracyJudge(**options),
        ),
        JudgeKind(
            "integrity",
            "Reasoning integrity",
            "How sound the way to the answer is, 0 to 100, without a reference.",
            frozenset(),
            (_TOP_P, _CONFIDENCE, *_common(1000)),
            lambda options: IntegrityJudge(**options),
        ),
        JudgeKind(
            "pairwise",
            "Comparison of two answers",
            "Which of two answers is better, asked in both orders.",
            frozenset({"pair"}),
            (OptionField("both_orders", "boolean", True, "Ask in both orders."), *_common(768)),
            lambda options: PairwiseJudge(**options),
        ),
        JudgeKind(
            "generic",
            "Any rubric",
            "Every criterion of a rubric on its own scale; the score follows from the tree.",
            frozenset({"rubric"}),
            (
                OptionField("per_node", "boolean", False, "One call for each criterion."),
                _CONFIDENCE,
                *_common(2048),
                replace(_JSON_SCHEMA, help="Ask for replies by a JSON schema where the endpoint takes one."),
            ),
            lambda options: GenericJudge(**options),
        ),
    )
}


def judge_kind(name: str) -> JudgeKind:
    """Return the judge of a name.

    Raises:
        UnknownJudge: there is none.
    """
    if name not in KINDS:
        raise UnknownJudge(f"There is no judge {name!r}; there are {', '.join(KINDS)}.")
    return KINDS[name]
