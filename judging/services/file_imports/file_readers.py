"""Registry of what checks and stores the files of an upload, by the kind of upload; an app above registers its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from evalsite.base.types import JsonDict
from judging.models import Benchmark, Upload

if TYPE_CHECKING:  # apps register their readers at every start, and few processes read files
    from judging.services.file_imports.intake import ImportOptions
    from judging.services.file_imports.rubrics import RubricOrigin
    from judging.services.file_imports.staged_rubrics import Watch
    from judging.specs.files.bundles import Files
    from judging.specs.files.findings import Problem


class WrittenFiles(Protocol):
    """What a batch holds of uploaded files."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was found while writing."""

    def use(self, origin: RubricOrigin, upload: Upload) -> JsonDict:
        """Take all of it into use in one transaction and return what came of it."""


class CheckedFiles(Protocol):
    """A dry run of uploaded files."""

    @property
    def kind(self) -> str:
        """The kind of the upload, as it is stored."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything wrong with the files."""

    @property
    def is_refused(self) -> bool:
        """Whether nothing of them can be imported."""

    @property
    def benchmark(self) -> Benchmark | None:
        """The stored benchmark that the files belong to."""

    def preview(self) -> JsonDict:
        """Return what the page shows of the dry run; `changes_nothing` says that all of it is stored already."""

    def preview_pictures(self) -> Mapping[str, bytes]:
        """Return the images by hash that the preview shows and that are not stored yet."""

    def open_written(self, watch: Watch) -> AbstractContextManager[WrittenFiles]:
        """Write what was read into a batch, for `use` within the block.

        Raises:
            ImportRefused: it cannot be stored.
        """


CheckFiles: TypeAlias = "Callable[[Files, ImportOptions, Watch], CheckedFiles]"  # says what an import would store
_READERS: dict[str, Callable[[], CheckFiles]] = {}


def add_reader(kind: str, load: Callable[[], CheckFiles]) -> None:
    """Have uploads of one kind checked by what `load` returns; their page offers no options."""
    _READERS[kind] = load


def has_own_reader(kind: str) -> bool:
    """Return whether an app above reads uploads of this kind."""
    return kind in _READERS


def check_files(kind: str, files: Files, options: ImportOptions, watch: Watch) -> CheckedFiles:
    """Return the dry run of files."""
    if kind in _READERS:
        return _READERS[kind]()(files, options, watch)
    from judging.services.file_imports.imports import check_import

    return check_import(files=files, options=options, watch=watch)
