"""Templates of judges with a prompt of one's own: placeholders, pairs, examples, and published prompts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evalsite.base.types import JsonDict, JsonObject
from judging.judges.judge_kinds import BadJudgeOption
from judging.judges.subjects import (
    CRITERIA,
    OTHER,
    VARIABLES,
    BadPrompt,
    JudgeSubject,
    JudgeVerdict,
    bounded_text,
    over_both_orders,
)
from judging.specs.files.yaml_files import Node, read_yaml, yaml_text

if TYPE_CHECKING:
    from jinja2 import Template

MAX_TEMPLATE = 100_000  # characters of a template
_OF_RUBRICS = frozenset({"rubric", CRITERIA})


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A template that was checked, and which variables it names."""

    template: Template
    names: frozenset[str]

    @property
    def uses_rubric(self) -> bool:
        return not _OF_RUBRICS.isdisjoint(self.names)

    @property
    def compares(self) -> bool:
        """Whether it shows a second response."""
        return OTHER in self.names

    def fill(self, values: Mapping[str, Any]) -> str:
        """Return the text with these values.

        Raises:
            BadPrompt: it cannot be filled with them, or grows beyond `MAX_BOUNDED`.
        """
        from jinja2 import TemplateError

        try:
            return bounded_text(self.template.generate(values)).strip()
        except BadPrompt:
            raise
        except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
            raise BadPrompt(f"The prompt cannot be filled in for this response: {error}") from None


@lru_cache(maxsize=256)
def read_template(text: str) -> PromptTemplate:
    """Return a template, checked.

    Raises:
        BadPrompt: it is too long, no template, or names or does what is not offered; the message has the line.
    """
    if len(text) > MAX_TEMPLATE:
        raise BadPrompt(f"The prompt has {len(text):,} characters; {MAX_TEMPLATE:,} at most.")

    from judging.judges.kinds.template_language import parsed  # Jinja2 takes long to load

    return PromptTemplate(*parsed(text))


FIRST, SECOND = "shown_first", "shown_second"  # in a verdict's value: the label said where the response was A, and B
# What a prompt of one's own says that compares a response with a baseline's, asked in one or both orders. Pure.
#
# The labels say which response is better, A or B, and are worth what a win, a tie or a loss of A is worth. In the
# second order the response is shown as B, so that what was said of A there is its opposite.


def is_comparison(*texts: str) -> bool:
    """Return whether one of these texts of a prompt shows a second response; a broken text is refused elsewhere."""
    try:
        return any(read_template(text.strip()).compares for text in texts if text.strip())
    except BadPrompt:
        return False


def check_labels(scores: Mapping[str, Fraction]) -> None:
    """Pass where labels can be turned around: what is worth a win of one response is worth a loss of the other.

    Raises:
        BadJudgeOption: there are no labels, or one is worth a score whose opposite none is worth.
    """
    example = "one per line, for example A = 1, C = 0.5 and B = 0"
    if not scores:
        raise BadJudgeOption(f"A prompt with response_b compares two responses and needs labels: {example}.")
    worths = set(scores.values())
    lone = next((name for name, worth in scores.items() if max(worths) - worth not in worths), "")
    if lone:
        raise BadJudgeOption(
            f"The label {lone!r} has no opposite: with the responses swapped, a win is a loss. Write labels {example}."
        )


def combine_orders(straight: JudgeVerdict, swapped: JudgeVerdict, scores: Mapping[str, Fraction]) -> JudgeVerdict:
    """Return one verdict over both orders, which keeps the label said in each; without a label in both there is none.

    Confidence is 1 where the orders agree and 0 where each gives the win to the other response.
    """

    def combine(first: JsonObject, second: JsonObject) -> tuple[JsonDict, float, bool]:
        value, best = {FIRST: first["label"], SECOND: second["label"]}, max(scores.values())
        leads = scores[value[FIRST]] - best / 2, best / 2 - scores[value[SECOND]]  # of the same response
        is_flip = len({(lead > 0) - (lead < 0) for lead in leads}) > 1  # a lead of another size is the same choice
        return value, float(1 - abs(leads[0] - leads[1]) / best), is_flip

    return over_both_orders(straight, swapped, combine)


def score_of_orders(value: JsonObject, scores: Mapping[str, Fraction]) -> Fraction:
    """Return the mean over both orders of what the labels are worth to the response."""
    return (scores[value[FIRST]] + max(scores.values()) - scores[value[SECOND]]) / 2


def baseline_choices(subject: JudgeSubject, scores: Mapping[str, Fraction]) -> dict[str, list[str]]:
    """Return what a lexical baseline compares, and the labels of a win, a tie and a loss of the first response."""
    best = max(scores.values())
    by_worth = sorted(scores, key=lambda name: (abs(scores[name] - best / 2), name))
    win, loss = (next(name for name in scores if scores[name] == worth) for worth in (best, Fraction(0)))
    return {"responses": [subject.response, subject.other_response], "choices": [win, by_worth[0], loss]}


MAX_EXAMPLES = 50
_EXAMPLE_FIELDS = frozenset({"question", "response", "response_b", "reference", "context", "reply"})


@lru_cache(maxsize=64)
def read_examples(text: str) -> tuple[JsonDict, ...]:
    """Return the examples of a YAML list; each has a response and the reply that it should get.

    Raises:
        BadJudgeOption: the YAML cannot be read or an example lacks something; the message names it.
    """
    if not text.strip():
        return ()
    parsed = read_yaml(text.encode(), "examples")
    if parsed.value is None:
        problem = parsed.errors[0]
        raise BadJudgeOption(f"The examples, {problem.place}: {problem.message}")
    if not parsed.value.is_list or len(parsed.value.items) > MAX_EXAMPLES:
        raise BadJudgeOption(f"The examples are a YAML list of at most {MAX_EXAMPLES} entries.")
    return tuple(map(_example, parsed.value.items))


def _example(entry: Node) -> dict[str, str]:
    texts = {name: value.raw or str(value.content or "") for name, value in entry.fields.items()}
    unknown = sorted(set(texts) - _EXAMPLE_FIELDS)
    missing_fields = [name for name in ("response", "reply") if not texts.get(name, "").strip()]
    owner = f"The example on line {entry.line}"
    if unknown:
        raise BadJudgeOption(f"{owner} has {unknown[0]!r}. Fields: {', '.join(sorted(_EXAMPLE_FIELDS))}.")
    if missing_fields:
        raise BadJudgeOption(f"{owner} needs {' and '.join(missing_fields)}.")
    return dict(texts)


def with_example(text: str, example: Mapping[str, str]) -> str:
    """Return the YAML of the examples with one more at the end; texts of several lines stand as blocks.

    Raises:
        BadJudgeOption: there are as many as there may be, or the same question and response are among them.
    """
    examples = read_examples(text)
    if len(examples) >= MAX_EXAMPLES:
        raise BadJudgeOption(f"The judge has {MAX_EXAMPLES} examples already; remove one first.")
    if any(
        all(earlier.get(name, "") == example.get(name, "") for name in ("question", "response")) for earlier in examples
    ):
        raise BadJudgeOption("This response is among the examples of the judge already.")
    new_example = {name: value for name, value in example.items() if value}
    return yaml_text([*examples, new_example])


# Published prompts as templates of this site: placeholders in one to three pairs of braces, and blocks of roles. Pure.
#
# Placeholders that every benchmark means alike are known; what others are is for their reader to say.

AS_TEXT = "="  # in the place of a variable: the braces are part of the text
_PLACEHOLDER_NAME = r"([A-Za-z_][\w.]{0,39})"
_PLACEHOLDER = re.compile(
    rf"\{{%-?\s*raw\s*-?%\}}.{{0,2000}}?\{{%-?\s*endraw\s*-?%\}}|(?<![{{%\\])\$?\{{ ?\$?{_PLACEHOLDER_NAME} ?\}}(?!\}})"
    rf"|(?<!\{{)\{{{{2,3}} ?{_PLACEHOLDER_NAME} ?\}}{{2,3}}(?!\}})",
    re.DOTALL,
)
_RAW = "{{{"  # in Mustache a value as it is; in `str.format` a value in braces
_LOOP = re.compile(r"\{%-? ?for (\w+) in")
_DOUBLED = re.compile(r"(\{\{-?\s*[A-Za-z_][\w.]*\s*(?:(?:[|(\[]|if\b|or\b|and\b)[^{}]*)?\}\})|\{\{|\}\}")
_BLOCK = re.compile(r"<\|im_start\|>[ \t]*(\w{1,20})[ \t]*\n?(.*?)(?:<\|im_end\|>|(?=<\|im_start\|>)|\Z)", re.DOTALL)
_MARK = "<|im_start|>"
_KNOWN: Mapping[str, str] = {
    "question": "question, input, inputs, prompt, query, task, user_input, user_prompt, problem, instruction, "
    "orig_instruction",
    "response": "response, answer, output, outputs, output_text, completion, submission, prediction, model_output, "
    "model_response, model_answer, predicted_answer, summary, generation, generated_text, candidate, orig_response, "
    "response_to_evaluate, output_1, answer_a, output_a, response_1, response_a, completion_a, assistant_a_response, "
    "answer_of_a",
    OTHER: "response_b, answer_b, output_b, output_2, response_2, completion_b, assistant_b_response",
    "reference": "reference, reference_answer, ref_answer, ref_answer_1, ref_answer_2, ground_truth, gold, ideal, "
    "expected, expected_answer, expected_output, reference_outputs, correct_answer, target, orig_reference_answer, "
    "expert, expert_answer",
    "context": "context, document, documents, article, passage, source, retrieved_context",
    "rubric": "rubric, rubrics, criteria, evaluation_criteria",
}
KNOWN: Mapping[str, str] = {name: variable for variable, names in _KNOWN.items() for name in names.split(", ")}


def placeholders_of(*texts: str) -> dict[str, str]:
    """Return the names in braces that are no variables here, each with the variable that it is known to be, or nothing.

    Of two names for one variable, such as instruction and input, nobody can tell what the second is.
    """
    known: dict[str, str] = {}
    own = {*VARIABLES, "loop", *(name for text in texts for name in _LOOP.findall(text))}
    taken = {""}
    for match in (match for text in texts for match in _PLACEHOLDER.finditer(text)):
        name = match[1] or match[2]
        if match[2] and _RAW not in match[0] and name.partition(".")[0] in own:
            taken.add(name)
        elif name and name not in known:
            variable = KNOWN.get(name.lower().rpartition(".")[2], "")
            known[name] = "" if variable in taken else variable
            taken.add(variable)
    return known


def filled_in(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with each placeholder as the variable that it is; those that are text, or not named, stay.

    Where single braces are placeholders, doubled ones, as `str.format` asks for around objects of JSON, become single.
    """
    is_format = any(variables.get(match[1] or "", AS_TEXT) != AS_TEXT for match in _PLACEHOLDER.finditer(text))

    def variable_of(match: re.Match[str]) -> str:
        variable = variables.get(match[1] or match[2])
        if variable not in (None, AS_TEXT):
            value = f"{{{{ {variable} }}}}"
            return f"{{ {value} }}" if is_format and _RAW in match[0] else value
        if match[1] or variable is None:
            return match[0]
        return match[0][1:-1] if is_format else f"{{% raw %}}{match[0]}{{% endraw %}}"

    filled = _PLACEHOLDER.sub(variable_of, text)
    if not is_format or all(match[0] != "{{" for match in _DOUBLED.finditer(filled)):
        return filled
    return _DOUBLED.sub(lambda match: match[1] or match[0][0], filled)


def texts_by_role(text: str) -> tuple[str, str] | None:
    """Return the texts of the system and of the one turn of the user in a pasted prompt; None without marks of roles.

    Raises:
        BadPrompt: there is more than one turn of the user, or a turn of the assistant.
    """
    if _MARK not in text:
        return None
    blocks = [(role.lower(), content.strip()) for role, content in _BLOCK.findall(text)]
    turns = [(role, content) for role, content in blocks if role != "system" and content]
    if [role for role, _ in turns] != ["user"] or text[: text.index(_MARK)].strip():
        raise BadPrompt(
            "The prompt has marks of a conversation (<|im_start|>) with other turns than one of the system and one of "
            "the user. Put the turns before the last into Examples, and the last into Prompt, without the marks."
        )
    return "\n\n".join(content for role, content in blocks if role == "system" and content), turns[0][1]


def words_for(name: str, variable: str) -> str:
    """Return what a placeholder will be, in a sentence."""
    if variable not in VARIABLES:
        return f"{{{name}}} is not known here. Say what it is."
    return f"{{{name}}} will be {{{{ {variable} }}}}: {VARIABLES[variable]}."
