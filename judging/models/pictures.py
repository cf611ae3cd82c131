"""Images of cases and responses, each stored once."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


def picture_url(digest: str) -> str:
    """Return where the image with a hash is served."""
    return reverse("judging:picture", args=[digest])


class Picture(models.Model):
    """An image as it is shown and sent; `digest` is the SHA-256 of the file that was uploaded."""

    digest = models.CharField(max_length=64, primary_key=True)
    media_type = models.CharField(max_length=20)  # image/png or image/jpeg
    data = models.BinaryField()  # encoded again: one frame, upright, without metadata
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.digest[:12]

    def get_absolute_url(self) -> str:
        return picture_url(self.digest)
