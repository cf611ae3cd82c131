"""`edit_case`: write how a case is graded as YAML, show what an edit changes, and store it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import BadInput, JsonCommand, form_refusal
from evalsite.base.json_types import JsonDict
from judging.actions.references import SUITE
from judging.forms.cases import CaseEditForm
from judging.models import Case, Suite
from judging.services.case_edits import save_edit, try_edit
from judging.services.file_imports.suites import case_spec
from judging.specs.suites.cases_yaml import case_to_yaml


class Command(JsonCommand):
    """Do to a case what its page "Change grading" does."""

    help = "Print the grading of a case. With --file, show its effect on all stored responses; with --save, store it."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--suite", required=True, help="benchmark (newest suite), benchmark@number or id")
        parser.add_argument("--case", required=True, help="id of the case in the suite")
        parser.add_argument("--file", type=Path, help="YAML of the grading, as this command prints it")
        parser.add_argument("--save", action="store_true", help="store it as a new version of the suite")

    def run(self, **options: Any) -> JsonDict:
        suite = SUITE.named(options["suite"])
        case = suite.cases.select_related("prompt__benchmark").filter(key=options["case"]).first()
        if case is None:
            raise BadInput(f"{suite} has no case {options['case']!r}.")
        path: Path | None = options["file"]
        if path is None:
            if options["save"]:
                raise BadInput("--save needs --file.")
            return {"case": case.key, "suite": str(suite), "grading": case_to_yaml(case_spec(case))}
        return _edited(suite, case, path, save=options["save"])

    def summary(self, result: JsonDict) -> str:
        if "grading" in result:
            return str(result["grading"])
        effect = result["effect"]
        lines = [f"{effect['changed']:,} of {effect['count']:,} responses would get a different score."]
        lines += [f"  {row['system']}: {row['old']} -> {row['new']}" for row in effect["systems"] if row["changed"]]
        if "stored" in result:
            lines.append(
                f"Saved as {result['suite']}." if result["stored"] else f"{result['suite']} already has this grading."
            )
        return "\n".join(lines)


def _edited(suite: Suite, case: Case, path: Path, *, save: bool) -> JsonDict:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as UTF-8 text: {error}.") from error
    form = CaseEditForm({"text": text}, case=case)
    if not form.is_valid() or form.edited is None:
        raise BadInput("\n".join(map(str, form.problems))) if form.problems else form_refusal(form)
    effect = try_edit(case=case, suite=suite, edited=form.edited)
    if not save:
        return {"case": case.key, "suite": str(suite), "effect": effect}
    stored = save_edit(case=case, suite=suite, edited=form.edited, actor=None, at=timezone.now())
    return {"case": case.key, "suite": str(stored.suite), "stored": stored.created, "effect": effect}
