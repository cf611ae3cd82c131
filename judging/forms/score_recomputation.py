"""The form for options that only scores depend on."""

from __future__ import annotations

import json

from django import forms

from evalsite.base.actions.declarations import PageData
from evalsite.base.json_types import JsonDict
from judging.forms.esi import EsiOptionsForm, entered_of
from judging.forms.judges import option_field
from judging.judges.registry import KINDS, judge_kind
from judging.models import EvaluatorKind, Run
from judging.selectors.score_options import can_rescore, scoring_options
from judging.services.evaluation.esi_tasks import options_of


class RescoreForm(EsiOptionsForm):
    """The options of one evaluator of a run that change scores and nothing that it is asked."""

    def __init__(self, data: PageData | None = None, *, run: Run, evaluator: str) -> None:
        self.fitting = [each for each in run.evaluators.order_by("position") if can_rescore(each)]
        named = [each for each in self.fitting if evaluator in ("", each.name, str(each.pk))]
        self.evaluator = named[0] if len(named) == 1 else None
        self.is_index = self.evaluator is not None and self.evaluator.kind == EvaluatorKind.INDEX
        super().__init__(data, initial=entered_of(options_of(run)) if self.is_index else None)
        index_fields = {name: self.fields[name] for name in EsiOptionsForm.base_fields}
        self.fields = index_fields if self.is_index else self._judge_fields()

    @property
    def history(self) -> list[JsonDict]:
        """The earlier options, the newest first."""
        return [] if self.evaluator is None else list(reversed(self.evaluator.options.get("history", [])))

    def _judge_fields(self) -> dict[str, forms.Field]:
        if self.evaluator is None:
            return {}
        kind, names = judge_kind(self.evaluator.options["judge_kind"]), scoring_options(self.evaluator)
        now = kind.complete_options(self.evaluator.options["judge_options"])
        return {option.name: option_field(option, now[option.name]) for option in kind.options if option.name in names}

    def clean(self) -> JsonDict:
        if self.evaluator is None:
            names = ", ".join(each.name for each in self.fitting) or "none in this run"
            raise forms.ValidationError(f"Say whose scores: {names}.")
        unknown = next((name for name in self.base_fields if name in self.data and name not in self.fields), None)
        if unknown is not None:
            raise forms.ValidationError(f"{self.evaluator.name} has no option {unknown} that affects only scores.")
        return super().clean() if self.is_index else self.cleaned_data

    def chosen(self) -> JsonDict:
        """Return a judge's options as entered; the form must be valid."""
        return {
            name: json.loads(value) if isinstance(self.fields[name], forms.ChoiceField) else value
            for name, value in self.cleaned_data.items()
        }


RescoreForm.base_fields |= {
    option.name: option_field(option, option.default)
    for kind in reversed(KINDS.values())
    for option in kind.options
    if option.scoring_only_if or not option.affects_calls
}
