"""Gives the pairs of debates that were labelled elsewhere their imported final labels.

Rule: debates of equal content are one pair; of each rater the newest answer counts; the most frequent answer of the
blind raters is the pair's blind label, that of the others its informed one; a tie is no label.
"""

from collections import Counter, defaultdict
from typing import Any

from django.db import migrations, models

from judging.stored_content import is_turned, part_json, subject_key, turned_label

CHUNK = 1_000
JOINED = ("debate__debate_set", "debate__case", "debate__response_a__prompt", "debate__response_b")
PREFERENCE = [
    {"value": "1", "text": "A is better"},
    {"value": "0", "text": "Neither is better"},
    {"value": "-1", "text": "B is better"},
]
WORTH = {"1": 1.0, "0": 0.5, "-1": 0.0}


def fill(apps: Any, schema_editor: Any) -> None:
    labels = apps.get_model("debate", "OutsideLabel").objects.order_by("created_at", "pk")
    parts = Parts(apps)
    answers: dict[str, dict[str, tuple[str, bool, Any]]] = defaultdict(dict)  # by key and rater
    subjects: dict[str, dict[str, Any]] = {}
    ids = list(labels.values_list("pk", flat=True))
    for start in range(0, len(ids), CHUNK):
        rows = labels.filter(pk__in=ids[start : start + CHUNK]).select_related(*JOINED)
        for row in rows.defer("debate__response_a__text", "debate__response_b__text", "debate__case__grading"):
            texts = [row.debate.response_a.text_hash, row.debate.response_b.text_hash]
            subject = subject_of(row.debate, texts, parts)
            label = turned_label(str(row.verdict), turned=is_turned(texts))
            subjects.setdefault(subject["key"], subject)
            answers[subject["key"]][row.rater] = (label, row.is_blind, row.created_at)
    for key, by_rater in answers.items():
        store(apps, subjects[key], by_rater)


def subject_of(debate: Any, texts: list[str], parts: "Parts") -> dict[str, Any]:
    owner = debate.debate_set
    rubric_item_id, part = parts.get(owner.rubric_id, debate.case.key, owner.criterion)
    key = subject_key(
        prompt_hash=debate.response_a.prompt.content_hash,
        text_hashes=texts,
        part=part,
        criterion=owner.criterion,
        reference=debate.case.reference,
        scale=[(label["value"], None) for label in PREFERENCE],
    )
    return {"key": key, "criterion": owner.criterion, "case_id": debate.case_id, "rubric_item_id": rubric_item_id}


def store(apps: Any, subject: dict[str, Any], by_rater: dict[str, tuple[str, bool, Any]]) -> None:
    made, _ = apps.get_model("review", "Subject").objects.get_or_create(
        key=subject["key"],
        defaults={
            **subject,
            "is_pair": True,
            "labels": PREFERENCE,
            "created_at": max(given_at for _, _, given_at in by_rater.values()),
        },
    )
    for is_blind in (True, False):
        counted = {rater: answer for rater, answer in by_rater.items() if answer[1] == is_blind}
        leads = Counter(label for label, _, _ in counted.values()).most_common(2)
        if not leads or (len(leads) > 1 and leads[0][1] == leads[1][1]):
            continue
        apps.get_model("review", "FinalLabel").objects.create(
            subject=made,
            provenance="imported",
            is_blind=is_blind,
            label=leads[0][0],
            share=WORTH[leads[0][0]],
            source=", ".join(sorted(counted))[:200],
            decided_at=max(given_at for _, _, given_at in counted.values()),
        )


class Parts:
    """Parts of rubrics by rubric, case and criterion."""

    def __init__(self, apps: Any) -> None:
        self.items = apps.get_model("judging", "RubricItem").objects
        self.trees: dict[int, dict[str, tuple[int, Any]]] = {}  # by rubric and case

    def get(self, rubric_id: int | None, case_key: str, criterion: str) -> tuple[int | None, bytes]:
        """Return the rubric's item for a case, or for the whole benchmark, and its part for the criterion."""
        if rubric_id is None:
            return None, part_json(None, "")
        if rubric_id not in self.trees:
            rows = self.items.filter(rubric_id=rubric_id)
            self.trees[rubric_id] = {key: (pk, tree) for key, pk, tree in rows.values_list("case_key", "pk", "tree")}
        trees = self.trees[rubric_id]
        item_id, tree = trees.get(case_key) or trees.get("") or (None, None)
        return item_id, part_json(tree, criterion)


def remove(apps: Any, schema_editor: Any) -> None:
    apps.get_model("review", "FinalLabel").objects.filter(item=None, table=None).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("debate", "0006_blind_labels"),
        ("review", "0013_imported_final_labels"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="finallabel", name="final_label_imported_once"),
        migrations.AddConstraint(
            model_name="finallabel",
            constraint=models.UniqueConstraint(
                condition=models.Q(("item", None)),
                fields=("subject", "source", "is_blind"),
                name="final_label_imported_once",
            ),
        ),
        migrations.RunPython(fill, remove, elidable=True),
    ]
