"""Gives every item its subject, its referrals and its final labels.

Rule for items of one queue that are about equal content (two systems answered the same): the one that people have
brought furthest becomes the item of the subject. A twin that nobody has touched is deleted and its referral goes to that
item; one that holds people's work is kept as it is, under a subject of its own, so that no annotation is lost.
"""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from django.db import migrations

from judging.stored_content import is_turned, key_of, part_json, shown_hash, turned_label
from judging.stored_content import content_hash, text_hash

CHUNK = 1_000
JOINED = (
    "queue",
    "material",
    "debate__debate_set__rubric",
    "debate__case__prompt",
    "debate__response_a",
    "debate__response_b",
    "verdict__run",
    "verdict__response__prompt",
    "verdict__evaluator__rubric",
    "score__run",
    "score__response__prompt",
    "score__evaluator__rubric",
)
DECIDED = ("adjudicated", "settled")
PROGRESS = ("adjudicated", "settled", "split", "open", "stale", "excluded")
WORTH = {"1": 1.0, "0": 0.5, "-1": 0.0}


def fill(apps: Any, schema_editor: Any) -> None:
    filler = Filler(apps)
    items = apps.get_model("review", "ReviewItem").objects.select_related(*JOINED)
    keys = list(items.order_by("pk").values_list("pk", flat=True))
    best: dict[tuple[int, str], tuple[Any, ...]] = {}  # by queue and subject: how far its item is, and which it is
    found: dict[int, str] = {}
    for chunk in chunks(keys):
        for item in items.filter(pk__in=chunk, retest_of=None).order_by("pk"):
            found[item.pk] = str(filler.describe(item)["key"])
            place = (item.queue_id, found[item.pk])
            best[place] = min(best.get(place, filler.rank(item)), filler.rank(item))
    for chunk in chunks(keys):
        for item in items.filter(pk__in=chunk, retest_of=None).order_by("pk"):
            filler.add(item, held_by=best[item.queue_id, found[item.pk]][-1])
    for chunk in chunks(keys):
        for again in items.filter(pk__in=chunk).exclude(retest_of=None).select_related("retest_of").order_by("pk"):
            first = again.retest_of
            again.subject_id, again.is_turned = first.subject_id, first.is_turned
            again.response_a_id, again.response_b_id = first.response_a_id, first.response_b_id
            again.save(update_fields=["subject", "is_turned", "response_a", "response_b"])
    adjudications = apps.get_model("review", "Adjudication").objects.filter(item__material=None)
    adjudications.update(is_blind=False)  # the page showed machine verdicts before anybody decided


def chunks(keys: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(keys), CHUNK):
        yield keys[start : start + CHUNK]


class Filler:
    """Works through the items of all queues."""

    def __init__(self, apps: Any) -> None:
        self.get = lambda name: apps.get_model("review", name)
        self.rubric_items = apps.get_model("judging", "RubricItem")
        self.links = apps.get_model("judging", "SuiteCase")
        self.parts: dict[Any, list[tuple[Any, bytes]]] = {}
        self.cases: dict[Any, Any] = {}

    def add(self, item: Any, *, held_by: int) -> None:
        """Place an item under its subject; `held_by` is the item of that subject in this queue."""
        described = self.describe(item)
        if item.pk != held_by and not self.is_touched(item):
            self.refer(item, self.subject(described["key"], item, described), held_by)
            item.delete()
            return
        key = described["key"] if item.pk == held_by else sha256(f"{described['key']}:{item.pk}".encode()).hexdigest()
        item.subject_id, item.is_turned = self.subject(key, item, described), described["turned"]
        item.response_a_id, item.response_b_id = described["responses"]
        item.save(update_fields=["subject", "is_turned", "response_a", "response_b"])
        self.refer(item, item.subject_id, item.pk)
        self.decide(item)

    def rank(self, item: Any) -> tuple[int, int, int]:
        return PROGRESS.index(item.status), -item.answer_count, item.pk

    def is_touched(self, item: Any) -> bool:
        has_claims = self.get("Assignment").objects.filter(item=item).exists()
        return bool(has_claims or self.get("ReviewItem").objects.filter(retest_of=item).exists())

    def subject(self, key: str, item: Any, described: Any) -> int:
        made, _ = self.get("Subject").objects.get_or_create(
            key=key,
            defaults={
                "is_pair": described["is_pair"],
                "criterion": item.criterion,
                "case_id": described["case_id"],
                "rubric_item_id": described["rubric_item_id"],
                "labels": item.queue.labels,
                "created_at": item.created_at,
            },
        )
        return int(made.pk)

    def describe(self, item: Any) -> dict[str, Any]:
        scale = [(str(row["value"]), row.get("share")) for row in item.queue.labels]
        if item.material is not None:
            return self.describe_material(item, scale)
        debate, result = item.debate, item.verdict or item.score
        if debate is not None:
            responses = [debate.response_a, debate.response_b]
            prompt, case, rubric = debate.case.prompt, debate.case, debate.debate_set.rubric
        else:
            responses = [result.response]
            prompt, rubric = result.response.prompt, result.evaluator.rubric
            case = self.case_of(result.run.suite_id, prompt.pk)
        texts = [response.text_hash for response in responses]
        rubric_item_id, part = self.part_shown(item, rubric, prompt, texts)
        shown = item.content_hash
        if part is not None:
            shown = shown_hash(
                prompt_hash=prompt.content_hash, text_hashes=sorted(texts), part=part, criterion=item.criterion
            )
        return {
            "key": key_of(shown=shown, reference=case.reference if case is not None else "", scale=scale),
            "is_pair": len(responses) == 2,
            "case_id": case.pk if case is not None else None,
            "rubric_item_id": rubric_item_id,
            "turned": part is not None and is_turned(texts),
            "responses": [*(response.pk for response in responses), None][:2],
        }

    def describe_material(self, item: Any, scale: Any) -> dict[str, Any]:
        material = item.material
        texts = [text_hash(material.response_a)] + ([text_hash(material.response_b)] if material.is_pair else [])
        tree = None
        if material.criterion_text:
            key = item.criterion or "criterion"
            tree = {"key": key, "kind": "item", "text": material.criterion_text, "children": []}
        shown = shown_hash(
            prompt_hash=content_hash([material.question, material.context, ""]),
            text_hashes=sorted(texts),
            part=part_json(tree, item.criterion),
            criterion=item.criterion,
        )
        return {
            "key": key_of(shown=shown, reference=material.reference, scale=scale),
            "is_pair": material.is_pair,
            "case_id": None,
            "rubric_item_id": None,
            "turned": is_turned(texts),
            "responses": [None, None],
        }

    def case_of(self, suite_id: int, prompt_id: int) -> Any:
        known = (suite_id, prompt_id)
        if known not in self.cases:
            links = self.links.objects.filter(suite_id=suite_id, case__prompt_id=prompt_id).select_related("case")
            link = links.order_by("position").first()
            self.cases[known] = link.case if link else None
        return self.cases[known]

    def part_shown(self, item: Any, rubric: Any, prompt: Any, texts: list[str]) -> tuple[Any, bytes | None]:
        """Return the rubric's item and part that people were shown; no part where none makes the item's stored hash."""
        for rubric_item_id, part in self.candidates(rubric, prompt.key, item.criterion):
            made = shown_hash(prompt_hash=prompt.content_hash, text_hashes=texts, part=part, criterion=item.criterion)
            if made == item.content_hash:
                return rubric_item_id, part
        return None, None

    def candidates(self, rubric: Any, case_key: str, criterion: str) -> list[tuple[Any, bytes]]:
        slug = rubric.slug if rubric is not None else None
        known = (slug, case_key, criterion)
        if known not in self.parts:
            rows = self.rubric_items.objects.filter(rubric__slug=slug, case_key__in=[case_key, ""])
            rows = rows.order_by("-rubric__version", "-case_key") if slug is not None else rows.none()
            self.parts[known] = [(row.pk, part_json(row.tree, criterion)) for row in rows]
            self.parts[known].append((None, part_json(None, criterion)))
        return self.parts[known]

    def refer(self, item: Any, subject_id: int, held_by: int) -> None:
        """Store why an item is here as referrals of the item that keeps its subject."""
        if item.material_id is not None:
            return
        result = item.verdict or item.score
        about = {"subject_id": subject_id, "item_id": held_by, "created_at": item.created_at}
        if result is not None:
            about |= {"run_id": result.run_id, "response_id": result.response_id}
        else:
            about |= {"debate_set_id": item.debate.debate_set_id, "debate_id": item.debate_id}
        if item.reason != "audit":
            evaluator_id = result.evaluator_id if result is not None else None
            self.make_referral(**about, evaluator_id=evaluator_id, arm="routed", reason=item.reason)
        if item.arm == "audit":
            chance = item.inclusion_probability or 1.0
            self.make_referral(**about, arm="audit", reason="audit", inclusion_probability=chance)

    def make_referral(self, **fields: Any) -> None:
        model = self.get("Referral")
        same = {name: value for name, value in fields.items() if name not in ("item_id", "reason", "created_at")}
        same.pop("inclusion_probability", None)
        if not model.objects.filter(**same).exists():
            model.objects.create(**fields)

    def decide(self, item: Any) -> None:
        """Store the final labels: the blind majority or word, and beside it the one that people came to after it."""
        if item.status not in DECIDED:
            return
        rows = list(self.get("Annotation").objects.filter(item=item))
        is_blind = all(row.mode == "blind" and not row.seen_before for row in rows)
        votes = Counter(row.label for row in rows).most_common(1)
        majority = votes[0][0] if votes and 2 * votes[0][1] > len(rows) else ""
        if item.status == "adjudicated":
            if item.material_id is not None and item.queue.mode == "blind" and is_blind:
                self.make_final(item, "adjudication", item.label)
            else:
                self.make_final(item, "informed", item.label)
            return
        if is_blind and majority:
            self.make_final(item, "majority", majority)
        if not (is_blind and majority == item.label):
            self.make_final(item, "informed", item.label)

    def make_final(self, item: Any, provenance: str, label: str) -> None:
        canonical = turned_label(label, turned=item.is_turned)
        values = {str(row["value"]): row.get("share") for row in item.queue.labels}
        share = WORTH.get(canonical) if set(values) <= set(WORTH) else values.get(label)
        self.get("FinalLabel").objects.create(
            subject_id=item.subject_id,
            item_id=item.pk,
            provenance=provenance,
            is_blind=provenance != "informed",
            label=canonical,
            share=share,
            decided_at=item.settled_at or item.created_at,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("review", "0006_subjects_and_referrals"),
    ]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
