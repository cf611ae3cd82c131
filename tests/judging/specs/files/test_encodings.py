"""Old encodings are read where their text is one language; nobody stores mojibake."""

from __future__ import annotations

import pytest

from judging.specs.files.encodings import opens_too_deep
from judging.specs.records.parts import PartRemark
from tests.judging.specs.records.uploads import upload

TEXTS = {
    "cp1252": "Où est l’été dernier ? C’est déjà là.",
    "gb18030": "长江有多长？约六千公里。",
    "cp932": "富士山の高さはどのくらいですか。三千七百メートルです。",
    "cp949": "한국의 수도는 어디입니까? 서울이라고 합니다.",
}
NAMES = {"cp1252": "windows-1252", "gb18030": "gbk", "cp932": "shift-jis", "cp949": "euc-kr"}


@pytest.mark.parametrize("encoding", TEXTS)
def test_text_of_takes_the_one_encoding_in_which_a_file_reads(encoding: str) -> None:
    read = upload({"a.csv": f"id,question\n1,{TEXTS[encoding]}\n".encode(encoding)})

    assert read.rows == [{"id": "1", "question": TEXTS[encoding]}]
    assert read.part.remarks == [PartRemark("encoding-guessed", "", NAMES[encoding])]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_of_knows_unicode_with_and_without_its_mark(encoding: str) -> None:
    read = upload({"a.csv": "question,answer\nWhere is Ærø?,here\n".encode(encoding)})

    assert (read.rows, read.part.remarks) == ([{"question": "Where is Ærø?", "answer": "here"}], [])


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1250", "příliš žluťoučký kůň"),  # Czech
        ("cp1250", "zażółć gęślą jaźń"),  # Polish
        ("cp1251", "Как дела друг"),  # Russian
        ("cp1254", "Işık ağaç şehir çok güzel değil mi"),  # Turkish
        ("big5", "長江有多長"),
        ("euc_jp", "富士山の高さは"),
    ],
)
def test_text_of_asks_where_no_encoding_reads_as_a_language(encoding: str, text: str) -> None:
    data = f"id,question\n1,{text}\n".encode(encoding)

    assert upload({"a.csv": data}).said == [
        "a.csv, line 2: The file is not UTF-8, and which encoding it has is not clear. "
        "Say it, such as --encoding windows-1252 or --encoding gbk; of Cyrillic it may be windows-1251, of Arabic "
        "windows-1256, of Greek windows-1253."
    ]
    assert upload({"a.csv": data}, encoding).rows == [{"id": "1", "question": text}]


def test_text_of_asks_where_two_encodings_read_equally_well() -> None:
    read = upload({"a.csv": "id,question\n1,报告\n".encode("gb18030")})

    assert read.said == [
        'a.csv, line 2: The file is not UTF-8; it reads as gbk ("1,报告") or euc-kr ("1,괩멩"). '
        "Say which: --encoding gbk or --encoding euc-kr."
    ]


def test_text_of_uses_what_a_person_says() -> None:
    data = {"a.csv": "id,question\n1,报告\n".encode("gb18030")}

    assert upload(data, "gbk").rows == [{"id": "1", "question": "报告"}]
    assert upload(data, "klingon").said == ["a.csv: The file is said to be klingon, which is no encoding."]
    assert upload({"a.csv": b"id,q\n1,\xff\n"}, "gbk").said == [
        "a.csv, line 2: The file is not gbk. Say another --encoding."
    ]


@pytest.mark.parametrize(
    ("text", "is_too_deep"),
    [
        ("[" * 200 + "]" * 200, False),
        ("[" * 201 + "]" * 201, True),
        ("[{}]" * 500, False),
        ('["' + "[" * 500 + '"]', True),
        ('{"a\\"b": ' + "[" * 300, True),
        ("]" * 300 + "[" * 201, True),
    ],
)
def test_opens_too_deep_counts_in_strings_too(text: str, is_too_deep: bool) -> None:
    assert opens_too_deep(text) == is_too_deep
