"""ZIP uploads unpacked in memory, within limits, into a bundle.

Refused: too many entries, too much data once decompressed, compression ratios of a bomb, links, encrypted entries,
paths that lead outside, archives in archives. Sizes are counted while decompressing; the directory of the archive
is not believed. Nothing is ever written to disk.
"""

from __future__ import annotations

import io
import lzma
import stat
import zipfile
import zlib
from dataclasses import dataclass

from judging.specs.files.bundles import SAME_PATH, UNSAFE_PATH, Bundle, UnsafePath, bundle_from_files, normalise_path
from judging.specs.files.file_formats import foreign_format
from judging.specs.files.findings import Findings, error_rule, warning_rule
from judging.specs.files.problems import Parsed

BAD_ZIP = error_rule("bad-zip", "Create the archive again as an ordinary ZIP file without a password.")
ZIP_LIMIT = error_rule("zip-limit", "Remove files that the benchmark does not need, or import it in parts.")
ZIP_LINK = error_rule("zip-link", "Put the file itself into the archive.")
NESTED_ZIP = warning_rule("zip-nested", "Extract it and add its files directly.")

_CHUNK = 64 * 1024
_ZIP_START = (b"PK\x03\x04", b"PK\x05\x06")
_NOISE_FOLDERS = frozenset({"__MACOSX", ".git", "__pycache__"})
_NOISE_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_ARCHIVE_ENDINGS = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
_WORKBOOKS = (".xlsx", ".xlsm")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    NotImplementedError,
)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How large an upload may be, in bytes; the ratio is decompressed to compressed size of one entry."""

    max_entries: int = 20_000
    max_archive_bytes: int = 100 * 1024 * 1024
    max_total_bytes: int = 400 * 1024 * 1024
    max_entry_bytes: int = 64 * 1024 * 1024
    max_ratio: int = 200
    ratio_free_bytes: int = 1024 * 1024  # entries up to this size may compress as well as they like
    max_path_parts: int = 20


class _Stop(Exception):
    """The archive as a whole is refused; the reason is among the findings."""


@dataclass(slots=True)
class _Unpacker:
    archive: zipfile.ZipFile
    limits: ArchiveLimits
    findings: Findings
    file: str
    total_bytes: int = 0

    def files(self) -> dict[str, bytes]:
        """Return the files of the archive by safe path."""
        entries = [entry for entry in self.archive.infolist() if not entry.is_dir()]
        if len(entries) > self.limits.max_entries:
            message = f"The archive contains {len(entries):,} files; at most {self.limits.max_entries:,} are read."
            self.findings.add(ZIP_LIMIT, self.file, "", message)
            raise _Stop
        files_by_path: dict[str, bytes] = {}
        for entry in entries:
            path = self._safe_path(entry)
            if path is None or _is_noise(path):
                continue
            if path in files_by_path:
                self.findings.add(SAME_PATH, path, "", "The archive contains two files with this name.", entry.filename)
            elif path.lower().endswith(_ARCHIVE_ENDINGS):
                self.findings.add(NESTED_ZIP, path, "", "An archive inside an archive is not read.", path)
            else:
                files_by_path[path] = self._read(entry, path)
        return files_by_path

    def _safe_path(self, entry: zipfile.ZipInfo) -> str | None:
        """Return the path to use; None, with a finding, for what must not be read."""
        if stat.S_ISLNK(entry.external_attr >> 16):
            self.findings.add(ZIP_LINK, entry.filename, "", "This entry is a symbolic link.", entry.filename)
            return None
        if entry.flag_bits & 0x1:
            self.findings.add(BAD_ZIP, entry.filename, "", "This entry is encrypted.", entry.filename)
            return None
        try:
            path = normalise_path(entry.filename)
        except UnsafePath as refusal:
            self.findings.add(UNSAFE_PATH, entry.filename, "", str(refusal), entry.filename)
            return None
        if path.count("/") >= self.limits.max_path_parts:
            message = f"The file is nested more than {self.limits.max_path_parts} folders deep."
            self.findings.add(ZIP_LIMIT, path, "", message, path)
            return None
        return path

    def _read(self, entry: zipfile.ZipInfo, path: str) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            with self.archive.open(entry) as stream:
                while chunk := stream.read(_CHUNK):
                    size += len(chunk)
                    self.total_bytes += len(chunk)
                    self._check_size(entry, path, size)
                    parts.append(chunk)
        except _BROKEN as failure:
            self.findings.add(BAD_ZIP, path, "", f"This entry cannot be extracted: {failure}.", path)
            return b""
        return b"".join(parts)

    def _check_size(self, entry: zipfile.ZipInfo, path: str, size: int) -> None:
        limits = self.limits
        if size > limits.max_entry_bytes:
            message = f"The file has more than {limits.max_entry_bytes:,} bytes."
        elif self.total_bytes > limits.max_total_bytes:
            message = f"The archive extracts to more than {limits.max_total_bytes:,} bytes."
        elif size > limits.ratio_free_bytes and size > limits.max_ratio * max(entry.compress_size, 1):
            message = f"The file extracts to more than {limits.max_ratio} times its size in the archive."
        else:
            return
        self.findings.add(ZIP_LIMIT, path, "", message, path)
        raise _Stop


def _is_noise(path: str) -> bool:
    parts = path.split("/")
    return not _NOISE_FOLDERS.isdisjoint(parts[:-1]) or parts[-1] in _NOISE_FILES or parts[-1].startswith("._")


def without_common_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """Drop a single folder that wraps the whole archive, as GitHub's downloads and most zip tools add one.

    Folders whose name means something to an importer stay.
    """
    tops = {path.split("/", 1)[0] for path in files}
    if len(tops) != 1 or any("/" not in path for path in files):
        return files
    top = tops.pop()
    if top in {"responses", "criteria", "cases", "scaleeval", "results"}:
        return files
    inner = {path.split("/", 1)[1]: data for path, data in files.items()}
    # Folders that name a system: "gpt-4_0.2_0.9_30_suite" with params.yaml, "gpt-4" with one JSONL per scenario.
    names_a_system = "params.yaml" in inner or all(path.endswith(".jsonl") and "/" not in path for path in inner)
    return files if names_a_system else inner


def bundle_from_zip(data: bytes, limits: ArchiveLimits | None = None, *, file: str = "archive") -> Parsed[Bundle]:
    """Return the files of a ZIP archive as a bundle, without folders that only wrap everything.

    Any refused entry is an error, and nothing of the archive is used. `file` names the archive in the problems.
    """
    limits = limits or ArchiveLimits()
    findings = Findings()
    if len(data) > limits.max_archive_bytes:
        message = f"The archive has {len(data):,} bytes; at most {limits.max_archive_bytes:,} are read."
        findings.add(ZIP_LIMIT, file, "", message)
        return Parsed(None, findings.as_tuple())
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = _Unpacker(archive, limits, findings, file).files()
    except _Stop:
        return Parsed(None, findings.as_tuple())
    except (*_BROKEN, UnicodeError, KeyError, IndexError) as failure:
        findings.add(BAD_ZIP, file, "", f"This is not a readable ZIP archive: {failure}.")
        return Parsed(None, findings.as_tuple())
    if not files and not findings.has_errors:
        findings.add(BAD_ZIP, file, "", "The archive contains no files.")
    bundle = None if findings.has_errors else Bundle(without_common_folder(files))
    return Parsed(bundle, findings.as_tuple())


def bundle_from_upload(name: str, data: bytes, limits: ArchiveLimits | None = None) -> Parsed[Bundle]:
    """Return one uploaded file as a bundle: a ZIP archive unpacked, anything else as a bundle of one.

    A workbook or another document is a ZIP archive too, but stays one file.
    """
    if data.startswith(_ZIP_START) and not (name.lower().endswith(_WORKBOOKS) or foreign_format(data)):
        return bundle_from_zip(data, limits, file=name)
    plain_name = name.replace("\\", "/").rsplit("/", 1)[-1] or "upload"
    return bundle_from_files([(plain_name, data)])
