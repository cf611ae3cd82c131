"""Verdict statuses, flags and failure kinds in words for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from judging.judges.verdicts import VerdictStatus

STATUS_WORDS: Mapping[str, str] = {
    VerdictStatus.OK: "The reply has exactly the required format.",
    VerdictStatus.REPAIRED: "The reply was not in the required format and was parsed leniently, with repairs.",
    VerdictStatus.REFUSED: "The model, or its provider's filter, refused to answer. There is no score.",
    VerdictStatus.UNPARSED: "No verdict could be parsed, even after a second request, so there is no score.",
    VerdictStatus.FAILED: "There was no reply, so there is no score.",
}

FLAG_WORDS: Mapping[str, str] = {
    "reasked": "requested a second time with the problem quoted",
    "truncated": "the reply was cut off before its end",
    "empty": "the reply is empty",
    "too_long": "the reply is far too long",
    "too_deep": "brackets nest too deeply",
    "too_many": "far too many JSON objects",
    "thinking_unclosed": "the reasoning does not end, so no answer follows it",
    "quoted": "the verdict is quoted from what was judged",
    "not_last": "the JSON object is not the last thing in the reply",
    "inline": "the JSON object is within a line of text",
    "score_in_analysis": "the score does not follow the analysis",
    "no_json": "no JSON object in the reply",
    "not_an_object": "the JSON is not an object",
    "missing_keys": "keys are missing",
    "conflict": "two values contradict each other",
    "not-asked": "the case lacks an input that this judge needs, so no call was made",
    "repaired": "invalid JSON was repaired",
    "string_bool": "true or false was given as text",
    "string_number": "a number was given as text",
    "non_boolean": "neither true nor false",
    "non_integer": "not a whole number",
    "no_reasoning": "no reasoning was given",
    "thinking": "a block of reasoning precedes the answer",
    "fenced": "the answer is in a code block",
    "bold_tags": "tags were in bold",
    "tag_case": "tags were in capitals",
    "no_analysis_open": "the analysis tag was never opened",
    "analysis_unclosed": "the analysis tag was never closed",
    "score_unclosed": "the score tag was never closed",
    "wrong_closing_tag": "the score was closed by another tag",
    "text_after": "text follows the score",
    "several_score_tags": "several score tags that agree",
    "score_tags": "too many score tags",
    "no_score_tag": "no score tag",
    "no_number": "no single whole number in the score tag",
    "out_of_range": "the value is out of range",
    "decorated": "the value has extra formatting",
    "expression": "the score was the result of a written calculation",
    "sentence": "the score was within a sentence",
    "extra_lines": "more lines than required",
    "other_order": "lines in another order",
    "final_missing": "the judge's own final score is missing; the computed score counts",
    "final_unreadable": "the judge's own final score cannot be parsed; the computed score counts",
    "final_mismatch": "the judge's own final score differs from the computed score, which counts",
    "off_grid": "a score between the rubric's steps",
    "normalised": "moved to the nearest step",
    "infeasible": "no set of criteria gives this score",
    "no_context": "there is no context, so its dimension is left out",
    "no_context_forced_0": "there is no context, so context precision counts as 0",
    "unmarked": "the choice is not marked",
    "not_alone": "the choice is not on its own line",
    "earlier_marker": "an earlier choice was revised",
    "samples_split": "the verdict was not the same in all samples",
    "samples_tied": "two values were equally frequent; the first counts",
    "original_reading": "parsed as Lunar-Bench's program does, with a different result",
    "answer_truncated": "the response was cut off at the token limit",
    "empty_answer": "the response is empty",
    "panel_disagreement": "the votes of the panel lie further apart than its margin",
    "panel_tied": "two values have equally many votes, so there is no majority",
    "panel_too_few": "too few members gave a vote on one scale",
    "position_flip": "the choice depends on the order of the responses",
}
# Flags of verdicts that people look at by default: the value is impossible, or it is not sure that the judge meant it.
# A fence, a bold tag or a missing end of a tag leaves no doubt of the value.
DOUBTFUL = (
    "infeasible",
    "sentence",
    "expression",
    "several_score_tags",
    "text_after",
    "repaired",
    "inline",
    "unmarked",
)

_WITH_NAME: Mapping[str, str] = {
    "off_menu": "a value that {} does not allow",
    "mended": "the value of {} was repaired",
    "repeated": "{} was given more than once",
    "capped": "{} was capped by a rule",
    "off_scale": "the value of {} is not on its scale",
    "unmapped": "the rubric defines no points for the value of {}",
    "missing": "{} is missing",
    "unreadable": "{} cannot be parsed",
    "out_of_range": "{} is out of range",
    "conflict": "two values of {} contradict each other",
    "no_vote": "{} gave no vote that could be read, and is left out",
}
_FAILURE_WORDS: Mapping[str, str] = {
    "incomplete": "undecided",
    "error": "invalid case",
    "crashed": "internal error",
    "endpoint-not-in-use": "endpoint inactive",
    "answer-images-not-sent": "endpoint cannot see images",
    "not-stored": "result that cannot be stored",
    "tried-too-often": "its workers failed too often",
}


def flag_in_words(flag: str) -> str:
    """Return what a flag of a verdict or score means; an unknown one in its own words."""
    name, _, about = flag.partition(":")
    if about and name in _WITH_NAME:
        return _WITH_NAME[name].format(about.replace("_", " "))
    return FLAG_WORDS.get(flag) or flag.replace("_", " ").replace("-", " ")


def doubts_in_words(flags: Iterable[str]) -> tuple[str, ...]:
    """Return why the value of a verdict with these flags is in doubt, in words; empty where it is not."""
    flags_given = set(flags)
    return tuple(FLAG_WORDS[flag] for flag in DOUBTFUL if flag in flags_given)


def failure_in_words(kind: str) -> str:
    """Return why a task has no result, as a chip shows it."""
    return _FAILURE_WORDS.get(kind) or kind.replace("_", " ").replace("-", " ")
