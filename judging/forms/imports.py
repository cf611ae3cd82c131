"""The forms of an import: its files and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile

from evalsite.base.actions.entries import TextsField
from evalsite.base.json_types import JsonDict
from judging.models import Benchmark, Suite
from judging.services.file_imports.intake import ImportOptions
from judging.specs.files.source_files import SourceFile, source_of, source_on_disk
from judging.specs.records.names import MENU
from judging.specs.records.recognition import RecordOptions
from judging.specs.records.shapes import COMPANION
from judging.specs.records.tables import TABLE
from judging.specs.records.tools import ALL
from judging.specs.upload_kinds import UploadKind

KINDS = (
    ("", "Detect from the file"),
    (UploadKind.SUITE.value, "Suite of cases with graders (YAML or ZIP)"),
    (UploadKind.LEVEL_RUBRIC.value, "Rubric (XLSX, CSV, YAML or JSON)"),
    (UploadKind.CRITERIA.value, "Criteria with levels (YAML)"),
    (UploadKind.RESPONSES_FOLDER.value, "Responses folder with params.yaml (ZIP)"),
    (UploadKind.SCALEEVAL_RESPONSES.value, "ScaleEval responses (ZIP)"),
    (TABLE.kind, "Table: cases, responses, pairs, scores or labels"),
    *sorted((shape.kind, shape.label) for shape in ALL if not shape.refusal and shape.stage != COMPANION),
)
NEWEST_SUITES = 500


class ManyFilesInput(forms.ClearableFileInput):
    """A file input that takes several files."""

    allow_multiple_selected = True


class ManyFilesField(forms.FileField):
    """Several uploaded files at once."""

    widget = ManyFilesInput

    def clean(self, data: Any, initial: Any = None) -> Any:
        files = data if isinstance(data, list | tuple) else [data]
        single = super().clean
        return [single(file, initial) for file in files] if any(files) else [single(None, initial)]


class ColumnsInput(forms.HiddenInput):
    """Columns and their fields, as two inputs each, in order; from programs as texts such as prompt=Question text."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[tuple[str, str]]:
        if not hasattr(data, "getlist"):
            return []
        said = [text.partition("=") for text in data.getlist(name) if text]
        return [
            *zip(data.getlist("column"), data.getlist("field"), strict=False),
            *((text, to) for to, _, text in said),
        ]

    def format_value(self, value: Any) -> None:
        """Show nothing: a page has the two inputs of each column."""


class ColumnsField(TextsField):
    """What the columns of tables are."""

    widget = ColumnsInput

    def __init__(self, **options: Any) -> None:
        said = f"ROLE=COLUMN, with one of these roles: {', '.join(MENU)}"
        super().__init__(label="What columns are", help_text=said, **options)

    def prepare_value(self, value: Any) -> list[str]:
        return [f"{field}={column}" for column, field in value or ()]

    def clean(self, value: Any) -> tuple[tuple[str, str], ...]:
        wrong = [field for column, field in value if field not in MENU or not column]
        if wrong:
            raise forms.ValidationError(f"A column cannot be {wrong[0]!r}. Choose one of these: {', '.join(MENU)}.")
        return tuple(value)


def chosen_columns(cleaned: JsonDict) -> RecordOptions:
    """Return what a valid form says of columns: nothing where another file was chosen, whose columns are its own."""
    is_other = cleaned.get("file") is not None and cleaned.get("kept")
    return RecordOptions(columns={} if is_other else dict(cleaned["columns"]))


class PairsField(forms.CharField):
    """Pairs such as `A=1, B=2`."""

    def clean(self, value: Any) -> tuple[tuple[str, str], ...]:
        pairs = [part.partition("=") for part in str(super().clean(value)).split(",") if part.strip()]
        if any(not equals or not right.strip() for _, equals, right in pairs):
            raise forms.ValidationError("Write pairs such as A=1, B=2.")
        return tuple((left.strip(), right.strip()) for left, _, right in pairs)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else ", ".join("=".join(pair) for pair in value or ())


class ImportOptionsForm(forms.Form):
    """Where an upload goes. Everything may be left empty."""

    kind = forms.ChoiceField(label="Kind", choices=KINDS, required=False)
    benchmark = forms.CharField(
        label="Benchmark",
        max_length=200,
        required=False,
        help_text="Stored or new benchmark. Default: the name in the suite, or the benchmark with these cases.",
        widget=forms.TextInput(attrs={"list": "benchmark-names", "autocomplete": "off"}),
    )
    is_new_benchmark = forms.BooleanField(
        label="The benchmark is new", required=False, help_text="Though a stored one has a name like it."
    )
    suite = forms.ModelChoiceField(
        label="Suite of the responses",
        queryset=Suite.objects.none(),
        required=False,
        empty_label="Newest of the benchmark",
    )
    system = forms.CharField(
        label="System",
        max_length=120,
        required=False,
        help_text="System of the responses if the file does not name it. Default: the name of the file.",
    )
    rubric = forms.CharField(
        label="Name of the rubric",
        max_length=200,
        required=False,
        help_text="Shown with judges that use it. An existing name adds a version. Default: the name of the file.",
    )
    allow_missing_files = forms.BooleanField(
        label="Accept missing files",
        required=False,
        help_text="Tests that need files not in the upload are then reported as not run.",
    )
    encoding = forms.CharField(
        label="Encoding",
        max_length=40,
        required=False,
        help_text="Of text files whose encoding cannot be told, such as gbk.",
    )
    step = forms.CharField(
        label="Step of traces",
        max_length=200,
        required=False,
        help_text="Name of a span, tool or agent whose words are judged. Default: the whole conversation.",
    )
    leave_out_bad_rows = forms.BooleanField(
        label="Leave out rows with errors", required=False, help_text="The rest of the file is imported."
    )
    is_blind = forms.BooleanField(
        label="Labels were given blind",
        required=False,
        help_text="The people who gave labels or preferences had not seen verdicts of machines.",
    )
    meanings = PairsField(
        label="What the values of a preference mean", required=False, help_text="Such as A=1, B=2, tie=0."
    )
    renames = PairsField(
        label="Names taken as others", required=False, help_text="Such as model-a=Model A; separated by commas."
    )
    columns = ColumnsField(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["suite"]
        if isinstance(field, forms.ModelChoiceField):
            field.queryset = Suite.objects.select_related("benchmark").order_by("-pk")

    def options(self) -> ImportOptions:
        """Return the options as entered; the form must be valid."""
        data = self.cleaned_data
        return ImportOptions(
            kind=data["kind"],
            benchmark=data["benchmark"].strip(),
            is_new_benchmark=data["is_new_benchmark"],
            suite_id=data["suite"].pk if data["suite"] else None,
            system=data["system"].strip(),
            rubric=data["rubric"].strip(),
            allow_missing_files=data["allow_missing_files"],
            columns=data["columns"],
            meanings=data["meanings"],
            renames=data["renames"],
            encoding=data["encoding"].strip(),
            leave_out_bad_rows=data["leave_out_bad_rows"],
            step=data["step"].strip(),
            is_blind=data["is_blind"],
        )


class ImportForm(ImportOptionsForm):
    """Files and where they go."""

    uploaded = ManyFilesField(label="Files")
    paths = forms.JSONField(required=False, widget=forms.HiddenInput)  # of a folder's files, in their order
    field_order = ["uploaded"]

    def contents(self) -> list[SourceFile]:
        """Return the uploaded files by name, those of a folder by their path in it; the form must be valid."""
        uploaded: list[UploadedFile[bytes]] = self.cleaned_data["uploaded"]
        paths = self.cleaned_data["paths"]
        names = [file.name or "upload" for file in uploaded]
        if isinstance(paths, list) and len(paths) == len(names) and all(isinstance(path, str) for path in paths):
            names = [path or name for path, name in zip(paths, names, strict=True)]
        return [_source(name, file) for name, file in zip(names, uploaded, strict=True)]


def _source(name: str, file: UploadedFile[bytes]) -> SourceFile:
    """Return an uploaded file, which is on disk where it is large."""
    path = file.temporary_file_path() if isinstance(file, TemporaryUploadedFile) else ""
    return source_on_disk(name, Path(path)) if path else source_of(name, file.read())


def options_initial(options: ImportOptions) -> JsonDict:
    """Return what a form on an upload starts with."""
    return {**options.as_json(), "suite": options.suite_id}


def benchmark_names() -> list[str]:
    """Return what the benchmark field suggests."""
    return list(Benchmark.objects.order_by("name").values_list("name", flat=True)[:NEWEST_SUITES])
