"""What a cell of a spreadsheet holds."""

from __future__ import annotations

import datetime as dt

Cell = str | int | float | bool | dt.date | dt.time | dt.datetime | dt.timedelta


class ErrorValue(str):
    """A cell that shows an error such as #REF!. It reads as blank text."""

    __slots__ = ()


class FormulaText(str):
    """A text, or nothing at all, that a formula gave when the workbook was last saved."""

    __slots__ = ()


class FormulaNumber(float):
    """A number that a formula gave when the workbook was last saved."""

    __slots__ = ()


class Percentage(float):
    """A number that the spreadsheet shows as a percentage: 0.25 is seen as 25%."""

    __slots__ = ()
