"""The ranking of systems: what people decided counts, under one criterion and of the chosen sets."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from debate.models import Debate
from evalsite.base.tables import table_bytes
from evalsite.reports.actions.debates import ARENA_REPORT
from evalsite.reports.services.debate_reports import compute_arena
from evalsite.review.models import Queue
from evalsite.review.selectors.audits import unrouted_debate_sets
from tests import factories
from tests.debate import rows
from tests.debate.recorded import store_folder
from tests.debated_sets import Part, label_debates, store_debates

pytestmark = pytest.mark.django_db
RECORDED = {  # criterion, the systems by name, and whether the record has them the other way round
    "gpt3.5_vs_claude/helpfulness/brainstorming": ("helpfulness", "claude-instant", "gpt3.5", True),
    "gpt3.5_vs_claude/reasoning/math": ("reasoning", "claude-instant", "gpt3.5", True),
    "claude_vs_gemini/helpfulness/write": ("helpfulness", "claude-instant", "gemini", False),
}
FOR_A, OPEN, MOST_FOR_B = ((1, 1, 1),), ((1, -1, 0),), ((-1, -1, 1),)


def ranks_of(content: dict[str, Any]) -> dict[str, list[int]]:
    return {row["system"]: row["ranks"] for row in content["whole"]["rows"]}


def test_open_debates_that_people_decided_count_in_the_ranking() -> None:
    """People settled all 108 open debates of a pair; the page still showed them as open and ranked as before."""
    ant, bee, cow = (factories.system(name) for name in ("ant", "bee", "cow"))
    owner = rows.debate_set(system_a=ant, system_b=bee)
    debates = store_debates(owner, [Part(24, FOR_A), Part(108, OPEN)])
    for first, second in ((ant, cow), (bee, cow)):
        store_debates(rows.debate_set(system_a=first, system_b=second), [Part(40, FOR_A)])
    before = compute_arena(0, {"rule": "adjudicated"})

    label_debates(debates, [None] * 24 + [-1] * 108)
    after = compute_arena(0, {"rule": "adjudicated"})
    alone = compute_arena(0, {})

    assert (before["undecided"], ranks_of(before)) == (108, {"ant": [1, 1], "bee": [2, 2], "cow": [3, 3]})
    assert (after["undecided"], ranks_of(after)) == (0, {"bee": [1, 1], "ant": [2, 2], "cow": [3, 3]})
    pair = next(pair for pair in after["pairs"] if (pair["first"], pair["second"]) == ("ant", "bee"))
    assert [pair[name] for name in ("wins", "ties", "losses", "undecided")] == [24, 0, 108, 0]
    assert (alone["undecided"], ranks_of(alone)) == (108, ranks_of(before))


def test_a_ranking_by_people_weights_sets_by_the_rates_of_their_audits() -> None:
    """A small set that was audited nearly whole outweighed a large one of which people saw a tenth."""
    ant, bee, cow = (factories.system(name) for name in ("ant", "bee", "cow"))
    for first, second in combinations((ant, bee, cow), 2):
        small = rows.debate_set(system_a=first, system_b=second)
        store_debates(small, [Part(20, FOR_A, people=1)])
        large = rows.debate_set(system_a=first, system_b=second)
        store_debates(large, [Part(20, FOR_A, people=-1), Part(80, FOR_A)])

    content = compute_arena(0, {"rule": "human"})

    # The second is better in 100 of the 120 debates of each pair, by weight; of the labels in 20 of 40.
    assert [pair["win_rate"]["value"] for pair in content["pairs"]] == [pytest.approx(20 / 120)] * 3
    assert [row["system"] for row in content["whole"]["rows"]] == ["cow", "bee", "ant"]


def test_pairs_ranked_by_people_are_open_where_people_are_to_decide() -> None:
    """An audit of 20 of 100 agreed debates left 80 of them "open" beside the 3 that the page said wait for people."""
    owner = rows.debate_set(system_a=factories.system("ant"), system_b=factories.system("bee"))
    store_debates(owner, [Part(20, FOR_A, people=1), Part(80, FOR_A), Part(5, OPEN, people=-1), Part(3, OPEN)])

    content = compute_arena(0, {"rule": "human"})

    (pair,) = content["pairs"]
    assert [pair[name] for name in ("wins", "ties", "losses", "undecided")] == [20, 0, 5, 3]
    assert content["undecided"] == 3


def test_a_ranking_that_there_is_not_says_why_beside_its_empty_table() -> None:
    """`report arena` printed an empty table without a word, and left out the scenarios that it did not rank."""
    ant, bee, cow, dog = (factories.system(name) for name in ("ant", "bee", "cow", "dog"))
    for first, second in ((ant, bee), (cow, dog)):
        store_debates(rows.debate_set(system_a=first, system_b=second), [Part(3, FOR_A)])
    Debate.objects.filter(debate_set__system_a=ant).update(scenario="code")

    table = ARENA_REPORT.table("ranking")
    printed = table.in_format(compute_arena(0, {}), "md")

    assert list(table.data(compute_arena(0, {})).rows) == []
    assert (
        "No comparison links these groups, so they have no common ranking: ant, bee; cow, dog. "
        "code: A ranking needs debates of three or more systems; there are 2."
    ) in b"".join(table_bytes(printed, "md")).decode()


def test_the_ranking_follows_the_chosen_rule_and_the_chosen_sets() -> None:
    """Half of the debates entered the ranking under one fixed rule, and a new set could not be left out."""
    ant, bee, cow = (factories.system(name) for name in ("ant", "bee", "cow"))
    record, later = [], []
    for first, second in combinations((ant, bee, cow), 2):
        record.append(rows.debate_set(system_a=first, system_b=second))
        store_debates(record[-1], [Part(24, FOR_A), Part(26, MOST_FOR_B)])
        later.append(rows.debate_set(system_a=first, system_b=second))
        store_debates(later[-1], [Part(30, ((-1, -1, -1),))])
    sets = [owner.pk for owner in record]

    unanimous, majority = (compute_arena(0, {"sets": sets, "rule": rule}) for rule in ("unanimous", "majority"))
    every = compute_arena(0, {})

    assert [(content["debates"], content["undecided"]) for content in (unanimous, majority, every)] == [
        (150, 78),
        (150, 0),
        (240, 78),
    ]
    # 24 of 24 for the first by the debates that agreed, 24 of 50 by majority, 24 of 54 with the later sets
    assert [pair["win_rate"]["value"] for pair in unanimous["pairs"]] == [1.0] * 3
    assert [pair["win_rate"]["value"] for pair in majority["pairs"]] == [pytest.approx(24 / 50)] * 3
    assert [pair["win_rate"]["value"] for pair in every["pairs"]] == [pytest.approx(24 / 54)] * 3


@pytest.mark.shared_data
def test_recorded_debates_are_ranked_under_each_rule_and_ask_nobody(shared_data: Path) -> None:
    """Of an imported record 48% of the debates entered the ranking, and people were sent 1,444 items unasked."""
    expected = json.loads((shared_data / "debate/expected.json").read_text(encoding="utf-8"))["cells"]
    store_folder(shared_data / "debate/original")

    computed, recorded = {}, {}
    for rule, name in (("unanimous", "consensus"), ("majority", "majority"), ("majority_tie0", "majority_tie0")):
        for criterion in ("helpfulness", "reasoning"):
            for pair in compute_arena(0, {"rule": rule, "criterion": criterion})["pairs"]:
                counts = [pair[result] for result in ("wins", "ties", "losses", "undecided")]
                computed[rule, criterion, pair["first"], pair["second"]] = counts
        for cell, (criterion, *names, turned) in RECORDED.items():
            outcomes = expected[cell]["strict"]["outcomes"][name]
            first, second = ("B", "A") if turned else ("A", "B")
            recorded[rule, criterion, *names] = [outcomes[key] for key in (first, "tie", second, "none")]

    assert computed == recorded
    assert sum(sum(counts[:3]) for (rule, *_), counts in computed.items() if rule == "unanimous") == 56  # of 120
    assert (list(unrouted_debate_sets()), Queue.objects.count()) == ([], 0)
