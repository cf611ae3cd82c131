"""Where grades may differ from the original program, by rule code.

Codes "13.nn" are rows of the table of divergences in the grading documentation; the others are our own limits. Every
note on a grade carries one of these codes, so a report can say why two grades of one response differ.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One deliberate difference."""

    code: str
    title: str
    original: str  # what the original program does, and so does a compat run where `compat_differs` is False
    default: str  # what we do by default
    compat_differs: bool = False  # True: a compat run cannot or must not do as the original did


RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in (
        Rule(
            "13.05",
            "Case without responses",
            "The older program dropped the case; the newer gives the null score.",
            "The null score as it stands, with the case's full score counted.",
        ),
        Rule(
            "13.06",
            "Empty list of responses",
            "The case and the suite become not-a-number.",
            "Treated as a case without responses.",
        ),
        Rule(
            "13.07",
            "Faulty specification",
            "One exception drops the whole case, in the sum of scores and in the sum of full scores.",
            "The criterion scores 0 for this attempt, the full score stays, and the error is shown.",
        ),
        Rule(
            "13.10",
            "`or` / `and` directly in a rule",
            "A KeyError that drops the case.",
            "Accepted: the same as under `content`.",
        ),
        Rule(
            "13.12",
            "Conditions",
            "Python's eval with every local name; an error drops the case.",
            "A limited expression language that sees `ans` and `context` (for blanks: `grading_details`, `ans_str`, "
            "`ans_re`, `response_str`); an error means the condition does not hold, and is noted.",
        ),
        Rule(
            "13.16",
            "Blank at the end of the template, or blanks and targets that do not pair up",
            "An exception that drops the case.",
            "Refused at import; graded as a faulty specification if it gets here.",
        ),
        Rule(
            "13.19",
            "Language without a runner in the original",
            "NotImplementedError, which drops the case.",
            "rust, ruby, php, bash and sql run too; any other is a faulty specification.",
        ),
        Rule(
            "13.23",
            "Where tests and handlers run",
            "In or beside the grader's own process, without limits.",
            "Only in the sandbox. Without one the criterion is not run and the attempt has no score. A program that "
            "leaves with code 0 before its tests have finished fails; a compat run lets it pass.",
        ),
        Rule(
            "limit.regex",
            "Regular expression not decided in time",
            "Runs as long as it takes, for ever if need be.",
            "A search that takes more than its time limit leaves its rule undecided: the criterion is incomplete, "
            "which is neither a match nor a miss.",
            compat_differs=True,
        ),
        Rule(
            "limit.size",
            "Specification or response beyond a size limit",
            "Runs as long and as large as it gets.",
            "Not decided: the criterion is incomplete.",
            compat_differs=True,
        ),
        Rule(
            "suspicious",
            "Program that passes and names what runs its tests",
            "Passes.",
            "Passes, and is flagged with what it names, for a person to look at.",
        ),
        Rule(
            "not-run",
            "Something needed to grade is not there",
            "An exception that drops the case.",
            "The criterion is not run, the reason is given, and the attempt has no score.",
            compat_differs=True,
        ),
    )
}
