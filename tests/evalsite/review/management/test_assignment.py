"""`queue next` and `assignment`: what an annotator sees and says by command is what their page shows and takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalsite.accounts.roles import Role
from evalsite.base.actions.declarations import declared_nouns
from evalsite.review.models import Annotation, Assignment
from evalsite.review.models.items import address_of
from evalsite.review.questions.scales import labels_from_json, shown_label
from evalsite.review.services.claims import hand_item
from tests import factories
from tests.factories import NOON
from tests.judging.management.test_run_commands import refusal, run_command

REPOSITORY = Path(__file__).resolve().parents[4]
declared_nouns()  # which a command does where it is started by a shell
NEXT = ("queue", "next", "pairs", "--by", "ada")


@pytest.mark.django_db
def test_an_annotator_sees_the_next_item_blind_and_gives_the_label_as_it_is_seen() -> None:
    factories.user("ada", Role.ANNOTATOR)
    item = factories.review_item(queue=factories.queue(slug="pairs", quorum=1))

    taken = run_command(*NEXT)
    said = ("assignment", "annotate", taken["id"], "--by", "ada")
    off_scale = refusal(*said, "--label", "7")
    done = run_command(*said, "--label", "1", "--note", "A cites it")

    claim, stored = Assignment.objects.get(), Annotation.objects.get()
    texts = [response.text if response else "" for response in (item.response_a, item.response_b)]
    seen = texts[::-1] if claim.swapped else texts
    assert (taken["item"], taken["state"], taken["verdicts"]) == (address_of(item.pk), "work", [])
    assert [side["text"] for side in taken["responses"]] == seen
    assert off_scale.startswith("“7” is not on")
    assert (done["id"], done["status"], done["annotation"]) == (claim.pk, "submitted", "A is better")
    labels = labels_from_json(item.subject.labels)
    assert (stored.label, stored.note) == (shown_label("1", labels, swapped=claim.swapped), "A cites it")
    assert refusal(*NEXT) == "All items of this queue have their annotations."


@pytest.mark.django_db
def test_nobody_sees_or_acts_on_the_items_of_others_or_one_that_is_only_reserved() -> None:
    ada, item = factories.user("ada", Role.ANNOTATOR), factories.review_item(queue=factories.queue(slug="pairs"))
    factories.user("bo", Role.ANNOTATOR)
    factories.user("vic", Role.VIEWER)
    claim = hand_item(item_id=item.pk, person=ada, actor=None, reason="her field", at=NOON)

    reserved = run_command("assignment", "show", claim.pk)
    started = Assignment.objects.get().heartbeat_at

    assert (reserved["item"], reserved["status"], "question" in reserved, started) == (
        item.address,
        "leased",
        False,
        None,
    )
    told = refusal("assignment", "annotate", claim.pk, "--label", "1", "--by", "bo")
    assert told == f"There is no assignment “{claim.pk}”. There are none yet."
    assert refusal("queue", "next", "pairs", "--by", "vic") == (
        "“vic” may not do this. Name somebody who may with --by."
    )
    assert refusal("assignment", "flag", claim.pk) == "This is done in a person's name. Say in whose: --by NAME."
    assert not Annotation.objects.exists()


def test_a_verb_that_another_module_declares_is_found_by_the_command_alone() -> None:
    command = [sys.executable, "manage.py", "queue", "next", "--help"]

    environment = {**os.environ, "EVALSITE_SECRET_KEY": "only-for-a-test"}

    told = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True).stdout

    assert told.startswith("usage: manage.py queue next [-h] [--by NAME] [--json] QUEUE")
