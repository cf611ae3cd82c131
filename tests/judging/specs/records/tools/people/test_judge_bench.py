from __future__ import annotations

import pytest

from tests.judging.specs.records.tools.uploads import Fields, stored, told

pytestmark = pytest.mark.backend_free


def _instance(id_: int, instance: object, **annotations: Fields) -> Fields:
    return {"id": id_, "instance": instance, "annotations": annotations}


def test_the_scores_of_each_person_are_labels_by_metric() -> None:
    said = {"majority_human": "No", "individual_human_scores": ["No", "Yes", None]}

    document = stored({"set.json": [_instance(3, {"input": "Is it safe?", "response": "It is."}, safety=said)]})

    assert told(document["responses"], "case", "text") == [("3", "It is.")]
    assert told(document["labels"], "case", "rater", "label", "criterion") == [
        ("3", "human 1", "No", "safety"),
        ("3", "human 2", "Yes", "safety"),
    ]


def test_a_majority_alone_is_a_label_without_a_rater() -> None:
    said = {"mean_human": 2.5, "individual_human_scores": []}

    document = stored({"set.json": [_instance(1, "A heron flies.", fluency=said)]})

    assert told(document["labels"], "case", "rater", "label", "criterion") == [("1", "", "2.5", "fluency")]


def test_a_choice_between_two_outputs_is_a_preference() -> None:
    shown = {"input": "Say hi.", "output_a": "Hi!", "output_b": "No."}

    document = stored({"set.json": [_instance(1, shown, quality={"individual_human_scores": ["model_b"]})]})

    assert told(document["preferences"], "choice", "by", "criterion") == [("B", "human 1", "quality")]
