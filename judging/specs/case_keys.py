"""Ids of cases as people type them, without the characters that nobody sees."""

from __future__ import annotations

from judging.specs.files.findings import Findings, warning_rule

INVISIBLE = warning_rule("invisible-character", "Type the id again to remove it.")
_UNSEEN = dict.fromkeys((0x00AD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF))


def visible_key(text: str, findings: Findings, file: str, location: str) -> str:
    """Return an id without white space around it and without invisible characters, which are warned of."""
    key = text.translate(_UNSEEN).strip()
    if key != text.strip():
        codes = ", ".join(sorted({f"U+{ord(letter):04X}" for letter in text if ord(letter) in _UNSEEN}))
        message = f"The id {key!r} contains an invisible character ({codes}); it was removed."
        findings.add(INVISIBLE, file, location, message, key)
    return key
