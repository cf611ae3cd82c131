"""ZIP uploads are unpacked within limits, and nothing unsafe gets in."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.specs.files.archives import ArchiveLimits, bundle_from_upload, bundle_from_zip
from judging.specs.files.bundles import Bundle, UnsafePath, bundle_from_files, join_path
from judging.specs.files.problems import Parsed


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


def codes(parsed: Parsed[Bundle]) -> list[str]:
    return [problem.code for problem in parsed.problems]


def test_bundle_from_zip_unpacks_files_and_drops_noise() -> None:
    data = zipped(("suite.yaml", b"a"), ("cases/x.yaml", b"b"), ("__MACOSX/x", b"n"), ("cases/.DS_Store", b"n"))

    parsed = bundle_from_zip(data)

    assert parsed.value is not None
    assert dict(parsed.value.files) == {"suite.yaml": b"a", "cases/x.yaml": b"b"}


def test_bundle_from_zip_drops_a_folder_around_everything() -> None:
    parsed = bundle_from_zip(zipped(("repo-main/suite.yaml", b"a"), ("repo-main/cases/x.yaml", b"b")))

    assert parsed.value is not None
    assert list(parsed.value) == ["cases/x.yaml", "suite.yaml"]


@pytest.mark.parametrize("inner", ["responses/gpt/math.jsonl", "gpt-4_0.2/params.yaml", "gpt-4/math.jsonl"])
def test_bundle_from_zip_keeps_folders_whose_name_has_a_meaning(inner: str) -> None:
    parsed = bundle_from_zip(zipped((inner, b"x")))

    assert parsed.value is not None
    assert list(parsed.value) == [inner]


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("link.yaml")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (zipped(("../evil.yaml", b"x")), "unsafe-path"),
        (zipped(("/etc/evil", b"x")), "unsafe-path"),
        (zipped(("a/../../evil", b"x")), "unsafe-path"),
        (zipped(("C:\\evil", b"x")), "unsafe-path"),
        (zipped((link(), b"/etc/passwd")), "zip-link"),
        (zipped(("a/b.txt", b"1"), ("a//b.txt", b"2")), "duplicate-path"),
        (zipped(("/".join("abcdefghijklmnopqrstuvw"), b"x")), "zip-limit"),
        (zipped(("zeros", b"\0" * 3_000_000)), "zip-limit"),  # 1000 : 1
        (zipped(), "bad-zip"),
        (b"PK\x03\x04 not an archive", "bad-zip"),
        (b"", "bad-zip"),
    ],
)
def test_bundle_from_zip_refuses(data: bytes, code: str) -> None:
    parsed = bundle_from_zip(data)

    assert parsed.value is None
    assert codes(parsed) == [code]


@pytest.mark.parametrize(
    "limits",
    [
        ArchiveLimits(max_entries=1),
        ArchiveLimits(max_archive_bytes=100),
        ArchiveLimits(max_total_bytes=150_000),
        ArchiveLimits(max_entry_bytes=90_000),
    ],
)
def test_bundle_from_zip_keeps_to_its_limits(limits: ArchiveLimits) -> None:
    noise = bytes(range(256)) * 400  # 102,400 bytes each

    parsed = bundle_from_zip(zipped(("a", noise), ("b", noise)), limits)

    assert parsed.value is None
    assert codes(parsed) == ["zip-limit"]


def test_bundle_from_zip_counts_bytes_itself_and_does_not_believe_the_directory() -> None:
    data = bytearray(zipped(("a", b"x" * 5000)))
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (10).to_bytes(4, "little")  # claims 10 bytes

    parsed = bundle_from_zip(bytes(data), ArchiveLimits(max_entry_bytes=4000))

    assert parsed.value is None


def test_bundle_from_zip_leaves_archives_inside_unopened_with_a_warning() -> None:
    parsed = bundle_from_zip(zipped(("a.yaml", b"1"), ("inner.zip", zipped(("b", b"2")))))

    assert parsed.value is not None
    assert (list(parsed.value), codes(parsed)) == (["a.yaml"], ["zip-nested"])


def test_bundle_from_upload_keeps_a_workbook_whole_and_a_plain_file_alone() -> None:
    workbook = zipped(("xl/workbook.xml", b"<x/>"))

    for name, data in (("rubric.xlsx", workbook), ("C:\\fakepath\\suite.yaml", b"cases: []")):
        parsed = bundle_from_upload(name, data)
        assert parsed.value is not None
        assert dict(parsed.value.files) == {name.rsplit("\\", 1)[-1]: data}


def test_bundle_from_upload_opens_an_archive_whatever_it_is_called() -> None:
    parsed = bundle_from_upload("upload.bin", zipped(("a.yaml", b"1")))

    assert parsed.value is not None
    assert list(parsed.value) == ["a.yaml"]


def test_bundle_from_files_refuses_unsafe_and_repeated_names() -> None:
    parsed = bundle_from_files([("a.txt", b"1"), ("./a.txt", b"2"), ("../b", b"3")])

    assert parsed.value is None
    assert codes(parsed) == ["duplicate-path", "unsafe-path"]


@pytest.mark.parametrize("path", ["../../x", "/etc/passwd", "..\\..\\x", "\\\\host\\share"])
def test_join_path_stays_inside_the_bundle(path: str) -> None:
    with pytest.raises(UnsafePath, match="outside"):
        join_path("cases", path)


def test_join_path_may_climb_to_a_sibling_folder() -> None:
    assert join_path("cases", "../prompts/p.txt") == "prompts/p.txt"


@given(st.binary(max_size=300), st.integers(0, 200), st.binary(max_size=20))
def test_bundle_from_zip_never_raises(data: bytes, offset: int, damage: bytes) -> None:
    whole = bytearray(zipped(("a.yaml", b"some text"), ("b/c.txt", b"more")))
    whole[offset : offset + len(damage)] = damage

    for sample in (data, b"PK\x03\x04" + data, bytes(whole)):
        parsed = bundle_from_zip(sample)
        assert (parsed.value is None) == bool(parsed.errors)
