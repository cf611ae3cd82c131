"""Import criteria with levels."""

from __future__ import annotations

from evalsite.base.json_types import JsonDict
from judging.management.import_command import ImportCommand
from judging.services.file_imports.intake import ImportOptions
from judging.specs.upload_kinds import UploadKind


class Command(ImportCommand):
    """import_criteria PATH"""

    help = "Import criteria with levels: a YAML file with `criteria`, or a folder of such files."
    kinds = (UploadKind.CRITERIA,)

    def options_of(self, options: JsonDict) -> ImportOptions:
        return ImportOptions(kind=UploadKind.CRITERIA, benchmark=options["benchmark"])
