"""`export_data_set QUEUE --licence cc-by-4.0 --output FOLDER`: a queue's annotations as Hugging Face loads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evalsite.accounts.audit import record
from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.reports.actions.data_sets import LICENCES, SPLITS, DataSet
from evalsite.review.actions.references import QUEUE
from judging.management.output import write_output


class Command(JsonCommand):
    """Write the folder that a queue's report on agreement offers as a ZIP archive."""

    help = (
        "Write the annotations of a queue as a folder that load_dataset of Hugging Face reads: a Parquet file (JSON "
        "Lines where pyarrow is not installed) and a card with scale, annotators, agreement, licence and split."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add which queue, how it is described, and where to."""
        parser.add_argument("queue", help="slug of the queue")
        parser.add_argument("--licence", choices=LICENCES, default=LICENCES[0], help=f"default: {LICENCES[0]}")
        parser.add_argument("--split", choices=SPLITS, default=SPLITS[-1], help=f"default: {SPLITS[-1]}")
        parser.add_argument("--names", action="store_true", help="name people, who are numbered otherwise")
        parser.add_argument("--output", required=True, help="folder to write, new or empty")

    def run(self, **options: Any) -> JsonDict:
        """Write the folder and say what it holds."""
        queue, folder = QUEUE.named(options["queue"]), Path(options["output"])
        data_set = DataSet(queue, options["licence"], options["split"], names=options["names"])
        files = data_set.files(waits=True)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise BadInput(f"{folder} is not empty. Name a new folder (--output).")
            (folder / "data").mkdir()
        except OSError as error:
            raise BadInput(f"Cannot write to {folder}: {error.strerror}.") from error
        written = {path: write_output(str(folder / path), pieces) for path, pieces in files}
        record(None, "annotations.exported", queue, format="data set", names=options["names"])
        return {"queue": queue.slug, "output": str(folder), "files": written}
