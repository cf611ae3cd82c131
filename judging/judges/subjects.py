"""The subject of a verdict: everything that a judge is shown."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from evalsite.base.json_types import JsonObject
from judging.llm.chat import MessagePart
from judging.specs.types import ImageSpec, NodeSpec


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
    images: tuple[ImageSpec, ...] = ()  # of the question
    response_images: tuple[ImageSpec, ...] = ()
    other_images: tuple[ImageSpec, ...] = ()  # of the second answer
    messages: tuple[JsonObject, ...] = ()  # the question's turns, where it is a conversation; `question` is their text

    @property
    def material(self) -> str:
        """Everything that a judge is shown as data: a verdict that stands in it is a quotation, not the judge's."""
        texts = (self.response, self.other_response, self.raw_response, self.question, self.context, self.reference)
        return "\n".join((*texts, self.instruction))

    @property
    def image_count(self) -> int:
        return len(self.images) + len(self.response_images) + len(self.other_images)

    def swapped(self) -> JudgeSubject:
        """Return the same with the two responses in each other's place."""
        return replace(
            self,
            response=self.other_response,
            other_response=self.response,
            response_images=self.other_images,
            other_images=self.response_images,
        )

    def without_images(self) -> JudgeSubject:
        """Return what a judge is shown that cannot see."""
        return replace(self, images=(), response_images=(), other_images=())

    def image_parts(self, *, swapped: bool = False) -> tuple[MessagePart, ...]:
        """Return the images, each behind a line that says whose it is; `swapped`: the second answer is shown first."""
        of_answers = (self.response_images, self.other_images)
        first, second = reversed(of_answers) if swapped else of_answers
        is_pair = bool(self.other_response)
        images_by_owner = (
            ("question", self.images),
            ("response A" if is_pair else "response", first),
            ("response B", second),
        )
        parts: list[MessagePart] = []
        for owner, images in images_by_owner:
            for number, image in enumerate(images, start=1):
                alt = f" ({image.alt})" if image.alt else ""
                parts.append(MessagePart(f"Image {number} of the {owner}{alt}:"))
                parts.append(MessagePart(digest=image.digest, media_type=image.media_type))
        return tuple(parts)

    @property
    def has_context(self) -> bool:
        return bool(self.context.strip())
