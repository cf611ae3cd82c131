from __future__ import annotations

import pytest

from tests.judging.specs.records.tools.uploads import read, stored, told

pytestmark = pytest.mark.backend_free

_TABLE = """system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity
oak\tnews\t1\t4\tr1\tThe rain stops.\tDer <v>Regen</v> hört auf.\tAccuracy/Mistranslation\tMajor
oak\tnews\t1\t4\tr1\tThe rain stops.\tDer Regen hört auf<v>.</v>\tFluency/Punctuation\tMinor
oak\tnews\t1\t4\tr2\tThe rain stops.\tDer Regen hört auf.\tNo-error\tNo-error
elm\tnews\t1\t4\tr1\tThe <v>rain</v> stops.\tRegnet es?\tNon-translation!\tMajor
"""


def test_the_errors_of_a_person_in_a_translation_are_one_label() -> None:
    document = stored({"mqm.tsv": _TABLE})

    assert told(document["cases"], "id", "prompt") == [("4", "The rain stops.")]
    assert told(document["responses"], "system", "text") == [("oak", "Der Regen hört auf."), ("elm", "Regnet es?")]
    assert told(document["labels"], "system", "rater", "label", "criterion") == [
        ("oak", "r1", "-5.1", "MQM"),
        ("oak", "r2", "0", "MQM"),
        ("elm", "r1", "-25", "MQM"),
    ]


def test_an_error_of_another_severity_is_left_out() -> None:
    collected = read({"mqm.tsv": _TABLE.replace("\tMinor\n", "\tFunny\n")}).collected

    assert collected is not None
    assert collected.left_out() == [("annotation", "Funny: a severity without a weight", 1)]
