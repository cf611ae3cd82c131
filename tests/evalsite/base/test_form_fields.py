from __future__ import annotations

import pytest
from django import forms

from evalsite.base.types import JsonDecoder
from evalsite.review.forms import PartsField
from judging.forms.endpoints import JsonObjectField

pytestmark = pytest.mark.backend_free
DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "field", [forms.JSONField(decoder=JsonDecoder), PartsField(), JsonObjectField(example="{}", rows=2)]
)
def test_json_that_is_nested_too_deeply_is_refused_and_shown_as_it_was_entered(field: forms.JSONField) -> None:
    class Entered(forms.Form):
        said = field

    form = Entered({"said": DEEP})

    assert (form.is_valid(), list(form.errors)) == (False, ["said"])
    assert form.fields["said"].prepare_value(form.fields["said"].bound_data(DEEP, None)) == DEEP
