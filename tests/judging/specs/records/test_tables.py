"""Tables are read by the roles of their columns; what the columns leave open is asked, and nothing is made up."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.specs.files.bundles import Bundle, source_of
from judging.specs.records.collector import MOST_REFERENCES
from judging.specs.records.parts import RecordOptions
from judging.specs.records.recognition import Reading, read_records

Document = dict[str, Any]


def reading(files: Mapping[str, str | bytes], **options: Any) -> Reading:
    sources = [source_of(name, text if isinstance(text, bytes) else text.encode()) for name, text in files.items()]
    return read_records(sources, Bundle({}), RecordOptions(**options))


def read(text: str | bytes, name: str = "t.csv", **options: Any) -> Document:
    """Return what a file holds, without empty parts, and the kinds of warnings with their counts."""
    result = reading({name: text}, **options)
    assert result.collected is not None, said(result)
    document = {part: rows for part, rows in result.collected.document().items() if rows}
    return document | {"warnings": {group.kind: group.count for group in result.collected.warnings()}}


def said(result: Reading) -> list[str]:
    return [str(problem) for problem in result.findings.as_tuple()]


def refused(text: str | bytes, name: str = "t.csv", **options: Any) -> list[str]:
    """Return what a file is refused with; what the page says names no option of the command."""
    result = reading({name: text}, **options)
    assert result.collected is None
    problems = result.findings.as_tuple()
    assert not any("--" in problem.message + (problem.page_hint or problem.hint) for problem in problems)
    return said(result)


def lines(*rows: Mapping[str, object]) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def response(system: str, text: str, case: str = "1", attempt: int = 0, **more: object) -> Document:
    return {"case": case, "system": system, "attempt": attempt, "text": text, **more}


def case(id: str, prompt: str, *references: str, **metadata: object) -> Document:
    return {"id": id, "prompt": prompt, "references": list(references), "metadata": metadata}


# What is asked first: the sentences, word for word.
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "ref,p,elk,wolf\na,Say yes.,Yes!,yes\nb,Say no.,No!,no\n",
            "t.csv: which columns hold responses? It has: ref, p, elk, wolf. Say it with --map response=COLUMN, or "
            '--map "responses of=elk" --map "responses of=wolf". Say which column holds the prompt with --map '
            "prompt=COLUMN.",
        ),
        (
            "id,question,heron,stork\na,Where?,In Riga.,riga it is\nb,Why?,Since then.,no idea\n",
            "t.csv: which columns hold responses? It has: id, question, heron, stork. Say it with --map "
            'response=COLUMN, or --map "responses of=heron" --map "responses of=stork". If none does, say --map '
            "detail=heron --map detail=stork.",
        ),
        (
            "id,question,answer,response,prediction\na,Say yes.,yes,Yes!,Yup\n",
            "t.csv: two columns could be the response: response, prediction. Say --map response=response or --map "
            "response=prediction.",
        ),
        (
            "question,gold,target,output\nQ,a,b,c\n",
            "t.csv: two columns could be the reference: gold, target. Say --map reference=gold or --map "
            "reference=target.",
        ),
        (
            "id,question,response,annotator,user,label\n1,Q,R,x,y,good\n",
            "t.csv: two columns could be the rater: annotator, user. Say --map rater=annotator or --map rater=user.",
        ),
        (
            "item,ann,ben\n1,1,2\n2,2,2\n",
            "t.csv: which columns hold labels? It has: item, ann, ben. Say it with --map label=COLUMN, or --map "
            '"labels of=ann" --map "labels of=ben".',
        ),
        (
            "prompt,answer a,answer b,better\nP,x y,z,1\nP2,x,z,2\n",
            "t.csv: Say what 1, 2 mean. Say it with --map 'A=1,B=2,tie=0', in the words of the table; several stand as "
            "A=1/2.",
        ),
        (
            "question,reference,answer\nQ,x,y\n",
            "t.csv: answer could be the response or the reference, beside reference. Say --map response=answer or "
            "--map reference=answer or --map ignore=answer.",
        ),
        (
            "id,question,gpt-4o,oak\n1,Which river?,The Elbe.,The Oder.\n",
            "t.csv: which columns hold responses? It has: id, question, gpt-4o, oak. Say it with --map response="
            'COLUMN, or --map "responses of=gpt-4o" --map "responses of=oak". If none does, say --map detail=gpt-4o '
            "--map detail=oak.",
        ),
        (  # numbers are no responses
            "story,system,synopsis,start\n29911712,m,A school sent its pupils home.,4\n",
            "t.csv: which columns hold responses? It has: story, system, synopsis, start. Say it with --map response="
            'COLUMN, or --map "responses of=synopsis". Say which column holds the prompt with --map prompt=COLUMN.',
        ),
        (
            "model,q1,q2\ngpt-4o,In Riga.,No idea.\nllama-3,Riga it is.,Since then.\n",
            "t.csv: which columns hold responses? It has: model, q1, q2. Say it with --map response=COLUMN, or --map "
            '"responses of=q1" --map "responses of=q2". Say which column holds the prompt with --map prompt=COLUMN. '
            "If each row is a system and each column a question, swap rows and columns in a spreadsheet first.",
        ),
        (
            "judge,reply\nx,Well said.\n",
            "t.csv: which column holds the prompt or the id of the case? It has: judge, reply. Say it with --map "
            "prompt=COLUMN or --map case=COLUMN.",
        ),
    ],
)
def test_reads_asks_what_columns_leave_open(text: str, sentence: str) -> None:
    assert refused(text) == [sentence]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            {"q": "prompt"},
            "There is no column 'q'. The columns are: id, question. Write it as the header of the file does.",
        ),
        ({"id": "thing"}, "t.csv: 'thing' is no role of a column."),
        ({"id": "prompt", "question": "prompt"}, "t.csv: two columns are chosen for prompt: id, question."),
    ],
)
def test_reads_refuses_choices_that_cannot_be(columns: dict[str, str], sentence: str) -> None:
    assert refused("id,question\n1,Q\n", columns=columns)[0].startswith(sentence)


def test_reads_takes_what_the_person_says_first() -> None:
    text = "id,question,answer,response,prediction\na,Say yes.,yes,Yes!,Yup\n"

    document = read(text, columns={"prediction": "response", "response": "detail"}, system="elk")

    assert document["responses"] == [response("elk", "Yup", "a", metadata={"response": "Yes!"})]


def test_reads_takes_columns_side_by_side_that_the_person_ticked() -> None:
    text = "id,question,heron,stork\na,Where?,In Riga.,riga\nb,Why?,,no idea\n"

    document = read(text, columns={"heron": "responses of", "stork": "responses of"})

    assert document["responses"] == [
        response("heron", "In Riga.", "a"),
        response("stork", "riga", "a"),
        response("stork", "no idea", "b"),
    ]
    assert document["warnings"] == {"no-reference": 2, "null-response": 1}


def test_reads_takes_dotted_paths_into_objects() -> None:
    row = {"uid": 1, "task": {"text": "Q"}, "answers": [{"content": "A"}], "m": "elk"}
    chosen = {"uid": "case", "task.text": "prompt", "answers.0.content": "response", "m": "system"}

    document = read(lines(row), "t.jsonl", columns=chosen)

    kept = {"task": {"text": "Q"}, "answers": [{"content": "A"}]}
    assert document["responses"] == [response("elk", "A", metadata=kept)]
    assert document["cases"] == [case("1", "Q")]


def test_reads_takes_every_table_of_responses_with_its_cases() -> None:
    rows = [{"question": f"Q{number}", "model": "elk", "answer": f"A{number}"} for number in (1, 2)]

    assert read(lines(*rows), "t.jsonl") == {
        "cases": [case("1", "Q1"), case("2", "Q2")],
        "systems": ["elk"],
        "responses": [response("elk", "A1"), response("elk", "A2", "2")],
        "warnings": {"ids-made": 2, "no-reference": 2},
    }


@pytest.mark.parametrize(
    "text",
    [
        "id;pregunta;respuesta;modelo\n1;¿Qué?;Eso.;zorro\n",
        "番号,質問,モデル,回答\n1,¿Qué?,zorro,Eso.\n",
        "Nr.;Frage;Modell;Antwort\n1;¿Qué?;zorro;Eso.\n",
        "题号,问题,模型,回答\n1,¿Qué?,zorro,Eso.\n",
    ],
)
def test_reads_knows_headers_of_six_languages(text: str) -> None:
    assert (read(text)["cases"], read(text)["responses"]) == ([case("1", "¿Qué?")], [response("zorro", "Eso.")])


@pytest.mark.parametrize(
    ("answer", "references"),
    [
        (4, ["4"]),
        (0.5, ["0.5"]),
        (True, ["true"]),
        (None, []),
        (["Vienna", "Wien"], ["Vienna", "Wien"]),
        ({"value": "Rhône", "aliases": ["Rhône", "Rhone"], "normalized_aliases": ["rhone"]}, ["Rhône", "Rhone"]),
        ({"text": ["x", "y"], "answer_start": [1, 2]}, ["x", "y"]),
    ],
)
def test_reads_takes_any_value_as_reference(answer: object, references: list[str]) -> None:
    assert read(lines({"id": 1, "question": "Q", "answer": answer}), "t.jsonl")["cases"] == [
        case("1", "Q", *references)
    ]


def test_reads_keeps_a_list_of_passages_beside_an_answer_as_detail() -> None:
    row = {"id": 1, "question": "Q", "answer": "A", "reference": ["p1", "p2"]}

    assert read(lines(row), "t.jsonl")["cases"] == [case("1", "Q", "A", reference=["p1", "p2"])]


@pytest.mark.parametrize(
    "row",
    [
        {"choices": ["iron", "neon"], "answer": 1},
        {"choices": ["iron", "neon"], "answer": "B"},
        {"choices": {"text": ["iron", "neon"], "label": ["1", "2"]}, "answerKey": "2"},
        {"options": ["iron", "neon"], "answer": "A", "answer_index": 1},
        {"endings": ["iron", "neon"], "label": "1"},
    ],
)
def test_reads_finds_the_text_of_a_choice(row: dict[str, object]) -> None:
    document = read(lines({"question": "Which?", **row}), "t.jsonl")

    assert document["cases"][0]["references"] == ["neon"]
    assert document["warnings"] == {"ids-made": 1, "answer-index": 1}


def test_reads_finds_choices_in_columns_by_letter() -> None:
    document = read("question,A,B,C,answer\nNoble gas?,iron,neon,salt,B\nSides?,5,6,7,6\n")

    assert [row["references"] for row in document["cases"]] == [["neon"], ["6"]]
    assert document["cases"][0]["metadata"] == {"choices": ["iron", "neon", "salt"]}


def test_reads_refuses_the_place_of_no_choice() -> None:
    assert refused(lines({"question": "Q", "choices": ["a", "b"], "answer": 2}), "t.jsonl") == [
        "t.jsonl, line 1: The answer 2 is no place among 2 choices, counted from 0. "
        "Other rows come in with --leave-out-bad-rows."
    ]


def test_reads_keeps_turns_apart_and_puts_the_systems_text_before() -> None:
    rows: list[Document] = [
        {"id": 1, "turns": ["A?", "B?"]},
        {"id": 2, "turns": [{"role": "user", "content": "C?"}], "system_prompt": "Be brief."},
    ]

    shown = [
        [(turn["role"], turn["text"]) for turn in row["messages"]] for row in read(lines(*rows), "t.jsonl")["cases"]
    ]

    assert shown == [[("user", "A?"), ("user", "B?")], [("system", "Be brief."), ("user", "C?")]]


def test_reads_takes_the_last_turn_of_a_system_for_its_response() -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    rows = [{"id": 1, "model": "elk", "messages": turns}, {"id": 2, "model": "elk", "messages": [*turns, *turns]}]

    document = read(lines(*rows), "t.jsonl")

    assert document["cases"][0] == case("1", "Hi")
    assert [turn["text"] for turn in document["cases"][1]["messages"]] == ["Hi", "Hi"]
    assert document["responses"][0] == response("elk", "Ho")
    assert [turn["text"] for turn in document["responses"][1]["messages"]] == ["Hi", "Ho", "Hi", "Ho"]


def test_reads_takes_turns_in_which_nobody_asks_for_a_response() -> None:
    call = {"id": "c", "function": {"name": "zoom", "arguments": "{}"}}
    turns = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "red"},
        {"role": "assistant", "content": "Red."},
    ]
    rows: list[Document] = [
        {"case_id": 1, "system": "elk", "response": "Blue."},
        {"case_id": 2, "system": "elk", "messages": turns},
    ]

    blue, red = read(lines(*rows), "t.jsonl")["responses"]

    assert (blue, [turn["role"] for turn in red["messages"]]) == (
        response("elk", "Blue."),
        ["assistant", "tool", "assistant"],
    )


def test_reads_joins_an_instruction_with_what_stands_below_it() -> None:
    rows = [
        {"instruction": "Shorten.", "input": "Long.", "output": "L."},
        {"instruction": "Go.", "input": "", "output": "G"},
    ]

    assert read(lines(*rows), "t.jsonl", system="elk")["cases"] == [
        case("1", "Shorten.\n\nLong.", instruction="Shorten.", question="Long."),
        case("2", "Go.", instruction="Go.", question=""),
    ]


def test_reads_tells_the_text_of_a_system_from_its_name() -> None:
    told = {"system": "You are a helpful assistant that is brief.", "question": "Q", "response": "A"}
    named = {"system": "elk", "question": "Q", "response": "A"}

    assert read(lines(told), "t.jsonl")["systems"] == ["t"]
    assert read(lines(named), "t.jsonl")["systems"] == ["elk"]


def test_reads_leaves_out_failed_and_missing_responses() -> None:
    rows: list[Document] = [
        {"id": "a", "question": "Q", "model": "elk", "response": "x", "error": None},
        {"id": "b", "question": "Q2", "model": "elk", "response": "", "error": "timeout"},
        {"id": "c", "question": "Q3", "model": "elk", "response": ""},
        {"id": "d", "question": "Q4", "model": "elk", "response": None},
        {"id": "e", "question": "Q5", "model": "elk", "response": "y", "status": 429},
        {"id": "f", "question": "Q6", "model": "elk", "response": "z", "finish_reason": "length"},
    ]

    document = read(lines(*rows), "t.jsonl")

    assert document["responses"] == [
        response("elk", "x", "a"),
        response("elk", "", "c"),
        response("elk", "z", "f", stop="length"),
    ]
    expected = {"no-reference": 6, "failed-sample": 2, "null-response": 1, "cut-off": 1}
    assert (len(document["cases"]), document["warnings"]) == (6, expected)


def test_reads_keeps_a_response_that_is_a_word_for_missing_values_and_says_so() -> None:
    document = read("id,question,model,response\n1,Which symbol has sodium?,elk,NA\n2,And iron?,elk,Fe\n")

    assert document["responses"] == [response("elk", "NA", "1"), response("elk", "Fe", "2")]
    assert document["warnings"] == {"no-reference": 2, "missing-word": 1}


def test_reads_takes_an_empty_cell_for_no_response() -> None:
    document = read("id,question,model,response\n1,Q,elk,\n")

    assert (document["cases"], "responses" in document) == ([case("1", "Q")], False)
    assert document["warnings"] == {"no-reference": 1, "null-response": 1}


def test_reads_numbers_attempts_in_the_order_of_the_file() -> None:
    text = "id,prompt,model,output\n1,P,elk,a\n1,P,elk,b\n1,P,elk,a\n"

    assert [row["attempt"] for row in read(text)["responses"]] == [0, 1, 2]
    assert refused(text.replace("output", "output,attempt").replace("a\n", "a,x\n").replace("b\n", "b,0.0\n")) == [
        "t.csv, line 2, column 5: The attempt is no whole number from 0: x. "
        "Other rows come in with --leave-out-bad-rows.",
        "t.csv, line 4, column 5: The attempt is no whole number from 0: x. "
        "Other rows come in with --leave-out-bad-rows.",
    ]


def test_reads_takes_ids_of_rows_for_no_cases() -> None:
    text = "id,prompt,model,output\nr1,P,elk,a\nr2,P,wolf,b\nr3,P2,elk,c\nr4,P2,wolf,d\n"

    document = read(text)

    assert document["cases"] == [case("1", "P"), case("2", "P2")]
    assert [row["metadata"] for row in document["responses"]] == [{"id": f"r{number}"} for number in (1, 2, 3, 4)]


def test_reads_refuses_an_id_with_two_prompts() -> None:
    assert refused("id,prompt\n1,P\n1,P2\n") == [
        "t.csv, line 3: The id '1' stands at t.csv, line 2 with another prompt. Give each question an id of its own. "
        "Or say --map detail=COLUMN for the ids: questions then tell the cases."
    ]


def test_reads_says_what_further_rows_of_a_case_say_in_another_way() -> None:
    result = reading({"t.csv": "id,question,answer,topic,category\n1,Q,a,x,maths\n1,Q,b,y,code\n"})

    assert result.collected is not None
    assert result.collected.document()["cases"] == [case("1", "Q", "a", topic="x", scenario="maths")]
    assert result.collected.left_out() == [
        ("detail", "reference: another row of the case has another one", 1),
        ("detail", "scenario: another row of the case has another one", 1),
        ("detail", "topic: another row of the case has another one", 1),
    ]


def test_reads_takes_other_answers_to_a_prompt_without_an_id_for_further_references() -> None:
    rows = ["question,answer", "Q,a", "Q,b", "Q,a", "R,c"]
    many = ["question,answer", *(f"Q,a{number}" for number in range(MOST_REFERENCES + 2))]

    few, cut = reading({"t.csv": "\n".join(rows)}).collected, reading({"t.csv": "\n".join(many)}).collected

    assert few is not None
    assert cut is not None
    assert few.document()["cases"] == [case("1", "Q", "a", "b"), case("2", "R", "c")]
    assert few.left_out() == []
    assert len(cut.document()["cases"][0]["references"]) == MOST_REFERENCES
    assert cut.left_out() == [("detail", "reference: another row of the case has another one", 2)]


def test_reads_finds_the_case_whose_id_stands_in_place_of_its_prompt() -> None:
    responses = lines({"question": "c1", "response": "A", "system": "elk"})
    files = {"a.jsonl": responses, "b.jsonl": lines({"id": "c1", "question": "Why?", "answer": "So"})}

    result = reading(files)

    assert result.collected is not None
    document = result.collected.document()
    assert (document["cases"], document["responses"]) == ([case("c1", "Why?", "So")], [response("elk", "A", "c1")])


def test_reads_names_systems_after_folders_where_files_are_named_alike() -> None:
    files = {f"{system}/out.csv": f"id,prompt,output\n1,P,{system}!\n" for system in ("elk", "wolf")}

    result = reading(files)

    assert result.collected is not None
    assert result.collected.document()["systems"] == ["elk", "wolf"]
    assert {group.kind: group.count for group in result.collected.warnings()}["system-from-folder"] == 2


def test_reads_takes_an_object_that_asks_and_answers_for_a_case_of_its_own() -> None:
    """Each file of a folder is one case; before, its entries were taken for texts by id."""
    questions = {f"cases/{name}.json": json.dumps({"question": f"Is {name} so?", "reference": "Yes."}) for name in "ab"}
    by_system = {
        f"runs/{system}/{name}.json": json.dumps({"question": f"Is {name} so?", "response": f"{system} says so."})
        for system in ("elk", "wolf")
        for name in "ab"
    }

    result = reading(questions | by_system)

    assert result.collected is not None
    document = result.collected.document()
    assert document["cases"] == [case("1", "Is a so?", "Yes."), case("2", "Is b so?", "Yes.")]
    assert document["responses"] == [
        response("elk", "elk says so.", "1"),
        response("elk", "elk says so.", "2"),
        response("wolf", "wolf says so.", "1"),
        response("wolf", "wolf says so.", "2"),
    ]


def test_reads_names_systems_after_files_where_each_folder_is_a_case() -> None:
    files = {f"{number}/{system}.csv": f"prompt,output\nP{number},{system}!\n" for number in "12" for system in "ab"}
    runs = {f"gpt-4/run_{number}.csv": "prompt,output\nP,So!\n" for number in "12"}

    result, repeated = reading(files), reading(runs)

    assert result.collected is not None
    assert repeated.collected is not None
    assert result.collected.document()["systems"] == ["a", "b"]
    assert repeated.collected.document()["systems"] == ["gpt-4"]


def test_reads_asks_once_for_the_system_of_files_with_a_case_each() -> None:
    rows = {f"out/case_{number}.json": {"id": number, "question": "Why?", "response": "So."} for number in "12"}
    files = {path: json.dumps(row | {"question": f"Why {row['id']}?"}) for path, row in rows.items()}

    assert said(reading(files)) == [
        "out/case_1.json: each of the files has one case, and none names its system. Say it with --system NAME."
    ]
    assert reading(files, system="elk").collected is not None


def test_reads_trims_systems_and_asks_about_names_that_differ_by_case() -> None:
    assert read("case_id,system,response\n1,elk,A\n2,elk ,B\n")["systems"] == ["elk"]
    assert "differ by case" in refused("case_id,system,response\n1,elk,A\n2,Elk,B\n")[0]


def test_reads_gives_scores_a_scale_only_where_it_is_known() -> None:
    text = "id,prompt,model,output,faithfulness,Punkte,score\n1,P,elk,a,0.9,50%,7\n2,P2,elk,b,,0%,8\n"

    document = read(text)

    assert [(row["grader"], row["value"], row["scale"]) for row in document["scores"]] == [
        ("faithfulness", 0.9, [0, 1]),
        ("Punkte", 0.5, [0, 1]),
        ("score", 7, [None, None]),
        ("Punkte", 0, [0, 1]),
        ("score", 8, [None, None]),
    ]
    assert document["warnings"] == {"no-reference": 2, "scale-unknown": 1, "unscored": 1}


def test_reads_takes_scores_beside_a_judge_for_its_verdicts() -> None:
    document = read("id,prompt,model,output,judge,score,reason\n1,P,elk,a,fox,7,Fine.\n2,P2,elk,b,fox,,\n")

    verdict = {"case": "1", "system": "elk", "attempt": 0, "judge": "fox", "value": 7, "scale": [None, None]}
    assert document["verdicts"] == [verdict | {"reason": "Fine."}]
    assert document["warnings"] == {"no-reference": 2, "scale-unknown": 1, "unparsed-verdict": 1}


def test_reads_names_graders_by_the_metric_of_the_row() -> None:
    text = "id,prompt,model,output,metric,score\n1,P,elk,a,exact_match,1\n1,P,elk,a,politeness,3\n"

    document = read(text)

    assert [(row["grader"], row["scale"]) for row in document["scores"]] == [
        ("exact_match", [0, 1]),
        ("politeness", [None, None]),
    ]
    assert len(document["responses"]) == 1


def test_reads_takes_labels_of_items_that_nobody_describes() -> None:
    document = read("item,judge,verdict\nd1,ann,A\nd1,ben,tie\nd2,ann,N/A\n")

    assert document == {
        "labels": [
            {"case": "d1", "rater": "ann", "label": "A", "criterion": ""},
            {"case": "d1", "rater": "ben", "label": "tie", "criterion": ""},
        ],
        "warnings": {"scale-from-use": 1},
    }


def test_reads_folds_spellings_of_a_label() -> None:
    document = read("item,ann_1,ann_2\nx1,1,1.0\nx2,Good,good \n")

    assert [row["label"] for row in document["labels"]] == ["1", "1", "Good", "Good"]
    assert document["warnings"] == {"labels-folded": 2, "scale-from-use": 1}


def test_reads_refuses_two_labels_of_one_person_for_an_item() -> None:
    text = "item,rater,label\nx,ann,1\nx,ann,1\n"

    assert len(read(text)["labels"]) == 1
    assert refused(text + "x,ann,2\n") == [
        "t.csv, line 4, column 3: 'ann' labelled the same item at line 2, column 3 as '1'. "
        "Other rows come in with --leave-out-bad-rows."
    ]


def test_reads_takes_one_response_that_several_people_label_once() -> None:
    text = "question,response,annotator,label,comment\nQ,A.,ann,good,Fine.\nQ,A.,ben,bad,\n"

    document = read(text)

    label = {"case": "1", "criterion": "", "system": "t", "attempt": 0}
    assert document["responses"] == [response("t", "A.")]
    assert document["labels"] == [
        label | {"rater": "ann", "label": "good", "reason": "Fine."},
        label | {"rater": "ben", "label": "bad"},
    ]


def test_reads_takes_labels_of_named_responses_without_a_rater() -> None:
    document = read("case,system,label\nq1,elk,good\n")

    expected = {"case": "q1", "rater": "", "label": "good", "criterion": "", "system": "elk", "attempt": 0}
    assert (document["labels"], document["warnings"]) == ([expected], {"no-rater": 1, "scale-from-use": 1})


@pytest.mark.parametrize(("word", "choice"), [("A", "A"), ("neither", "tie"), ("Answer B", "B"), ("b better", "B")])
def test_reads_takes_preferences_in_words(word: str, choice: str) -> None:
    document = read(f"prompt,Answer A,Answer B,Preference,rater\nP,x y,z,{word},ann\n")

    preference = {"case": "1", "a": "Answer A", "b": "Answer B", "choice": choice, "by": "ann", "kind": "person"}
    assert document["preferences"] == [preference]
    assert document["warnings"] == {"ids-made": 1, "no-reference": 1, "systems-from-header": 2}


def test_reads_takes_numbers_of_preferences_as_the_person_explains_them() -> None:
    text = "prompt,response_a,response_b,model_a,model_b,winner\n"
    text += "P,x,z,elk,wolf,1\nP2,x,z,elk,wolf,0\nP3,x,z,elk,wolf,2.0\n"

    document = read(text, meanings={"A": "1", "B": "2", "tie": "0"})

    assert [(row["choice"], row["kind"]) for row in document["preferences"]] == [
        ("A", "gold"),
        ("tie", "gold"),
        ("B", "gold"),
    ]


def test_reads_takes_material_for_people_with_two_responses() -> None:
    document = read("\ufeffItem ID;Question text;Response A;Response B;Model A;Model B\n1;Why?;So.;No.;elk;wolf\n")

    assert document["cases"] == [case("1", "Why?")]
    assert document["responses"] == [response("elk", "So."), response("wolf", "No.")]


def test_reads_takes_headers_that_name_models_for_systems() -> None:
    document = read(
        "vars.question,vars.lang,gpt-4o,[anthropic:claude] {{q}}\nQ?,en,Ja genau.,Nein.\nR?,en,Ja genau.,Doch.\n"
    )

    assert document["systems"] == ["anthropic:claude", "gpt-4o"]
    assert document["cases"][0] == case("1", "Q?", lang="en")


def test_reads_counts_nan_as_missing() -> None:
    text = '{"id": 1, "question": "Q", "answer": "A", "score": NaN, "more": {"x": NaN}}\n'

    assert read(text, "t.jsonl") == {"cases": [case("1", "Q", "A", more={"x": None})], "warnings": {"nan-left-out": 1}}


def test_reads_makes_nothing_of_judgments_but_asks() -> None:
    rows = [
        {
            "idx": number,
            "response_source": "elk",
            "instruction": f"Q{number}",
            "gpt4_feedback": "Too short.",
            "gpt4_score": [4],
        }
        for number in (1, 2)
    ]

    assert "which columns hold responses? It has: idx, response_source" in refused(lines(*rows), "t.jsonl")[0]


# Tables whose columns are shuffled, dropped or renamed give the same records, fewer, or a refusal.
TABLES: Sequence[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]] = (
    (
        ("id", "question", "reference", "model", "response", "score"),
        tuple(
            (f"c{n}", f"What is {n}?", f"Ref {n}", f"elk-{n % 2}", f"It is {n}, I think.", f"0.{n}") for n in range(4)
        ),
    ),
    (
        ("Nr", "Frage", "Musterlösung", "Antwort"),
        tuple((f"{n}", f"Wie viel ist {n}?", f"Etwa {n}", f"Genau {n} sind es.") for n in range(4)),
    ),
    (
        ("prompt", "response_a", "response_b", "model_a", "model_b"),
        tuple((f"Say {n}.", f"I say {n}.", f"No, not {n}.", "elk", "wolf") for n in range(4)),
    ),
    (
        ("question_id", "prompt", "gpt-4o", "claude-3"),
        tuple((f"q{n}", f"Say {n}.", f"I say {n}.", f"No, not {n}.") for n in range(4)),
    ),
    (
        ("item", "rater", "label"),
        tuple((f"x{n // 2}", f"r{n % 2}", f"{n % 3}") for n in range(4)),
    ),
)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([header, *rows])
    return out.getvalue()


def facts(document: Document) -> set[tuple[str, ...]]:
    """Return what is stored: who said what, to what."""
    prompts = {row["id"]: row["prompt"] for row in document.get("cases", ())}
    found: set[tuple[str, ...]] = {("prompt", prompt) for prompt in prompts.values()}
    found |= {("reference", text) for row in document.get("cases", ()) for text in row["references"]}
    found |= {("response", row["system"], row["text"]) for row in document.get("responses", ())}
    found |= {("system", row["system"]) for row in document.get("responses", ())}
    return found | {
        ("label", row["case"], row["rater"], row["label"]) for row in document.get("labels", ()) if row["rater"]
    }


def ids(document: Document) -> set[str]:
    return {row["id"] for row in document.get("cases", ())}


@given(data=st.data(), shape=st.sampled_from(TABLES))
def test_reads_of_changed_columns_stores_the_same_or_refuses(
    data: st.DataObject, shape: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
) -> None:
    header, rows = shape
    original = read(table(header, rows))
    places = data.draw(st.permutations(range(len(header))))
    kept = places[: data.draw(st.integers(1, len(places)))]
    renamed = data.draw(st.sets(st.sampled_from(header), max_size=1))
    names = ["heron" if header[place] in renamed else header[place] for place in kept]
    double = data.draw(st.booleans())

    text = table(names, [[row[place] for place in kept] for row in (*rows, *(rows[:1] if double else ()))])
    result = reading({"t.csv": text})

    if result.collected is not None:
        document = result.collected.document()
        made = {str(number) for number in range(1, len(rows) + 1)}
        systems = {("system", "t")} | {("response", "t", row["text"]) for row in original.get("responses", ())}
        assert facts(document) <= facts(original) | systems | no_systems(header, rows, names)
        assert ids(document) <= ids(original) | made


def no_systems(header: Sequence[str], rows: Sequence[Sequence[str]], names: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the systems that known pair headers are where no column names the systems."""
    pairs = [name for name in ("response_a", "response_b") if name in names]
    texts = {name: [row[header.index(name)] for row in rows] for name in pairs}
    return {("system", name) for name in pairs} | {("response", name, text) for name in pairs for text in texts[name]}


def test_a_text_beside_a_case_and_an_attempt_is_a_response() -> None:
    row = {"attempt": 0, "case_id": "q1", "file": "a.txt", "text": "Use a lock, and release it in the end."}

    document = read(lines(row), "responses_gpt-4.jsonl")

    assert document["responses"] == [
        {
            "case": "q1",
            "system": "gpt-4",
            "attempt": 0,
            "text": "Use a lock, and release it in the end.",
            "metadata": {"file": "a.txt"},
        }
    ]
    assert "cases" not in document


# Labels and scores are named by their cell.
@pytest.mark.parametrize(
    ("text", "name", "kind", "places"),
    [
        ("item,rater,label\nx,ann,Good\ny,ann,good \n", "t.csv", "labels-folded", ["t.csv, line 3, column 3"]),
        ("item,rater,label\nx,ann,70.5\ny,ann,70.50\n", "t.csv", "labels-folded", ["t.csv, line 3, column 3"]),
        (
            '{"item": "x", "rater": "ann", "label": 1e309}\n{"item": "y", "rater": "ann", "label": 2}\n',
            "t.jsonl",
            "nan-left-out",
            ["t.jsonl, line 1, label"],
        ),
        ("item,ann_1,ann_2\nx1,1,1\nx2,Good,good \n", "t.csv", "labels-folded", ["t.csv, line 3, column 3"]),
        ("id,prompt,model,output,score\n1,P,elk,a,7\n2,P2,elk,b,\n", "t.csv", "unscored", ["t.csv, line 3, column 5"]),
        (
            '{"id": 1, "prompt": "P", "model": "elk", "output": "a", "score": 7}\n'
            '{"id": 2, "prompt": "Q", "model": "elk", "output": "b", "score": null}\n',
            *("t.jsonl", "unscored", ["t.jsonl, line 2, score"]),
        ),
    ],
)
def test_reads_names_the_cell_of_a_label_and_a_score(text: str, name: str, kind: str, places: list[str]) -> None:
    result = reading({name: text})

    assert result.collected is not None
    groups = {group.kind: [str(place) for place, _ in group.places] for group in result.collected.warnings()}
    assert groups[kind] == places


def test_reads_keeps_the_digits_of_a_label_that_no_number_holds() -> None:
    labels = read("item,rater,label\nx,ann,1e309\ny,ann,3\n")["labels"]

    assert [row["label"] for row in labels] == ["1e309", "3"]


def test_reads_names_the_cell_of_a_preference_of_neither() -> None:
    text = "prompt,response_a,response_b,model_a,model_b,winner\n" + "P,x,z,elk,wolf,elk\n" * 300
    text += "P9,x,z,elk,wolf,fox\n" + "P,x,z,elk,wolf,elk\n" * 300

    assert refused(text, meanings={"A": "elk"}) == [
        "t.csv, line 302, column 6: fox is neither of the responses nor a tie. "
        "Other rows come in with --leave-out-bad-rows."
    ]


def test_reads_takes_scores_of_other_cases_by_a_system_each_for_no_leaderboard() -> None:
    rows = lines({"question_id": "1", "model": "oak", "score": 4}, {"question_id": "2", "model": "elm", "score": 5})

    assert [(row["case"], row["system"], row["value"]) for row in read(rows, "t.jsonl")["scores"]] == [
        ("1", "oak", 4.0),
        ("2", "elm", 5.0),
    ]


def test_reads_takes_numbers_of_questions_for_ids() -> None:
    document = read(lines({"question": 80, "Response": "It is done."}, {"question": 81, "Response": "Ann."}), "t.jsonl")

    assert "cases" not in document
    assert document["responses"] == [response("t", "It is done.", case="80"), response("t", "Ann.", case="81")]


def test_reads_asks_whose_scores_stand_beside_prompts_alone() -> None:
    rows = [{"id": n, "prompt": f"River {n}?", "overall_score": score} for n, score in ((1, 0.3), (2, 0.44))]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: overall_score seems to say how good responses are, which the table does not have. Bring them beside "
        "it, or name their system with --system NAME. To keep it as a detail, say --map detail=overall_score."
    ]
    assert "keep it as a detail" in refused(lines({**rows[0], "overall_score": [8, 9]}), "t.jsonl")[0]
    assert "cases" in read(lines(*({**row, "overall_score": 2} for row in rows)), "t.jsonl")
