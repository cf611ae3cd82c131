"""Forms of importing Lunar-Bench's settings: the file, then what the site needs beside it."""

from __future__ import annotations

from typing import Any

from django import forms

from judging.forms.files import SizedFileField
from judging.models import Suite
from judging.services.runs.lunar_imports import ROLES, LunarDataset, LunarImport


class LunarFileForm(forms.Form):
    """The file, whose keys of APIs are never read."""

    file = SizedFileField(label="settings.json")


class LunarImportForm(forms.Form):
    """The suite of each data set, and the variables that hold the keys of new endpoints."""

    settings = forms.CharField(widget=forms.HiddenInput)  # without keys of APIs: `LunarSettings.to_json`

    def __init__(self, *args: Any, planned: LunarImport, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.planned = planned
        self.initial = {"settings": planned.settings.to_json(), **self.initial}
        self.roles = [role for role in ROLES if any(one.pk is None for one in planned.endpoints[role])]
        for role in self.roles:
            self.fields[f"{role}_key_variable"] = forms.CharField(
                required=False,
                max_length=100,
                label=f"Key variable, {role}",
                initial=planned.endpoints[role][0].key_variable,
                help_text="NAME of the environment variable that contains the key, ending in _KEY or _TOKEN.",
            )
        for number, dataset in enumerate(planned.datasets):
            self.fields[f"suite_{number}"] = forms.ModelChoiceField(
                Suite.objects.select_related("benchmark").order_by("-created_at", "-pk"),
                required=False,
                label=f"Suite of {dataset.name}",
                initial=dataset.suite,
                empty_label="choose",
                help_text=dataset.advice,
            )

    def key_fields(self) -> list[forms.BoundField]:
        """Return the fields of key variables, for the template."""
        return [self[f"{role}_key_variable"] for role in self.roles]

    def rows(self) -> list[tuple[LunarDataset, forms.BoundField]]:
        """Return each data set with the field of its suite."""
        return [(dataset, self[f"suite_{number}"]) for number, dataset in enumerate(self.planned.datasets)]

    def key_variables(self) -> dict[str, str]:
        """Return what was entered by role; the form must be valid."""
        return {role: self.cleaned_data[f"{role}_key_variable"] for role in self.roles}

    def suites(self) -> dict[str, Suite]:
        """Return the suites that were chosen, by data set; the form must be valid."""
        chosen = {one.name: self.cleaned_data[f"suite_{n}"] for n, one in enumerate(self.planned.datasets)}
        return {name: suite for name, suite in chosen.items() if suite is not None}
