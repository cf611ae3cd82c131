"""The one look of every Django form: labels, hints and errors as templates/_form.html and _field.html set them."""

from __future__ import annotations

from django.forms.renderers import TemplatesSetting


class SiteFormRenderer(TemplatesSetting):
    """For the setting FORM_RENDERER; needs django.forms among the installed apps."""

    form_template_name = "_form.html"
    field_template_name = "_field.html"
