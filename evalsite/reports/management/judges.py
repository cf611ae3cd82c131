"""Arguments by which commands name one version of a judge."""

from __future__ import annotations

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import BadInput
from evalsite.base.json_types import JsonDict
from evalsite.reports import jobs
from evalsite.reports.selectors.judges.golden_tests import trusted_evaluators
from evalsite.reports.selectors.judges.judge_rows import judge_evaluators
from evalsite.reports.services.judges.judge_trust import JUDGE_TRUST
from evalsite.reports.services.report_content import ReportContent
from judging.selectors.judges.judge_versions import versions_of

LISTED = 50


def add_judge(parser: CommandParser) -> None:
    """Add the judge's name and, where it is not the newest, its version."""
    parser.add_argument("judge", help="name of the judge as shown on the page Judges, with its rubric")
    parser.add_argument(
        "--version-key", default="", help="beginning of the version key; default: the version of the newest run"
    )


def trust_content(options: JsonDict) -> ReportContent:
    """Return the report on the audit of the version that the arguments name.

    Raises:
        BadInput: there is no such judge or version.
    """
    name, head = options["judge"], options["version_key"]
    evaluators = trusted_evaluators(name)
    if not evaluators:
        judge_names = list(dict.fromkeys(row.name for row in judge_evaluators()))[:LISTED]
        raise BadInput(f"No run has had a judge “{name}”. Judges: {', '.join(judge_names) or 'none yet'}.")
    keys = list(dict.fromkeys(version.key for version in versions_of(evaluators).values()))
    matching = [key for key in keys if key.startswith(head)] if head else keys[:1]
    if len(matching) != 1:
        shown = ", ".join(key[:12] for key in keys)
        raise BadInput(f"“{head}” matches {len(matching)} versions of “{name}”. Versions: {shown}.")
    chosen = {"name": name, "version": matching[0]}
    return jobs.require(JUDGE_TRUST, subject_id=0, options=chosen, at=timezone.now())
