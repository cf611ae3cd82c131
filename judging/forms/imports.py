"""The forms of an import: its files and options; fields for an uploaded file, and for one kept until confirmed."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.utils.datastructures import MultiValueDict

from evalsite.base.actions.entries import NamesField, TextsField
from evalsite.base.types import JsonDecoder, JsonDict
from judging.models import Benchmark, Suite
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.upload_store import UploadExpired, read_upload, store_upload
from judging.specs.files.bundles import SourceFile, source_of, source_on_disk
from judging.specs.records.names import MENU
from judging.specs.records.parts import RecordOptions
from judging.specs.records.shapes import COMPANION
from judging.specs.records.tables import TABLE
from judging.specs.records.tools import ALL
from judging.specs.upload_kinds import UploadKind


class SizedFileField(forms.FileField):
    """One file, refused where it is larger than the site takes at once."""

    def clean(self, data: object, initial: object = None) -> Any:
        """Return the upload."""
        upload = super().clean(data, initial)
        limit = settings.UPLOAD_MEGABYTES * 2**20
        if upload and upload.size > limit:
            raise forms.ValidationError(f"The file has {upload.size:,} bytes; the limit of this site is {limit:,}.")
        return upload


class KeptFileForm(forms.Form):
    """A file that is looked at before it is stored: between the two it is kept, and `kept` is its token."""

    kept = forms.CharField(required=False, widget=forms.HiddenInput)
    kept_name = forms.CharField(required=False, widget=forms.HiddenInput)
    file = SizedFileField(label="File")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if self.data.get("kept"):
            file = self.fields["file"]
            file.required = False
            file.help_text = f"{self.data.get('kept_name')} is already uploaded. Choose a file only to replace it."

    def clean(self) -> None:
        """Read the file that was chosen, or the one that was looked at before, into `file_name` and `contents`."""
        super().clean()
        data = self.cleaned_data
        if data.get("file") is not None:
            data |= {"file_name": data["file"].name, "contents": data["file"].read()}
        elif data.get("kept"):
            try:
                data |= {"file_name": data["kept_name"], "contents": read_upload(data["kept"])}
            except UploadExpired as refusal:
                self.add_error("file", str(refusal))

    def entries_with_kept_file(self, *, at: datetime) -> MultiValueDict[str, Any]:
        """Keep the file and return what was entered together with its token."""
        assert isinstance(self.data, MultiValueDict), "only what came in a request is kept"
        entered = self.data.copy()
        entered["kept"] = store_upload(self.cleaned_data["contents"], at=at)
        entered["kept_name"] = self.cleaned_data["file_name"]
        return entered


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
QUOTE = '"'


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


class ColumnsInput(forms.MultipleHiddenInput):
    """Roles of columns: texts such as prompt=Question text, what was changed in menus, and the answer to a question.
    Each menu sends `column`, `field` and `shown`: the role that it showed, none where it asked for one. The answer is a
    JSON list of such texts."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[tuple[str, str]]:
        if not hasattr(data, "getlist"):
            return []
        menus = zip_longest(*map(data.getlist, ("column", "field", "shown")))
        changed = {column: role for column, role, shown in menus if role and role != shown}
        changed |= {column: role for role, _, column in _parts(_answer(data.get("answer", ""))) if role[:2] != "--"}
        said = _parts(data.getlist(name))
        return [*((column, role) for role, _, column in said if column not in changed), *changed.items()]


def _parts(texts: Iterable[str]) -> list[tuple[str, str, str]]:
    return [text.partition("=") for text in texts if text]


def _answer(text: str) -> list[str]:
    """Return what the button of an answer sends; nothing where it is none that a page has."""
    with suppress(ValueError):
        texts = json.loads(text, cls=JsonDecoder)
        if isinstance(texts, list) and all(isinstance(each, str) for each in texts):
            return texts
    return []


class ColumnsField(TextsField):
    """What the columns of tables are."""

    widget = ColumnsInput
    is_repeated = True
    other_flags = ("--map",)  # that messages about columns name

    def __init__(self, *, beside: Collection[str] = (), **options: Any) -> None:
        self._taken = {*MENU, *beside}
        said = f"ROLE=COLUMN, with one of these roles: {', '.join(MENU)}"
        super().__init__(label="What columns are", help_text=said, **options)

    def prepare_value(self, value: Any) -> list[str]:
        return [f"{field}={column}" for column, field in value or ()]

    def clean(self, value: Any) -> tuple[tuple[str, str], ...]:
        wrong = [field for column, field in value if field not in self._taken or not column]
        if wrong:
            raise forms.ValidationError(f"A column cannot be {wrong[0]!r}. Choose one of these: {', '.join(MENU)}.")
        return tuple(value)


class PairsField(NamesField):
    """Pairs such as `A=1, B=2`; one that contains a comma stands in double quotes."""

    def clean(self, value: Any) -> tuple[tuple[str, str], ...]:
        try:
            parts = next(csv.reader([str(super().clean(value))], skipinitialspace=True), [])
        except csv.Error:
            parts = [" "]
        pairs = [part.partition("=") for part in parts if part]
        if any(not equals or not right.strip() for _, equals, right in pairs):
            raise forms.ValidationError("Write pairs such as A=1, B=2.")
        return tuple((left.strip(), right.strip()) for left, _, right in pairs)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else ", ".join(map(_quoted, map("=".join, value or ())))


class BlindField(forms.BooleanField):
    """Whether nobody had seen what machines said."""

    other_flags = ("--blind",)


class MeaningsField(PairsField):
    """What the values of a preference say."""

    WORDS = ("A", "B", "tie")

    def __init__(self) -> None:
        said = "Such as A=1, B=2, tie=0."
        super().__init__(label="What the values of a preference mean", required=False, help_text=said)

    def clean(self, value: Any) -> tuple[tuple[str, str], ...]:
        pairs = super().clean(value)
        if any(word.lower() not in map(str.lower, self.WORDS) for word, _ in pairs):
            raise forms.ValidationError("Write what each value means, such as A=1, B=2, tie=0.")
        return pairs


def _quoted(text: str) -> str:
    """Return an entry of a line of CSV."""
    return f'"{text.replace(QUOTE, QUOTE * 2)}"' if "," in text or text.startswith(QUOTE) else text


def _with_answered_fields(data: Any) -> Any:
    """Return what was entered with the fields of an answer; what stands in one that takes several stays."""
    entered = data
    for name, _, value in _parts(_answer(data.get("answer", ""))):
        if name.startswith("--"):
            entered = entered.copy()
            field = name.removeprefix("--")
            texts = [entered.get(field), _quoted(value)] if field == "renames" else [value]
            entered[field] = ", ".join(filter(None, texts))
    return entered


class ReadingForm(forms.Form):
    """How tables are read, where their names and values do not say it or messages about them ask. The answer of a
    button (`answer`) may be fields too: --encoding=gbk."""

    encoding = forms.CharField(
        label="Encoding",
        max_length=40,
        required=False,
        help_text="Of text files whose encoding cannot be told, such as gbk.",
    )
    meanings = MeaningsField()
    renames = PairsField(label="Names taken as others", required=False, help_text='Such as model-a=Model A, "a, b=C".')
    columns = ColumnsField(required=False, beside=MeaningsField.WORDS)

    def __init__(self, data: Any = None, *arguments: Any, **options: Any) -> None:
        super().__init__(data and _with_answered_fields(data), *arguments, **options)

    def clean(self) -> None:
        """Take `--map A=1,B=2,tie=0` for what the values of a preference mean, as messages about these say it."""
        super().clean()
        data = self.cleaned_data
        columns, words = data.get("columns", ()), MeaningsField.WORDS
        try:
            said = MeaningsField().clean(", ".join(f"{role}={text}" for text, role in columns if role in words))
        except forms.ValidationError as problem:
            self.add_error("columns", problem)
            return
        data["columns"] = tuple((column, role) for column, role in columns if role not in words)
        data["meanings"] = (*data.get("meanings", ()), *said)


class RecordFileForm(ReadingForm, KeptFileForm):
    """A file of tables that is kept until it is stored, and how it is read."""

    OPEN: tuple[str, ...] = ("columns",)

    @property
    def reading(self) -> RecordOptions:
        """What a valid form says: nothing of columns where another file was chosen, whose columns are its own."""
        data = self.cleaned_data
        is_other = data.get("file") is not None and data.get("kept")
        return RecordOptions(
            columns={} if is_other else dict(data["columns"]),
            meanings=dict(data["meanings"]),
            renames=dict(data["renames"]),
            encoding=data["encoding"],
        )

    def entries_with_kept_file(self, *, at: datetime) -> MultiValueDict[str, Any]:
        """Keep the file, and of the columns what was said of this one."""
        entered = super().entries_with_kept_file(at=at)
        entered.setlist("columns", [f"{role}={column}" for column, role in self.reading.columns.items()])
        entered.setlist("field", [])
        return entered


class ImportOptionsForm(ReadingForm):
    """Where an upload goes. Everything may be left empty."""

    field_order = ["kind", "benchmark", "is_new_benchmark", "suite", "system", "rubric", "allow_missing_files"]

    kind = forms.ChoiceField(
        label="Kind",
        choices=KINDS,
        required=False,
        error_messages={"invalid_choice": "There is no kind “%(value)s”. Choose one of the list."},
    )
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
    step = forms.CharField(
        label="Step of traces",
        max_length=200,
        required=False,
        help_text="Name of a span, tool or agent whose words are judged. Default: the whole conversation.",
    )
    leave_out_bad_rows = forms.BooleanField(
        label="Leave out rows with errors", required=False, help_text="The rest of the file is imported."
    )
    is_blind = BlindField(
        label="Labels were given blind",
        required=False,
        help_text="The people who gave labels or preferences had not seen verdicts of machines.",
    )

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
            encoding=data["encoding"],
            leave_out_bad_rows=data["leave_out_bad_rows"],
            step=data["step"].strip(),
            is_blind=data["is_blind"],
        )


class ImportForm(ImportOptionsForm):
    """Files and where they go."""

    uploaded = ManyFilesField(label="Files")
    paths = forms.JSONField(decoder=JsonDecoder, required=False, widget=forms.HiddenInput)  # of a folder's files
    field_order = ["uploaded", *ImportOptionsForm.field_order]

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
