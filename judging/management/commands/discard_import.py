"""`discard_import`: remove an upload and its bytes; what was imported from it stays."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from judging.models import Upload
from judging.services.file_imports.uploads import UploadRefused, discard_upload


class Command(JsonCommand):
    """Do to an upload what its page's button does."""

    help = "Remove an upload and its file. Data imported from it is kept."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--upload", type=int, required=True, help="id of the upload, as in the address of its page")

    def run(self, **options: Any) -> JsonDict:
        upload = Upload.objects.filter(pk=options["upload"]).first()
        if upload is None:
            raise BadInput(f"There is no upload {options['upload']}.")
        try:
            discard_upload(upload=upload, actor=None)
        except UploadRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        return {"upload": options["upload"], "file": upload.file_name, "discarded": True}
