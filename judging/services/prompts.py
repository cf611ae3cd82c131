"""Stores edited prompts as named versions; the shipped files stay as they are."""

from __future__ import annotations

import hashlib
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from judging import signals
from judging.judges.answering import OWN, SHIPPED, check_worker_prompt
from judging.judges.prompt_texts import BadPrompt, chosen_prompt
from judging.models import PromptVersion

EDITABLE: dict[str, str] = {  # prompt file -> the kind of judge that sends it
    "level_cascade_holistic": "level_cascade",
    "level_cascade_itemised": "level_cascade",
    "relevance": "relevance",
    "accuracy": "accuracy",
    "integrity": "integrity",
    "pairwise": "pairwise",
    "generic": "generic",
}


class PromptRefused(ValueError):
    """The prompt cannot be stored as it is; the message is shown on the page."""


@transaction.atomic
def save_prompt_version(*, name: str, label: str, text: str, actor: User | None, at: datetime) -> PromptVersion:
    """Store an edited text under a name of its own; it is never changed afterwards.

    Raises:
        PromptRefused: it lacks a placeholder or has one too many, or its label or text is there already.
    """
    text, label = text.replace("\r\n", "\n").strip(), label.strip()
    _check(name, label, text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    twin = PromptVersion.objects.filter(Q(label=label) | Q(sha256=digest), name=name).first()
    if twin is not None:
        what = "This text is" if twin.sha256 == digest else "This name is"
        raise PromptRefused(f"{what} there already, as {twin.label}.")
    version = PromptVersion.objects.create(
        name=name, label=label, text=text, sha256=digest, created_at=at, created_by=actor
    )
    signals.acted.send(
        sender=PromptVersion,
        actor_id=actor.pk if actor else None,
        action="prompt.added",
        subject=f"{name}: {label}",
        subject_id=version.pk,
        detail={"sha256": digest},
    )
    return version


def _check(name: str, label: str, text: str) -> None:
    if not text or not label:
        raise PromptRefused("A version needs a name and a text.")
    try:
        if name == OWN:
            check_worker_prompt(text)
        else:
            chosen_prompt(name, text)
    except BadPrompt as problem:
        raise PromptRefused(str(problem)) from None
    if name == OWN and label.upper() in SHIPPED:
        raise PromptRefused(f"{label.upper()} is a shipped version; choose another name.")
