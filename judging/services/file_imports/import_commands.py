"""The command that imports what an upload holds, with the same options."""

from __future__ import annotations

import re
import shlex

from judging.models import Upload
from judging.services.file_imports.intake import ImportOptions
from judging.specs.replies.response_formats import RESPONSE_FORMATS
from judging.specs.replies.table_columns import ColumnField
from judging.specs.upload_kinds import UploadKind

COMMANDS = {
    UploadKind.SUITE: "import_suite",
    UploadKind.QUESTIONS: "import_suite",
    UploadKind.LEVEL_RUBRIC: "import_rubric",
    UploadKind.CRITERIA: "import_criteria",
    **dict.fromkeys(RESPONSE_FORMATS, "import_responses"),
    UploadKind.RESPONSES_FOLDER: "import_responses",
    UploadKind.SCALEEVAL_RESPONSES: "import_responses",
}
_SEVERAL = re.compile(r"[\d,]+ files")  # as the upload of several files is named
_KEPT = (ColumnField.DETAIL, ColumnField.IGNORE)


def command_of(upload: Upload) -> str:
    """Return the command for the file or folder of an upload, as a shell takes it.

    Empty where there is none, as for several loose files, each of which a command takes alone.
    """
    kinds = upload.preview.get("kinds", ())
    name = next((COMMANDS[kind] for kind in kinds if kind in COMMANDS), "")
    if not name or _SEVERAL.fullmatch(upload.file_name):
        return ""
    words = ["manage.py", name, upload.file_name, *_options(name, ImportOptions.of_json(upload.options))]
    if name in ("import_responses", "import_suite"):
        words += _maps(upload)
    return shlex.join(words)


def _options(name: str, options: ImportOptions) -> list[str]:
    pairs = [("--benchmark", options.benchmark)]
    if name == "import_responses":
        pairs += [("--suite", str(options.suite_id or "")), ("--system", options.system)]
    if name == "import_rubric":
        pairs.append(("--name", options.rubric))
    words = [word for option, value in pairs if value for word in (option, value)]
    takes_missing = name in ("import_responses", "import_suite")
    return [*words, "--allow-missing-files"] if options.allow_missing_files and takes_missing else words


def _maps(upload: Upload) -> list[str]:
    """Return what the columns are where they are mapped; what is kept or ignored only where that was chosen."""
    if not upload.preview.get("is_mapped"):
        return []
    shown = (
        f"{column['field']}={column['name']}"
        for column in upload.preview.get("columns", ())
        if column["field"] not in _KEPT or column["field"] != column["guess"]
    )
    return [word for pair in shown for word in ("--map", pair)]
