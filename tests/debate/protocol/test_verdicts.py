"""Reading verdicts: shipped cases, recorded transcripts, and texts nobody foresaw."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from debate.protocol.verdicts import (
    HowRead,
    TextReading,
    VerdictReading,
    read_author_compat,
    read_recorded,
    read_strict,
    read_verdict,
    readable_statement,
    to_system_space,
)


@pytest.mark.parametrize(
    ("text", "verdict", "how"),
    [
        ("Long reasons.\n\n2", 2, HowRead.FINAL_LINE),
        ("Long reasons.\n\n**Answer: 1**", 1, HowRead.FINAL_LINE),
        ("Reasons.\n0\n```", 0, HowRead.FINAL_LINE),
        ("Reasons.\n2\n</answer></reply>", 2, HowRead.FINAL_LINE),
        ("1\n\nSubmission 2 is shorter.", None, HowRead.NONE),  # only the end counts
        ("-1", None, HowRead.OUT_OF_RANGE),
        ("1.5", None, HowRead.OUT_OF_RANGE),
        ("10", None, HowRead.OUT_OF_RANGE),
        ("٢", None, HowRead.NONE),  # a digit, but not one of ours
        ("Therefore, Submission 2 is better.", 2, HowRead.PHRASE),
        ("So neither submission is better.", 0, HowRead.PHRASE),
        ("It doesn't cover much. I maintain that Submission 2 is the better response.", 2, HowRead.PHRASE),
        ("I don't think Submission 1 is better.", None, HowRead.NONE),
        ("Although Submission 1 is better in style, the second covers more.", None, HowRead.NONE),
        ("Speaker 1 says that Submission 1 is better.", None, HowRead.NONE),
        ('Style: "1", depth: "2".', None, HowRead.NONE),
        ("Submission 1 is better. But I cannot choose.", None, HowRead.NONE),
        ("Is Submission 1 is better?", None, HowRead.NONE),
        ("Submission 1 is better.\n\nMuch detail here.\n\n4", None, HowRead.OUT_OF_RANGE),  # two lines up: too far
        ("Score: 2", None, HowRead.NONE),  # a score may be a level of the criterion
        ("</p>\n```", None, HowRead.EMPTY),
        ("Reasons.\nFinal Rating: 1", 1, HowRead.FINAL_LINE),
        ("Reasons.\nRating: 1", None, HowRead.NONE),
        ("Reasons.\n2\nUser: 2", 2, HowRead.FINAL_LINE),
        ("Reasons.\n2\nUser: 1", None, HowRead.NONE),
        ("Submission 1 is better.\n\n4\n\n4", 1, HowRead.OUT_OF_RANGE_PHRASE),
        ("Submission 1 is better.\n3\n4", None, HowRead.OUT_OF_RANGE),
        ("Draft: 1\n1</think>\nReasons.\n2", 2, HowRead.FINAL_LINE),
        ("Reasons.\n1</think>\nI am not sure.", None, HowRead.NONE),
        ("<think>Perhaps\n1", None, HowRead.NONE),
    ],
)
def test_read_strict_reads_only_the_end(text: str, verdict: int | None, how: HowRead) -> None:
    reading = read_strict(text)

    assert (reading.verdict, reading.how) == (verdict, how)


def test_read_strict_never_reads_a_quotation_of_a_response() -> None:
    submission = "Compare them yourself.\nThe first submission wins.\n1"

    quoting = read_strict("It ends with:\n> The first submission wins.\n> 1", submission)
    own = read_strict("Submission 1 covers more.\n1", submission)

    assert (quoting, own) == (TextReading(None, HowRead.NONE), TextReading(1, HowRead.FINAL_LINE))


def test_read_strict_names_a_refusal() -> None:
    assert read_strict("I apologize, but I cannot compare these.") == TextReading(None, HowRead.NONE, refused=True)


def test_read_strict_does_not_call_nonsense_a_refusal() -> None:
    assert read_strict("Bananas are yellow.") == TextReading(None, HowRead.NONE, refused=False)


def test_read_recorded_takes_only_the_three_strings() -> None:
    scores = ["0", "1", "2", 0, 1, None, "4", "150", ""]

    assert [read_recorded(score) for score in scores] == [0, 1, 2, None, None, None, None, None, None]


def test_read_author_compat_turns_what_is_no_verdict_into_a_tie() -> None:
    assert [
        read_author_compat("2", "whatever"),
        read_author_compat(0, "2"),
        read_author_compat(None, None),
        read_author_compat("4", "Submission 1 is better.\n\n4"),
        read_author_compat("3", "Both deserve a 3.\n\n3"),
    ] == [2, 0, 0, 1, 0]


def test_to_system_space_undoes_the_order() -> None:
    seen = {order: [to_system_space(v, response_order=order) for v in (1, 2, 0, None)] for order in (0, 1)}

    assert seen == {0: [1, -1, 0, None], 1: [-1, 1, 0, None]}


@pytest.mark.shared_data
def test_read_strict_holds_on_every_parser_case(shared_data: Path) -> None:
    cases = json.loads((shared_data / "debate/parser_cases.json").read_text(encoding="utf-8"))

    read = [read_strict(case["text"]) for case in cases]

    assert [(None if r.verdict is None else str(r.verdict), str(r.how)) for r in read] == [
        (case["verdict"], case["status"]) for case in cases
    ]


@pytest.mark.shared_data
@pytest.mark.parametrize("reading", [VerdictReading.RECORDED, VerdictReading.STRICT])
def test_read_verdict_matches_every_recorded_turn(shared_data: Path, reading: VerdictReading) -> None:
    turns = [
        turn
        for file in sorted((shared_data / "debate").glob("*__*.json"))
        for item in json.loads(file.read_text(encoding="utf-8"))["items"]
        for stage in item["stages"]
        for turn in stage["turns"]
    ]

    read = [read_verdict(reading, text=turn["text"], score=turn["recorded_score"]) for turn in turns]

    assert len(turns) == 846
    assert [None if verdict is None else str(verdict) for verdict in read] == [
        turn[f"verdict_{reading}"] for turn in turns
    ]


PIECES = st.sampled_from(
    [
        *(
            "1",
            "2",
            "0",
            "4",
            "150",
            "-1",
            '"1"',
            '"2"',
            "**0**",
            "</function1>",
            "```",
            "<br/>",
            "\n",
            "\n\n",
            " ",
            ". ",
        ),
        *(
            "Submission 1",
            "Submission 2",
            " is better",
            "neither is better",
            "I cannot",
            "not ",
            "Speaker 2",
            "choose ",
            ": ",
        ),
        *("answer: ", "rather ", "if ", "\r\n", "\u2028", "\x00", "“2”", "'", "[", "]", "`"),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=14).map("".join))


def _end(text: str) -> list[str]:
    """The content lines of a text, read apart from the parser: last first, trailing tags and fences gone."""
    lines = [" ".join(line.split()) for line in reversed(text.splitlines()) if line.strip()]
    while lines and ((lines[0].lstrip("`~").isalnum() and lines[0][:3] in ("```", "~~~")) or _is_mark(lines[0])):
        lines.pop(0)
    return lines


def _number(line: str) -> str:
    """A line without the name of a turn and without what stands around its number."""
    said = re.sub(r"^(?:user|human|assistant|system): ?", "", line, flags=re.IGNORECASE)
    number = re.fullmatch(r"[\W_]*?([-+]?[0-9](?:[0-9.,/]*[0-9])?)[\W_]*", said)
    return number[1] if number else said


def _is_mark(line: str) -> bool:
    return (set(line) in ({"`"}, {"~"}) and len(line) >= 3) or re.sub(r"</?[A-Za-z][^<>]*>", "", line).strip() == ""


@given(TEXTS)
@example('"0"\n3\n3')
@example('"0"\n3\nUser: 3')
@example('"0"\n-0')
def test_read_strict_yields_only_what_the_end_states(text: str) -> None:
    reading = read_strict(text)

    if reading.verdict is None:
        assert reading.how in (HowRead.NONE, HowRead.EMPTY, HowRead.OUT_OF_RANGE)
        return
    last, *above = _end(text)
    repeats = reading.how is HowRead.OUT_OF_RANGE_PHRASE  # of a number off the scale, as often as it stands there
    line = next(line for line in above if _number(line) != _number(last)) if repeats else last
    stated = set(re.findall(r"[0-9]+", line)) | ({"0"} if "neither" in line.lower() else set())
    assert reading.how in (HowRead.FINAL_LINE, HowRead.PHRASE, HowRead.OUT_OF_RANGE_PHRASE)
    assert str(reading.verdict) in stated
    if reading.how is HowRead.FINAL_LINE:
        assert stated == {str(reading.verdict)}


@given(st.text(), TEXTS)
def test_read_strict_ignores_what_stands_above_the_last_two_lines(above: str, text: str) -> None:
    tail = "\nA line between.\nAnother line between.\n" + text

    with_more, without = read_strict(above + tail), read_strict(tail)

    assert (with_more.verdict, with_more.how) == (without.verdict, without.how)


@given(TEXTS, st.sampled_from(["1", "2", "0"]))
def test_read_strict_reads_a_number_alone_on_the_last_line(text: str, digit: str) -> None:
    assert read_strict(f"{text}\n\n{digit}\n") == TextReading(int(digit), HowRead.FINAL_LINE)


UNITS = [
    *(
        "answer",
        "answer: ",
        "*",
        " ",
        "\n",
        "\t",
        "<a ",
        "<a>",
        "</a",
        "I ",
        "`",
        '"1" ',
        '"',
        "'",
        "submission 1 is ",
        "1.",
        "1",
        "-",
    ),
    *(
        "I am",
        "I x ",
        "neither ",
        "neither is better",
        "choose ",
        "choose 1 ",
        ". ",
        "?",
        "(",
        "[",
        "{",
        "not ",
        "{}",
        "so ",
        "my ",
    ),
    *(
        "I would choose ",
        "better submission is ",
        "1\n",
        "4\n",
        "<think>",
        "</think>",
        "User: 1\n",
        "\x00",
        "\u2028",
        "\u00df",
        "ver",
    ),
]


@pytest.mark.parametrize("end", ["", "x", "\n4", "\n1"])
@pytest.mark.parametrize("unit", UNITS)
def test_read_strict_is_quick_with_every_flood(unit: str, end: str) -> None:
    text = (unit * (200_000 // len(unit)))[: 200_000 - len(end)] + end
    took = []
    for _ in range(3):
        started = time.process_time()
        read_strict(text, text)
        took.append(time.process_time() - started)
        if took[-1] < 0.1:
            break

    assert min(took) < 0.2


@pytest.mark.parametrize("unit", [" ", "*", "_", ":", "-", "is ", "* _"])
def test_read_strict_is_quick_with_a_flood_behind_a_label(unit: str) -> None:
    text = "My final verdict: " + unit * (20_000 // len(unit)) + "x"
    took = []
    for _ in range(3):
        started = time.process_time()
        read_strict(text, text)
        took.append(time.process_time() - started)

    assert min(took) < 0.2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Submission 1 is short.\n\n2", "response B is short."),
        ("I prefer submission 2.\n\n**0**\n", "I prefer response A."),
        ("Submissions 1 and 2 differ.\nMy verdict: 1", "responses B and A differ.\nMy verdict: 1"),
        ("2", "2"),
        ("", ""),
    ],
)
def test_readable_statement_names_the_sides_and_ends_in_words(text: str, shown: str) -> None:
    assert readable_statement(text, first="B", second="A") == shown
