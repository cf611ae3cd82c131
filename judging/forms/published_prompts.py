"""The fields that ask what the placeholders of a pasted prompt are, and what a form makes of the answers."""

from __future__ import annotations

from copy import copy
from typing import Any, cast

from django import forms
from django.utils.datastructures import MultiValueDict

from evalsite.base.json_types import JsonDict, JsonObject
from judging.judges.kinds.published_prompts import AS_TEXT, filled_in, placeholders_of, texts_by_role, words_for
from judging.judges.prompt_texts import VARIABLES, BadPrompt

PROMPT, SYSTEM = "option_prompt_text", "option_system_text"
PREFIX = "placeholder_"  # of the field of a placeholder
CHECK = "The prompt has placeholders of another tool. Check what each will be, then save again: %s."


class PublishedPrompt:
    """A prompt that was entered in a form: a pasted conversation is split, and each placeholder has a field."""

    def __init__(self, form: forms.Form, stored: JsonObject) -> None:
        """Add the fields. What is in single braces in the judge's `stored` texts was said to be text before."""
        self._form, self._names, self._problem, self._unknown = form, list[str](), "", ""
        self.questions: list[tuple[str, bool]] = []  # what each placeholder will be, and whether somebody must say it
        self._is_confirmed = True
        self._data = cast("MultiValueDict[str, Any]", copy(form.data))  # a copy of a request's data can be changed
        if form.is_bound:
            form.data = self._data
            self._split()
            self._ask(placeholders_of(*(str(stored.get(name, "")) for name in ("prompt_text", "system_text"))))

    def _split(self) -> None:
        data = self._data
        try:
            parts = texts_by_role(data.get(PROMPT) or "")
        except BadPrompt as problem:
            self._problem = str(problem)
            return
        if parts is not None:
            data[PROMPT] = parts.prompt
            data[SYSTEM] = parts.system or data.get(SYSTEM, "")

    def _ask(self, confirmed: JsonObject) -> None:
        data = self._data
        given = self._given()
        choices = [(name, f"{{{{ {name} }}}}: {meaning}") for name, meaning in VARIABLES.items()]
        for name, variable in placeholders_of(data.get(SYSTEM) or "", data.get(PROMPT) or "").items():
            if name in confirmed:
                continue
            self._names.append(name)
            chosen = data.get(PREFIX + name) or variable
            words = f"{{{name}}} stays text." if chosen == AS_TEXT else words_for(name, chosen)
            self.questions.append((words, not chosen))
            self._form.fields[PREFIX + name] = forms.ChoiceField(
                label=f"{{{name}}}",
                choices=[("", "Choose"), *choices, (AS_TEXT, "text of the prompt, as it is")],
                help_text=words_for(name, variable),
                error_messages={"required": f"Say what {{{name}}} is."},
            )
            if PREFIX + name not in data:
                data[PREFIX + name] = given.get(name, variable)
                self._is_confirmed = self._is_confirmed and name in given
        self._unknown = next((name for name in given if name not in self._names), "")

    def _given(self) -> dict[str, str]:
        """Return what a program said that placeholders are, by name."""
        pairs = (pair.partition("=") for pair in self._data.getlist("placeholders"))
        return {name.strip(): variable for name, _, variable in pairs}

    def clean(self, cleaned: JsonDict) -> JsonDict:
        """Return the form's values with the variables in the place of the placeholders, once somebody has seen them."""
        if self._problem:
            self._form.add_error(PROMPT, self._problem)
        if not self._is_confirmed:
            words = (f"{name}={self._data[PREFIX + name] or '?'}" for name in self._names)
            self._form.add_error(None, CHECK % ", ".join(words))
        if self._unknown:
            self._form.add_error(None, f"The prompt has no placeholder {{{self._unknown}}}.")
        variables = {name: cleaned[PREFIX + name] for name in self._names if PREFIX + name in cleaned}
        texts = {name: filled_in(cleaned[name], variables) for name in (PROMPT, SYSTEM) if cleaned.get(name)}
        return cleaned | texts
