"""What an item is about: the question, the responses and the rubric as they stand now, and the hash of all three."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.db.models import Model, QuerySet, Subquery

from debate.models import Debate
from evalsite.review.models import Material, ReviewItem
from judging.models import Case, Response, Rubric, RubricItem, Score, SuiteCase, Verdict
from judging.services.hashing import content_hash, text_hash

ABOUT = {  # what an item may be about, and what is read of it
    "debate": ("debate_set__rubric", "case__prompt", "response_a", "response_b"),
    "verdict": ("response__prompt", "evaluator__rubric", "run"),
    "score": ("response__prompt", "evaluator__rubric", "run"),
    "material": (),
}
MODELS: dict[str, type[Model]] = {"debate": Debate, "verdict": Verdict, "score": Score, "material": Material}


class Asked(Protocol):
    """What was asked: a prompt of a benchmark, or a question out of a file."""

    @property
    def text(self) -> str: ...
    @property
    def context(self) -> str: ...
    @property
    def content_hash(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Question:
    """What a file asks."""

    text: str
    context: str

    @property
    def content_hash(self) -> str:
        return content_hash([self.text, self.context])


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer to be judged, from a benchmark or a file."""

    text: str
    text_hash: str
    system: str
    is_superseded: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """One or two responses to a prompt, under a rubric's criterion."""

    prompt: Asked
    reference: str
    responses: tuple[Answered, ...]  # A then B for a pair
    tree: dict[str, Any] | None  # of the rubric's newest version
    criterion: str

    @property
    def is_pair(self) -> bool:
        return len(self.responses) == 2

    @property
    def is_superseded(self) -> bool:
        """Whether a response has been replaced by another text since."""
        return any(response.is_superseded for response in self.responses)


def hash_of(*, prompt_hash: str, text_hashes: Sequence[str], tree: dict[str, Any] | None, criterion: str) -> str:
    """Return the hash of what an annotator is shown."""
    return content_hash([prompt_hash, list(text_hashes), part_of(tree, criterion) or {}, criterion])


def hash_of_subject(subject: Subject) -> str:
    """Return the hash of what an annotator is shown of this subject."""
    texts = [response.text_hash for response in subject.responses]
    return hash_of(
        prompt_hash=subject.prompt.content_hash, text_hashes=texts, tree=subject.tree, criterion=subject.criterion
    )


def part_of(tree: dict[str, Any] | None, criterion: str) -> dict[str, Any] | None:
    """Return the criterion's own node of a tree as stored; the whole tree where no node has that key."""
    if tree is None or not criterion:
        return tree
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node.get("key") == criterion:
            return node
        waiting.extend(node.get("children", ()))
    return tree


def with_subjects(items: QuerySet[ReviewItem]) -> QuerySet[ReviewItem]:
    """Join everything that `subject_of` reads of an item, and no system's name."""
    joined = [f"{about}__{path}" for about, paths in ABOUT.items() for path in paths]
    return items.select_related("queue", *ABOUT, *joined)


def load_subject(item: ReviewItem) -> ReviewItem:
    """Return one item with the same at hand: a single query of the tables that its kind needs, not of all."""
    for about, model in MODELS.items():
        key = getattr(item, f"{about}_id")
        if key is not None and not (about in item._state.fields_cache and not ABOUT[about]):
            setattr(item, about, model._default_manager.select_related(*ABOUT[about]).get(pk=key))
    return item


def subject_of(
    item: ReviewItem,
    *,
    trees: RubricTrees | None = None,
    cases: RunCases | None = None,
    with_names: bool = False,
) -> Subject:
    """Return what an item of `with_subjects` is about; caches serve long loops. Names of systems only where asked."""
    trees = trees or RubricTrees()
    if item.material is not None:
        return material_subject(item.material, criterion=item.criterion)
    if item.debate is not None:
        debate = item.debate
        tree = trees.get(debate.debate_set.rubric, debate.case.key)
        pair = (_answered(debate.response_a, with_names), _answered(debate.response_b, with_names))
        return Subject(debate.case.prompt, debate.case.reference, pair, tree, debate.debate_set.criterion)
    result = item.verdict or item.score
    if result is None:
        raise ValueError(f"{item} is about nothing")
    cases = cases or RunCases()
    case = cases.get(result.run.suite_id, result.response.prompt_id)
    tree = trees.get(result.evaluator.rubric, result.response.prompt.key)
    reference = case.reference if case is not None else ""
    only = (_answered(result.response, with_names),)
    return Subject(result.response.prompt, reference, only, tree, result.evaluator.criterion)


def _answered(response: Response, with_names: bool) -> Answered:
    name = response.system.name if with_names else ""
    return Answered(response.text, response.text_hash, name, response.superseded_at is not None)


def material_subject(material: Material, *, criterion: str) -> Subject:
    """Return what a material of a file is about; its criterion in words stands for a rubric."""
    texts = [(material.response_a, material.system_a), (material.response_b, material.system_b)]
    answers = tuple(Answered(text, text_hash(text), name) for text, name in (texts if material.is_pair else texts[:1]))
    tree = None
    if material.criterion_text:
        tree = {"key": criterion or "criterion", "kind": "item", "text": material.criterion_text, "children": []}
    return Subject(Question(material.question, material.context), material.reference, answers, tree, criterion)


class RubricTrees:
    """Trees of the newest version of rubrics: one query for each rubric and case, or one for each rubric loaded."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, Any] | None] = {}
        self._loaded: dict[str, dict[str, dict[str, Any]]] = {}

    def get(self, rubric: Rubric | None, case_key: str) -> dict[str, Any] | None:
        """Return the tree for a case, or the one for the whole benchmark, or None."""
        if rubric is None:
            return None
        if rubric.slug in self._loaded:
            trees = self._loaded[rubric.slug]
            return trees.get(case_key) or trees.get("")
        known = (rubric.slug, case_key)
        if known not in self._known:
            items = _newest_items(rubric.slug).filter(case_key__in=[case_key, ""])
            found = items.order_by("-case_key").first()
            self._known[known] = found.tree if found else None
        return self._known[known]

    def load(self, rubrics: Iterable[Rubric]) -> None:
        """Read all trees of these rubrics at once."""
        for slug in {rubric.slug for rubric in rubrics}:
            self._loaded[slug] = dict(_newest_items(slug).values_list("case_key", "tree"))

    def of(self, rubric: Rubric) -> list[dict[str, Any]]:
        """Return all trees of a loaded rubric."""
        return list(self._loaded[rubric.slug].values())


def _newest_items(slug: str) -> QuerySet[RubricItem]:
    newest = Rubric.objects.filter(slug=slug).order_by("-version").values("pk")[:1]
    return RubricItem.objects.filter(rubric_id=Subquery(newest))


class RunCases:
    """Cases of a suite by prompt, one query for each."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Case | None] = {}

    def get(self, suite_id: int, prompt_id: int) -> Case | None:
        """Return the suite's first case of this prompt."""
        known = (suite_id, prompt_id)
        if known not in self._known:
            links = SuiteCase.objects.filter(suite_id=suite_id, case__prompt_id=prompt_id).select_related("case")
            link = links.order_by("position").first()
            self._known[known] = link.case if link else None
        return self._known[known]
