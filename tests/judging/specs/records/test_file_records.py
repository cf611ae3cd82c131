"""Uploads are unpacked into a bundle within limits, and nothing unsafe gets in."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judging.specs.records import file_records
from judging.specs.records.file_records import bundle_of, read_file
from judging.specs.records.parts import RecordOptions


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("link.yaml")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def held(*files: tuple[str, bytes]) -> dict[str, bytes]:
    parsed = bundle_of(files)
    assert parsed.value is not None, parsed.problems
    return dict(parsed.value.files)


def test_bundle_of_unpacks_files_and_drops_noise_and_a_folder_around_everything() -> None:
    inner = zipped(("d.yaml", b"d"))
    noise = (("top/__MACOSX/x", b"n"), ("top/cases/.DS_Store", b"n"))
    data = zipped(("top/suite.yaml", b"a"), ("top/cases/x.yaml", b"b"), ("top/more.zip", inner), *noise)

    assert held(("u.zip", data)) == {"suite.yaml": b"a", "cases/x.yaml": b"b", "d.yaml": b"d"}
    assert held(("top/a.txt", b"1"), ("top/b/c.txt", b"2")) == {"a.txt": b"1", "b/c.txt": b"2"}


@pytest.mark.parametrize("inner", ["responses/gpt/math.jsonl", "gpt-4_0.2/params.yaml", "gpt-4/math.jsonl"])
def test_bundle_of_keeps_folders_whose_name_has_a_meaning(inner: str) -> None:
    assert list(held(("u.zip", zipped((inner, b"x"))))) == [inner]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (zipped(("../evil.yaml", b"x")), "unsafe-path"),
        (zipped(("/etc/evil", b"x")), "unsafe-path"),
        (zipped(("C:\\evil", b"x")), "unsafe-path"),
        (zipped((link(), b"/etc/passwd")), "zip-link"),
        (zipped(("a/b.txt", b"1"), ("a//b.txt", b"2")), "duplicate-path"),
        (zipped(("zeros", bytes(70 << 20))), "zip-limit"),  # 1000 : 1
        (b"PK\x03\x04 not an archive", "bad-archive"),
    ],
)
def test_bundle_of_refuses(data: bytes, code: str) -> None:
    parsed = bundle_of([("u.zip", data)])

    assert parsed.value is None
    assert [problem.code for problem in parsed.problems] == [code]


def test_bundle_of_keeps_to_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped(("a", b"x" * 90), ("b", b"x" * 90))

    for name, limit in (("MOST_FILES", 1), ("MOST_BYTES", 100)):
        with monkeypatch.context() as patch:
            patch.setattr(file_records, name, limit)
            assert [problem.code for problem in bundle_of([("u.zip", data)]).problems] == ["upload-too-large"]


def test_bundle_of_keeps_a_workbook_whole() -> None:
    workbook = zipped(("[Content_Types].xml", b"<x/>"), ("xl/workbook.xml", b"<x/>"))

    assert held(("rubric.xlsx", workbook)) == {"rubric.xlsx": workbook}


@example(b"", 131, b"\0" * 6)  # an entry without a name
@given(st.binary(max_size=300), st.integers(0, 200), st.binary(max_size=20))
def test_bundle_of_never_raises(data: bytes, offset: int, damage: bytes) -> None:
    whole = bytearray(zipped(("a.yaml", b"some text"), ("b/c.txt", b"more")))
    whole[offset : offset + len(damage)] = damage

    for sample in (data, b"PK\x03\x04" + data, bytes(whole)):
        parsed = bundle_of([("u.zip", sample)])
        assert (parsed.value is None) == bool(parsed.errors)


def test_read_file_says_what_is_left_out_and_offers_no_option_that_only_imports_have() -> None:
    header = b"question,response,model,annotator,label\nWhich?,The Elbe.,oak,ann,"
    said = [
        [str(problem) for problem in read_file(header + rest, "t.csv", RecordOptions()).problems]
        for rest in (b"good\n,It is a.,oak,ann,good\n", b"N/A\nWhich?,The Elbe.,oak,bo,good\n")
    ]

    assert said[0] == ["t.csv, line 3: The row has no question. If it is that of a row above, write it here, too."]
    assert "t.csv: 1 × label left out: N/A stands for none." in said[1]
