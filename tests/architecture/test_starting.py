"""What a process of the site loads before its first line of work: every command, worker and web process pays for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HEAVY = ("genai_prices", "nltk", "pandas", "rouge_score", "scipy.special", "scipy.sparse", "scipy.stats", "statsmodels")
SAY_WHAT_IS_LOADED = f"""
import sys, django
django.setup()
print(sorted(name for name in sys.modules if name == "scipy" or name.startswith("evalsite.reports.services.")))
import evalsite.urls
print([name for name in {HEAVY!r} if name in sys.modules])
"""


def test_the_site_starts_without_the_libraries_that_only_some_reports_need() -> None:
    command = [sys.executable, "-c", SAY_WHAT_IS_LOADED]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)

    at_start, with_pages = done.stdout.splitlines()
    assert (
        at_start == "['evalsite.reports.services.report_content', 'evalsite.reports.services.snapshots']"
    )  # and no scipy
    assert with_pages == "[]"
