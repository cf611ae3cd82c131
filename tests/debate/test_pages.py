"""Every page of the debate room, rendered through the whole site."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from debate.models import DebateSet, DebateStatus, Statement
from debate.services.creating import create_debate_set
from evalsite.accounts.roles import Role
from judging.models import Run, RunStatus
from judging.services import working
from tests import factories
from tests.debate import rows
from tests.debate.services.test_importing import folder
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(factories.user(role=Role.RESEARCHER))
    return client


def text_of(response: Any) -> str:
    assert response.status_code == 200, response.status_code
    return str(response.content.decode())


def test_pages_are_closed_to_annotators(client: Client) -> None:
    client.force_login(factories.user(role=Role.ANNOTATOR))
    debate = rows.debate()

    addresses = [
        reverse("debate:set-list"),
        reverse("debate:set-create"),
        reverse("debate:set-estimate"),
        reverse("debate:record-create"),
        debate.debate_set.get_absolute_url(),
        reverse("debate:set-progress", args=[debate.debate_set_id]),
        debate.get_absolute_url(),
        reverse("debate:debate-live", args=[debate.pk]),
    ]

    assert [client.get(address).status_code for address in addresses] == [403] * 8


def test_set_list_invites_where_there_is_nothing(researcher: Client) -> None:
    assert "No debates yet" in text_of(researcher.get(reverse("debate:set-list")))


def test_set_list_takes_the_same_queries_for_three_sets_as_for_one(
    researcher: Client, django_assert_num_queries: Any
) -> None:
    address = reverse("debate:set-list")
    counts = []
    for more in (1, 2):
        for _ in range(more):
            rows.debate()
        with django_assert_num_queries(LIST_QUERIES):
            page = text_of(researcher.get(address))
        counts.append(page.count('<th scope="row">'))
    assert counts == [1, 3]


def test_set_list_filters_and_sorts_on_the_server(researcher: Client) -> None:
    rows.debate_set(name="Beta")
    rows.debate_set(name="Alpha")

    page = text_of(researcher.get(reverse("debate:set-list"), {"sort": "name"}))
    found = text_of(researcher.get(reverse("debate:set-list"), {"q": "alp"}))
    none = text_of(researcher.get(reverse("debate:set-list"), {"source": "run"}))

    assert page.index("Alpha") < page.index("Beta")
    assert "Beta" not in found
    assert "No set fits" in none


def test_set_detail_takes_the_same_queries_for_three_debates_as_for_one(
    researcher: Client, django_assert_num_queries: Any
) -> None:
    owner = rows.debate_set()
    for votes in (((1, 1),), ((1, -1), (0, 1)), ((None, 1),)):
        rows.debate(owner=owner, votes=votes)
        with django_assert_num_queries(DETAIL_QUERIES):
            page = text_of(researcher.get(owner.get_absolute_url()))
    assert page.count('<th scope="row" class="nowrap">') == 3


def test_set_detail_filters_by_status(researcher: Client) -> None:
    owner = rows.debate_set()
    agreed, open_one = rows.debate(owner=owner), rows.debate(owner=owner, votes=((1, 0),))

    page = text_of(researcher.get(owner.get_absolute_url(), {"status": "unresolved"}))

    assert open_one.case.key in page
    assert agreed.case.key not in page


def test_set_detail_shows_who_moved_toward_whom(researcher: Client) -> None:
    owner = rows.debate_set()
    rows.debate(owner=owner, votes=((1, -1), (1, 1)))

    page = text_of(researcher.get(owner.get_absolute_url(), {"tab": "speakers"}))

    assert "Over 1 settled debate." in page
    assert "judge-2" in page


def test_set_progress_polls_only_while_the_run_is_active(researcher: Client) -> None:
    made = create_debate_set(
        wish=rows.wish("One?", endpoints=[factories.endpoint(), factories.endpoint()]), actor=None, at=NOON
    )
    address = reverse("debate:set-progress", args=[made.pk])

    moving = text_of(researcher.get(address))
    Run.objects.update(status=RunStatus.FINISHED)
    still = text_of(researcher.get(address))

    assert 'hx-trigger="every 2s"' in moving
    assert "hx-trigger" not in still


def test_debate_detail_marks_changes_of_mind(researcher: Client, django_assert_num_queries: Any) -> None:
    debate = rows.debate(votes=((1, 1, -1), (1, 1, 1)))

    with django_assert_num_queries(DEBATE_QUERIES):
        page = text_of(researcher.get(debate.get_absolute_url()))

    assert page.count("data-change") == 1
    assert "first to change: B to A, toward seat 1, 2" in page
    assert page.count("moved seat 3") == 2
    assert page.count("data-statement") == 6
    # Open: both that moved seat 3, the dissenter, and its change; folded: the two that agreed and changed nothing.
    assert page.count("\n         open>") == 4


def test_debate_detail_compares_answers_on_demand(researcher: Client) -> None:
    debate = rows.debate()
    debate.response_a.text, debate.response_b.text = "The red fox", "The blue fox"
    debate.response_a.save()
    debate.response_b.save()

    page = text_of(researcher.get(debate.get_absolute_url(), {"diff": "1"}))

    assert ">The <del>red </del>fox</div>" in page
    assert ">The <ins>blue </ins>fox</div>" in page


def test_debate_detail_escapes_what_models_wrote(researcher: Client) -> None:
    debate = rows.debate()
    Statement.objects.update(text="<script>alert(1)</script><img src=x onerror=alert(2)>\n\n1")

    page = text_of(researcher.get(debate.get_absolute_url()))

    assert "alert(1)</script>" not in page
    assert "<img" not in page.partition('id="debate-transcript"')[2]


def test_debate_detail_is_not_found_where_there_is_none(researcher: Client) -> None:
    assert researcher.get(reverse("debate:debate-detail", args=[99])).status_code == 404


def test_debate_live_shows_what_the_ledger_holds(researcher: Client, fake_llm: FakeLLM) -> None:
    """The opening is answered and stored as calls; the debate itself is not over."""
    fake_llm.config(reply="Neither.\n\n0")
    speakers = [factories.endpoint(name=name, model=name, base_url=fake_llm.url) for name in ("x", "y")]
    made = create_debate_set(
        wish=rows.wish("One?", endpoints=speakers, stop_on_consensus=False, max_rounds=1), actor=None, at=NOON
    )
    assert made.run is not None
    working.work_through(run_id=made.run.pk, threads=2, now=lambda: NOON)
    debate = made.debates.get()
    Statement.objects.all().delete()
    made.debates.update(status=DebateStatus.RUNNING, verdict=None)
    Run.objects.update(status=RunStatus.RUNNING)
    discussion = [call.pk for call in made.run.calls.all() if ", opening:" in call.request["messages"][1]["content"]]
    assert len(discussion) == 2
    made.run.calls.filter(pk__in=discussion).delete()

    page = text_of(researcher.get(reverse("debate:debate-live", args=[debate.pk])))

    assert page.count("data-statement") == 2
    assert "Waiting for " in page
    assert 'hx-trigger="every 2s"' in page


def test_set_create_starts_debates(researcher: Client, django_capture_on_commit_callbacks: Any) -> None:
    wish = rows.wish("One?", endpoints=[factories.endpoint(), factories.endpoint()])

    answer = researcher.post(reverse("debate:set-create"), _entered(wish))

    made = DebateSet.objects.get()
    assert answer["Location"] == made.get_absolute_url()
    assert made.debates.count() == 1
    assert made.run is not None
    assert made.run.created_by is not None


def test_set_create_says_why_it_refuses(researcher: Client) -> None:
    wish = rows.wish("One?", endpoints=[factories.endpoint(), factories.endpoint()])

    page = text_of(researcher.post(reverse("debate:set-create"), {**_entered(wish), "system_b": wish.system_a.pk}))

    assert "Choose two different systems" in page
    assert not DebateSet.objects.exists()


def test_set_estimate_counts_calls(researcher: Client) -> None:
    wish = rows.wish("One?", "Two?", endpoints=[factories.endpoint(), factories.endpoint()])

    page = text_of(researcher.get(reverse("debate:set-estimate"), _entered(wish)))

    assert "4 if all agree at once, at most 24" in page
    assert "have no price" in page


def test_record_create_checks_and_confirms(researcher: Client, settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in folder().items():
            archive.writestr(path, text)
    packed.seek(0)
    packed.name = "records.zip"

    checked = researcher.post(reverse("debate:record-create"), {"file": packed})
    assert "3 debates, 12 statements in 1 new set" in " ".join(text_of(checked).split())
    assert not DebateSet.objects.exists()
    confirmed = researcher.post(reverse("debate:record-confirm", args=[checked.context["token"]]))

    assert confirmed["Location"] == reverse("debate:set-list")
    assert DebateSet.objects.get().debates.count() == 3
    assert list(tmp_path.rglob("*.zip")) == []


def test_record_create_refuses_what_is_no_record(researcher: Client, settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    upload = io.BytesIO(b"not a zip")
    upload.name = "records.zip"

    page = text_of(researcher.post(reverse("debate:record-create"), {"file": upload}))

    assert "Nothing in this file can be imported" in page


def test_record_confirm_refuses_a_token_that_leads_elsewhere(researcher: Client) -> None:
    answer = researcher.post(reverse("debate:record-confirm", args=["..%2Fevalsite"]), follow=True)

    assert "not kept any more" in text_of(answer)


def _entered(wish: Any) -> dict[str, Any]:
    return {
        "suite": wish.suite.pk,
        "system_a": wish.system_a.pk,
        "system_b": wish.system_b.pk,
        "criterion": f"{wish.rubric.pk}:{wish.criterion}",
        "endpoints": [endpoint.pk for endpoint in wish.endpoints],
        "max_rounds": 2,
        "mode": "simultaneous",
        "visibility": "previous",
        "seating": "permutations",
        "stop_on_consensus": "on",
        "seed": 0,
        "temperature": 0,
        "max_tokens": 512,
    }


LIST_QUERIES = 7  # four of them for session, person, rights and the rail
DETAIL_QUERIES = 9
DEBATE_QUERIES = 9
