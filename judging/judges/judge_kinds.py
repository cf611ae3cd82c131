"""A kind of judge: what it needs, its options, the hash of what it sends, and what a new one starts as.

What a run froze of a judge says whom it asks and what its verdicts depend on, as one version. Pure.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from hashlib import sha256
from importlib.resources import files
from math import exp
from typing import Any

import yaml

from evalsite.base.formats import SHARE, ScoreScale
from evalsite.base.types import JsonDict, JsonObject
from judging.grading.rubric_tree import is_rated, walk
from judging.judges.subjects import (
    PARSER_VERSION,
    READ_ELSEWHERE,
    JudgeProgram,
    JudgeScore,
    JudgeSubject,
    JudgeVerdict,
    VersionedPrompt,
    changed,
    converse_together,
)
from judging.llm.chat import ChatRequest, Conversation, canonical_json
from judging.specs.types import NodeSpec


@dataclass(frozen=True, slots=True)
class ShippedJudge:
    """What a file in `definitions` says. Its prompt stands in `prompts`, and its arithmetic is its kind's code."""

    name: str = ""
    description: str = ""
    options: JsonObject | None = None


@cache
def shipped_judge(kind: str) -> ShippedJudge:
    """Return the judge shipped for a kind; an empty one where there is none."""
    path = files("judging.judges.definitions").joinpath(f"{kind}.yaml")
    if not path.is_file():
        return ShippedJudge()
    fields = yaml.safe_load(path.read_bytes())
    return ShippedJudge(fields["name"], fields["description"], fields["options"])


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """A prompt that an own one can start from, with the form of reply that it asks for."""

    name: str  # as commands and addresses know it
    title: str
    description: str
    example: str  # a reply in its form
    options: JsonObject  # in which it differs from a new own prompt


@cache
def starting_points() -> Mapping[str, StartingPoint]:
    """Return the starting points of own prompts by name, in the order in which pages list them."""
    rows = yaml.safe_load(files("judging.judges.definitions").joinpath("starting_points.yaml").read_bytes())
    return {row["name"]: StartingPoint(**row) for row in rows}


SAMPLES, SAMPLES_IF_SPLIT = 3, 5
SAMPLE_TEMPERATURE = 0.7  # where the judge's own is 0, samples would all be the same
LABEL_MASS = 0.9
PROBE_TOKENS = 4
TOP_LOGPROBS = 10
PROBE_INDEX = 900  # the probe is another question: its identity must not be that of a sample


@dataclass(frozen=True, slots=True)
class MeasuredJudge(JudgeProgram):
    """A judge asked so often that its confidence shows. `method` is samples or labels."""

    inner: JudgeProgram
    method: str = "samples"

    @property
    def prompts(self) -> tuple[VersionedPrompt, ...]:
        """What the measured judge sends."""
        return self.inner.prompts

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return what the verdict is worth; confidence changes nothing in it."""
        return self.inner.score(value, subject)

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Ask, measure, and return the verdict with its confidence."""
        labels = self.inner.labels(subject) if self.method == "labels" else {}
        if not labels:
            return (yield from self._sampled(subject))
        results, _ = yield from converse_together(
            {"verdict": self.inner.converse(subject), "probe": _probe(self.inner.request(subject), labels)}
        )
        verdict: JudgeVerdict = results["verdict"]
        shares: Mapping[str, float] | None = results["probe"]
        if verdict.value is None:
            return verdict
        label = next((name for name, value in labels.items() if dict(value) == dict(verdict.value)), "")
        if shares is None or not label:
            return (yield from self._sampled(subject))
        return replace(verdict, confidence=shares[label])

    def _sampled(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        verdicts = yield from _samples(self.inner, subject, range(SAMPLES))
        if len({_key(verdict) for verdict in verdicts}) > 1:
            verdicts += yield from _samples(self.inner, subject, range(SAMPLES, SAMPLES_IF_SPLIT))
        return combine_samples(verdicts)


def combine_samples(verdicts: Sequence[JudgeVerdict]) -> JudgeVerdict:
    """Return the first verdict with the commonest value; its confidence is that value's share of all samples.

    Samples that could not be read count as disagreement. A tie between values has no commonest one: the first stands,
    with the flag `samples_tied`. Without a single value there is none, and no confidence.
    """
    raw = tuple(text for verdict in verdicts for text in verdict.raw)
    counts = Counter(_key(verdict) for verdict in verdicts if verdict.value is not None)
    if not counts:
        return replace(verdicts[0], raw=raw)
    (key, most), *others = counts.most_common()
    chosen = next(verdict for verdict in verdicts if _key(verdict) == key)
    tied = ("samples_tied",) if others and others[0][1] == most else ()
    split = ("samples_split",) if most < len(verdicts) else ()
    return replace(chosen, confidence=most / len(verdicts), flags=(*chosen.flags, *split, *tied), raw=raw)


def label_shares(logprobs: Mapping[str, float], labels: Sequence[str]) -> dict[str, float] | None:
    """Return each label's share of the labels' probability; None where they hold less than .9 of it in all."""
    probabilities = dict.fromkeys(labels, 0.0)
    for token, logprob in logprobs.items():
        if token.strip() in probabilities:
            probabilities[token.strip()] += exp(min(0.0, logprob))
    mass = sum(probabilities.values())
    return {label: value / mass for label, value in probabilities.items()} if mass >= LABEL_MASS else None


def _probe(request: ChatRequest, labels: JsonObject) -> Conversation[dict[str, float] | None]:
    """Ask for the bare label and return the labels' shares of its probability."""
    instruction = (
        "Do not explain and do not use the format described above. "
        f"Reply with one character and nothing else: {_choices(labels)}."
    )
    *before, last = request.messages
    (reply,) = yield (
        replace(
            request,
            messages=(*before, replace(last, content=f"{last.content}\n\n{instruction}")),
            response_format=None,
            max_tokens=PROBE_TOKENS,
            top_logprobs=TOP_LOGPROBS,
            is_probe=True,
            sample_index=PROBE_INDEX,
        ),
    )
    return label_shares(reply.label_logprobs, list(labels))


def _choices(labels: JsonObject) -> str:
    if set(labels) == {"0", "1"}:
        return "1 for true (correct, met), 0 for false"
    return f"the value, one of {', '.join(labels)}"


def _samples(judge: JudgeProgram, subject: JudgeSubject, numbers: Sequence[int]) -> Conversation[list[JudgeVerdict]]:
    conversations = {str(number): _resampled(judge.converse(subject), number) for number in numbers}
    results, _ = yield from converse_together(conversations)
    return [results[str(number)] for number in numbers]


def _resampled(conversation: Conversation[JudgeVerdict], number: int) -> Conversation[JudgeVerdict]:
    """Hold a conversation as its nth sample, at a temperature at which samples can differ."""
    return changed(
        conversation,
        lambda request: replace(
            request,
            sample_index=number,
            temperature=request.temperature or SAMPLE_TEMPERATURE,
            seed=None if request.seed is None else request.seed + number,  # one seed would give one sample
        ),
    )


def _key(verdict: JudgeVerdict) -> str:
    """Return what a verdict says, so that two that say the same have one key: 3 is 3.0, and a judge's own sum of its
    scores says nothing beside them. Empty for a verdict without a value."""
    if verdict.value is None:
        return ""
    values = {name: value for name, value in verdict.value.items() if name != "stated_final"}
    return json.dumps(_plain(values), sort_keys=True, default=str)


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


NOT_MEASURED = "no"
HIGHEST_WEIGHT = 1_000
PROMPT_ROWS = 20  # of the box of a prompt
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
    rows: int = 8  # of a text, as a form shows it

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
    refusal: Callable[[JsonObject], str] = lambda _: ""  # why nobody can set up a judge with these options
    idle: Callable[[JsonObject], frozenset[str]] = lambda _: frozenset()  # options that the others leave without effect
    scale: tuple[str, ...] = ()  # options that set the scale of its scores; judges that share them can vote together
    rates_on: Callable[[JsonObject, NodeSpec | None], ScoreScale] = lambda *_: SHARE  # by options, and a rubric of all
    answers: Mapping[str, tuple[str, float]] = field(default_factory=dict)  # a verdict in words and its share, by label
    worth_by: Callable[[JsonObject], Mapping[str, Fraction]] = lambda _: {}  # of each label that its options define
    rates: NodeSpec | None = None  # what it rates where its questions need no rubric
    asks_members: bool = False  # whether other judges stand behind it, whose endpoints are asked
    is_imported: bool = False  # a judge of another tool, which nobody can ask here

    @property
    def asks_model(self) -> bool:
        """Whether judges of this kind need an endpoint."""
        return bool(self.prompts)

    @property
    def is_baseline(self) -> bool:
        """Whether no language model is behind the verdicts, whatever the endpoint is."""
        return not (self.asks_model or self.asks_members or self.is_imported)

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

    def score_scale(self, options: JsonObject, rubric: NodeSpec | None = None) -> ScoreScale:
        """Return the numbers in which scores of a judge with these options are shown.

        `rubric` is the tree of all cases, where there is one, or the one criterion of it.
        """
        return self.rates_on({option.name: options.get(option.name, option.default) for option in self.options}, rubric)

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


def shipped_kind(
    name: str, needs: Collection[str], options: Sequence[OptionField], builder: Callable[..., JudgeProgram], **more: Any
) -> JudgeKind:
    """Return a kind with the title, the description and, unless others are given, the prompt shipped for it."""
    shipped, more = shipped_judge(name), {"prompts": {name: {}}, **more}
    return JudgeKind(name, shipped.name, shipped.description, frozenset(needs), tuple(options), builder, **more)


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
    return [entry | {"weight": _plain(entry["weight"])} for entry in members]  # 2 and 2.0 are one version


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
        OptionField(
            "prompt_text",
            "text",
            "",
            "Edited version of the shipped prompt. Empty: the shipped prompt.",
            rows=PROMPT_ROWS,
        ),
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


def members_of(options: JsonObject) -> Sequence[JsonObject]:
    """Return the members of a panel's options, none of another judge's."""
    members: Sequence[JsonObject] = options.get("members", ())
    return members


def endpoints_asked(frozen: JsonObject) -> tuple[str, ...]:
    """Return the names of the endpoints that an evaluator asks, from what its run froze: its own, or its members'."""
    endpoints = [frozen.get("endpoint", "")]
    endpoints += [member.get("endpoint", "") for member in members_of(frozen.get("judge_options") or {})]
    return tuple(dict.fromkeys(name for name in endpoints if name))


def kind_asked(frozen: JsonObject) -> str:
    """Return the kind of the questions that an evaluator asks, from what its run froze; a panel's is its members'."""
    members = members_of(frozen.get("judge_options") or {})
    return str(members[0].get("judge_kind", "") if members else frozen.get("judge_kind", ""))


def options_asked(frozen: JsonObject) -> JsonObject:
    """Return the options of the judge whose questions an evaluator asks; of a panel those of its first member.

    The members of a panel are of one kind and scale.
    """
    options: JsonObject = frozen.get("judge_options") or {}
    members = members_of(options)
    return members[0].get("judge_options") or {} if members else options


IMPORTED_JUDGE = "imported"  # the kind of judges of other tools
IMPORTED = "imported"  # in the options of a run and of its evaluators: where they come from
IMPORTED_FROM = "imported_from"  # in the options of an evaluator: the log in words, which is no part of its version
HASH_SHOWN = 8  # digits of a hash that tell two versions apart for readers
NOT_VERSIONED_OF_MEMBERS = ("judge", "id", "endpoint")  # local names
# of an evaluator's options: what was before, and local names
NOT_VERSIONED = ("history", "rescoring", "endpoint", "baseline_id", IMPORTED_FROM)
IN_PROMPT = ("prompt_text", "system_text", "examples")  # texts whose change the hash of the prompt tells of


@dataclass(frozen=True, slots=True)
class JudgeVersion:
    """Model, prompt, rubric, options and parser version; judges that share all five are one version."""

    model: str
    prompt: str  # SHA-256 of what it is sent
    rubric: str  # SHA-256 of the rubric's content; empty without one
    criterion: str
    options: JsonObject
    parser: int

    @property
    def key(self) -> str:
        """The SHA-256 (64 hex digits) of the version."""
        return sha256(canonical_json(self.to_json())).hexdigest()

    def to_json(self) -> JsonDict:
        """Return the version as it is stored beside what was found about it."""
        return asdict(self)


def version_from_json(stored: JsonObject) -> JudgeVersion:
    """Return the version that `to_json` wrote."""
    return JudgeVersion(**{field.name: stored[field.name] for field in fields(JudgeVersion)})


def version_of_options(options: JsonObject, *, rubric_hash: str, criterion: str) -> JudgeVersion:
    """Return the version of an evaluator from what its run froze; replies are read as this site reads them now."""
    rest = {name: value for name, value in options.items() if name not in {"model", "prompt_hash", *NOT_VERSIONED}}
    members = (rest.get("judge_options") or {}).get("members")
    if members:
        named = {  # by their places, without the site's own names of judges and endpoints
            str(number): {name: value for name, value in member.items() if name not in NOT_VERSIONED_OF_MEMBERS}
            for number, member in enumerate(members, 1)
        }
        rest["judge_options"] = {**rest["judge_options"], "members": named}
    return JudgeVersion(
        model=str(options.get("model", "")),
        prompt=str(options.get("prompt_hash", "")),
        rubric=rubric_hash,
        criterion=criterion,
        options=rest,
        parser=READ_ELSEWHERE if IMPORTED in options else PARSER_VERSION,
    )


def changes_between(before: JudgeVersion, now: JudgeVersion) -> tuple[str, ...]:
    """Return a sentence for each part in which two versions differ; none for equal ones."""
    changes = []
    if before.model != now.model:
        changes.append(f"The model was {before.model} and is {now.model}.")
    if before.prompt != now.prompt:
        changes.append(f"The prompt changed, from {_short(before.prompt)} to {_short(now.prompt)}.")
    if (before.rubric, before.criterion) != (now.rubric, now.criterion):
        changes.append(f"The rubric changed, from {_short(before.rubric)} to {_short(now.rubric)}.")
    changes += _option_changes(before.options, now.options, set(IN_PROMPT))
    if before.parser != now.parser:
        changes.append(f"Replies are parsed by parser version {now.parser} and were parsed by version {before.parser}.")
    return tuple(changes)


def _option_changes(before: JsonObject, now: JsonObject, hidden: set[str]) -> list[str]:
    """Return the changed options, those of nested groups by their own names; the prompt's text has its own sentence."""
    changes: list[str] = []
    for name in sorted({*before, *now} - hidden):
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) or isinstance(new, Mapping):
            changes += _option_changes(old or {}, new or {}, hidden)
        elif old != new:
            changes.append(f"The option “{name}” was {_shown(old)} and is {_shown(new)}.")
    return changes


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)[:60]


def _short(digest: str) -> str:
    return digest[:HASH_SHOWN] or "none"
