"""Teams: whose people are the members of queues, who joins or leaves them, and figures by team."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.urls import reverse

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.reports.selectors.annotations import PersonDay, work_of_queue
from evalsite.reports.services.annotators import TeamDay, pace_of_queue
from evalsite.review.models import Annotation, Assignment, Notice, OrderPolicy, Queue, Team
from evalsite.review.services.label_tables import create_queue
from evalsite.review.services.queues import change_team, create_team, delete_team, update_queue
from tests import factories
from tests.evalsite.review.services.test_queue_plans import materials
from tests.evalsite.review.views.clients import send, signed_in, take
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def people(*names: str) -> list[User]:
    return [factories.user(name, Role.ANNOTATOR) for name in names]


def members(queue: Queue) -> list[str]:
    return list(queue.members.order_by("username").values_list("username", flat=True))


def test_a_queue_given_to_a_team_has_its_people_and_who_leaves_gives_back_what_is_open() -> None:
    ben, cora = people("ben", "cora")
    ada_client, ada = signed_in("ada")
    team, queue = create_team(name="Night shift", members=[ada, ben], actor=None), factories.queue(quorum=1)
    factories.review_item(queue=queue), factories.review_item(queue=queue)
    update_queue(queue=queue, fields={"team": team}, members=[cora], actor=None, at=NOON)
    joined = members(queue)
    send(ada_client, take(ada_client, queue))
    take(ada_client, queue)

    change_team(team=team, name="Late shift", members=[ben, cora], actor=None, at=NOON)

    change_team(team=team, name="Late shift", members=[ben, cora], actor=None, at=NOON)  # the same once more
    assert list(AuditEntry.objects.filter(action="team.changed").values_list("detail", flat=True)) == [
        {"name": ["Night shift", "Late shift"], "joined": ["cora"], "left": ["ada"]}
    ]
    assert list(AuditEntry.objects.filter(action="queue.changed").values_list("detail", flat=True)) == [
        {"team": [None, "Night shift"], "joined": ["ada", "ben"]}
    ]
    assert joined == ["ada", "ben"]
    assert members(queue) == ["ben", "cora"]
    assert list(Assignment.objects.order_by("pk").values_list("status", flat=True)) == ["submitted", "withdrawn"]
    assert Annotation.objects.get().annotator == ada
    assert sorted(Notice.objects.values_list("person__username", flat=True)) == ["ada", "ben", "cora"]
    assert Team.objects.get().name == "Late shift"


def test_a_queue_that_leaves_its_team_or_whose_team_is_deleted_keeps_its_people() -> None:
    ada, ben = people("ada", "ben")
    team = create_team(name="Night shift", members=[ada], actor=None)
    plan = Queue(name="Why", source_file="rows.csv", team=team, order=OrderPolicy.GIVEN)
    left = create_queue(new_queue=plan, labels=(), material_file=materials(1), members=[ben], actor=None, at=NOON)
    kept = factories.queue(team=team)
    kept.members.add(ada)
    begun = members(left)
    update_queue(queue=left, fields={"team": None}, members=[ada, ben], actor=None, at=NOON)

    change_team(team=team, name=team.name, members=[ben], actor=None, at=NOON)
    delete_team(team=team, actor=None)

    assert begun == ["ada"]
    assert (members(left), members(kept)) == (["ada", "ben"], ["ben"])
    assert Queue.objects.filter(team=None).count() == 2


def test_the_settings_refuse_members_beside_a_team_and_more_annotators_than_it_has() -> None:
    client, _ = signed_in("rita", Role.RESEARCHER)
    ada, ben = people("ada", "ben")
    team, queue = create_team(name="Night shift", members=[ada], actor=None), factories.queue()
    entered = {"name": "Pairs", "mode": "blind", "quorum": 1, "team": team.pk}
    address = reverse("review:queue-update", args=[queue.slug])

    other = client.post(address, entered | {"members": [ben.pk]}).context["form"].errors
    few = client.post(address, entered | {"quorum": 2}).context["form"].errors
    client.post(address, entered)

    assert other == {"members": ["The members are those of Night shift. Change the team, or choose none."]}
    sentence = "2 annotators per item are more than the members chosen (1). Add members or ask fewer."
    assert few == {"quorum": [sentence]}
    assert (members(queue), Queue.objects.get().team) == (["ada"], team)


def test_the_page_of_teams_finds_people_and_makes_a_team() -> None:
    client, rita = signed_in("rita", Role.RESEARCHER)
    ada, _ = people("ada", "ben")
    address = reverse("review:team-list")

    found = client.post(address, {"name": "Night shift", "member_search": "be", "search": "1", "members": [ada.pk]})
    made = client.post(address, {"name": "Night shift", "members": [ada.pk]}, follow=True)

    assert [found.content.decode().count(f"<span>{name}</span>") for name in ("ada", "ben", "rita")] == [1, 1, 0]
    assert "<td>ada</td>" in made.content.decode()
    team = Team.objects.get()
    assert (team.name, team.created_by, list(team.members.all())) == ("Night shift", rita, [ada])


def test_somebody_elses_team_is_not_deleted_by_another_researcher() -> None:
    client, _ = signed_in("rita", Role.RESEARCHER)
    team = create_team(name="Night shift", members=people("ada"), actor=factories.user("olga", Role.RESEARCHER))

    page = client.get(reverse("review:team-list")).content.decode()
    client.post(reverse("act", args=["team", team.pk, "delete"]))

    assert "Delete this team?" not in page
    assert Team.objects.exists()


def test_tables_by_person_show_the_people_of_a_team() -> None:
    client, _ = signed_in("rita", Role.RESEARCHER)
    queue, (ada, ben) = factories.queue(quorum=2), people("ada", "ben")
    item = factories.review_item(queue=queue)
    for person in (ada, ben):
        row = factories.annotation(item=item, label="1", annotator=person, seconds=36.0)
        type(row).objects.filter(pk=row.pk).update(created_at=NOON)
    team = create_team(name="Night shift", members=[ben], actor=None)
    address = reverse("reports:agreement-detail", args=[queue.slug])

    pace = pace_of_queue(queue, work_of_queue(queue.pk), team=team, at=NOON + timedelta(days=1))
    reports = [client.get(address, {"team": key}).context["content"] for key in ("", team.pk)]

    assert pace.people == (PersonDay(NOON.date(), "ben", 1, 0, 0.01),)
    assert pace.teams == (TeamDay(NOON.date(), "Night shift", 1, 0, 0.01, people=1),)
    assert [row.annotations for row in pace.burn_down] == [2]
    assert [[row.name for row in report.raters] for report in reports] == [["ada", "ben"], ["ben"]]
    assert [[row.name for row in report.paces] for report in reports] == [["ada", "ben"], ["ben"]]
    assert reports[0].summary == reports[1].summary


def test_pace_by_team_adds_up_its_people_and_counts_who_is_in_two_teams_in_both() -> None:
    client, _ = signed_in("rita", Role.RESEARCHER)
    queue, (ada, ben, cora) = factories.queue(quorum=3), people("ada", "ben", "cora")
    item = factories.review_item(queue=queue)
    for person, seconds in ((ada, 18.0), (ben, 36.0), (cora, 90.0)):
        row = factories.annotation(item=item, label="1", annotator=person, seconds=seconds)
        type(row).objects.filter(pk=row.pk).update(created_at=NOON)
    create_team(name="Night shift", members=[ada, ben], actor=None)
    create_team(name="Day shift", members=[ben], actor=None)

    pace = pace_of_queue(queue, work_of_queue(queue.pk), at=NOON)
    page = client.get(queue.get_absolute_url()).text
    file = client.get(reverse("reports:pace-export", args=[queue.slug, "teams", "csv"])).getvalue().decode("utf-8-sig")

    assert pace.teams == (  # Ada's and Ben's 54 s, and Ben's alone
        TeamDay(NOON.date(), "Day shift", 1, 0, 0.01, people=1),
        TeamDay(NOON.date(), "Night shift", 2, 0, 0.015, people=2),
    )
    assert "Items and hours by day and team" in page
    assert file.splitlines() == [
        "day,team,people,items,cannot_judge,hours,seconds_per_item",
        f"{NOON.date()},Day shift,1,1,0,0.01,36.0",
        f"{NOON.date()},Night shift,2,2,0,0.015,27.0",
    ]


@pytest.mark.django_db(transaction=True)
def test_who_joins_a_team_while_it_gets_a_queue_joins_the_queue() -> None:
    ada, ben = people("ada", "ben")
    for _ in range(5):
        team, queue = create_team(name="Night shift", members=[ada], actor=None), factories.queue()
        start, failures = threading.Barrier(2), list[BaseException]()

        def work(act: Callable[[], object], start: threading.Barrier, failures: list[BaseException]) -> None:
            try:
                start.wait()
                act()
            except BaseException as error:
                failures.append(error)
            finally:
                connection.close()

        acts = (
            partial(update_queue, queue=queue, fields={"team": team}, members=None, actor=None, at=NOON),
            partial(change_team, team=team, name=team.name, members=[ada, ben], actor=None, at=NOON),
        )
        threads = [threading.Thread(target=work, args=(act, start, failures)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failures == []
        assert members(queue) == ["ada", "ben"]
        delete_team(team=team, actor=None)


def test_a_page_of_a_team_that_was_opened_before_somebody_changed_it_undoes_nothing() -> None:
    ada, ben, cora = people("ada", "ben", "cora")
    client, _ = signed_in("rita", Role.RESEARCHER)
    team = create_team(name="Night shift", members=[ada], actor=None)
    address = reverse("act", args=["team", team.pk, "change"])
    opened = client.get(address).context["form"]["opened_as"].value()

    def saved(*chosen: User) -> tuple[int, list[str]]:
        entered = {"name": "Night shift", "members": [person.pk for person in chosen], "opened_as": opened}
        sent.append(client.post(address, entered))
        return sent[-1].status_code, list(team.members.order_by("username").values_list("username", flat=True))

    sent: list[Any] = []
    assert saved(ada, ben) == (302, ["ada", "ben"])
    assert saved(ada, ben) == (302, ["ada", "ben"])  # the same form sent twice
    assert saved(ada, cora) == (400, ["ada", "ben"])
    assert "This was changed since the page was opened." in sent[-1].text
    opened = client.get(address).context["form"]["opened_as"].value()
    assert saved(ada, cora) == (302, ["ada", "cora"])
