from __future__ import annotations

import csv
import io
import json

import pytest

from tests.judging.specs.records.tools.uploads import Fields, Uploads, kinds, read, stored, told, warned

pytestmark = pytest.mark.backend_free


def test_summeval_without_articles_names_unknown_cases() -> None:
    row: Fields = {"id": "dm-1", "decoded": "Short.", "model_id": "M8", "reference": "Long."}
    reading = read({"a.jsonl": [row | {"expert_annotations": [{"coherence": 4}]}]})

    assert reading.collected is not None
    assert [case.key for _, case in reading.collected.unknown_cases] == ["dm-1"]


def test_summeval_with_one_group_of_raters_and_gaps() -> None:
    row: Fields = {"id": "dm-1", "text": "An article.", "decoded": "Short.", "model_id": "M8", "reference": "Long."}
    files: Uploads = {
        "a.jsonl": [row | {"turker_annotations": [{"coherence": 4.0, "fluency": None}, {"coherence": 2}]}]
    }

    document = stored(files)

    assert document["cases"][0]["references"] == ["Long."]
    assert told(document["labels"], "rater", "criterion", "label") == [
        ("turker 1", "coherence", "4"),
        ("turker 2", "coherence", "2"),
    ]
    assert warned(files) == {"raters-by-place": 2}


RATED: Fields = {"prompt": "Boil an egg?", "response": "7 minutes.", "correctness": 4, "coherence": 4, "verbosity": 1}


def test_helpsteer_disagreements_have_people_by_their_place() -> None:
    row = RATED | {"correctness": [4, 3, 4], "coherence": [4, 4, None], "verbosity": [1, 1, 2]}
    files: Uploads = {"disagreements.jsonl": [row]}

    rows = told(stored(files)["labels"], "rater", "criterion", "label")

    assert rows[-2:] == [("annotator 3", "correctness", "4"), ("annotator 3", "verbosity", "2")]
    assert len(rows) == 8
    assert warned(files) == {"system-from-file": 1, "raters-by-place": 3}


def test_helpsteer_as_csv_with_decimal_labels() -> None:
    header = "verbosity,response,prompt,coherence,correctness"

    document = stored({"hs.csv": f"{header}\n1.0,7 minutes.,Boil an egg?,4.0,\n"})

    assert told(document["labels"], "criterion", "label") == [("coherence", "4"), ("verbosity", "1")]


def test_helpsteer_is_not_seen_on_other_scales() -> None:
    assert kinds({"mine.jsonl": [RATED | {"correctness": 5}]}) != ["helpsteer-attributes"]


def test_ultrafeedback_ratings_that_are_missing_are_counted() -> None:
    completion: Fields = {"model": "owl", "response": "A valley.", "overall_score": 7.5, "critique": "Fine."}
    completion |= {"annotations": {"honesty": {"Rating": "N/A", "Rationale": "No."}, "truthfulness": [{"Rating": "5"}]}}
    row: Fields = {
        "instruction": "What is a fjord?",
        "completions": [completion],
        "correct_answers": ["A valley", "A bay"],
    }
    files: Uploads = {"truthful_qa.jsonl": [row | {"incorrect_answers": ["A car"]}]}

    document = stored(files)

    assert told(document["cases"], "references", "metadata") == [
        (["A valley", "A bay"], {"incorrect_answers": ["A car"]})
    ]
    assert told(document["verdicts"], "judge", "criterion", "value", "scale") == [
        ("truthful_qa", "truthfulness", 5.0, [1.0, 5.0]),
        ("truthful_qa", "overall", 7.5, [1.0, 10.0]),
    ]
    assert warned(files) == {"judge-from-file": 1, "unscored": 1}


TASK: Fields = {"idx": 1, "instruction": "Why does ice float?", "answer": "It is lighter.", "skill": ["Factuality"]}


def test_flask_outputs_are_responses_beside_their_tasks() -> None:
    files: Uploads = {"flask_evaluation.jsonl": [TASK], "owl.jsonl": [{"question_id": 1, "text": "It is less dense."}]}

    assert told(stored(files)["responses"], "case", "system", "text") == [("1", "owl", "It is less dense.")]
    assert warned(files) == {"system-from-file": 1}


def test_flask_outputs_alone_are_asked_about() -> None:
    assert read({"owl.jsonl": [{"question_id": 1, "text": "It is less dense."}]}).collected is None


def test_flask_reviews_have_a_verdict_for_each_skill() -> None:
    row: Fields = {
        "question_id": 1,
        "text": "Why does ice float?",
        "answer": "It is lighter.",
        "target_txt": "So.",
        "review": "Ok.",
    }
    files: Uploads = {"owl_review.jsonl": [row | {"score": {"factuality": 4, "harmlessness": "N/A"}, "metadata": {}}]}

    document = stored(files)

    assert document["systems"] == ["owl"]
    assert told(document["verdicts"], "judge", "criterion", "value", "reason") == [
        ("owl_review", "factuality", 4.0, "Ok.")
    ]
    assert warned(files) == {"system-from-file": 1, "judge-from-file": 1, "unscored": 1}


_FIRST: Fields = {"instructions": ["Who speaks?", "About what?"], "outputs": ["Ann", ["Rain", "Weather"]]}
_FIRST |= {"input": "Ann spoke about rain.", "oak_outputs": ["Ann does.", None], "source": "talks"}
_SECOND: Fields = {"instructions": ["Who speaks?"], "outputs": ["Bo"], "input": "Bo spoke.", "oak_outputs": ["Bo."]}


def test_each_question_about_a_document_is_a_case_with_it_as_context() -> None:
    document = stored({"talks.jsonl": [_FIRST, _SECOND]})

    assert told(document["cases"], "id", "prompt", "references", "context") == [
        ("1", "Who speaks?", ["Ann"], ["Ann spoke about rain."]),
        ("2", "About what?", ["Rain", "Weather"], ["Ann spoke about rain."]),
        ("3", "Who speaks?", ["Bo"], ["Bo spoke."]),
    ]
    assert told(document["responses"], "case", "system", "text") == [("1", "oak", "Ann does."), ("3", "oak", "Bo.")]


def test_the_id_of_a_document_numbers_its_questions() -> None:
    document = stored({"talks.jsonl": [{**_FIRST, "doc_id": "d7"}]})

    assert [row["id"] for row in document["cases"]] == ["d7-1", "d7-2"]


def test_lists_of_other_lengths_are_no_such_set() -> None:
    assert kinds({"t.jsonl": [{**_FIRST, "outputs": ["Ann"]}]}) == ["table"]


def _table(*rows: Fields) -> str:
    columns = {"HITId": "", "Title": "", "WorkerId": "", "AssignmentStatus": "", "SubmitTime": ""} | rows[0]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _assignment(worker: str, hit: str = "H1", **answers: str) -> Fields:
    shown = {"Input.question": "What is rain?", "Input.response": "Water that falls."}
    given = {f"Answer.{name}": value for name, value in answers.items()}
    return {"HITId": hit, "WorkerId": worker, "AssignmentStatus": "Approved", **shown, **given}


def test_each_answer_of_a_worker_is_a_label_by_field() -> None:
    rows = [
        _assignment("W1", **{"clear.label": "good", "true.label": "bad", "comment": "It is\nshort."}),
        _assignment("W2", **{"clear.label": "good", "true.label": "", "comment": ""}),
    ]

    document = stored({"Batch_1.csv": _table(*rows)})

    assert told(document["responses"], "case", "system", "text") == [("H1", "Batch_1", "Water that falls.")]
    assert told(document["labels"], "case", "rater", "criterion", "label", "reason") == [
        ("H1", "W1", "clear", "good", "It is\nshort."),
        ("H1", "W1", "true", "bad", None),
        ("H1", "W2", "clear", "good", None),
    ]


def test_what_a_task_recorded_of_a_worker_is_no_reason() -> None:
    log = json.dumps({"browser": "B 7", "clicks": [{"x": 1}] * 50})

    document = stored({"b.csv": _table(_assignment("W1", clear="good", log=log))})

    assert told(document["labels"], "criterion", "label", "reason") == [("clear", "good", None)]


def test_answers_whose_workers_were_taken_out_are_labels_without_a_rater() -> None:
    row = _assignment("W1", clear="good")
    del row["WorkerId"]

    document = stored({"b.csv": _table(row).replace("WorkerId", "anon_id")})

    assert told(document["labels"], "rater", "criterion", "label") == [("", "clear", "good")]


def test_tasks_of_one_prompt_are_responses_to_one_case() -> None:
    dry = {"Input.response": "It is dry."}
    rows = [
        _assignment("W1", good="1"),
        _assignment("W1", "H2", good="2") | dry,
        _assignment("W2", "H2", good="1") | dry,
    ]

    document = stored({"b.csv": _table(*rows)})

    assert told(document["cases"], "id", "prompt") == [("1", "What is rain?")]
    assert told(document["responses"], "attempt", "text") == [(0, "Water that falls."), (1, "It is dry.")]
    assert told(document["labels"], "rater", "attempt", "label") == [("W1", 0, "1"), ("W1", 1, "2"), ("W2", 1, "1")]


def test_a_summary_is_a_response_to_what_it_sums_up_and_other_unknown_texts_are_named() -> None:
    talk = "Ada: Where is lunch? Ben: It is at the mill."
    shown = {
        "Input.question": "",
        "Input.response": "",
        "Input.dialogue": talk,
        "Input.summary": "Lunch is at the mill.",
    }
    unknown = {
        "Input.question": "",
        "Input.response": "",
        "Input.first": "One is here.",
        "Input.second": "Two is there.",
    }

    known = stored({"b.csv": _table(_assignment("W1", good="1") | shown | {"Input.model_type": "E"})})
    unnamed = read({"b.csv": _table(_assignment("W1", good="1") | unknown)}).collected

    assert told(known["cases"], "id", "prompt") == [("H1", talk)]
    assert told(known["responses"], "case", "system", "text") == [("H1", "E", "Lunch is at the mill.")]
    assert unnamed is not None
    assert unnamed.left_out() == [
        ("column", "what the platform says of its tasks", 1),
        ("detail", "first: nothing says that it is what is asked", 1),
        ("detail", "second: nothing says that it is what is asked", 1),
    ]


def test_boxes_and_answers_in_json_are_labels_too() -> None:
    boxes = {"Answer.kind.fact": "true", "Answer.kind.joke": "false", "Answer.kind.news": "true"}
    said = {"Answer.taskAnswers": '[{"tone": {"label": "calm"}, "size": {"big": false, "small": true}, "n": 3}]'}

    document = stored({"b.csv": _table(_assignment("W1") | boxes | said)})

    assert told(document["labels"], "criterion", "label") == [
        ("tone", "calm"),
        ("size", "small"),
        ("n", "3"),
        ("kind", "fact, news"),
    ]


def test_rejected_assignments_are_left_out() -> None:
    text = _table(_assignment("W1", clear="good"), _assignment("W2", clear="bad") | {"AssignmentStatus": "Rejected"})

    collected = read({"b.csv": text}).collected

    assert collected is not None
    assert told(collected.document()["labels"], "rater", "label") == [("W1", "good")]
    assert collected.left_out() == [
        ("column", "what the platform says of its tasks", 1),
        ("annotation", "the assignment is rejected", 1),
    ]


def test_results_of_toloka_are_labels_and_their_golden_answers_details() -> None:
    header = ["INPUT:id", "INPUT:text", "OUTPUT:tone", "GOLDEN:tone", "ASSIGNMENT:worker_id", "ASSIGNMENT:submitted"]
    row = ["7", "It rains again.", "calm", "calm", "w1", "2024-01-02T03:04:05"]

    document = stored({"pool.tsv": "\t".join(header) + "\n" + "\t".join(row) + "\n"})

    assert told(document["cases"], "id", "prompt", "metadata") == [("7", "It rains again.", {"GOLDEN:tone": "calm"})]
    assert told(document["labels"], "case", "rater", "criterion", "label") == [("7", "w1", "tone", "calm")]


def test_tasks_without_ids_that_ask_the_same_of_other_texts_are_other_cases() -> None:
    header = ["INPUT:premise", "INPUT:question", "OUTPUT:variant", "ASSIGNMENT:worker_id"]
    rows = [[premise, "Why is it so?", "1", worker] for premise in ("It rains.", "It snows.") for worker in "ab"]

    document = stored({"pool.tsv": "\n".join(map("\t".join, [header, *rows]))})

    assert told(document["cases"], "id", "prompt", "metadata") == [
        ("1", "Why is it so?", {"premise": "It rains."}),
        ("2", "Why is it so?", {"premise": "It snows."}),
    ]
    assert told(document["labels"], "case", "rater") == [("1", "a"), ("1", "b"), ("2", "a"), ("2", "b")]


_FULL_REPORT = """_unit_id,_golden,_tainted,_trust,_worker_id,_country,is_right,is_right_gold,question,response
1001,false,false,0.9,77,USA,yes,,What is 2+2?,4
1001,false,false,0.8,78,USA,no,,What is 2+2?,4
1002,true,true,0.1,79,USA,yes,no,What is 2+3?,6
1002,true,false,0.8,78,USA,no,no,What is 2+3?,6
"""


def test_the_full_report_of_appen_has_labels_of_workers_without_those_that_it_does_not_trust() -> None:
    document = stored({"report.csv": _FULL_REPORT})

    assert told(document["cases"], "id", "prompt", "metadata") == [
        ("1001", "What is 2+2?", {}),
        ("1002", "What is 2+3?", {"is_right_gold": "no"}),
    ]
    assert told(document["responses"], "case", "system", "text") == [("1001", "report", "4"), ("1002", "report", "6")]
    assert told(document["labels"], "case", "rater", "criterion", "label") == [
        ("1001", "77", "is_right", "yes"),
        ("1001", "78", "is_right", "no"),
        ("1002", "78", "is_right", "no"),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pool.tsv", "INPUT:text\tOUTPUT:tone\tCONFIDENCE:tone\nIt rains again.\tcalm\t99.1%\n"),
        ("report.csv", "_unit_id,_unit_state,tone,tone:confidence,text\n7,finalized,calm,0.9,It rains again.\n"),
    ],
)
def test_aggregated_results_are_labels_of_nobody(name: str, text: str) -> None:
    document = stored({name: text})

    assert told(document["cases"], "prompt") == [("It rains again.",)]
    assert told(document["labels"], "rater", "criterion", "label") == [("", "tone", "calm")]


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


_OTHER_NAMES = """SEG_ID\tDoc\tSource\tTarget\tMT\tTagged_Target\tError Category\tSeverity\tAnnotator_ID
1\tdoc1\tThe rain stops.\tDer Regen hört.\toak_run1\tDer Regen <t>hört</t>.\tAccuracy - Mistranslation\tMajor\t51
1\tdoc2\tIt rains.\tEs regnet.\toak_run1\t\t\t\t51
"""


def test_the_errors_of_tables_with_other_names_are_labels_of_translations() -> None:
    document = stored({"oak.tsv": _OTHER_NAMES})

    assert told(document["cases"], "prompt", "references") == [("The rain stops.", []), ("It rains.", [])]
    assert told(document["responses"], "system", "text") == [
        ("oak_run1", "Der Regen hört."),
        ("oak_run1", "Es regnet."),
    ]
    assert told(document["labels"], "rater", "label", "criterion") == [("51", "-5", "MQM"), ("51", "0", "MQM")]


def test_the_errors_in_lists_of_a_row_are_one_label() -> None:
    errors = [
        {"term": "hört", "error_category": "Wrong term", "severity": "Major"},
        {"term": ".", "error_category": "Punctuation", "severity": "Minor"},
    ]
    row = {"source": "The rain stops.", "target": "Der Regen hört.", "MT_Engine": "oak", "Annotator_ID": 51}

    document = stored(
        {"oak.json": [row | {"target_errors": errors}, row | {"source": "It rains.", "target_errors": []}]}
    )

    assert told(document["labels"], "case", "system", "rater", "label") == [
        ("1", "oak", "51", "-6"),
        ("2", "oak", "51", "0"),
    ]


def test_a_missing_response_of_a_rated_set_is_none_and_counted() -> None:
    ratings = dict.fromkeys(("helpfulness", "correctness", "coherence", "complexity", "verbosity"), 3)
    rows = [{"prompt": "Oslo?", "response": text, **ratings} for text in ("In Norway.", None)]

    assert told(stored({"validation.jsonl": rows})["responses"], "text") == [("In Norway.",)]
    assert warned({"validation.jsonl": rows})["failed-sample"] == 1
