"""Meta-evaluation, arena and robustness: figures worked out by hand, pages and downloads through the whole site."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape
from math import exp
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from openpyxl import load_workbook

from debate.models import Debate, DebateSet, Experiment
from debate.services.set_tables import DebateLabelUpload, import_labels
from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from evalsite.reports import jobs
from evalsite.reports.services import snapshots
from evalsite.reports.services.debate_reports import compute_arena, compute_debates, compute_robustness
from evalsite.reports.services.judge_bias import DEBATE_BIAS, compute_debate_bias
from judging.models import System
from judging.statistics.estimates import share_of
from tests import factories
from tests.debate import rows
from tests.factories import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(factories.user(role=Role.RESEARCHER))
    return client


def text_of(response: Any) -> str:
    assert response.status_code == 200, response.status_code
    return str(response.content.decode())


def judged(debate: Debate, *, method: str, vote: int | None, owner: DebateSet | None = None, **setup: Any) -> DebateSet:
    """Return a set of a baseline that decided about the same pair."""
    of = debate.debate_set
    owner = owner or rows.debate_set(
        system_a=of.system_a,
        system_b=of.system_b,
        method=method,
        source="run",
        setup={**of.setup, "endpoints": ["solo"], **setup},
    )
    decision = rows.debate(owner=owner, votes=((vote,),))
    decision.status, decision.verdict = ("unresolved", None) if vote is None else ("agreed", vote)
    decision.case, decision.response_a, decision.response_b = debate.case, debate.response_a, debate.response_b
    decision.cost, decision.call_count = "0.50", 1
    decision.save()
    return owner


def four_debates() -> list[Debate]:
    """Return debates of two judges: A at once, A after a round, B at once, and one that stays open."""
    owner = rows.debate_set()
    votes = (((1, 1),), ((1, -1), (1, 1)), ((-1, -1),), ((0, 1), (0, 1), (0, 1)))
    return [rows.debate(owner=owner, votes=rounds) for rounds in votes]


def label(debate: Debate, **raters: int) -> None:
    """Import what raters elsewhere said of a debate, blind."""
    words = {1: "A", 0: "tie", -1: "B"}
    lines = "".join(f"{debate.pk},{rater},{words[verdict]}\n" for rater, verdict in raters.items())
    data = f"item,rater,label\n{lines}".encode()
    upload = DebateLabelUpload(data, "t.csv", is_blind=True)
    import_labels(upload=upload, sets=[debate.debate_set], actor=None, at=NOON)


def evaluator(content: dict[str, Any], key: str) -> dict[str, Any]:
    return next(row for row in content["evaluators"] if row["key"] == key)


def test_compute_debates_counts_rounds_agreement_and_what_goes_to_people() -> None:
    four_debates()

    content = compute_debates(0, {}).content

    assert content["rounds"] == [
        {"round": 0, "n": 2},
        {"round": 1, "n": 1},
        {"round": 2, "n": 0},
        {"round": None, "n": 1},
    ]
    assert (content["n"], content["resolved"], content["people"]["unresolved"]) == (4, 3, 1)
    first, second = evaluator(content, "independent:judge-1"), evaluator(content, "independent:judge-2")
    assert (first["example"]["value"], first["of_all"]["value"]) == (1.0, 0.75)  # right on the three agreed ones
    assert (second["example"]["value"], second["example"]["n"]) == (pytest.approx(2 / 3), 3)  # it was moved once
    assert (first["a"], first["tie"], first["b"]) == (2, 1, 1)
    assert first["first"]["value"] == pytest.approx(2 / 3)  # A was shown first throughout
    # Leave one out: the other's last vote alone is no agreement of others.
    assert first["leave_one_out"]["value"] is None


def test_compute_debates_joins_people_by_debate_and_settles_open_ones_by_rule() -> None:
    debates = four_debates()
    label(debates[0], ada=1, bob=1)
    label(debates[2], ada=1, bob=1)  # people disagree with the debate
    label(debates[3], ada=0, bob=0)

    unanimous = compute_debates(0, {}).content
    adjudicated = compute_debates(0, {"rule": "adjudicated"}).content
    people = compute_debates(0, {"rule": "human"}).content

    assert [content["resolved"] for content in (unanimous, adjudicated, people)] == [3, 4, 3]
    assert unanimous["people"]["agreed_debates"]["reason"] == "Too few: 2 of 20."
    assert unanimous["people"]["fleiss"]["value"] == 1.0
    # an open debate abstains; it was once counted as wrong
    assert evaluator(unanimous, "debate")["people"]["reason"].startswith("A debate without agreement has no outcome")
    # people decided these outcomes, so the debate is not compared with them
    assert evaluator(people, "debate")["example"]["value"] is None
    assert evaluator(adjudicated, "independent:judge-1")["example"]["value"] == 1.0


def test_debate_report_offers_the_rule_of_the_papers_table(researcher: Client) -> None:
    four_debates()

    response = researcher.get(reverse("reports:debate-report"), {"rule": "majority_tie0"})

    content = compute_debates(0, {"rule": "majority_tie0"}).content
    assert (content["n"], content["resolved"]) == (4, 4)  # the debate without a majority is a tie
    assert '<option value="majority_tie0" selected' in response.content.decode()


def test_compute_debates_sets_baselines_beside_debates_on_the_same_pairs() -> None:
    debates = four_debates()
    label(debates[0], ada=1)
    label(debates[1], ada=1)
    label(debates[2], ada=-1)
    label(debates[3], ada=0)
    owner = judged(debates[0], method="single", vote=1)
    for debate, vote in zip(debates[1:], (-1, -1, None), strict=True):
        judged(debate, method="single", vote=vote, owner=owner)
    judged(debates[0], method="single", vote=-1, perturbation="masked")  # perturbed criteria are no baseline
    Experiment.objects.create(kind="robustness", name="x", created_at=NOON)
    DebateSet.objects.filter(setup__perturbation="masked").update(experiment=Experiment.objects.get())

    content = compute_debates(0, {}).content

    single = evaluator(content, "method:Single judge: solo")
    assert (single["asked"], single["missing"], single["calls"], single["cost"]) == (4, 1, 4, 2.0)
    assert single["example"]["value"] == pytest.approx(2 / 3)
    assert single["people"]["reason"] == "Too few: 3 of 20."
    assert (single["calls_per_decision"], single["cost_per_decision"]) == (4 / 3, pytest.approx(2 / 3))
    assert single["agreements_per_dollar"] == 1.0  # two for two dollars
    # Too few labels for people to be the reference; the debate is not compared with itself.
    assert content["reference"] == "debates"
    assert [(p["first"], p["second"], p["difference"]["reason"]) for p in content["pairs"]] == [
        ("judge-1", "judge-2", "Too few: 3 of 30."),
        ("judge-1", "Single judge: solo", "Too few: 3 of 30."),
        ("judge-2", "Single judge: solo", "Too few: 3 of 30."),
    ]


def test_debate_report_filters_shows_people_and_exports_the_papers_tables(researcher: Client) -> None:
    debates = four_debates()
    label(debates[0], ada=1, bob=-1)
    label(debates[2], ada=-1, bob=-1)
    page = text_of(researcher.get(reverse("reports:debate-report"), {"rule": "majority", "criterion": "helpfulness"}))
    none = text_of(researcher.get(reverse("reports:debate-report"), {"scenario": "nowhere"}))

    assert "Agreement by round" in page
    assert '<svg class="rounds"' in page
    assert "Fleiss" in page
    assert "No finished debate to evaluate" in none
    for table in ("judges", "people", "fleiss", "evaluators", "differences"):
        for format_name in ("csv", "xlsx", "tex"):
            address = reverse("reports:debate-export", args=[table, format_name])
            response = researcher.get(address)
            data = bytes(response.getvalue())
            assert response.status_code == 200
            if format_name == "csv":
                assert len(list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))) > 1
            elif format_name == "xlsx":
                assert load_workbook(io.BytesIO(data)).active is not None
            else:
                assert data.startswith(b"% needs \\usepackage{booktabs}")
    assert researcher.get(reverse("reports:debate-export", args=["judges", "pdf"])).status_code == 404
    assert researcher.get(reverse("reports:debate-export", args=["secrets", "csv"])).status_code == 404


def test_debate_report_takes_the_same_queries_for_three_debates_as_for_one(
    researcher: Client, django_assert_num_queries: Any
) -> None:
    owner = rows.debate_set()
    for _ in range(3):
        rows.debate(owner=owner)
        with django_assert_num_queries(REPORT_QUERIES):
            text_of(researcher.get(reverse("reports:debate-report")))


def test_debate_items_lists_what_a_figure_counts_and_differences_first(researcher: Client) -> None:
    debates = four_debates()
    label(debates[3], ada=0)
    figure = {"evaluator": "independent:judge-2", "against": "outcome"}

    response = researcher.get(reverse("reports:debate-items"), figure)
    people = researcher.get(reverse("reports:debate-items"), figure | {"against": "people"})
    never = researcher.get(reverse("reports:debate-items"), {"of_round": "never"})

    # Three debates have an outcome; judge-2 opened on B in the second, which ended with A.
    listed = [(row["row"].pk, row["labels"], row["outcome"], row["differs"]) for row in response.context["rows"]]
    assert listed == [
        (debates[1].pk, ["B better"], "A better", True),
        (debates[0].pk, ["A better"], "A better", False),
        (debates[2].pk, ["B better"], "B better", False),
    ]
    assert [row["row"].pk for row in people.context["rows"]] == [debates[3].pk]
    assert [row["row"].pk for row in never.context["rows"]] == [debates[3].pk]
    assert reverse("debate:debate-detail", args=[debates[1].pk]) in text_of(response)


def test_debate_report_links_every_figure_to_as_many_debates_as_it_counts(researcher: Client) -> None:
    debates = four_debates()
    label(debates[0], ada=1)
    label(debates[1], ada=-1)
    address = reverse("reports:debate-items")

    page = text_of(researcher.get(reverse("reports:debate-report"), {"rule": "majority"}))
    counts = [researcher.get(unescape(link)).context["total"] for link in re.findall(rf'href="({address}[^"]*)"', page)]

    assert counts == [
        *(2, 1, 1),  # agreed at the independent round, in the first round, never
        *(3, 3),  # of two judges: debates with an outcome; too few are labelled for figures from people
        *(3, 3),  # the only cell
        *(2, 4, 4, 3),  # win rates: labels of people, of two judges, outcomes
        2,  # labelled in the only cell
        3,  # the pair of judges, compared by the outcomes
    ]
    assert re.findall(r'<details class="fold card-body" id="([a-z-]+)"( data-keep-open)>', page) == [
        ("debate-cells", " data-keep-open"),
        ("people-cells", " data-keep-open"),
        ("debate-pairs", " data-keep-open"),
    ]  # closed: a table of 42 rows is three screens long


def three_systems() -> list[System]:
    return [factories.system(name=name) for name in ("ant", "bee", "cow")]


def contest(a: System, b: System, *verdicts: int) -> DebateSet:
    owner = rows.debate_set(system_a=a, system_b=b)
    for verdict in verdicts:
        rows.debate(owner=owner, votes=((verdict, verdict),))
    return owner


def test_compute_arena_ranks_three_systems_from_agreed_debates() -> None:
    ant, bee, cow = three_systems()
    contest(ant, bee, 1, 1, 1, -1)
    contest(bee, cow, 1, 1, 1, -1)
    contest(ant, cow, 1, 1, 1, 0)

    content = compute_arena(0, {})

    assert [row["system"] for row in content["whole"]["rows"]] == ["ant", "bee", "cow"]
    strengths = [row["strength"]["value"] for row in content["whole"]["rows"]]
    assert sum(strengths) == pytest.approx(0)
    # Expected wins at the fitted strengths are the wins that were counted: 3 + 3.5 for ant (Ford 1957).
    expected = sum(4 / (1 + exp(other - strengths[0])) for other in strengths[1:])
    assert expected == pytest.approx(6.5, abs=1e-6)
    pair = content["pairs"][0]
    assert pair.pop("win_rate")["value"] == 0.75
    assert pair.pop("equal_length")["reason"] == pair.pop("length_effect")["reason"] == "Too few: 4 of 30."
    assert pair == {"first": "ant", "second": "bee", "wins": 3, "ties": 0, "losses": 1, "undecided": 0}


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [((1, 1), "needs debates of three or more systems"), ((1, -1), "needs debates of three or more systems")],
)
def test_compute_arena_says_why_there_is_no_ranking(verdicts: tuple[int, ...], sentence: str) -> None:
    ant, bee, _ = three_systems()
    contest(ant, bee, *verdicts)

    assert sentence in compute_arena(0, {})["whole"]["reason"]


def test_compute_arena_gives_the_same_debates_the_same_interval() -> None:
    ant, bee, cow = three_systems()
    for a, b in ((ant, bee), (bee, cow), (ant, cow)):
        contest(a, b, 1, 1, 1, -1, 0, 0, 1)

    content = compute_arena(0, {})

    # One scenario: it holds the debates of the whole, 21 cases.
    assert content["whole"]["rows"] == content["by_scenario"][0]["rows"]
    assert content["whole"]["rows"][0]["strength"]["low"] is not None


def test_compute_arena_gives_a_rank_to_what_tests_tell_apart() -> None:
    ant, bee, cow = three_systems()
    contest(ant, bee, *[1] * 11, *[-1] * 9)
    contest(bee, cow, *[1] * 26, *[-1] * 4)
    contest(ant, cow, *[1] * 26, *[-1] * 4)

    ranking = compute_arena(0, {})["whole"]

    assert [(row["system"], row["ranks"]) for row in ranking["rows"]] == [
        ("ant", [1, 2]),
        ("bee", [1, 2]),
        ("cow", [3, 3]),
    ]


def test_compute_arena_of_few_cases_shows_no_interval() -> None:
    ant, bee, cow = three_systems()
    for a, b in ((ant, bee), (bee, cow), (ant, cow)):
        contest(a, b, 1, 1, -1)

    row = compute_arena(0, {})["whole"]["rows"][0]

    assert (row["ranks"], row["strength"]["low"]) == ([1, 3], None)
    assert row["strength"]["reason"] == "Too few cases for an interval: 9 of 20."


def people_settle(debate: Debate, label: int | None, *, arm: str = "routed") -> None:
    """Store what people decided of a debate: None is not decided yet."""
    queue = getattr(debate.debate_set, "queue", None) or factories.queue(debate_set=debate.debate_set)
    status = "open" if label is None else "settled"
    text = "" if label is None else str(label)
    factories.review_item(queue=queue, debate=debate, arm=arm, status=status, label=text)


def test_compute_arena_counts_what_people_decided() -> None:
    """People decided 60 open debates 20 to 0 for the first of each pair, and all systems stayed tied at 0."""
    ant, bee, cow = three_systems()
    for a, b in ((ant, bee), (bee, cow), (ant, cow)):
        owner = rows.debate_set(system_a=a, system_b=b)
        for _ in range(20):
            people_settle(rows.debate(owner=owner, votes=((1, -1), (1, -1))), 1)

    for rule in ("adjudicated", "human"):
        content = compute_arena(0, {"rule": rule})

        ranks = [(row["system"], row["ranks"]) for row in content["whole"]["rows"]]
        assert ranks == [("ant", [1, 1]), ("bee", [2, 2]), ("cow", [3, 3])]
        assert (content["whole"]["n"], content["undecided"]) == (60, 0)
    assert compute_arena(0, {})["undecided"] == 60


def test_compute_arena_ranks_one_criterion() -> None:
    """A ranking over "All sets" pooled debates about different criteria."""
    ant, bee, cow = three_systems()
    for criterion, verdict in (("helpfulness", 1), ("creativity", -1), ("helpfulness", 1)):
        for a, b in ((ant, bee), (bee, cow), (ant, cow)):
            owner = rows.debate_set(system_a=a, system_b=b, criterion=criterion)
            for _ in range(10):
                rows.debate(owner=owner, votes=((verdict, verdict),))

    helpful, creative = compute_arena(0, {}), compute_arena(0, {"criterion": "creativity"})

    assert (helpful["criterion"], helpful["debates"], helpful["criteria"]) == (
        "helpfulness",
        60,
        ["creativity", "helpfulness"],
    )
    assert [[row["system"] for row in content["whole"]["rows"]] for content in (helpful, creative)] == [
        ["ant", "bee", "cow"],
        ["cow", "bee", "ant"],
    ]


def test_agreement_with_people_weights_the_audit_for_all_that_agreed() -> None:
    # 90 agreed debates that people would confirm in nine of ten, 30 of them audited; 30 open ones. The judge votes
    # A each time: right in 90% of the agreed and, people saying B, in none of the open. Truth .675; pooled .45.
    owner = rows.debate_set()
    agreed = [rows.debate(owner=owner, votes=((1, 1), (1, 1))) for _ in range(90)]
    undecided = [rows.debate(owner=owner, votes=((1, -1), (1, -1))) for _ in range(30)]
    for index, debate in enumerate(agreed[:30]):
        people_settle(debate, 1 if index < 27 else -1, arm="audit")
    for debate in undecided:
        people_settle(debate, -1)

    content = compute_debates(0, {}).content

    judge, debates = evaluator(content, "independent:judge-1"), evaluator(content, "debate")
    assert judge["people"]["value"] == pytest.approx(0.675)
    assert (judge["people_decided"]["value"], debates["people_decided"]["value"]) == (pytest.approx(0.9),) * 2
    assert content["people"]["agreed_debates"]["value"] == pytest.approx(0.9)
    assert content["wins"][0]["people"]["value"] == pytest.approx(0.675)  # pooled it was 45%
    # The two say the same wherever the debate decided: no difference, where once a judge was 50 points ahead.
    pair = next(row for row in content["pairs"] if {row["first"], row["second"]} == {"judge-1", "Debate"})
    assert (pair["difference"]["value"], pair["separated"]) == (0.0, False)


def test_a_debate_that_people_decided_is_not_compared_with_those_people() -> None:
    owner = rows.debate_set()
    for verdict in (1, -1) * 20:
        people_settle(rows.debate(owner=owner, votes=((1, -1), (1, -1))), verdict)

    for rule in ("adjudicated", "human"):
        content = compute_debates(0, {"rule": rule}).content

        debates = evaluator(content, "debate")
        assert (debates["example"]["value"], debates["people_decided"]["value"]) == (None, None)
        assert evaluator(content, "independent:judge-1")["people"]["value"] == pytest.approx(0.5)


def test_the_system_level_compares_labels_of_the_same_debates() -> None:
    """A judge that was right in every debate that agreed had "other mode", since it was asked about open ones too."""
    # right in all six that agreed; in seven open ones it says B
    owner = rows.debate_set()
    for _ in range(6):
        rows.debate(owner=owner, votes=((1, 1), (1, 1)))
    for _ in range(7):
        rows.debate(owner=owner, votes=((-1, 1), (-1, 1)))

    cell = compute_debates(0, {}).content["cells"][0]["evaluators"]["independent:judge-1"]

    assert (cell["example"]["value"], cell["system"], cell["direction"]) == (1.0, True, True)


def test_arena_of_two_systems_says_once_why_and_shows_their_win_rate(researcher: Client) -> None:
    ant, bee, _ = three_systems()
    contest(ant, bee, 1, 1, 1, -1)

    page = text_of(researcher.get(reverse("reports:arena")))

    # Once as a note; beside the parts a win rate stands in place of the sentence.
    assert page.count("A ranking needs debates of three or more systems; there are 2.") == 1
    assert page.count("75.0%") >= 2  # of the pair, of the scenario
    assert "Win rate of ant against bee" in page


@pytest.mark.parametrize("table", ["ranking", "pairs"])
def test_arena_export_never_computes_a_long_report_itself(
    researcher: Client, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    ant, bee, _ = three_systems()
    contest(ant, bee, 1, -1)
    launched: list[Any] = []
    monkeypatch.setattr(snapshots, "INLINE_ROWS", 0)

    def enqueue(work: object, *arguments: Any, job_id: str) -> bool:
        launched.append(arguments)
        return True

    monkeypatch.setattr(jobs, "enqueue_once", enqueue)

    waiting = researcher.get(reverse("reports:arena-export", args=[table, "csv"]))
    jobs.compute_report(*launched[0])
    ready = researcher.get(reverse("reports:arena-export", args=[table, "csv"]))

    assert (waiting.status_code, waiting["Retry-After"], len(launched)) == (202, "5", 1)
    assert "are being computed" in waiting.text
    assert ready.status_code == 200


def test_compute_arena_names_groups_that_cannot_be_compared() -> None:
    ant, bee, cow = three_systems()
    contest(ant, bee, 1, -1)
    contest(cow, factories.system("dog"), 1, 1)

    ranking = compute_arena(0, {})["whole"]

    assert ranking["rows"] == []
    assert ranking["groups"] == [["ant", "bee"], ["cow", "dog"]]
    assert "No comparison links these groups" in ranking["reason"]


def test_arena_shows_and_exports_the_ranking(researcher: Client) -> None:
    ant, bee, cow = three_systems()
    for a, b in ((ant, bee), (bee, cow), (ant, cow)):
        contest(a, b, 1, 1, -1, 0)

    page = text_of(researcher.get(reverse("reports:arena")))
    data = bytes(researcher.get(reverse("reports:arena-export", args=["ranking", "csv"])).getvalue())

    assert page.count("1-3. ant") == 1  # by scenario
    lines = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert [line["part"] for line in lines] == ["all"] * 3 + ["scenario"] * 3


def test_compute_robustness_holds_each_judge_against_the_debates(researcher: Client) -> None:
    owner = rows.debate_set()
    debates = [rows.debate(owner=owner, votes=((1, 1),)) for _ in range(8)]
    experiment = Experiment.objects.create(
        kind="robustness", name="Robustness", options={"criterion": "helpfulness", "seed": 3}, created_at=NOON
    )
    votes: dict[str, list[int | None]] = {
        "none": [*[1] * 8],
        "masked": [*[-1] * 6, 1, None],
        "flipped": [*[1] * 7, 0],
    }
    for perturbation, judge_votes in votes.items():
        owner_set = None
        for debate, vote in zip(debates, judge_votes, strict=True):
            owner_set = judged(debate, method="single", vote=vote, owner=owner_set, perturbation=perturbation)
        assert owner_set is not None
        DebateSet.objects.filter(pk=owner_set.pk).update(experiment=experiment)

    content = compute_robustness(experiment.pk, {})
    page = text_of(researcher.get(reverse("reports:robustness-detail", args=[experiment.pk])))

    (judge,) = content["judges"]
    cells = {cell["perturbation"]: cell for cell in judge["cells"]}
    assert [cells[name]["agreement"]["value"] for name in votes] == [1.0, 0.125, 0.875]
    # Seven of eight lost is a fall whatever the number; one of eight says nothing (once "Holds").
    assert (cells["masked"]["drop"]["value"], cells["flipped"]["drop"]["value"]) == (0.875, 0.125)
    assert (cells["masked"]["verdict"], cells["flipped"]["verdict"]) == ("falls", "cannot tell")
    assert cells["masked"]["same"]["value"] == pytest.approx(1 / 7)
    assert judge["lost"] == ["letters masked"]
    assert "Loses agreement" in page

    out = io.StringIO()
    call_command("report", "robustness", "--experiment", str(experiment.pk), "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"experiment": {"id": experiment.pk, "name": "Robustness"}} | content


def perturbed_set(debates: list[Debate], votes: list[int], *, perturbation: str, experiment: Experiment) -> None:
    """Store a judge's verdicts on the pairs of these debates under a perturbed criterion."""
    owner = None
    for debate, vote in zip(debates, votes, strict=True):
        owner = judged(debate, method="single", vote=vote, owner=owner, perturbation=perturbation)
    assert owner is not None
    DebateSet.objects.filter(pk=owner.pk).update(experiment=experiment)


@pytest.mark.parametrize(
    ("intact", "perturbed", "finding"),
    [
        ([1, -1] * 30, [1, -1] * 30, "holds"),  # right throughout
        ([1, 1] * 30, [1, 1] * 30, "cannot tell"),  # never reads the criterion, and agrees as a coin does
        ([1, -1] * 30, [-1, 1] * 30, "falls"),
    ],
)
def test_robustness_holds_only_where_it_is_shown(intact: list[int], perturbed: list[int], finding: str) -> None:
    owner = rows.debate_set()
    debates = [rows.debate(owner=owner, votes=((verdict, verdict),)) for verdict in [1, -1] * 30]
    experiment = Experiment.objects.create(kind="robustness", name="Robustness", created_at=NOON)
    perturbed_set(debates, intact, perturbation="none", experiment=experiment)
    perturbed_set(debates, perturbed, perturbation="masked", experiment=experiment)

    content = compute_robustness(experiment.pk, {})

    assert [row["verdict"] for row in content["judges"]] == [finding]


def test_robustness_of_five_pairs_cannot_tell() -> None:
    """Agreement that fell from 100% to 0% on five pairs had a green "Holds", p being .0625."""
    owner = rows.debate_set()
    debates = [rows.debate(owner=owner, votes=((1, 1),)) for _ in range(5)]
    experiment = Experiment.objects.create(kind="robustness", name="Robustness", created_at=NOON)
    perturbed_set(debates, [1] * 5, perturbation="none", experiment=experiment)
    perturbed_set(debates, [-1] * 5, perturbation="masked", experiment=experiment)

    assert compute_robustness(experiment.pk, {})["judges"][0]["verdict"] == "cannot tell"


def test_robustness_takes_its_reference_from_the_set_with_most_outcomes() -> None:
    """Outcomes of a later set with other agents overwrote those that judges were compared with."""
    owner = rows.debate_set(name="Real agents")
    debates = [rows.debate(owner=owner, votes=((1, 1),)) for _ in range(3)]
    other = rows.debate_set(name="Other agents", system_a=owner.system_a, system_b=owner.system_b)
    late = rows.debate(owner=other, votes=((-1, -1),))
    first = debates[0]
    late.case, late.response_a, late.response_b = first.case, first.response_a, first.response_b
    late.save()
    experiment = Experiment.objects.create(kind="robustness", name="Robustness", created_at=NOON)
    perturbed_set(debates, [1, 1, 1], perturbation="none", experiment=experiment)

    content = compute_robustness(experiment.pk, {})

    assert content["reference"] == "debates of “Real agents” in which all agents agreed"
    assert content["judges"][0]["cells"][0]["agreement"]["value"] == 1.0


def test_report_robustness_takes_the_newest_and_names_what_there_is() -> None:
    with pytest.raises(BadInput, match="There is no robustness experiment yet"):
        call_command("report", "robustness")
    for name in ("First", "Second"):
        Experiment.objects.create(kind="robustness", name=name, created_at=NOON)
    other = Experiment.objects.create(kind="round-robin", name="Arena", created_at=NOON)
    out = io.StringIO()

    call_command("report", "robustness", "--json", stdout=out)

    assert json.loads(out.getvalue())["experiment"]["name"] == "Second"
    with pytest.raises(BadInput, match=f"There is no robustness experiment “{other.pk}”"):
        call_command("report", "robustness", "--experiment", str(other.pk))


def test_debate_reports_are_closed_to_annotators(client: Client) -> None:
    client.force_login(factories.user(role=Role.ANNOTATOR))
    names = ("reports:debate-report", "reports:arena", "reports:robustness-list")

    assert [client.get(reverse(name)).status_code for name in names] == [403] * 3


REPORT_QUERIES = 45  # the report is computed at each view, since the data has gone on


def test_arena_has_one_name_on_every_page(client: Client) -> None:
    client.force_login(factories.user(role=Role.RESEARCHER))

    page = client.get(reverse("reports:arena")).text

    assert "Arena" not in page
    assert page.count("Ranking by debates") >= 4  # title, navigation, breadcrumb, heading


def pair_judged(places: int = 60) -> DebateSet:
    """Return agreed debates, all audited, whose first judge opens for what it is shown first where people see a tie."""
    owner = rows.debate_set()
    for index in range(places):
        order, people = index % 2, (1, -1, 0)[index % 3]
        shown_first = 1 if order == 0 else -1
        debate = rows.debate(owner=owner, votes=((people or shown_first, people), (people, people)))
        Debate.objects.filter(pk=debate.pk).update(response_order=order)
        people_settle(debate, people, arm="audit")
    return owner


def test_compute_debate_bias_finds_a_preference_for_the_place() -> None:
    pair_judged()

    content = compute_debate_bias(0, {})

    judges = {judge["judge"]: judge for judge in content["judges"]}
    assert set(judges) == {"judge-1", "judge-2"}
    position = next(effect for effect in judges["judge-1"]["effects"] if effect["key"] == "position")
    # A third of the pairs are ties, of which each is moved by half a point to one side: 1/3 from second to first.
    assert position["effect"]["value"] == pytest.approx(1 / 3, abs=0.05)
    assert position["is_shown"]
    assert position["words"].startswith("+0.3")
    assert {effect["effect"]["reason"] for effect in judges["judge-2"]["effects"]} == {
        "Judge and annotators agree on all 60 cases, so there is no difference to explain."
    }


def test_debate_report_shows_what_moves_those_who_judge_pairs(researcher: Client) -> None:
    pair_judged()
    snapshots.compute(DEBATE_BIAS, subject_id=0, options={}, at=NOON)

    page = text_of(researcher.get(reverse("reports:debate-report")))
    fragment = text_of(researcher.get(reverse("reports:debate-bias"), headers={"HX-Request": "true"}))
    file = researcher.get(reverse("reports:debate-bias-export", args=["bias", "csv"]))

    for text in (page, fragment):
        assert "Influences on the verdict" in text
        assert "Position in the pair" in text
    assert "when shown first" in b"".join(file.streaming_content).decode()  # type: ignore[attr-defined]
    assert researcher.get(reverse("reports:debate-bias")).status_code == 302


def test_debates_without_people_have_no_bias_to_show(researcher: Client) -> None:
    four_debates()

    assert "Influences on the verdict" not in text_of(researcher.get(reverse("reports:debate-report")))


def test_fleiss_kappa_of_debates_leaves_out_what_one_person_alone_said() -> None:
    debates = four_debates()
    label(debates[0], ada=1, bob=1)
    label(debates[1], ada=-1, bob=-1)
    label(debates[2], ada=1, bob=-1)
    before = compute_debates(0, {}).content["people"]["fleiss"]

    label(debates[3], ada=0)

    assert compute_debates(0, {}).content["people"]["fleiss"] == before


def test_agreement_of_people_on_debates_is_that_of_the_statistics_and_names_its_form(researcher: Client) -> None:
    debates = four_debates()
    label(debates[0], ada=1, bob=1, cy=1)
    label(debates[1], ada=-1, bob=-1)
    label(debates[2], ada=1, bob=0)

    people = compute_debates(0, {}).content["people"]
    page = text_of(researcher.get(reverse("reports:debate-report")))

    # Po = (1 + 1 + 0) / 3; shares of A, tie, B over items: (1 + 0 + 1/2) / 3, (1/2) / 3, 1 / 3 = 1/2, 1/6, 1/3,
    # Pe = (9 + 1 + 4) / 36: (24/36 - 14/36) / (22/36) = 10/22
    assert people["fleiss"]["value"] == pytest.approx(10 / 22)
    # ordinal alpha: 7 annotations, 4 A, 1 tie, 2 B; d(A, tie)² = 2.5², d(tie, B)² = 1.5², d(A, B)² = 4²
    observed = 2 * 2.5**2
    expected = 2 * (4 * 1 * 2.5**2 + 1 * 2 * 1.5**2 + 4 * 2 * 4**2)
    assert people["alpha"]["value"] == pytest.approx(1 - 6 * observed / expected)
    assert people["fleiss_form"].startswith("Items have different numbers of annotations")
    assert people["fleiss_form"] in page


def test_arena_shows_the_win_rate_at_equal_length_beside_the_raw_one(researcher: Client) -> None:
    owner = rows.debate_set()
    for index in range(40):
        debate = rows.debate(owner=owner, votes=((1, 1),) if index % 4 else ((-1, -1),))
        debate.response_a.text = "long " * (40 + index)
        debate.response_a.save()

    content = compute_arena(0, {})
    (pair,) = content["pairs"]
    page = text_of(researcher.get(reverse("reports:arena")))
    by_people = compute_arena(0, {"rule": "human"})["pairs"][0]

    assert pair["win_rate"]["value"] in (0.25, 0.75)
    assert pair["equal_length"]["n"] == 40
    assert pair["equal_length"]["low"] < pair["equal_length"]["value"] < pair["equal_length"]["high"]
    assert "At equal length" in page
    assert "descriptive only" in page
    assert by_people["equal_length"]["value"] is None
    assert "controlled for length" in by_people["equal_length"]["reason"]


def test_intervals_of_the_meta_evaluation_count_a_case_once_under_several_criteria() -> None:
    # The same eight cases under three criteria are no 24 independent observations.
    first = rows.debate_set(criterion="helpfulness")
    debates = [rows.debate(owner=first, votes=((1, -1), (1, 1))) for _ in range(8)]
    for criterion in ("creativity", "wit"):
        owner = rows.debate_set(system_a=first.system_a, system_b=first.system_b, criterion=criterion)
        for debate in debates:
            again = rows.debate(owner=owner, votes=((1, -1), (1, 1)))
            Debate.objects.filter(pk=again.pk).update(case=debate.case)

    content = compute_debates(0, {}).content

    judge = evaluator(content, "independent:judge-1")
    assert (judge["example"]["value"], judge["example"]["n"]) == (1.0, 24)
    for name in ("example", "of_all", "first"):
        assert judge[name]["low"] == pytest.approx(share_of(8, 8).low)


def test_meta_evaluation_and_arena_switch_to_intervals_valid_at_every_look(researcher: Client) -> None:
    pair_judged()

    figures = [
        (
            evaluator(compute_debates(0, options).content, "independent:judge-1")["people"],
            compute_arena(0, options | {"rule": "human"})["pairs"][0]["win_rate"],
        )
        for options in ({}, {"looks": "every"})
    ]
    pages = [
        text_of(researcher.get(reverse(f"reports:{name}"), {"looks": "every"})) for name in ("debate-report", "arena")
    ]

    for once, always in zip(*figures, strict=True):
        assert always["value"] == once["value"]
        assert always["high"] - always["low"] > 1.3 * (once["high"] - once["low"])
    for text in pages:
        assert "are valid at every look while labels arrive" in text
        assert '<option value="every" selected>' in text


def test_debates_that_nobody_was_asked_about_are_not_said_to_be_in_review(researcher: Client) -> None:
    """A set that was to ask nobody, and every imported record, had its open debates "sent to review"."""
    four_debates()

    page = text_of(researcher.get(reverse("reports:debate-report")))

    assert "Without agreement" in page
    assert "Sent to review" not in page


def test_a_baseline_that_compared_the_systems_the_other_way_round_is_beside_the_debates() -> None:
    """Debates of A and B had no baseline where somebody had started it for B and A."""
    debates = four_debates()
    of = debates[0].debate_set
    turned = {"system_a": of.system_b, "system_b": of.system_a, "method": "single", "source": "run"}
    owner = rows.debate_set(**turned, setup={**of.setup, "endpoints": ["solo"]})
    for debate, vote in zip(debates, (-1, 0, -1, None), strict=True):
        judged(debate, method="single", vote=vote, owner=owner)
    for decision in owner.debates.all():
        decision.response_a, decision.response_b = decision.response_b, decision.response_a
        decision.save()

    single = evaluator(compute_debates(0, {}).content, "method:Single judge: solo")

    assert [single[name] for name in ("asked", "a", "tie", "b", "missing", "matches")] == [4, 2, 1, 0, 1, 1]
    assert single["first"]["value"] == 0.0  # what it prefers is A, which it saw second


def test_a_baseline_beside_two_sets_of_debates_on_one_pair_is_paid_once() -> None:
    """Its calls, costs and statements counted once for each debate that it stood beside."""
    debates = four_debates()
    owner = judged(debates[0], method="single", vote=1)
    for debate, vote in zip(debates[1:], (-1, -1, None), strict=True):
        judged(debate, method="single", vote=vote, owner=owner)
    of = debates[0].debate_set
    twin = rows.debate_set(system_a=of.system_a, system_b=of.system_b, setup=of.setup)
    for debate in debates:
        pair = {"response_a": debate.response_a, "response_b": debate.response_b}
        factories.statement(debate=factories.debate(debate_set=twin, case=debate.case, **pair))

    single = evaluator(compute_debates(0, {}).content, "method:Single judge: solo")

    assert [single[name] for name in ("asked", "missing", "calls", "cost", "statements")] == [8, 2, 4, 2.0, 4]
    assert (single["calls_per_decision"], single["cost_per_decision"]) == (4 / 3, pytest.approx(2 / 3))


def test_the_command_of_a_page_names_every_chosen_set(researcher: Client) -> None:
    """Pages about several sets had no command, as if it took one or all."""
    four_debates()
    four_debates()
    first, second = DebateSet.objects.order_by("pk").values_list("pk", flat=True)[:2]

    page = researcher.get(f"{reverse('reports:debate-report')}?set={first}&set={second}")

    out = io.StringIO()
    command = page.context["command"]
    call_command(*command.split()[1:], "--csv", stdout=out)
    assert command == f"manage.py report debates --set {first} {second}"
    assert len(out.getvalue().splitlines()) > 1
