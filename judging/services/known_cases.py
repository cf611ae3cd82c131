"""The cases of an upload beside those of a suite that they answer: which is which, and what is not stored of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.db.models import QuerySet

from evalsite.base.rows import grouped
from evalsite.base.types import JsonDict, as_text
from judging.models import Case, Prompt, Suite
from judging.specs.files.findings import shorten
from judging.specs.records.case_reader import choices_of
from judging.specs.records.collected import Collected
from judging.specs.records.names import Holds, is_of_media, rank
from judging.specs.records.neutral import CaseRecord, SuiteSpec
from judging.specs.replies import question_hash

BATCH = 500
_FIELDS = ("scenario", "question_type", "lang")


class StoredPrompts:
    """Finds the keys of stored prompts by what they ask."""

    def __init__(self, prompts: QuerySet[Prompt]) -> None:
        self._prompts = prompts
        self.keys: set[str] = set()
        self._by_prompt: dict[str, str] = {}
        self._texts: set[tuple[str, str]] = set()
        rows = prompts.order_by("pk").values_list("key", "text", "images", "context")
        for key, text, images, context in rows.iterator(chunk_size=BATCH):
            self.keys.add(key)
            asked = _asked(text, [image["digest"] for image in images])
            self._by_prompt.setdefault(asked, key)
            self._by_prompt.setdefault(f"{asked} {question_hash(context)}", key)
            self._texts.add((key, question_hash(text)))

    def key_of(self, case: CaseRecord) -> str:
        """Return the key of the prompt of a case: of its id, else of its text and images; empty where there is none.

        A text without an id may also be the id itself; a number may be anything.
        """
        if not case.is_made and (case.key, question_hash(case.prompt)) in self._texts:
            return case.key
        id_ = case.prompt.strip()
        named = id_ if case.is_made and id_ in self.keys and not id_.isdecimal() else ""
        asked = _asked(case.prompt, [image.digest for image in case.images])
        of_shown = self._by_shown.get(asked, {}) if (shown := _shown_in(case.metadata)) else {}
        if shown in of_shown or len(of_shown) > 1:
            return of_shown.get(shown, "")
        of_context = self._by_prompt.get(f"{asked} {question_hash(case.whole_context)}")
        return of_context or self._by_prompt.get(asked, named)

    @cached_property
    def _by_shown(self) -> dict[str, dict[str, str]]:
        """The keys of prompts whose cases have choices or media: what is asked -> these -> key."""
        found: dict[str, dict[str, str]] = {}
        rows = Case.objects.filter(prompt__in=self._prompts).order_by("prompt_id", "-pk")
        names = ("prompt__key", "prompt__text", "prompt__images", "metadata")
        for key, text, images, metadata in rows.values_list(*names).iterator(chunk_size=BATCH):
            if shown := _shown_in(metadata):
                asked = _asked(text, [image["digest"] for image in images])
                found.setdefault(asked, {}).setdefault(shown, key)
        return found


def _shown_in(metadata: JsonDict) -> str:
    """Return what is equal for the same choices in any order beside the same media; empty without both."""
    given = next((value for name, value in metadata.items() if rank(name, Holds.CHOICES)), None)
    media = [as_text(value) for name, value in sorted(metadata.items()) if is_of_media(name)]
    return question_hash("\n".join([*sorted(text for _, text in choices_of(given)), *media])) if given or media else ""


def _asked(text: str, images: Sequence[str]) -> str:
    """Return what is equal for the same question about the same images."""
    return " ".join((question_hash(text), *images))


@dataclass(frozen=True, slots=True)
class KnownCase:
    """What a suite has of a case beside its question."""

    key: str
    references: list[str]
    details: JsonDict = field(default_factory=dict)  # metadata, scenario, type, language, context


def cases_of_suite(suite: Suite) -> Iterator[KnownCase]:
    """Yield the cases of a stored suite."""
    names = ("key", "reference", "metadata", "prompt__context", *_FIELDS)
    for key, reference, metadata, context, *own in (
        Case.objects.filter(suites=suite).values_list(*names).iterator(BATCH)
    ):
        yield _known(key, reference, metadata, context, own)


def cases_of_spec(suite: SuiteSpec) -> Iterator[KnownCase]:
    """Yield the cases of a suite that stands in the same upload."""
    for case in suite.cases:
        own = [getattr(case, name) for name in _FIELDS]
        yield _known(case.key, case.reference, dict(case.details), case.whole_context, own)


def _known(key: str, reference: str, metadata: JsonDict, context: str, own: Sequence[str]) -> KnownCase:
    references = metadata.get("references") or ([reference] if reference else [])
    return KnownCase(key, references, {**metadata, **dict(zip(_FIELDS, own, strict=True)), "context": context})


def answer_known_cases(collected: Collected, keys: dict[int, str], known: Iterable[KnownCase]) -> None:
    """Take the cases of an upload, by number, for those of a suite; what the suite has otherwise is warned of."""
    collected.answer_known(keys)
    numbers = grouped((key, number) for number, key in keys.items())
    for case in known:
        for number in numbers.get(case.key, ()):
            _compare(collected, collected.case(number), case)


def _compare(collected: Collected, case: CaseRecord, known: KnownCase) -> None:
    given, stored = case.references, [*known.references, "\n\n".join(known.references)]
    further = [text for text in given if not any(_is_same(text, other) for other in stored)]
    if further and known.references:
        detail = f"{known.key}: {shorten(further[0])} here, {shorten(known.references[0])} stored"
        collected.warn("reference-kept", case.place, detail)
    elif further:
        collected.warn("reference-not-stored", case.place, f"{known.key}: {shorten(further[0])}")
    own = {name: getattr(case, name) for name in _FIELDS}
    details = {**case.metadata, **own, "context": case.whole_context}
    for name, value in details.items():
        if value not in (None, "", [], {}) and known.details.get(name) != value:
            collected.warn("detail-not-stored", case.place, f"{name} of {known.key}")


def _is_same(text: str, other: str) -> bool:
    return " ".join(text.split()) == " ".join(other.split())
