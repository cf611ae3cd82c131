"""Prints where the rule graders differ from InfiBench's recorded grades: `python -m tests.parity [--compat]`.

Exit code 1 where a difference is not accounted for by a rule; 0, with the reason, where there is no recorded data.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.parity.divergences import RULES
from tests.parity.recorded_data import attempts, recorded_report

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("--compat", action="store_true", help="grade as a run with `compat` does")
    compat = parser.parse_args().compat
    folder = Path(os.environ.get("EVALSITE_SHARED_DATA", SHARED_DATA)) / "grading"
    if not folder.is_dir():
        print(f"Skipped: no recorded grades at {folder}; set EVALSITE_SHARED_DATA to use others.")
        return 0
    report = recorded_report(attempts(folder), compat=compat)
    for difference in report.differences:
        print(difference)
    for code, count in sorted(report.by_code().items()):
        rule = RULES[code]
        print(f"{code} {rule.title}: {count} differences. InfiBench: {rule.original} Here: {rule.default}")
    print(
        f"{report.compared} attempts compared, {len(report.differences)} differences, "
        f"{len(report.unexplained)} not accounted for."
    )
    return 1 if report.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
