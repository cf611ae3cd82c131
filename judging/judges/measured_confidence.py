"""A judge whose confidence is measured: how often it says the same again, or how probable its label is.

What a model says of its own confidence is never used. Samples: the share of the commonest value over 3 samples, over 5
where the 3 do not agree. Labels: a probe without reasoning asks for the bare label; where the endpoint gives
log-probabilities and the labels hold at least .9 of the mass, the confidence is the verdict's share of it, else samples
are taken.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Any

from evalsite.base.json_types import JsonObject
from judging.judges.conversations import converse_together
from judging.judges.interface import JudgeProgram
from judging.judges.prompt_texts import VersionedPrompt
from judging.judges.subjects import JudgeSubject
from judging.judges.verdicts import JudgeScore, JudgeVerdict
from judging.llm.chat import ChatReply, ChatRequest, Conversation

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

    def converse(
        self, subject: JudgeSubject
    ) -> Generator[tuple[ChatRequest, ...], tuple[ChatReply, ...], JudgeVerdict]:
        """Ask, measure, and return the verdict with its confidence."""
        labels = self.inner.labels(subject) if self.method == "labels" else {}
        if not labels:
            return (yield from self._sampled(subject))
        batch = yield from converse_together(
            {"verdict": self.inner.converse(subject), "probe": _probe(self.inner.request(subject), labels)}
        )
        verdict: JudgeVerdict = batch.results["verdict"]
        shares: Mapping[str, float] | None = batch.results["probe"]
        if verdict.value is None:
            return verdict
        label = next((name for name, value in labels.items() if dict(value) == dict(verdict.value)), "")
        if shares is None or not label:
            return (yield from self._sampled(subject))
        return replace(verdict, confidence=shares[label])

    def _sampled(
        self, subject: JudgeSubject
    ) -> Generator[tuple[ChatRequest, ...], tuple[ChatReply, ...], JudgeVerdict]:
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
    batch = yield from converse_together(conversations)
    return [batch.results[str(number)] for number in numbers]


def _resampled(conversation: Conversation[JudgeVerdict], number: int) -> Conversation[JudgeVerdict]:
    """Hold a conversation as its nth sample, at a temperature at which samples can differ."""
    replies: tuple[ChatReply, ...] | None = None
    while True:
        try:
            requests = next(conversation) if replies is None else conversation.send(replies)
        except StopIteration as end:
            verdict: JudgeVerdict = end.value
            return verdict
        replies = yield tuple(
            replace(
                request,
                sample_index=number,
                temperature=request.temperature or SAMPLE_TEMPERATURE,
                seed=None if request.seed is None else request.seed + number,  # one seed would give one sample
            )
            for request in requests
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
