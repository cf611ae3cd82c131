"""The encoding of a text file: by its mark, UTF-8, or the one old encoding in which it reads as a language.

Mojibake is never taken: where no candidate or more than one reads well, the person is asked.
"""

from __future__ import annotations

import codecs
import io
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TextIO

from judging.specs.files.bundles import Bundle, SourceFile
from judging.specs.files.findings import Findings, Parsed, at_line, error_rule, shorten

ENCODING = error_rule("encoding")
_ON_PAGE = "Write it under Encoding."
_OTHERS = "of Cyrillic it may be windows-1251, of Arabic windows-1256, of Greek windows-1253"

_CHUNK = 1 << 18
_MOST_SAMPLED = 1 << 16  # bytes of lines with letters beyond ASCII
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SURE = 0.95  # share of letters that must be of one language
_FEW_LETTERS = 12  # so few syllables of Korean are also words of Chinese by chance
_SHARE_OF_KANA = 0.15
_KANJI_AND_SIGNS = re.compile("[\u3000-\u3040\u4e00-\u9fff\uff01-\uff5e]")
_WESTERN_SIGNS = frozenset("\xa0€‚„…‘’“”•–—™¡¢£§©«®°±²³·»¿¼½¾ªº×÷µ")
_SIGN_IN_WORD = re.compile(r"[^\W\d_][\xa1-\xa3\xa7\xa9\xab\xae\xb0-\xb3\xbb-\xbf€™][^\W\d_]")
# French, German and Swedish, Spanish, Italian, Portuguese, Danish and Norwegian, Dutch, Icelandic, Catalan
_ALPHABETS = (
    *("àâæçéèêëîïôœùûüÿ", "äåöüßé", "áéíóúñü", "àèéìíîòóùú", "ãõáâàçéêíóôúü", "æøåéäö", "ëïéèöüáó", "áðéíóúýþæö"),
    "àçéèíïóòúü",
)


@dataclass(frozen=True, slots=True)
class Text:
    """A text file whose encoding is known."""

    file: SourceFile
    encoding: str
    is_guessed: bool = False

    @property
    def shown_encoding(self) -> str:
        """The encoding as people call it."""
        return _NAMES.get(self.encoding, self.encoding)

    def open(self, newline: str | None = None) -> TextIO:
        """Return the text from its start; line ends are told apart only with `newline=""`."""
        return io.TextIOWrapper(self.file.open(), encoding=self.encoding, newline=newline)


def text_of(file: SourceFile, said: str, findings: Findings) -> Text | None:
    """Return a file as text; None, with an error, where nobody can say how it is encoded."""
    with file.open() as stream:
        head = stream.read(_CHUNK)
    marked = _marked(head)
    for name in (marked, said, "utf-8"):
        if name and _is_known(name) and not fault_in(file, name):
            return Text(file, name)
    if marked or (said and not _is_known(said)):
        words = f"{marked} by its first bytes, but is damaged" if marked else f"to be {said}, which is no encoding"
        findings.add(ENCODING, file.path, "", f"The file is said {words}.")
        return None
    if said:
        rule = replace(ENCODING, hint="Say another --encoding.", page_hint=_ON_PAGE)
        findings.add(rule, file.path, fault_in(file, said), f"The file is not {said}.")
        return None
    return _guessed(file, findings)


def is_marked(head: bytes) -> bool:
    """Return whether a file says by its first bytes that it is a text."""
    return bool(_marked(head))


def _marked(head: bytes) -> str:
    return next((name for mark, name in _MARKS if head.startswith(mark)), "") or _unmarked_utf16(head)


def _guessed(file: SourceFile, findings: Findings) -> Text | None:
    sample = _sample(file)
    readable: dict[str, str] = {}
    for name, reads in _CANDIDATES.items():
        try:
            text = sample.decode(name)
        except UnicodeDecodeError:
            continue
        if reads(text) and not fault_in(file, name):
            readable[name] = text
    if len(readable) == 1:
        return Text(file, next(iter(readable)), is_guessed=True)
    at = fault_in(file, "utf-8")
    if readable:
        shown = " or ".join(f'{_NAMES[name]} ("{shorten(text)[:40]}")' for name, text in readable.items())
        choice = " or ".join(f"--encoding {_NAMES[name]}" for name in readable)
        answers = tuple((f"--encoding={_NAMES[name]}",) for name in readable)
        rule = replace(ENCODING, hint=f"Say which: {choice}.", page_hint=_ON_PAGE, answers=answers)
        findings.add(rule, file.path, at, f"The file is not UTF-8; it reads as {shown}.")
        return None
    hint = f"Say it, such as --encoding windows-1252 or --encoding gbk; {_OTHERS}."
    rule = replace(ENCODING, hint=hint, page_hint=f"{_ON_PAGE} It is windows-1252 or gbk, or {_OTHERS}.")
    findings.add(rule, file.path, at, "The file is not UTF-8, and which encoding it has is not clear.")
    return None


def _is_known(name: str) -> bool:
    try:
        b"-".decode(name)
    except (LookupError, ValueError):
        return name.lower().startswith("utf")
    return True


def _chunks(file: SourceFile) -> Iterator[bytes]:
    with file.open() as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def fault_in(file: SourceFile, name: str) -> str:
    """Return the line at which a file is not in an encoding; empty where all of it is."""
    decoder = codecs.getincrementaldecoder(name)()
    line = 1
    chunk = b""
    try:
        for chunk in _chunks(file):
            decoder.decode(chunk)
            line += chunk.count(b"\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as failure:
        return at_line(line + chunk.count(b"\n", 0, failure.start))
    except (UnicodeError, ValueError):
        return at_line(line)
    return ""


def _unmarked_utf16(head: bytes) -> str:
    """Return the UTF-16 that a text of mostly ASCII letters without a mark is; empty for anything else."""
    zeros = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if half < 4 or max(zeros) < 0.7 * half or min(zeros) > 0.1 * half:
        return ""
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def _sample(file: SourceFile) -> bytes:
    """Return lines that have letters beyond ASCII."""
    lines: list[bytes] = []
    size = 0
    with file.open() as stream:
        for line in stream:
            if not line.isascii():
                lines.append(line[:_MOST_SAMPLED])
                size += len(line)
            if size > _MOST_SAMPLED:
                break
    return b"".join(lines)


# Whether a text that could be decoded is a text in one language.
def _reads_western(text: str) -> bool:
    """Return whether the letters are those of one language, and signs stand where signs stand."""
    others = [letter for letter in text.lower() if letter > "\x7f"]
    letters = [letter for letter in others if letter.isalpha() and letter not in _WESTERN_SIGNS]
    if not all(letter in _WESTERN_SIGNS for letter in others if not letter.isalpha()) or _SIGN_IN_WORD.search(text):
        return False
    return any(sum(letter in known for letter in letters) >= _SURE * len(letters) for known in _ALPHABETS)


def _reads_chinese(text: str) -> bool:
    """Return whether the characters are the common ones: ordered by sound, in the first half of GB 2312."""
    leads = [next(iter(letter.encode("gb2312", "ignore")), 0) for letter in text if letter > "\x7f"]
    common = [lead for lead in leads if 0xB0 <= lead <= 0xD7]
    signs = sum(0xA1 <= lead <= 0xA3 for lead in leads)
    is_korean = len(common) >= _FEW_LETTERS and max(common) <= 0xC8
    return bool(common) and not is_korean and len(common) + signs >= _SURE * len(leads)


def _reads_japanese(text: str) -> bool:
    others = [letter for letter in text if letter > "\x7f"]
    kana = sum("\u3041" <= letter <= "\u30fe" for letter in others)
    rest = len(_KANJI_AND_SIGNS.findall(text))
    return kana >= _SHARE_OF_KANA * len(others) and kana + rest >= _SURE * len(others)


def _reads_korean(text: str) -> bool:
    others = [letter for letter in text if letter > "\x7f" and letter.isalpha()]
    return bool(others) and sum("\uac00" <= letter <= "\ud7a3" for letter in others) >= _SURE * len(others)


_CANDIDATES: dict[str, Callable[[str], bool]] = {
    "cp1252": _reads_western,
    "gb18030": _reads_chinese,
    "cp932": _reads_japanese,
    "cp949": _reads_korean,
}
_NAMES = {"cp1252": "windows-1252", "gb18030": "gbk", "cp932": "shift-jis", "cp949": "euc-kr"}  # as people call them


MAX_TEXT_BYTES = 32 * 1024 * 1024

NOT_UTF8 = error_rule("not-utf8", "Save the file as UTF-8.")
TOO_LARGE = error_rule("file-too-large", "Split the file, or remove content that is not needed.")
NUL_BYTE = error_rule("nul-byte", "Is this a text file? Save it as plain UTF-8 text.")


def normalise_newlines(text: str) -> str:
    r"""Return `text` with `\r\n` and lone `\r` turned into `\n`, as reading in text mode does."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_text(data: bytes, file: str, *, max_bytes: int = MAX_TEXT_BYTES) -> Parsed[str]:
    """Return the text in `data` with newlines normalised and a byte order mark dropped.

    UTF-16 is read where a byte order mark says so; anything else that is not UTF-8 is an error naming the line.
    """
    findings = Findings()
    if len(data) > max_bytes:
        findings.add(TOO_LARGE, file, "", f"The file has {len(data):,} bytes; at most {max_bytes:,} are read.")
        return Parsed(None, findings.as_tuple())
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as failure:
        line = data.count(b"\n", 0, failure.start) + 1
        message = f"Byte {failure.start} is not valid {'UTF-16' if encoding == 'utf-16' else 'UTF-8'}."
        findings.add(NOT_UTF8, file, at_line(line), message, data[failure.start : failure.start + 8])
        return Parsed(None, findings.as_tuple())
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        findings.add(NUL_BYTE, file, at_line(line), "The file contains a NUL character, which text files never do.")
        return Parsed(None, findings.as_tuple())
    return Parsed(normalise_newlines(text))


def read_text(bundle: Bundle, path: str) -> Parsed[str]:
    """Return the text of a file of the bundle. `path` must be in the bundle (KeyError otherwise)."""
    return decode_text(bundle.read(path), path)


_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_WORD = "WordDocument".encode("utf-16-le")
_SAVE = "Save it as an Excel workbook (.xlsx) or as CSV and upload that."
_TABLE = "Put the content into an Excel workbook (.xlsx), a CSV, a YAML or a JSON file and upload that."

_WORD_DOCUMENT = f"This is a Word document, which is not read. {_TABLE}"
_BY_START = {
    b"%PDF-": f"This is a PDF file, which is not read. {_TABLE}",
    b"{\\rtf": f"This is a rich text file (.rtf), which is not read. {_TABLE}",
    b"SQLite format 3\0": "This is an SQLite database, which is not read. Save its table as CSV and upload that.",
}
_BY_PART = {  # of a ZIP archive
    "xl/workbook.bin": f"This is a binary Excel workbook (.xlsb), which is not read. {_SAVE}",
    "word/document.xml": _WORD_DOCUMENT,
    "ppt/presentation.xml": f"This is a presentation, which is not read. {_TABLE}",
    "Index/Document.iwa": f"This is a Numbers file, which is not read. Export it as an Excel workbook (.xlsx). {_SAVE}",
}
_STANDOFF = re.compile(rb"#FORMAT=WebAnno TSV| ?# (webanno\.custom|de\.tudarmstadt)\.|T1\t\w+ \d+ \d+\t")
_MARKED = f"These are marks of words in texts (WebAnno TSV of INCEpTION, or brat), which are not read. {_TABLE}"


def foreign_format(data: bytes) -> str:
    """Return what to say about a document of a format that no importer reads; empty for anything else."""
    if data.startswith(_OLE):
        return _old_office(data)
    if _STANDOFF.match(data):
        return _MARKED
    words = next((words for start, words in _BY_START.items() if data.startswith(start)), "")
    return _zipped(data) if data.startswith(b"PK\x03\x04") else words


def _old_office(data: bytes) -> str:
    if _ENCRYPTED in data:
        return "This workbook has a password. Save it as .xlsx without a password and upload that."
    if _WORD in data:
        return _WORD_DOCUMENT
    return f"This is an old Excel workbook (.xls), which is not read. {_SAVE}"


def _zipped(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError):
        return ""
    if "mimetype" in names and "content.xml" in names:
        if b"opendocument.spreadsheet" in data[:200]:
            return f"This is an OpenDocument spreadsheet (.ods), which is not read. {_SAVE}"
        return f"This is an OpenDocument text, which is not read. {_TABLE}"
    return next((words for part, words in _BY_PART.items() if part in names), "")


MAX_DEPTH = 200


def opens_too_deep(text: str) -> bool:
    """Return whether brackets nest too deep anywhere in a text that need not be JSON, strings included."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    for letter in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if letter in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest > MAX_DEPTH


def is_too_deep(text: str, value: object) -> bool:
    """Return whether lists and objects nest deeper than any writer of data needs."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
