"""What can be done with stored versions of prompts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django import forms
from django.db.models import Q

from evalsite.base.actions.declarations import CREATE, DELETE, ActionCall, NoInput, Noun, Reference, columns
from evalsite.base.form_fields import BudgetField
from evalsite.base.types import JsonDict
from judging.actions.references import find_prompt
from judging.forms.runs import pair_judges
from judging.judges.answer_prompts import OWN
from judging.judges.registry import COMPARING, EDITABLE, judge_kind
from judging.models import Judge, PromptVersion, Response, Rubric
from judging.selectors.endpoints import active_judges
from judging.selectors.judges import needs_rubric
from judging.services.judges import delete_prompt_version, save_prompt_version, set_prompt_active


class PromptForm(forms.Form):
    """A new version of a prompt."""

    label = forms.CharField(max_length=60, label="Name", help_text="Shown in runs and on pages.")
    text = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 18, "class": "mono"}),
        strip=False,
        help_text="Keep the placeholders in double braces; the judged texts are inserted there as data.",
    )


class NewPromptForm(PromptForm):
    """A new version of a prompt, and of which."""

    name = forms.ChoiceField(
        choices=[(name, name) for name in (*EDITABLE, OWN)], label="Prompt", help_text="Name of the shipped prompt."
    )


class PromptFilterForm(forms.Form):
    """Which versions are listed."""

    name = forms.CharField(required=False, label="Prompt", help_text="Name of the shipped prompt.")


class TrialForm(forms.Form):
    """Which judge to try on a response, with which rubric and prompt version."""

    judge = forms.ModelChoiceField(
        Judge.objects.none(), empty_label="Choose a judge", help_text="Which judge is asked."
    )
    rubric = forms.ModelChoiceField(
        Rubric.objects.none(), required=False, empty_label="none", help_text="For judges that need one."
    )
    prompt = forms.ModelChoiceField(
        PromptVersion.objects.none(),
        required=False,
        label="Prompt version",
        empty_label="as set in the judge",
        help_text="A version for the same kind of judge.",
    )
    budget = BudgetField(help_text="The trial pauses before a call that could exceed it. Default: no budget.")

    def __init__(self, *args: Any, response: Response, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.judged = response
        self._models("judge").queryset = active_judges().exclude(kind__in=COMPARING).order_by("name")
        owner = Q(benchmark=response.prompt.benchmark_id) | Q(benchmark__isnull=True)
        rubrics = Rubric.objects.filter(owner).order_by("slug", "-version")
        self.rubrics = rubrics
        self._models("rubric").queryset = rubrics
        if not self.initial.get("rubric") and len(rubrics[:2]) == 1:
            self.initial["rubric"] = rubrics[0].pk
        self._models("prompt").queryset = (
            PromptVersion.objects.filter(is_active=True).exclude(name="worker").order_by("name", "label")
        )

    def _models(self, name: str) -> forms.ModelChoiceField[Any]:
        field = self.fields[name]
        assert isinstance(field, forms.ModelChoiceField)
        return field

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        judge, prompt = cleaned.get("judge"), cleaned.get("prompt")
        if judge and "rubric" not in self.errors:
            cleaned["rubric"] = self._rubric_for(judge, cleaned.get("rubric"))
        if judge and prompt and prompt_name_of(judge) != prompt.name:
            self.add_error("prompt", f"{judge} does not use the prompt {prompt.name}.")

    def prompt_options(self) -> JsonDict:
        """Return the options of the judge that the chosen prompt version stands for."""
        prompt = self.cleaned_data["prompt"]
        return {"prompt_text": prompt.text} if prompt else {}

    def _rubric_for(self, judge: Judge, chosen: Rubric | None) -> Rubric | None:
        """Return the chosen rubric or the only one that fits the judge; none for a judge that reads no rubric."""
        if not needs_rubric(judge):
            return None
        fitting = [choice.rubric for choice in pair_judges([judge], list(self.rubrics))[0]]
        return chosen or (fitting[0] if len(fitting) == 1 else None)


class JudgeTrialForm(TrialForm):
    """On which response to try one judge."""

    response = forms.ModelChoiceField(Response.objects.none(), empty_label=None)
    field_order = ("response", "rubric", "prompt")

    def __init__(self, *args: Any, judge: Judge, responses: Sequence[Response], **kwargs: Any) -> None:
        super().__init__(*args, response=responses[0], initial={"judge": judge.pk}, **kwargs)
        self.fields["judge"].widget = forms.HiddenInput()
        self._models("judge").queryset = Judge.objects.filter(pk=judge.pk)
        chosen = self._models("response")
        chosen.queryset = Response.objects.filter(pk__in=[row.pk for row in responses])
        chosen.choices = [(row.pk, f"{row.prompt.key}, {row.system}") for row in responses]
        sent = prompt_name_of(judge)
        self._models("prompt").queryset = PromptVersion.objects.filter(is_active=True, name=sent).order_by("label")
        if not needs_rubric(judge):
            del self.fields["rubric"]
        elif not self.initial.get("rubric"):
            fitting = [choice.rubric for choice in pair_judges([judge], list(self.rubrics))[0] if choice.rubric]
            self.initial["rubric"] = fitting[0].pk if fitting else None

    def clean_response(self) -> Response:
        self.judged = self.cleaned_data["response"]
        return self.judged


def prompt_name_of(judge: Judge) -> str:
    """Return which prompt a judge sends, by the name of the shipped file; empty if it asks no model."""
    return next((prompt.name for prompt in judge_kind(judge.kind).prompts_sent(judge.options)), "")


prompt_facts = columns("id", "name", "label", "sha256", "is_active", "created_at")


PROMPTS: Noun[PromptVersion] = Noun(
    name="prompt",
    plural="prompts",
    help="Store, retire, restore or delete versions of prompts, list them, or show one.",
    reference=Reference("prompt version", finder=find_prompt),
    rows=lambda _person: PromptVersion.objects.all(),
    view_permission="judging.view_judge",
    shown=prompt_facts,
    detail=lambda version: prompt_facts(version) | {"text": version.text},
    filter_form=PromptFilterForm,
    listed=lambda name: PromptVersion.objects.filter(**{"name": name} if name else {}),
)
change = partial(PROMPTS.one, permission="judging.add_judge")


@PROMPTS.new(
    CREATE,
    permission="judging.add_judge",
    form=NewPromptForm,
    said=lambda version: f"{version} is stored. Create a judge with it, or try it on a response.",
)
def create(act: ActionCall[None, NewPromptForm]) -> PromptVersion:
    """Store an edited prompt as a named version. It must have the placeholders of the shipped prompt."""
    data = act.data
    return save_prompt_version(name=data["name"], label=data["label"], text=data["text"], actor=act.actor, at=act.at)


@change("retire", said=lambda version: f"{version} is retired. Verdicts made with it are kept.")
def retire(act: ActionCall[PromptVersion, NoInput]) -> PromptVersion:
    """Offer a version for no new judge. Judges and runs keep its text."""
    return set_prompt_active(version=act.subject, is_active=False, actor=act.actor)


@change("restore", said=lambda version: f"{version} is restored.")
def restore(act: ActionCall[PromptVersion, NoInput]) -> PromptVersion:
    """Offer a retired version again."""
    return set_prompt_active(version=act.subject, is_active=True, actor=act.actor)


@change(DELETE)
def delete(act: ActionCall[PromptVersion, NoInput]) -> PromptVersion:
    """Delete a version that no judge and no run used."""
    delete_prompt_version(version=act.subject, actor=act.actor)
    return act.subject
