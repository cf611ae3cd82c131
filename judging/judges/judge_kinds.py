"""A kind of judge: what it needs, its options, and the hash of what it sends."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsite.base.json_types import JsonDict, JsonObject
from judging.grading.rubric_tree import is_rated, walk
from judging.judges.definitions.shipped_judges import shipped_judge
from judging.judges.interface import JudgeProgram
from judging.judges.measured_confidence import MeasuredJudge
from judging.judges.prompt_texts import VersionedPrompt
from judging.judges.subjects import JudgeSubject

NOT_MEASURED = "no"
HIGHEST_WEIGHT = 1_000
_WEIGHT = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_MEMBER_FIELDS = frozenset(
    {"judge", "weight", "id", "is_baseline"}
    | {"judge_kind", "judge_options", "endpoint", "model", "prompt_hash", "endpoint_options"}
)
HIGHEST_SEED = 2**31 - 10  # providers take 32 bits at least; samples add their number


class BadJudgeOption(ValueError):
    """A judge was given an option that it does not have, or a value that the option cannot take."""


@dataclass(frozen=True, slots=True)
class OptionField:
    """One option as a form shows it."""

    name: str
    kind: str  # choice | integer | number | boolean | line | text | members
    default: Any  # stands for judges stored without the option
    help: str
    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    affects_calls: bool = True  # False: only how verdicts become scores; stored verdicts stay good
    scoring_only_if: JsonObject = field(default_factory=dict)  # with these options too, only scores depend on it
    label: str = ""  # empty: the name
    words: tuple[str, ...] = ()  # the choices as a form shows them; of a text: where there is none, and where one is
    group: str = ""  # heading under which a form folds the option

    def affects_calls_with(self, chosen: JsonObject) -> bool:
        """Return whether what a judge is asked depends on the option, beside all options as chosen."""
        return self.affects_calls and not (self.scoring_only_if and self.scoring_only_if.items() <= chosen.items())

    @property
    def title(self) -> str:
        """The option's name as pages show it."""
        return self.label or self.name.replace("_", " ").capitalize()

    def word_for(self, value: Any) -> str:
        """Return a value as pages show it; of a text only whether there is one, for it is shown elsewhere."""
        if self.kind == "members":
            return lines_of_members(value).replace("\n", "; ") or "none"
        if self.kind == "text" and self.words:
            return self.words[bool(value)]
        if self.words and value in self.choices:
            return self.words[self.choices.index(value)]
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.kind == "text":
            return "edited" if value else "as shipped"
        return "not set" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class JudgeKind:
    """A kind of judge. `needs` is any of rubric (with something to rate), levels, any_rubric, reference and pair."""

    name: str
    title: str
    description: str
    needs: frozenset[str]
    options: tuple[OptionField, ...]
    builder: Callable[[JsonObject], JudgeProgram]
    prompts: Mapping[str, JsonObject] = field(default_factory=dict)  # editable file -> the options that choose it
    variables: Mapping[str, str] = field(default_factory=dict)  # of a free template, with what each holds
    needs_by: Callable[[JsonObject], frozenset[str]] = lambda _: frozenset()  # further needs, by the options
    scale: tuple[str, ...] = ()  # options that set the scale of its scores; judges that share them can vote together
    asks_members: bool = False  # whether other judges stand behind it, whose endpoints are asked

    @property
    def asks_model(self) -> bool:
        """Whether judges of this kind need an endpoint."""
        return bool(self.prompts)

    @property
    def is_baseline(self) -> bool:
        """Whether no language model is behind the verdicts, whatever the endpoint is."""
        return not (self.asks_model or self.asks_members)

    def build(self, options: JsonObject | None = None) -> JudgeProgram:
        """Return the judge with the given options; those left out have their defaults.

        Raises:
            BadJudgeOption: an unknown option or a value it cannot take.
        """
        complete = self.complete_options(options or {})
        method = complete.pop("confidence", NOT_MEASURED)
        judge = self.builder(complete)
        return judge if method == NOT_MEASURED else MeasuredJudge(judge, method)

    def complete_options(self, options: JsonObject) -> JsonDict:
        """Return every option with its value, checked."""
        unknown = set(options) - {option.name for option in self.options}
        if unknown:
            raise BadJudgeOption(f"The judge {self.name!r} has no option {min(unknown)!r}.")
        return {
            option.name: (_checked_members if option.kind == "members" else _checked)(
                option, options.get(option.name, option.default)
            )
            for option in self.options
        }

    def new_options(self) -> JsonDict:
        """Return every option as a new judge gets it: as its kind's shipped judge has it, else its default."""
        shipped = shipped_judge(self.name).options or {}
        return {option.name: shipped.get(option.name, option.default) for option in self.options}

    def needs_with(self, options: JsonObject) -> frozenset[str]:
        """Return what a judge with these options needs."""
        return self.needs | self.needs_by(options)

    def missing_needs(self, subject: JudgeSubject, options: JsonObject) -> tuple[str, ...]:
        """Return which needs of a judge with these options a subject does not meet."""
        levels = subject.rubric is not None and all(node.kind == "level" for node in subject.rubric.children)
        is_met = {
            "rubric": subject.rubric is not None and any(map(is_rated, walk(subject.rubric))),
            "any_rubric": subject.rubric is not None,
            "levels": levels and subject.rubric is not None and bool(subject.rubric.children),
            "reference": bool(subject.reference.strip()),
            "pair": bool(subject.other_response),
        }
        return tuple(sorted(need for need in self.needs_with(options) if not is_met[need]))

    def prompts_sent(self, options: JsonObject | None = None) -> list[VersionedPrompt]:
        """Return every prompt text that the judge sends with these options, the editable one first."""
        return sorted(self.build(options).prompts, key=lambda prompt: prompt.name not in self.prompts)

    def prompt_hash(self, options: JsonObject | None = None) -> str:
        """Return the sha256 over every prompt text that the judge sends with these options; empty for none."""
        texts = [prompt.text for prompt in self.build(options).prompts]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest() if texts else ""


def lines_of_members(members: Sequence[JsonObject]) -> str:
    """Return the members of a panel as a form and a command take them: NAME, or NAME = WEIGHT, one per line."""
    return "\n".join(
        member["judge"]
        if member["weight"] == 1 and members_from_lines(member["judge"])[0]["judge"] == member["judge"]
        else f"{member['judge']} = {member['weight']:g}"
        for member in members
    )


def members_from_lines(text: str) -> list[JsonDict]:
    """Return the members that lines of NAME or NAME = WEIGHT name; what is no weight belongs to the name."""
    members: list[JsonDict] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, weight = (part.strip() for part in line.rpartition("="))
        is_weight = bool(equals and name and _WEIGHT.fullmatch(weight))
        members.append({"judge": name, "weight": float(weight)} if is_weight else {"judge": line, "weight": 1})
    return members


def _checked_members(option: OptionField, value: Any) -> list[JsonDict]:
    """Return the members of a panel, each with its weight; what was read of their judges stays beside it."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(entry, Mapping) for entry in value):
        raise BadJudgeOption(f"{option.name} is a list of entries with judge and weight.")
    members = [{"weight": 1, **entry} for entry in value]
    for entry in members:
        name, weight = entry.get("judge"), entry["weight"]
        if not isinstance(name, str) or not name:
            raise BadJudgeOption("Each member of a panel names its judge: judge: NAME.")
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight <= HIGHEST_WEIGHT:
            raise BadJudgeOption(f"The weight of {name} is more than 0 and at most {HIGHEST_WEIGHT:,}, not {weight!r}.")
        foreign = sorted(set(entry) - _MEMBER_FIELDS)
        if foreign:
            raise BadJudgeOption(f"The member {name} has no field {foreign[0]!r}: a member has judge and weight.")
    names = [entry["judge"] for entry in members]
    repeated_name = next((name for name in names if names.count(name) > 1), "")
    if repeated_name:
        raise BadJudgeOption(f"{repeated_name} is a member twice. Give it a higher weight instead.")
    if option.high is not None and len(members) > option.high:
        raise BadJudgeOption(f"A panel has at most {option.high:g} members, not {len(members)}.")
    return [entry | {"weight": _plain_weight(entry["weight"])} for entry in members]


def _plain_weight(weight: float) -> float:
    """Return a whole weight as a whole number, so that 2 and 2.0 are one version."""
    return int(weight) if float(weight).is_integer() else weight


def _checked(option: OptionField, value: Any) -> Any:
    problem = BadJudgeOption(f"{option.name} cannot be {value!r}.")
    if option.kind == "choice":
        if value not in option.choices or isinstance(value, bool):
            raise BadJudgeOption(f"{option.name} is one of {', '.join(map(str, option.choices))}, not {value!r}.")
        return value
    if option.kind in ("boolean", "line", "text"):
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


def asking_options(max_tokens: int) -> tuple[OptionField, ...]:
    return (
        OptionField("temperature", "number", 0.0, "Sampling temperature.", low=0, high=2),
        OptionField("max_tokens", "integer", max_tokens, "Maximum tokens of a reply.", low=16, high=64_000),
        OptionField(
            "seed",
            "integer",
            None,
            "Sent if the endpoint accepts a seed, so that the same request gets the same reply; each sample adds 1. "
            "Empty: not sent.",
            low=0,
            high=HIGHEST_SEED,
        ),
        OptionField("prompt_text", "text", "", "Edited version of the shipped prompt. Empty: the shipped prompt."),
    )


TOP_P = OptionField("top_p", "number", None, "Nucleus sampling. Empty: not sent.", low=0, high=1)
JSON_SCHEMA = OptionField(
    "json_schema",
    "boolean",
    False,
    "Request itemised replies with a JSON schema if the endpoint accepts one.",
    label="JSON schema",
)
CONFIDENCE = OptionField(
    "confidence",
    "choice",
    NOT_MEASURED,
    "Measure it with 3 samples (5 if they differ), or with label probabilities if the endpoint returns them.",
    (NOT_MEASURED, "samples", "labels"),
)


def gathered(options: JsonObject, part: type, name: str) -> JsonDict:
    """Return the options with those of a nested options class gathered under `name`."""
    inner = {field.name for field in dataclasses.fields(part)}
    outer = {key: value for key, value in options.items() if key not in inner}
    return {**outer, name: part(**{key: value for key, value in options.items() if key in inner})}
