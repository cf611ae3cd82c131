"""Text decoded from uploaded bytes: UTF-8 with universal newlines."""

from __future__ import annotations

import codecs

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, at_line, error_rule
from judging.specs.files.problems import Parsed

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


def read_text(bundle: Bundle, path: str, *, max_bytes: int = MAX_TEXT_BYTES) -> Parsed[str]:
    """Return the text of a file of the bundle. `path` must be in the bundle (KeyError otherwise)."""
    return decode_text(bundle.read(path), path, max_bytes=max_bytes)
