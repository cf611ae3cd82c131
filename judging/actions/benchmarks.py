"""What can be done with benchmarks and their cases.

Another grading of a case is tried on what is stored, and kept as a new version of a suite.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.db.models import QuerySet

from evalsite.base.actions.declarations import (
    CHANGE,
    DELETE,
    ActionCall,
    ConfirmForm,
    Noun,
    Reference,
    columns,
)
from evalsite.base.types import JsonDict
from judging.actions.references import CASE, SUITE
from judging.models import Benchmark, Case, Suite
from judging.selectors.benchmarks import benchmark_rows, benchmark_runs, newest_suite_of
from judging.services.case_edits import delete_benchmark, save_edit, try_edit
from judging.services.file_imports.suites import case_spec
from judging.specs.suites.cases_yaml import case_from_yaml, case_to_yaml
from judging.stored_content import text_hash

LONGEST = 500_000  # characters


class CaseEditForm(forms.Form):
    """The grading of one case as YAML. `seen` is the hash of the text whose effect was shown last."""

    OPEN = ("suite",)

    text = forms.CharField(
        label="Grading",
        max_length=LONGEST,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 28, "class": "mono", "spellcheck": "false", "wrap": "off"}),
        help_text="YAML. Files that the rules name do not change.",
    )
    suite = forms.ModelChoiceField(
        Suite.objects.none(),
        required=False,
        widget=forms.HiddenInput,
        help_text="The version that the change is based on. Default: the newest with the case.",
    )
    seen = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, case: Case, **kwargs: Any) -> None:
        self.stored = case_spec(case)
        kwargs.setdefault("initial", {"text": case_to_yaml(self.stored)})
        super().__init__(*args, **kwargs)
        self.spec = self.stored  # as edited, once the form is valid
        suites = Suite.objects.filter(cases=case).select_related("benchmark").order_by("-number")
        self.fields["suite"].queryset = suites  # type: ignore[attr-defined]  # of its kind

    def clean_text(self) -> str:
        text = str(self.cleaned_data["text"]).replace("\r\n", "\n")
        parsed = case_from_yaml(text, self.stored)
        if parsed.value is None:
            raise forms.ValidationError([str(problem) for problem in parsed.problems])
        self.spec = parsed.value
        return text

    def clean_suite(self) -> Suite:
        """Return the suite that is changed."""
        chosen: Suite | None = self.cleaned_data["suite"] or self.fields["suite"].queryset.first()  # type: ignore[attr-defined]  # of its kind
        if chosen is None:
            raise forms.ValidationError("No suite has this case.")
        return chosen

    @property
    def text_hash(self) -> str:
        """The hash of the text as it was read; the form must be valid."""
        return text_hash(self.cleaned_data["text"])

    @property
    def was_seen(self) -> bool:
        """Whether the effect of this very text was shown before."""
        return bool(self.cleaned_data["seen"] == self.text_hash)


case_facts = columns("id", "key", "scenario", "prompt.benchmark.slug as benchmark")  # of one grading of it


def _rows(_person: object) -> QuerySet[Case]:
    return Case.objects.select_related("prompt__benchmark")


CASES: Noun[Case] = Noun(
    name="case",
    plural="cases",
    help="Try or change the grading of a case, list cases, or show one.",
    reference=CASE,
    rows=_rows,
    view_permission="judging.view_benchmark",
    shown=case_facts,
    detail=lambda case: case_facts(case) | {"grading": case_to_yaml(case_spec(case))},
    references={Suite: SUITE},
)


of_case = partial(
    CASES.one, permission="judging.add_suite", form=CaseEditForm, about="case", calls_models=True
)  # programs of a grading run meanwhile


@of_case("preview", shown=dict)
def preview(act: ActionCall[Case, CaseEditForm]) -> JsonDict:
    """Say what another grading would do to the scores of all stored responses to a case. Nothing is stored."""
    effect = try_edit(case=act.subject, suite=act.data["suite"], edited=act.form.spec)
    return {"suite": str(act.data["suite"]), "effect": effect}


@of_case(CHANGE, shown=lambda stored: {"suite": str(stored[0]), "stored": stored[1]})
def change(act: ActionCall[Case, CaseEditForm]) -> tuple[Suite, bool]:
    """Store another grading of a case as a new version of its suite. Runs on earlier versions keep their scores."""
    suite = act.data["suite"]
    return save_edit(case=act.subject, suite=suite, edited=act.form.spec, actor=act.actor, at=act.at)


class BenchmarkFilterForm(forms.Form):
    """Which benchmarks are listed."""

    q = forms.CharField(
        required=False, max_length=200, label="Search", help_text="Part of the name or the description."
    )


BENCHMARKS: Noun[Benchmark] = Noun(
    name="benchmark",
    plural="benchmarks",
    help="Delete benchmarks, list them, or show one.",
    reference=Reference("benchmark", fields=("slug", "name")),
    rows=lambda _person: Benchmark.objects.all(),
    view_permission="judging.view_benchmark",
    shown=columns(
        *("id", "slug", "name", "description", "created_at"),
        cases=lambda benchmark: getattr(newest_suite_of(benchmark), "case_count", 0),
        suites=lambda benchmark: benchmark.suites.count(),
        runs=lambda benchmark: benchmark_runs(benchmark).count(),
    ),
    filter_form=BenchmarkFilterForm,
    listed=lambda q: benchmark_rows(query=q),
)


@BENCHMARKS.one(
    DELETE,
    permission="judging.delete_benchmark",
    form=ConfirmForm,
    leads_to="judging:benchmark-list",
)
def delete(act: ActionCall[Benchmark, ConfirmForm]) -> Benchmark:
    """Delete a benchmark with its suites, cases, responses and rubrics for good, after its runs and queues."""
    return delete_benchmark(benchmark=act.subject, actor=act.actor)
