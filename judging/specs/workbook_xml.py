"""Long lists in a workbook's XML, piece by piece: the rows of a sheet, the strings that its cells share.

What every spreadsheet program writes is cut out by patterns, which takes a third of the time of an XML parser; a piece
that is written in any other way goes through a parser. Either way, one piece is in memory at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError, XMLParser

from judging.specs.workbook_archive import WorkbookRefused

MAX_PIECE_BYTES = 16 * 1024 * 1024  # of one row; 256 cells of the longest text take half of it
MAX_HEAD_BYTES = 4 * 1024 * 1024

_NOT_PLAIN = re.compile(r"<(?:!|\?|[^\W\d][\w.-]*:)")
_ENTITY = re.compile(r"&(#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|\w{1,8});")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DAMAGED = "A part of this workbook cannot be read safely; save the workbook again."


@dataclass(frozen=True, slots=True)
class Piece:
    """Some whole elements of a list, as they stand in the file."""

    text: str
    is_plain: bool  # no namespace prefix, no comment, no CDATA, no processing instruction
    head: bytes
    prefix: bytes
    container: bytes

    def parsed(self) -> Iterator[Element]:
        """Yield the elements through an XML parser.

        Raises:
            WorkbookRefused: it is not XML.
        """
        parser = XMLParser()  # noqa: S314 a document type, which alone could declare entities, was refused
        try:
            parser.feed(self.head)
            parser.feed(self.text.encode())
            parser.feed(b"</%b%b>" % (self.prefix, self.container))
            root_name = _root_name(self.head)
            parser.feed(b"</%b>" % root_name)
            root = parser.close()
        except (ParseError, ValueError) as problem:
            raise WorkbookRefused(_DAMAGED) from problem
        wanted = self.container.decode()
        holder = root if _local(root) == wanted else next((e for e in root if _local(e) == wanted), root)
        return iter(holder)


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _root_name(head: bytes) -> bytes:
    found = re.search(rb"<([A-Za-z_][\w.:-]*)", head)
    return found[1] if found else b""


def list_pieces(chunks: Iterator[bytes], *, container: bytes, element: bytes) -> Iterator[Piece]:
    """Yield the content of the first `<container>` in pieces that end behind an `</element>`.

    Raises:
        WorkbookRefused: not UTF-8, a document type, a row beyond all measure, or an end that is missing.
    """
    start = _start(chunks, container)
    if start is None:
        return
    text, closing, end_mark = start.rest, b"</%b%b>" % (start.prefix, element), b"</%b%b>" % (start.prefix, container)
    while (end := text.find(end_mark)) < 0:
        cut = text.rfind(closing) + len(closing)
        if cut >= len(closing):
            yield _piece(text[:cut], start)
            text = text[cut:]
        chunk = next(chunks, b"")
        if not chunk:
            raise WorkbookRefused("A part of this workbook ends too early; save the workbook again.")
        text += chunk
        if len(text) > MAX_PIECE_BYTES:
            raise WorkbookRefused(_DAMAGED)
    yield _piece(text[:end], start)


@dataclass(frozen=True, slots=True)
class _Start:
    head: bytes  # up to and with the tag that opens the list
    prefix: bytes
    container: bytes
    rest: bytes


def _start(chunks: Iterator[bytes], container: bytes) -> _Start | None:
    """Return where the list begins; None where the part is empty or has an empty list."""
    opening = re.compile(rb"<((?:[A-Za-z_][\w.-]*:)?)" + container + rb"(\s[^<>]*)?(/?)>")
    text, found = b"", None
    for chunk in chunks:
        text += chunk
        found = opening.search(text)
        if found or len(text) > MAX_HEAD_BYTES:
            break
    _check_head(text[: found.start() if found else None])
    if found is None:
        if text.strip():
            raise WorkbookRefused(_DAMAGED)
        return None
    is_empty = found[3] or (found[2] or b"").endswith(b"/")
    return None if is_empty else _Start(text[: found.end()], found[1], container, text[found.end() :])


def _check_head(head: bytes) -> None:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in head[:64]:
        raise WorkbookRefused("A sheet of this workbook is not written in UTF-8; save it again as .xlsx.")
    declared = re.search(rb"""\A[^>]*?encoding\s*=\s*["']([\w-]+)""", head)
    if declared and declared[1].lower() not in (b"utf-8", b"us-ascii"):
        raise WorkbookRefused("A sheet of this workbook is not written in UTF-8; save it again as .xlsx.")
    if b"<!DOCTYPE" in head:
        raise WorkbookRefused("A sheet of this workbook declares a document type; save it again as .xlsx.")


def _piece(data: bytes, start: _Start) -> Piece:
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        raise WorkbookRefused("A sheet of this workbook is not written in UTF-8; save it again as .xlsx.") from problem
    is_plain = not start.prefix and _NOT_PLAIN.search(text) is None
    return Piece(text, is_plain, start.head, start.prefix, start.container)


def plain_xml_text(text: str) -> str:
    """Return what an XML text says.

    Raises:
        WorkbookRefused: it names an entity that XML does not know.
    """
    return decoded(_ENTITY.sub(_entity, text) if "&" in text else text)


def decoded(text: str) -> str:
    """Return a spreadsheet's text with its own escapes, such as `_x000D_`, resolved."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _entity(match: re.Match[str]) -> str:
    name = match[1]
    try:
        if name[0] == "#":
            return chr(int(name[2:], 16) if name[1] == "x" else int(name[1:]))
        return _NAMED[name]
    except (KeyError, ValueError, OverflowError) as problem:
        raise WorkbookRefused(_DAMAGED) from problem


def text_of(element: Element) -> str:
    """Return the text of a rich or plain string, without its phonetic reading."""
    parts: list[str] = []
    for child in element:
        name = _local(child)
        if name == "t":
            parts.append(child.text or "")
        elif name == "r":
            parts += [part.text or "" for part in child if _local(part) == "t"]
    return decoded("".join(parts))
