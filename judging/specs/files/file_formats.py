"""Formats that cannot be read, recognized by their bytes, with advice for each."""

from __future__ import annotations

import io
import struct
import zipfile

_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_WORD = "WordDocument".encode("utf-16-le")
_SAVE = "Save it as an Excel workbook (.xlsx) or as CSV and upload that."
_TABLE = "Put the content into an Excel workbook (.xlsx), a CSV, a YAML or a JSON file and upload that."

_BINARY_WORKBOOK = f"This is a binary Excel workbook (.xlsb), which is not read. {_SAVE}"
_NUMBERS = f"This is a Numbers file, which is not read. Export it as an Excel workbook (.xlsx). {_SAVE}"
_OPEN_DOCUMENT_SHEET = f"This is an OpenDocument spreadsheet (.ods), which is not read. {_SAVE}"
_WORD_DOCUMENT = f"This is a Word document, which is not read. {_TABLE}"
_OPEN_DOCUMENT_TEXT = f"This is an OpenDocument text, which is not read. {_TABLE}"
_SLIDES = f"This is a presentation, which is not read. {_TABLE}"
_PDF = f"This is a PDF file, which is not read. {_TABLE}"
_RTF = f"This is a rich text file (.rtf), which is not read. {_TABLE}"


def foreign_format(data: bytes) -> str:
    """Return what to say about a document of a format that no importer reads; empty for anything else."""
    if data.startswith(_OLE):
        return _old_office(data)
    if data.startswith(b"%PDF-"):
        return _PDF
    if data.startswith(b"{\\rtf"):
        return _RTF
    return _zipped(data) if data.startswith(b"PK\x03\x04") else ""


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
        return _OPEN_DOCUMENT_SHEET if b"opendocument.spreadsheet" in data[:200] else _OPEN_DOCUMENT_TEXT
    parts = {
        "xl/workbook.bin": _BINARY_WORKBOOK,
        "word/document.xml": _WORD_DOCUMENT,
        "ppt/presentation.xml": _SLIDES,
        "Index/Document.iwa": _NUMBERS,
    }
    return next((words for part, words in parts.items() if part in names), "")
