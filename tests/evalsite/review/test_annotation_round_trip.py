"""What a queue exports comes back: into a site that has nothing of it, and into the one that wrote it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction

from evalsite.base.tables import table_bytes
from evalsite.review.models import Annotation, OrderPolicy, Queue, ReviewItem
from evalsite.review.questions.scales import scale_from_words
from evalsite.review.selectors.annotation_exports import annotations_table, label_studio_json
from evalsite.review.services.annotation_imports import import_annotations
from evalsite.review.services.annotation_plans import PeopleChoice
from evalsite.review.services.claims import repeat_item
from evalsite.review.services.label_tables import create_queue
from evalsite.review.services.queues import delete_queue
from evalsite.review.tables.annotations import read_annotations
from evalsite.review.tables.queue_files import read_materials
from judging.models import Benchmark, Response, Upload
from judging.services.file_imports.imports import check_import, store_import
from judging.services.file_imports.intake import ImportOptions
from tests import factories
from tests.content import stored_document
from tests.factories import NOON
from tests.judging import import_files

pytestmark = pytest.mark.django_db
Document = dict[str, Any]
SINGLES = b"id,question,response,reference,model\nq1,Why?,So it is.,Because.,oak\nq2,How?,Like this.,,elm\n"
UNNAMED = b"id,question,response_a,response_b\np1,Which?,This.,That.\n"


def queue_of(data: bytes, *scale: str) -> Queue:
    materials = read_materials(data, "f.csv").value
    assert materials is not None
    new_queue = Queue(source_file="f.csv", quorum=2, order=OrderPolicy.GIVEN)
    labels = scale_from_words(scale)
    return create_queue(new_queue=new_queue, labels=labels, material_file=materials, members=[], actor=None, at=NOON)


def annotated(queue: Queue, *labels: str) -> Queue:
    """Have two people label every item of a queue."""
    people = factories.user("ada"), factories.user("ben")
    for item in ReviewItem.objects.filter(queue=queue).order_by("pk"):
        for person, label in zip(people, labels, strict=True):
            factories.annotation(item=item, label=label, annotator=person, note=f"{label}, I think.")
    return queue


def singles() -> Queue:
    return annotated(queue_of(SINGLES, "bad", "good"), "good", "bad")


def unnamed_pairs() -> Queue:
    return annotated(queue_of(UNNAMED), "-1", "0")


def pairs_of_runs() -> Queue:
    return annotated(factories.review_item(criterion="clear").queue, "1", "-1")


def store(*files: tuple[str, bytes]) -> None:
    store_import(files=files, options=ImportOptions(), source="upload", actor=None, at=NOON)


def exported(queue: Queue, kind: str) -> tuple[str, bytes]:
    if kind == "label-studio":
        return "export.json", b"".join(label_studio_json(queue))
    return f"export.{kind}", b"".join(table_bytes(annotations_table(queue), kind))


def given() -> set[tuple[str, ...]]:
    """Return what people said in queues: of which texts, who, what."""
    words = {"1": "A", "0": "tie", "-1": "B"}
    return {
        (*_texts(row.item), row.annotator.username, words.get(row.label, row.label), row.note)
        for row in Annotation.objects.select_related("item__material", "item__response_a", "annotator")
    }


def _texts(item: ReviewItem) -> tuple[str, ...]:
    if item.material is not None:
        return tuple(filter(None, (item.material.response_a, item.material.response_b)))
    return tuple(response.text for response in (item.response_a, item.response_b) if response is not None)


def stored_labels(document: Document) -> set[tuple[str, ...]]:
    """Return the same of an import."""
    texts = {(row["case"], row["system"], row["attempt"]): row["text"] for row in document["responses"]}
    found: set[tuple[str, ...]] = {
        (texts[row["case"], row["system"], row["attempt"]], row["rater"], row["label"], row["reason"])
        for row in document["labels"]
        if row["criterion"] in ("", "label")
    }
    for row in document["preferences"]:
        first, second = row.get("attempts", (0, 0))
        pair = texts[row["case"], row["a"], first], texts[row["case"], row["b"], second]
        found.add((*pair, row["by"], row["choice"], row["reason"]))
    return found


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx", "label-studio"])
@pytest.mark.parametrize("make", [singles, unnamed_pairs, pairs_of_runs])
def test_an_export_gives_the_same_labels_in_a_fresh_site(make: Callable[[], Queue], kind: str) -> None:
    with transaction.atomic():
        file = exported(make(), kind)
        said = given()
        transaction.set_rollback(True)
    assert (Queue.objects.count(), Response.objects.count(), Benchmark.objects.count()) == (0, 0, 0)

    store(file)

    assert len(said) > 1
    assert stored_labels(stored_document(Upload.objects.get())) == said


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_an_export_of_a_run_finds_its_responses_in_the_site_that_wrote_it(kind: str) -> None:
    store(import_files.suite(), import_files.responses("oak"), import_files.responses("elm", {"france": "Lyon."}))
    first, second = Response.objects.filter(prompt__key="france").order_by("-system__name")
    item = factories.review_item(debate=factories.debate(response_a=first, response_b=second))
    file = exported(annotated(item.queue, "1", "-1"), kind)
    responses, said = Response.objects.count(), given()

    store(file)
    again = check_import(files=[file], options=ImportOptions())

    assert (Response.objects.count(), Response.objects.exclude(superseded_at=None).count()) == (responses, 0)
    assert stored_labels(stored_document(Upload.objects.latest("pk"))) == said
    assert again.changes_nothing


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
@pytest.mark.parametrize("make", [singles, unnamed_pairs, pairs_of_runs])
def test_an_export_changes_nothing_in_its_own_queue(
    make: Callable[[], Queue], kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = make()
    name, data = exported(queue, kind)
    (tmp_path / name).write_bytes(data)
    before = given()

    call_command("queue", "import-annotations", queue.slug, "--file", str(tmp_path / name), "--json")

    assert given() == before
    counts = json.loads(capsys.readouterr().out)
    assert [counts[name] for name in ("items", "answers", "revisions", "unchanged")] == [0, 0, 0, len(before)]


def test_copies_of_a_gold_item_which_has_no_annotations_itself_find_it_in_another_site() -> None:
    queue, ada = queue_of(SINGLES, "bad", "good"), factories.user("ada")
    gold = queue.items.get(material__key="q1")
    copy = repeat_item(gold, queue=queue, person_id=ada.pk, at=NOON, quorum=2)
    factories.annotation(item=copy, label="good", annotator=ada)
    file = read_annotations(exported(queue, "csv")[1], "export.csv").value
    delete_queue(queue=queue, actor=None)
    again = queue_of(SINGLES, "bad", "good")
    assert file is not None

    import_annotations(queue=again, file=file, people=PeopleChoice(), actor=None, at=NOON)

    label = Annotation.objects.get()
    assert (label.item.retest_of, label.item.only_for) == (again.items.get(material__key="q1", retest_of=None), ada)
