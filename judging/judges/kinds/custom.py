"""The judge of a researcher's own prompt: system text, template, examples, and how a reply becomes a score.

What is sent is the researcher's text and nothing else, so that a published prompt keeps its published behaviour: one
conversation with the examples as earlier turns, and one re-ask where a reply cannot be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from evalsite.base.json_types import JsonDict, JsonObject
from judging.grading.grades import BadSpecification, NotDecided
from judging.grading.rule_graders.regexes import compile_pattern
from judging.judges.definitions.shipped_judges import shipped_judge
from judging.judges.judge_kinds import BadJudgeOption, JudgeKind
from judging.judges.kinds import custom_pairs
from judging.judges.kinds.custom_examples import read_examples
from judging.judges.kinds.custom_options import JSON, LAST_LINE, OPTIONS, PATTERN, TAG, criteria_of
from judging.judges.prompt_templates import VARIABLES, read_template
from judging.judges.prompt_texts import BadPrompt, VersionedPrompt, load_prompt
from judging.judges.questions import AskingOnce, ask_all
from judging.judges.replies import reply_text
from judging.judges.replies.reply_forms import JSON_OBJECT, reply_schema
from judging.judges.subjects import JudgeSubject
from judging.judges.verdicts import JudgeScore, JudgeVerdict
from judging.llm.chat import ChatRequest, Conversation, Message
from judging.specs.turns import plain_text

NAME = "custom"
MAX_LABELS = 100
MAX_LINE = 500  # characters of a last line that holds a label
MOST_MATCHES = 1_000
SEARCH_SECONDS = 0.25
_KEY = re.compile(r"[A-Za-z][\w-]{0,39}")
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?")
_LAST_NUMBER = re.compile(
    r"(-?\d{1,9}(?:\.\d{1,9})?)(?:\s{0,3}/\s{0,3}\d{1,9}|\s{1,3}(?:points?|out of \d{1,9}))?$", re.IGNORECASE
)


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
        _check_scale(self)
        _check_reply(self)
        if self.compares:
            custom_pairs.check_labels(self.scores)

    @property
    def compares(self) -> bool:
        """Whether it is shown a second response, beside the one that it judges."""
        return custom_pairs.is_comparison(self.prompt.text, self.system_text)

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
            material |= custom_pairs.baseline_choices(subject, self.scores)
        return self.request_with(self.build_messages(subject), material, self._reply_form())

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Ask once, or in both orders at once; re-ask what cannot be read, and return the verdict."""
        shown = (subject, subject.swapped()) if self.asks_twice else (subject,)

        def parse(text: str) -> JudgeVerdict:
            return self.parse_reply(text, subject)

        verdicts = yield from ask_all([(self.request(version), parse) for version in shown])
        return custom_pairs.combine_orders(verdicts[0], verdicts[1], self.scores) if self.asks_twice else verdicts[0]

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
        value, reasons = reply.value[self.reply_key], reply.value.get("reasoning")
        answer = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
        return self._verdict(
            answer,
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
        if len({match[1].strip().lower() for match in own_matches}) > 1:
            return reply_text.unparsed("The reply holds two different values.", "conflict")
        if not reply_text.only_courtesy(body[own_matches[-1].end() :]):
            return reply_text.unparsed("Nothing may follow the verdict.", "text_after")
        return own_matches[-1][1], body[: own_matches[-1].start()].strip()

    def _on_last_line(self, body: str, judged: str) -> tuple[str, str] | JudgeVerdict:
        """Return the label or number that ends the last line, and the text before."""
        lines = [line for line in body.splitlines() if line.strip()]
        while len(lines) > 1 and reply_text.only_courtesy(lines[-1]):
            lines.pop()
        line = lines[-1].strip().strip("*_`#>[](){}\"'. ")
        if len(line) > MAX_LINE:
            return reply_text.unparsed("The last line must hold the verdict and nothing else.", "long_line")
        if len(lines) > 1 and reply_text.stripped_text(lines[-2]) + reply_text.stripped_text(lines[-1]) in judged:
            return reply_text.unparsed("The last lines are quoted from what was judged.", "quoted")
        match = (self._label_end() if self.scores else _LAST_NUMBER).search(line)
        if match is None:
            return reply_text.unparsed("The last line does not end with the verdict.", "no_verdict")
        return match[1], "\n".join(lines[:-1]).strip()

    def _label_end(self) -> re.Pattern[str]:
        names = "|".join(re.escape(name) for name in sorted(self.scores, key=len, reverse=True))
        return re.compile(rf"(?:^|[^\w])({names})$", re.IGNORECASE)

    def _matched(self, body: str, judged: str) -> tuple[str, str] | JudgeVerdict:
        """Return what the last match of the pattern says: its first group, or all of it."""
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
        return (last[1] or "") if last.re.groups else last[0], body[: last.start()].strip()

    def _verdict(self, answer: str, rationale: str, flags: tuple[str, ...] = ()) -> JudgeVerdict:
        """Return the verdict of what a reply says, where it is a label or on the scale."""
        answer = answer.strip().strip("*_`[]()\"'").strip()
        if self.scores:
            label = next((name for name in self.scores if name.lower() == answer.lower()), None)
            if label is None:
                return reply_text.unparsed(f"The verdict is one of {', '.join(self.scores)}.", "off_menu")
            return reply_text.read({"label": label}, rationale=rationale, flags=flags, repaired=bool(flags))
        number = answer.split("/")[0].strip()
        if not _NUMBER.fullmatch(number) or not self.lowest <= float(number) <= self.highest:
            return reply_text.unparsed(
                f"The score is a number from {self.lowest:g} to {self.highest:g}.", "out_of_range"
            )
        return reply_text.read({"score": float(number)}, rationale=rationale, flags=flags, repaired=bool(flags))

    def labels(self, subject: JudgeSubject) -> Mapping[str, JsonObject]:
        """Return the labels, where each is one character and says all that there is to the verdict."""
        if self.asks_twice:
            return {}
        return {name: {"label": name} for name in self.scores} if all(len(name) == 1 for name in self.scores) else {}

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return the score of the label, of those in both orders, or the number, of the best that can be had."""
        if custom_pairs.FIRST in value:
            return JudgeScore(custom_pairs.score_of_orders(value, self.scores), max(self.scores.values()))
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


def read_labels(text: str) -> dict[str, Fraction]:
    """Return the score of each label from lines "LABEL = SCORE"; empty where numbers are asked for.

    Raises:
        BadJudgeOption: a line cannot be read, a label stands twice, or no label is worth more than 0.
    """
    scores: dict[str, Fraction] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, number = (part.strip() for part in line.rpartition("="))
        if not equals or not name or not _NUMBER.fullmatch(number):
            raise BadJudgeOption(f"Write each label as LABEL = SCORE, not {line!r}.")
        if name.lower() in {label.lower() for label in scores}:
            raise BadJudgeOption(f"The label {name!r} stands twice.")
        scores[name] = Fraction(number)
    if len(scores) > MAX_LABELS:
        raise BadJudgeOption(f"There are {len(scores)} labels; {MAX_LABELS} at most.")
    if scores and (min(scores.values()) < 0 or max(scores.values()) <= 0):
        raise BadJudgeOption("Scores of labels are 0 or more, and one of them is more than 0.")
    return scores


def _as_subject(example: Mapping[str, str]) -> JudgeSubject:
    return JudgeSubject(
        question=example.get("question", ""),
        response=example["response"],
        other_response=example.get("response_b", ""),
        reference=example.get("reference", ""),
        context=example.get("context", ""),
    )


def _check_scale(judge: CustomJudge) -> None:
    if not judge.scores and not 0 <= judge.lowest < judge.highest:
        raise BadJudgeOption("The lowest score is 0 or more, and the highest is higher.")


def _check_reply(judge: CustomJudge) -> None:
    """Pass where the reply's key is one of its form. The templates are checked as prompts are, on reading them."""
    if judge.reply == PATTERN:
        try:
            compile_pattern(judge.reply_key)
        except (NotDecided, BadSpecification) as error:
            raise BadJudgeOption(f"The pattern cannot be used: {error}") from None
    elif not _KEY.fullmatch(judge.reply_key):
        raise BadJudgeOption("The name of the tag or key begins with a letter and has letters, digits, - and _ only.")


def _needs(options: JsonObject) -> frozenset[str]:
    """Return a rubric and a second response as needs, where the texts name them."""
    texts = (str(options.get("prompt_text", "")).strip(), str(options.get("system_text", "")).strip())
    try:
        uses = any(read_template(text).uses_rubric for text in texts if text)
    except BadPrompt:
        return frozenset()
    pair = frozenset({"pair"}) if custom_pairs.is_comparison(*texts) else frozenset()
    return pair | (frozenset({"any_rubric"}) if uses else frozenset())


SHIPPED = shipped_judge(NAME)
KIND = JudgeKind(
    NAME,
    SHIPPED.name,
    SHIPPED.description,
    frozenset(),
    OPTIONS,
    lambda options: CustomJudge(**options),
    prompts={NAME: {}},
    variables=VARIABLES,
    needs_by=_needs,
    scale=("labels_text", "lowest", "highest"),
)
