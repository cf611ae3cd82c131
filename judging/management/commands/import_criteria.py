"""Import criteria with levels."""

from __future__ import annotations

from typing import Any

from judging.management.importing import ImportCommand
from judging.services.intake import ImportOptions
from judging.specs.sniffing import UploadKind


class Command(ImportCommand):
    """import_criteria PATH"""

    help = "Import criteria with levels: a YAML file with `criteria`, or a folder of such."
    kinds = (UploadKind.CRITERIA,)

    def options_of(self, options: dict[str, Any]) -> ImportOptions:
        return ImportOptions(kind=UploadKind.CRITERIA, benchmark=options["benchmark"])
