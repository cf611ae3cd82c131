"""Tables of CSV files and workbooks as cells."""

from __future__ import annotations

from judging.specs.findings import Findings
from judging.specs.grids import read_grids


def test_read_grids_refuses_a_csv_with_a_nul_character_by_line() -> None:
    findings = Findings("labels.csv")

    (grid,) = read_grids(b"a,b\n1,x\0y\n", "labels.csv", findings)

    assert list(grid.rows) == []
    assert [(problem.code, problem.place) for problem in findings.listed] == [("nul-byte", "line 2")]
