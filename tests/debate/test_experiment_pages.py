"""New sets by method and plan through the form, experiments, labels, and the way to people."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from debate.forms import DebateSetForm
from debate.models import DebateSet, Experiment, OutsideLabel
from evalsite.accounts.roles import Role
from judging.models import Case
from tests import factories
from tests.debate import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(factories.user(role=Role.RESEARCHER))
    return client


def entered(**changes: Any) -> dict[str, Any]:
    """Return a filled-in form with one lexical judge `x` and another `y`."""
    judges = [factories.endpoint(name=name, kind="lexical", model="criterion", base_url="") for name in ("x", "y")]
    wish = rows.wish("One?", "Two?", endpoints=judges)
    form = DebateSetForm(initial={})
    data = {name: field.initial for name, field in form.fields.items() if field.initial is not None}
    data |= {
        "suite": wish.suite.pk,
        "system_a": wish.system_a.pk,
        "system_b": wish.system_b.pk,
        "criterion": f"{wish.rubric.pk}:helpfulness",
        "endpoints": [judges[0].pk, judges[1].pk],
        "mode": "simultaneous",
        "visibility": "previous",
        "agent_order": "permutations",
    }
    return data | changes


def text_of(response: Any, status: int = 200) -> str:
    assert response.status_code == status, response.status_code
    return str(response.content.decode())


def test_set_create_takes_one_endpoint_as_two_agents(researcher: Client) -> None:
    data = entered()
    twice = data["endpoints"][0]

    researcher.post(reverse("debate:set-create"), data | {"endpoints": [twice, "", twice, "", ""]})

    made = DebateSet.objects.get()
    assert (made.method, made.setup["endpoints"]) == ("debate", ["x", "x"])


def test_set_create_makes_each_baseline(researcher: Client) -> None:
    data = entered()
    one = data["endpoints"][:1]

    for more in (
        {"method": "single", "endpoints": one},
        {"method": "self-consistency", "endpoints": one, "samples": 4, "temperature": 0.7},
        {"method": "multi-judge"},
    ):
        assert researcher.post(reverse("debate:set-create"), data | more).status_code == 302

    made = [(one.method, one.setup["samples"], one.setup["endpoints"]) for one in DebateSet.objects.order_by("pk")]
    assert made == [("single", 1, ["x"]), ("self-consistency", 4, ["x"]), ("multi-judge", 2, ["x", "y"])]


def test_set_create_samples_one_judge_three_times_above_temperature_0_by_default(researcher: Client) -> None:
    data = entered()

    page = text_of(researcher.get(reverse("debate:set-create")))
    for more in ({}, {"method": "self-consistency", "endpoints": data["endpoints"][:1]}):
        assert researcher.post(reverse("debate:set-create"), data | more).status_code == 302

    assert "several models that discuss, then the most frequent answer" in page
    made = [(one.method, one.setup["samples"], one.setup["temperature"]) for one in DebateSet.objects.order_by("pk")]
    assert made == [("debate", 1, 0.0), ("self-consistency", 3, 0.7)]


def test_set_create_refuses_two_single_judges_in_words(researcher: Client) -> None:
    data = entered(method="single")

    page = text_of(researcher.post(reverse("debate:set-create"), data), 400)
    estimate = text_of(researcher.get(reverse("debate:set-estimate"), data))

    assert "Single judge needs exactly one judge; 2 were chosen." in page
    assert "Single judge needs exactly one judge; 2 were chosen." in estimate
    assert not DebateSet.objects.exists()


def test_set_create_compares_every_two_of_three_systems(researcher: Client) -> None:
    data = entered(plan="round-robin")
    third = factories.system()
    first = Case.objects.filter(links__suite=data["suite"]).order_by("pk")[0]
    case = factories.case(benchmark=first.prompt.benchmark)
    case.links.create(suite_id=data["suite"], position=9)
    factories.response(prompt=case.prompt, system=third)
    systems = [data.pop("system_a"), data.pop("system_b"), third.pk]

    too_few = text_of(researcher.post(reverse("debate:set-create"), data | {"systems": systems[:2]}), 400)
    response = researcher.post(reverse("debate:set-create"), data | {"systems": systems})

    made = Experiment.objects.get()
    assert "Choose at least 3 systems." in too_few
    assert response.headers["Location"] == made.get_absolute_url()
    assert made.sets.count() == 1  # the third has no response to what the others answered
    assert "Not compared" in text_of(researcher.get(made.get_absolute_url()))


def test_set_create_makes_six_conditions_of_a_criterion(researcher: Client) -> None:
    data = entered(plan="robustness", variant_seed=7)
    estimate = text_of(researcher.get(reverse("debate:set-estimate"), data))

    response = researcher.post(reverse("debate:set-create"), data)

    made = Experiment.objects.get()
    assert "12 in 6 sets" in estimate
    assert response.headers["Location"] == made.get_absolute_url()
    assert made.options == {"criterion": "helpfulness", "seed": 7, "given": []}
    assert "masked" in text_of(researcher.get(made.get_absolute_url()))


def test_set_list_filters_by_method(researcher: Client) -> None:
    rows.debate_set(name="A debate")
    rows.debate_set(name="A baseline", method="single")

    page = text_of(researcher.get(reverse("debate:set-list"), {"method": "single"}))

    assert "A baseline" in page
    assert "A debate" not in page


def test_set_detail_links_to_its_own_queue(researcher: Client) -> None:
    owner = rows.debate(votes=((1, -1),)).debate_set
    other = factories.queue(slug="another", name="Another")
    queue = factories.queue(slug="mine", name="Mine", debate_set=owner)

    page = text_of(researcher.get(owner.get_absolute_url()))

    assert f'href="{queue.get_absolute_url()}"' in page
    assert other.get_absolute_url() not in page


def test_label_create_stores_a_table_and_lists_what_is_wrong(researcher: Client) -> None:
    debate = rows.debate()
    address = reverse("debate:label-create", args=[debate.debate_set_id])

    def send(text: str) -> Any:
        upload = SimpleUploadedFile("may.csv", f"item,rater,label\n{text}".encode())
        return researcher.post(address, {"file": upload})

    wrong = text_of(send(f"{debate.pk},ada,better"))
    right = send(f"{debate.pk},ada,A")

    assert "Nothing was stored." in wrong
    assert "line 2" in wrong
    assert '<option value="label" selected>' in wrong
    assert right.headers["Location"] == debate.debate_set.get_absolute_url()
    assert OutsideLabel.objects.get().verdict == 1
    assert "ada (1)" in text_of(researcher.get(address))


def test_label_delete_removes_the_labels_of_one_file(researcher: Client) -> None:
    debate = rows.debate()
    page = reverse("debate:label-create", args=[debate.debate_set_id])
    researcher.post(page, {"file": SimpleUploadedFile("may.csv", f"item,rater,label\n{debate.pk},ada,A".encode())})

    address = reverse("debate:label-delete", args=[debate.debate_set_id])
    told = [text_of(researcher.post(address, {"file": "may.csv"}, follow=True)) for _ in range(2)]

    assert "1 label of “may.csv” deleted" in told[0]
    assert "The set has no labels of a file" in told[1]
    assert "ada" not in told[0]
    assert not OutsideLabel.objects.exists()


def test_labels_of_raters_alike_and_in_own_words_are_taken_as_the_refusal_says(researcher: Client) -> None:
    """The page and the command named fields and options, to say that they were two, which neither of them had."""
    debate = rows.debate()
    address, data = reverse("debate:label-create", args=[debate.debate_set_id]), SimpleUploadedFile
    text = f"item,rater,label\n{debate.pk},Ann,links\n{debate.pk},ann,rechts".encode()

    wrong = text_of(researcher.post(address, {"file": data("may.csv", text)}))
    right = {"file": data("may.csv", text), "renames": "ann=ann", "meanings": "A=links, B=rechts"}
    answer = researcher.post(address, right)

    assert "Write ann=Ann under Names taken as others if they are one, else ann=ann." in wrong
    assert all(f'for="id_{name}"' in wrong for name in ("renames", "meanings", "encoding"))
    assert answer.headers["Location"] == debate.debate_set.get_absolute_url()
    assert list(OutsideLabel.objects.order_by("rater").values_list("rater", "verdict")) == [("Ann", 1), ("ann", -1)]
