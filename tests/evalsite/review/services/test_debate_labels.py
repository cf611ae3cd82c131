"""Labels of debates from elsewhere: they count where they are blind, and then nobody is asked again."""

from __future__ import annotations

from typing import Any

import pytest

from debate.models import Debate, DebateStatus
from debate.services.labels import import_labels
from evalsite.review.models import Referral, ReviewItem
from evalsite.review.selectors.final_labels import labels_of_debates
from evalsite.review.services.opening_debates import open_items_for_debates
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture
def debate(settings: Any) -> Debate:
    settings.REVIEW_AUDIT_MINIMUM = 1
    return factories.debate(status=DebateStatus.AGREED, verdict=1, agreed_round=0)


def label(debate: Debate, *raters: tuple[str, str], is_blind: bool) -> None:
    rows = "".join(f"{debate.pk},{rater},{word}\n" for rater, word in raters)
    data = f"item,rater,label\n{rows}".encode()
    import_labels(data=data, file="may.csv", sets=[debate.debate_set], is_blind=is_blind, actor=None, at=NOON)


def test_nobody_is_asked_about_a_debate_that_raters_elsewhere_labelled_blind(debate: Debate) -> None:
    label(debate, ("ada", "B"), ("bob", "B"), ("cy", "A"), is_blind=True)

    opened = [open_items_for_debates(debate_set=debate.debate_set, at=NOON) for _ in range(2)]

    assert opened == [0, 0]
    found = labels_of_debates([debate.debate_set_id])[debate.pk]
    assert (found.label, found.share, found.provenance, found.is_drawn) == ("-1", 0.0, "imported", True)
    assert Referral.objects.get().item is None


def test_labels_of_debates_that_are_not_blind_stand_beside_and_people_are_asked(debate: Debate) -> None:
    label(debate, ("ada", "B"), is_blind=False)

    opened = open_items_for_debates(debate_set=debate.debate_set, at=NOON)

    assert opened == 1
    assert ReviewItem.objects.count() == 1
    found = labels_of_debates([debate.debate_set_id])[debate.pk]
    assert (found.label, found.informed_label) == (None, "-1")
