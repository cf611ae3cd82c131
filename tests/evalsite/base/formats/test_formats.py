from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from evalsite.base.formats import (
    STATUSES,
    IntervalShape,
    StatusLook,
    duration,
    interval_shape,
    is_figure,
    money,
    number,
    p_value,
    p_words,
    percent,
    progress_shape,
    relative_time,
    sort_direction,
    sort_value,
    status_look,
)

NOON = datetime(2026, 3, 5, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, True),
        (Decimal("1.5"), True),
        (None, False),
        (True, False),
        ("3", False),
        (float("nan"), False),
        (float("inf"), False),
    ],
)
def test_is_figure_takes_finite_numbers_only(value: object, expected: bool) -> None:
    assert is_figure(value) is expected


def test_number_groups_thousands_and_never_shows_minus_zero() -> None:
    assert [number(1234567), number(-3.14159, 2), number(-0.001, 1), number(0.5, 2)] == [
        "1,234,567",
        "−3.14",
        "0.0",
        "0.50",
    ]


def test_percent_multiplies_a_fraction_by_a_hundred() -> None:
    assert [percent(0.8321), percent(1, 0), percent(-0.05), percent(Decimal("0.5"), 0)] == [
        "83.2%",
        "100%",
        "−5.0%",
        "50%",
    ]


@pytest.mark.parametrize(
    ("p", "expected"),
    [(0.0, "< .001"), (0.00099, "< .001"), (0.001, ".001"), (0.0324, ".032"), (0.9996, "> .999"), (1.0, "1.000")],
)
def test_p_value_never_prints_a_bare_zero(p: float, expected: str) -> None:
    assert p_value(p) == expected


def test_p_words_read_within_a_sentence() -> None:
    assert [p_words(p) for p in (0.0001, 0.03)] == ["p < .001", "p = .030"]


def test_money_keeps_two_significant_digits_below_a_cent() -> None:
    # 0.0042 lies between 10^-3 and 10^-2, so two significant digits are four decimals.
    amounts = [money(12.3), money(Decimal("0.0042")), money(0), money(-1.5), money(1234, "EUR"), money(2, "CHF")]
    assert amounts == ["$12.30", "$0.0042", "$0.00", "−$1.50", "€1,234.00", "CHF 2.00"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.35, "350 ms"),
        (4.24, "4.2 s"),
        (42, "42 s"),
        (59.6, "1 min 00 s"),  # rounds to 60 s
        (185, "3 min 05 s"),
        (7800, "2 h 10 min"),
        (200_000, "2 d 7 h"),  # 2 * 86,400 = 172,800; 27,200 s are 7 h and a rest
    ],
)
def test_duration_shows_two_units_at_most(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("ago", "expected"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(seconds=-9), "just now"),
        (timedelta(seconds=-10), "in a moment"),
        (timedelta(seconds=50), "1 minute ago"),
        (timedelta(minutes=59, seconds=40), "1 hour ago"),
        (timedelta(hours=3), "3 hours ago"),
        (timedelta(hours=23, minutes=50), "1 day ago"),
        (timedelta(days=12), "12 days ago"),
        (timedelta(days=30), "3 Feb 2026"),  # 30 days before 5 March
        (timedelta(hours=-2), "in 2 hours"),
    ],
)
def test_relative_time_names_the_nearest_unit(ago: timedelta, expected: str) -> None:
    assert relative_time(NOON - ago, at=NOON) == expected


def test_status_look_of_an_unknown_status_is_its_own_word() -> None:
    assert status_look("half_done") == StatusLook("Half done", "circle", "quiet")


def test_status_look_lets_word_and_tone_be_overruled() -> None:
    assert status_look("Paused", word="Paused: budget", tone="bad") == StatusLook(
        "Paused: budget", "pause-circle", "bad"
    )


def test_statuses_use_the_five_tones_only() -> None:
    assert {look.tone for look in STATUSES.values()} == {"ok", "info", "warn", "bad", "quiet"}


def test_interval_shape_places_and_cuts_on_the_axis() -> None:
    # Axis -1..1 over 100 units: value v stands at 50 + 50 v; 1.4 lies outside and is cut to 100.
    assert interval_shape(0.5, 0.2, 1.4, axis=(-1, 1), width=100) == IntervalShape(
        low=60.0, high=100.0, point=75.0, zero=50.0, width=100
    )
    assert interval_shape(0.5, 0.2, 1.4, axis=(-1, 1), width=100).span == 40.0


def test_interval_shape_refuses_an_axis_without_length() -> None:
    with pytest.raises(ValueError, match="no length"):
        interval_shape(0.5, 0.4, 0.6, axis=(1, 1))


def test_progress_shape_keeps_a_sliver_for_failures_and_never_rounds_up_to_done() -> None:
    # 1 of 10,000 failed would be 0.1 of 1000 units: drawn as 4. 9,998 + 1 of 10,000 is 99%, not 100%.
    assert progress_shape(done=9998, failed=1, total=10_000) == (996, 4, 99)
    assert progress_shape(done=1, failed=1, total=2) == (500, 500, 100)
    assert progress_shape(done=0, failed=0, total=0) == (0, 0, 0)


def test_sort_value_turns_the_sorted_column_around() -> None:
    assert [
        sort_value("", "score"),
        sort_value("score", "score"),
        sort_value("-score", "score"),
        sort_value("name", "score", descending_first=True),
        sort_value("-score", "score", descending_first=True),
    ] == ["score", "-score", "score", "-score", "score"]


def test_sort_direction_speaks_aria() -> None:
    assert [sort_direction(now, "score") for now in ("score", "-score", "name", "")] == [
        "ascending",
        "descending",
        "none",
        "none",
    ]
