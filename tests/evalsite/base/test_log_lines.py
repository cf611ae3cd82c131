"""Lines of the log: for people and for programs, each with the request or job that it belongs to."""

from __future__ import annotations

import json
import logging
import sys

from evalsite.base.log_lines import JsonLines, TextLines, logged_with

TEXT = TextLines("%(levelname)s %(name)s %(message)s")


def record(message: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    exc_info = (type(error), error, error.__traceback__) if error is not None else None
    return logging.LogRecord("judging.tasks", logging.WARNING, "x.py", 1, message, args, exc_info)


def test_a_line_for_programs_has_event_facts_and_what_it_belongs_to() -> None:
    with logged_with(run_id=7), logged_with(task_id=3):
        line = json.loads(
            JsonLines().format(record("judging.task_given_up task_id=%s kind=%s s=%.1f", 9, "crashed", 0.25))
        )
    plain = json.loads(JsonLines().format(record("%d things in “here”", 2)))

    assert line.pop("time").endswith("+00:00")
    assert line == {
        "run_id": 7,
        "task_id": 9,  # the line's own fact comes before that of the block around it
        "level": "WARNING",
        "logger": "judging.tasks",
        "event": "judging.task_given_up",
        "kind": "crashed",
        "s": 0.25,
    }
    assert (plain["message"], "run_id" in plain, "event" in plain) == ("2 things in “here”", False, False)


def test_a_line_of_an_error_holds_its_trace_in_one_line() -> None:
    try:
        raise ValueError("a\nb")
    except ValueError:
        error = sys.exc_info()[1]

    text = JsonLines().format(record("judging.work_crashed run_id=%s", 1, error=error))

    assert (text.count("\n"), json.loads(text)["trace"].splitlines()[-2:]) == (0, ["ValueError: a", "b"])


def test_a_line_for_people_ends_with_what_it_does_not_say_itself() -> None:
    with logged_with(run_id=7, request_id="abc"):
        own = TEXT.format(record("judging.work_crashed run_id=%s", 1))
        other = TEXT.format(record("Something else"))

    assert own == "WARNING judging.tasks judging.work_crashed run_id=1 request_id=abc"
    assert other == "WARNING judging.tasks Something else run_id=7 request_id=abc"
    assert TEXT.format(record("Something else")) == "WARNING judging.tasks Something else"
