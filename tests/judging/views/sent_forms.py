"""What a browser would send of a page's form."""

from __future__ import annotations

from django.test import Client


def filled(client: Client, url: str, **changes: object) -> dict[str, object]:
    """Return what a browser would send of the form at `url`, with some fields changed."""
    form = client.get(url).context["form"]
    shown = {field.html_name: field.value() for field in form if field.value() not in (None, False)}
    return shown | changes
