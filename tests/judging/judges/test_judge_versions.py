"""Versions of judges: what is in the key, and how two versions differ in words."""

from __future__ import annotations

from dataclasses import replace

from judging.judges.judge_kinds import JudgeVersion, changes_between, version_from_json, version_of_options
from judging.judges.subjects import PARSER_VERSION

FROZEN = {
    "judge_kind": "generic",
    "judge_options": {"samples": 3, "prompt_text": "Judge."},
    "endpoint": "fast",
    "model": "gpt-4",
    "prompt_hash": "a" * 64,
    "history": [{"at": "then"}],
}


def version(**changes: object) -> JudgeVersion:
    return version_of_options({**FROZEN, **changes}, rubric_hash="b" * 64, criterion="")


def test_version_of_options_leaves_out_local_names_and_history() -> None:
    judge_version = version()

    assert judge_version == JudgeVersion(
        model="gpt-4",
        prompt="a" * 64,
        rubric="b" * 64,
        criterion="",
        options={"judge_kind": "generic", "judge_options": FROZEN["judge_options"]},
        parser=PARSER_VERSION,
    )
    assert judge_version.key == version(endpoint="renamed", history=[]).key
    assert version_from_json(judge_version.to_json()) == judge_version


def test_key_lapses_with_any_part() -> None:
    judge_version = version()
    others = [
        replace(judge_version, model="gpt-5"),
        replace(judge_version, prompt="c" * 64),
        replace(judge_version, rubric=""),
        replace(judge_version, criterion="clarity"),
        replace(judge_version, options={}),
        replace(judge_version, parser=PARSER_VERSION + 1),
    ]

    assert len({judge_version.key, *(other.key for other in others)}) == 7


def test_changes_between_says_what_changed() -> None:
    before = version()
    now = replace(
        version(
            model="gpt-5",
            prompt_hash="c" * 64,
            judge_options={"samples": 5, "prompt_text": "Judge well."},
            endpoint_options={"reasoning_effort": "high"},
        ),
        rubric="d" * 64,
        parser=PARSER_VERSION + 1,
    )

    assert changes_between(before, now) == (
        "The model was gpt-4 and is gpt-5.",
        "The prompt changed, from aaaaaaaa to cccccccc.",
        "The rubric changed, from bbbbbbbb to dddddddd.",
        "The option “reasoning_effort” was not set and is high.",
        "The option “samples” was 3 and is 5.",
        f"Replies are parsed by parser version {PARSER_VERSION + 1} and were parsed by version {PARSER_VERSION}.",
    )
    assert changes_between(before, version()) == ()
