"""What is put before a judge."""

from __future__ import annotations

from dataclasses import dataclass, field

from evalsite.base.json_types import JsonObject
from judging.specs.types import NodeSpec


@dataclass(frozen=True, slots=True)
class JudgeSubject:
    """One response to judge, or two to compare, with everything that the judge may be shown."""

    question: str
    response: str
    reference: str = ""
    context: str = ""
    context_role: str = ""  # "reference" | "supplementary" | ""
    other_response: str = ""  # the second answer, for a comparison
    rubric: NodeSpec | None = None  # the tree that applies to this case
    criterion_key: str = ""  # judge this node only; for a comparison, the criterion's name
    instruction: str = ""  # what the answering model was told beside the question
    raw_response: str = ""  # before cleaning; empty: the response as it is
    prompt_version: str = ""  # DIRECT | COT | EXPERT | own: how the answer was asked for
    lang: str = ""
    about: str = ""  # the description of the benchmark that the question belongs to
    metadata: JsonObject = field(default_factory=dict)  # what the suite's file says further of the case
    facts: JsonObject = field(default_factory=dict)  # for the rubric's rules

    @property
    def material(self) -> str:
        """Everything that a judge is shown as data: a verdict that stands in it is a quotation, not the judge's."""
        texts = (self.response, self.other_response, self.raw_response, self.question, self.context, self.reference)
        return "\n".join((*texts, self.instruction))

    @property
    def has_context(self) -> bool:
        return bool(self.context.strip())
