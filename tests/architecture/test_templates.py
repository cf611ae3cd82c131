"""Templates include and extend only what is there: a fragment that has moved would fail on its page alone."""

from __future__ import annotations

import re
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
NAMED = re.compile(r'{%\s*(?:include|extends)\s+"([^"]+)"')


def test_every_template_that_is_named_exists() -> None:
    named = {
        (str(path.relative_to(TEMPLATES)), name)
        for path in TEMPLATES.rglob("*.html")
        for name in NAMED.findall(path.read_text(encoding="utf-8"))
    }

    assert [pair for pair in sorted(named) if not (TEMPLATES / pair[1]).is_file()] == []
    assert len(named) > 100
