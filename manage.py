#!/usr/bin/env python
"""Django's command line for the site."""

from __future__ import annotations

import os
import sys

from evalsite.serving.locations import NoSite, use_demo

BAD_INPUT, ENOUGH = 2, 141  # as shells call a program that SIGPIPE ended
OLD_COMMANDS = {  # of the release before -> what does the same now
    "add_endpoint": "endpoint create, endpoint change, endpoint test and endpoint forget",
    "day_budget": "endpoint budgets, endpoint set-budget",
    "add_prompt": "prompt create",
    "control_prompt": "prompt retire, prompt restore, prompt delete",
    "add_system": "system create",
    "control_system": "system retire, system restore, system delete",
    "add_judge": "judge create, judge change",
    "control_judge": "judge retire, judge restore, judge delete",
    "judge_response": "run try, run preview",
    "control_import": "upload check, upload confirm, upload cancel, upload delete, upload undo",
    "create_person": "person create",
    "change_person": "person change, person new-password",
    "create_queue": "queue create, queue check",
    "change_queue": "queue change, queue pause, queue resume, queue archive, queue restore",
    "control_item": "item ask-more, item reopen, item exclude, item take-back, queue exclude-items",
    "assign_items": "item give, item withdraw, queue give-items, queue release",
    "adjudicate_item": "item adjudicate, item look, item reveal, item revise, item list",
    "golden_set": "golden create, golden count, golden show",
    "golden_run": "golden run, golden estimate",
    "golden_test": "golden open, golden use",
    "golden_item": "golden_response list, show, add-example, note-rule and doubt, golden delete-rule",
    "golden_wording": "golden propose, golden estimate-wording, proposal show, proposal accept",
    "import_label_table": "labels create, labels check",
    "delete_label_table": "labels delete",
    "save_view": "view create, view delete",
    "share_board": "share create, share list, share revoke",
    "pin_board": "board pin, board unpin",
    "annotate_item": "queue next, assignment annotate, assignment cannot-judge, assignment skip, assignment flag,"
    " assignment undo, assignment reveal, assignment revise, assignment show",
    "import_labels": "debate_set import-labels",
    "send_verdict": "run send, debate_set send, run take-back and item take-back",
    "calibrate": "judge preview-threshold, judge set-threshold, judge remove-threshold",
    "certify": "judge certify, report trust",
    "anchor": "judge make-anchors, judge ask-anchors, report trust --table drift",
    "plan_audit": "run audit, run estimate-audit, debate_set audit, debate_set estimate-audit",
    "import_annotations": "queue import-annotations, queue check-annotations",
    "send_results": "run send-results, run count-results",
    "delete_labels": "debate_set delete-labels",
    "golden_report": "report golden, report golden-comparison",
    "route_pending": "queue route",
    "edit_case": "case show, case preview, case change",
    "run_debates": "debate_set create, debate_set estimate",
    "rescore": "run rescore",
    "export_annotations": "queue export",
    "export_debates": "debate_set export, debate_set archive",
    "export_data_set": "queue export-data-set",
    "export_scores": "run export, board export-scores, run export-esi",
    "export_judge": "judge export",
    "export_rubric": "rubric export",
    "export_audit": "audit export",
    "control_job": "job overview, job requeue, job discard",
    "export_board": "board export-pages",
    "import_debates": "debate_set import, upload confirm",
    "probe_languages": "language probe",
    "import_lunar_settings": "run check-lunar, run import-lunar",
    "run_suite": "run create, run estimate, run create-esi, run estimate-esi",
    "control_run": "run pause, run resume, run cancel, run retry, run rename, run archive, run restore and run show",
}
OTHER_NAMES = {  # what a command was called, and is still called for one release -> the words that it stands for
    "import_suite": ["import"],
    "import_responses": ["import"],
    "import_criteria": ["import", "--kind", "criteria"],
    "import_rubric": ["import", "--kind", "level_rubric"],
}
OLD_OPTIONS = {  # of commands that are still there -> what says the same now
    "import": {
        "--rename": "--renames",
        "--new-benchmark": "--is-new-benchmark",
        "--name": "--benchmark, of a rubric --rubric",
        "--skip-bad-rows": "--leave-out-bad-rows",
    },
}


def now_called(command: str, *words: str) -> str:
    """Return what a command or an option of the release before is now; empty where nothing has changed."""
    if command in OLD_COMMANDS:
        return f"{command} is now: {OLD_COMMANDS[command]}."
    said = f" {' '.join(words)} ".replace("=", " ")
    old = OLD_OPTIONS.get(command, {})
    return " ".join(f"{option} is now: {old[option]}." for option in old if f" {option} " in said)


def main() -> None:
    """Run the command named on the command line: of the site that is set, else of the demo beside it."""
    if told := now_called(*sys.argv[1:] or [""]):
        sys.stderr.write(f"{told} See manage.py help.\n")
        sys.exit(BAD_INPUT)
    sys.argv[1:2] = OTHER_NAMES.get("".join(sys.argv[1:2]), sys.argv[1:2])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        if told := use_demo(sys.argv, os.environ):
            sys.stderr.write(f"{told}\n")
        try:
            execute_from_command_line(sys.argv)
        finally:
            sys.stdout.flush()
    except (NoSite, ImproperlyConfigured) as refusal:
        sys.stderr.write(f"{refusal}\n")
        sys.exit(BAD_INPUT)
    except BrokenPipeError:  # who read what is printed has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else it is flushed once more at the end
        sys.exit(ENOUGH)


if __name__ == "__main__":
    main()
