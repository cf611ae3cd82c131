"""A file that a person chooses, of a size that the site takes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings


class SizedFileField(forms.FileField):
    """One file, refused where it is larger than the site takes at once."""

    def clean(self, data: object, initial: object = None) -> Any:
        """Return the upload."""
        upload = super().clean(data, initial)
        limit = settings.UPLOAD_MEGABYTES * 2**20
        if upload and upload.size > limit:
            raise forms.ValidationError(f"The file has {upload.size:,} bytes; this site takes {limit:,} at once.")
        return upload
