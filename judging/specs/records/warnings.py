"""What each kind of warning of an import says, in a sentence; files and programs name the kinds."""

from __future__ import annotations

import re

from judging.specs.records.collected import WarningGroup

# kind -> the sentence with its count; of [one|several] the first part is for one thing, the second for more
_SENTENCES: dict[str, str] = {
    "no-reference": "{} [case has|cases have] no reference answer; only judges that compare with one need it.",
    "reference-kept": (
        "The benchmark keeps its reference [answer|answers] of {} [case,|cases,] which [is another one|are others] in"
        " the file. To change [it,|them,] import the questions without responses."
    ),
    "reference-not-stored": (
        "{} reference [answer|answers] of the file [is|are] not stored, since the stored [case has|cases have] none. "
        "To add [it,|them,] import the questions without responses."
    ),
    "detail-not-stored": (
        "{} [detail|details] of [a case|cases] in the file [is|are] not stored, since the stored [case has|cases "
        "have] none or [another one.|others.] To change [it,|them,] import the questions without responses."
    ),
    "reference-as-json": (
        "{} reference [answer is an object|answers are objects] without [a text|texts] of [its|their] own; [it "
        "is|they are] kept as JSON."
    ),
    "ids-made": (
        "{} [case has|cases have] no id in the file; [it was|they are] numbered by [its prompt.|their prompts.]"
    ),
    "failed-sample": "{} [sample|samples] failed in the tool and [has|have] no [response.|responses.]",
    "cut-off": "{} [response was|responses were] cut off at [its|their] limit.",
    "null-response": "{} [row has|rows have] no response and [is|are] left out.",
    "row-left-out": "{} [row is|rows are] left out.",
    "system-from-file": (
        "[The system is|{} systems are] named after [the file,|their files,] since no column names [it.|them.]"
    ),
    "system-from-folder": (
        "[The system is|{} systems are] named after [the folder,|their folders,] since no column names [it.|them.]"
    ),
    "system-from-name": (
        "[The system has|{} systems have] the [name|names] of [the application,|applications,] since no [model "
        "is|models are] named."
    ),
    "systems-from-header": "{} [system is|systems are] named after [its column.|their columns.]",
    "judge-from-file": "[The judge is|{} judges are] named after [the file.|their files.]",
    "rater-from-file": "[The file is|{} files are] taken for one [person.|person each.]",
    "no-rater": "{} [label names|labels name] no person.",
    "raters-by-place": (
        "{} [person has|people have] no [name|names] and [is|are] numbered by [the place|their places] in the list."
    ),
    "scale-unknown": (
        "The [scale|scales] of {} [grader is|graders are] not in the file; no shares are computed until [it is|they "
        "are] given."
    ),
    "scale-from-use": "[The scale is|{} scales are] taken from the labels used.",
    "unscored": "{} [response was|responses were] not scored.",
    "unparsed-verdict": "{} [reply|replies] of [a judge|judges] could not be read; [it counts|they count] as no score.",
    "order-flip": "{} [pair was|pairs were] judged differently in the other order and [counts|count] as [a tie.|ties.]",
    "labels-folded": "{} [label was|labels were] folded into [another spelling|other spellings] of [it.|them.]",
    "answer-index": (
        "{} [answer is|answers are places of choices; their texts are] the [place of a choice; its text is the "
        "reference.|references.]"
    ),
    "choice-from-likelihood": "{} [response is|responses are] the [choice|choices] with the highest likelihood.",
    "last-turn-as-reference": (
        "The last [turn|turns] of {} [conversation is|conversations are] taken as [its reference.|their references.]"
    ),
    "encoding-guessed": "The [encoding|encodings] of {} [file was|files were] recognised by [its text.|their texts.]",
    "fields-missing": (
        "{} [file lacks a field that files of its tool have;|files lack a field that files of their tools have;] what "
        "it says is not read."
    ),
    "file-cut": "{} [file ends|files end] within a row, so that [its|their] last [text|texts] may be cut off.",
    "date-as-text": "{} [column|columns] of dates [is|are] kept as text.",
    "merged-cells": "[A|{}] merged [cell counts|cells count] for all [its|their] rows.",
    "sheet-left-out": "{} [sheet holds|sheets hold] no [table|tables] and [is|are] left out.",
    "index-column": "[A column|{} columns] without [a name|names] that [counts|count] the rows [is|are] not read.",
    "nan-left-out": "{} [value is|values are] NaN and [counts|count] as missing.",
    "text-only-items": (
        "{} labelled [text has|texts have] no [response; it becomes a case.|responses; they become cases.]"
    ),
    "items-without-text": "{} [item has|items have] no text.",
    "cancelled-annotation": (
        "{} [annotation was|annotations were] cancelled or ignored in the tool and [is|are] left out."
    ),
    "suggestion-left-out": (
        "{} [suggestion|suggestions] of [a program is|programs are] no [label|labels] and [is|are] left out."
    ),
    "assertion-not-carried": "{} [assertion is|assertions are] no [rule|rules] and [is|are] left out.",
    "columns-left-out": "{} [column is|columns are] not read.",
    "formula": "{} [formula was|formulas were] read by [its|their] stored [result.|results.]",
    "unstorable-character": "NUL characters or broken Unicode were replaced in {} [row.|rows.]",
}
_NUMBER = re.compile(r"\[(.*?)\|(.*?)\]")


def sentence(group: WarningGroup) -> str:
    """Return what a kind of warning says, with its count."""
    text = _SENTENCES.get(group.kind, "{} [remark|remarks]: " + group.kind)
    return _NUMBER.sub(r"\1" if group.count == 1 else r"\2", text).replace("{}", f"{group.count:,}")


def places(group: WarningGroup) -> str:
    """Return the first places of a kind of warning, with what stands there."""
    shown = [f"{place}: {detail}" if detail else str(place) for place, detail in group.places]
    return "; ".join(shown) + ("; …" if group.count > len(shown) else "")
