"""The forms of an import: its files and options."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from evalsite.base.json_types import JsonDict
from judging.models import Benchmark, Suite
from judging.services.file_imports.intake import ImportOptions
from judging.specs.replies.response_formats import RESPONSE_FORMATS
from judging.specs.replies.table_columns import ColumnField
from judging.specs.upload_kinds import UploadKind

KINDS = (
    ("", "Detect from the file"),
    (UploadKind.SUITE.value, "Suite of cases (YAML or ZIP)"),
    (UploadKind.QUESTIONS.value, "Questions with references (JSONL, CSV, XLSX)"),
    (UploadKind.LEVEL_RUBRIC.value, "Rubric (XLSX, CSV, YAML or JSON)"),
    (UploadKind.CRITERIA.value, "Criteria with levels (YAML)"),
    *((form.kind, form.label) for form in RESPONSE_FORMATS.values()),
    (UploadKind.RESPONSES_FOLDER.value, "Responses folder with params.yaml (ZIP)"),
    (UploadKind.SCALEEVAL_RESPONSES.value, "ScaleEval responses (ZIP)"),
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
    """Columns and their fields, as two inputs each, in order."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[tuple[str, str]]:
        if not hasattr(data, "getlist"):
            return []
        return list(zip(data.getlist("column"), data.getlist("field"), strict=False))


class ColumnsField(forms.Field):
    """What the columns of tables are."""

    widget = ColumnsInput

    def clean(self, value: Any) -> tuple[tuple[str, str], ...]:
        wrong = [field for _, field in value if field not in set(ColumnField)]
        if wrong:
            raise forms.ValidationError(f"A column cannot be {wrong[0]!r}. Choose what it is from the list.")
        return tuple(value)


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
            suite_id=data["suite"].pk if data["suite"] else None,
            system=data["system"].strip(),
            rubric=data["rubric"].strip(),
            allow_missing_files=data["allow_missing_files"],
            columns=data["columns"],
        )


class ImportForm(ImportOptionsForm):
    """Files and where they go."""

    uploaded = ManyFilesField(label="Files")
    paths = forms.JSONField(required=False, widget=forms.HiddenInput)  # of a folder's files, in their order
    field_order = ["uploaded"]

    def contents(self) -> list[tuple[str, bytes]]:
        """Return the uploaded files by name, those of a folder by their path in it; the form must be valid."""
        uploaded: list[UploadedFile[bytes]] = self.cleaned_data["uploaded"]
        paths = self.cleaned_data["paths"]
        names = [file.name or "upload" for file in uploaded]
        if isinstance(paths, list) and len(paths) == len(names) and all(isinstance(path, str) for path in paths):
            names = [path or name for path, name in zip(paths, names, strict=True)]
        return [(name, file.read()) for name, file in zip(names, uploaded, strict=True)]


def options_initial(options: ImportOptions) -> JsonDict:
    """Return what a form on an upload starts with."""
    return {**options.as_json(), "suite": options.suite_id}


def benchmark_names() -> list[str]:
    """Return what the benchmark field suggests."""
    return list(Benchmark.objects.order_by("name").values_list("name", flat=True)[:NEWEST_SUITES])
