"""Labels and preferences of any import become tables and final labels of content, which every judge of it finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from debate.models import Debate, DebateStatus
from debate.selectors import outside_labels
from debate.services.set_tables import DebateLabelUpload, delete_labels, import_labels
from evalsite.reports.selectors.debate_votes import debates_version, people_labels
from evalsite.reports.services.judge_rows import PeopleReader, compared_with_people, rows_of_judge
from evalsite.review.models import (
    FinalLabel,
    ImportedLabel,
    LabelTable,
    Provenance,
    Queue,
    Referral,
    ReviewItem,
    Subject,
)
from evalsite.review.selectors.audits import AuditedSystem, audited_systems, subject_of_debates
from evalsite.review.selectors.final_labels import LabelReader, labels_of_debates
from evalsite.review.selectors.golden import golden_material
from evalsite.review.selectors.verdict_reviews import Reuse, reuse_of
from evalsite.review.services.decisions import FinalWord, adjudicate_item, keep_final_label
from evalsite.review.services.import_labels import (
    delete_imported_labels,
    imported_labels,
    imported_person_preferences,
    store_imported_labels,
)
from evalsite.review.services.run_referrals import open_items_for_debates, open_items_for_run
from judging.judges.subjects import PARSER_VERSION
from judging.models import BASELINE, BASELINE_ID, EvaluatorKind, Response, RunEvaluator, Suite, System, Upload
from judging.models.runs import BASELINE_RESPONSE
from judging.services.file_imports.imports import ImportRefused
from judging.services.runs.run_plans import against
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.records.collected import Collected
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import (
    CaseRecord,
    Choice,
    Giver,
    LabelRecord,
    Place,
    PreferenceRecord,
    ResponseRecord,
)
from judging.specs.types import Scale
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db

CASES = 24
SYSTEMS = ("ada", "bob")


class Brought:
    """Responses of two systems to some cases, stored and in a file."""

    def __init__(self, file: str = "set/gold.jsonl") -> None:
        self.file, self.collector = file, Collector(Bundle({}), Findings())
        self.suite: Suite = factories.suite(cases=CASES)
        self.systems = {name: factories.system(name) for name in SYSTEMS}
        self.numbers: dict[tuple[int, str], int] = {}  # of the file, by case and system
        self.ids: dict[int, int] = {}
        self.case_numbers: list[int] = []
        for number, case in enumerate(self.suite.cases.order_by("pk")):
            made = self.collector.case(self.at(number), CaseRecord(case.key, case.prompt.text))
            assert made is not None
            self.case_numbers.append(made)
            for name, system in self.systems.items():
                text = f"{name} answers {number}"
                response = self.collector.response(self.at(number), made, ResponseRecord(name, text))
                assert response is not None
                self.numbers[number, name] = response
                self.ids[response] = factories.response(prompt=case.prompt, system=system, text=text).pk

    def at(self, number: int) -> Place:
        return Place(self.file, f"line {number + 1}")

    def prefer(self, case: int, a: str, b: str, choice: Choice, by: str = "", **fields: Any) -> None:
        kind = Giver.PERSON if by else Giver.GOLD
        first, second = self.numbers[case, a], self.numbers[case, b]
        self.collector.preference(PreferenceRecord(first, second, choice, kind, by, place=self.at(case), **fields))

    def label(self, case: int, system: str, rater: str, label: str, criterion: str = "", **fields: Any) -> None:
        number = self.numbers[case, system]
        row = LabelRecord(self.case_numbers[case], rater, label, number, criterion, place=self.at(case), **fields)
        self.collector.label(row)

    def store(self, *, is_blind: bool = False) -> tuple[Upload, Collected, list[LabelTable]]:
        upload = Upload.objects.create(kind="records", file_name=self.file, byte_count=1, created_at=NOON)
        collected = Collected(self.collector)
        tables = store_imported_labels(
            collected=collected,
            upload=upload,
            suite=self.suite,
            responses=self.ids.get,
            is_blind=is_blind,
            actor=None,
            at=NOON,
        )
        return upload, collected, tables

    def pair_judge(self, baseline: str, prefers: Callable[[int], int]) -> RunEvaluator:
        """Return a judge that compared the other system with a baseline; 1: it prefers the other one."""
        base = self.systems[baseline]
        (other,) = [system for system in self.systems.values() if system != base]
        run = factories.run(suite=self.suite, status="finished", finished_at=NOON)
        judge = factories.evaluator(
            run=run,
            kind=EvaluatorKind.JUDGE,
            name="Pairs",
            criterion=against(base),
            options={BASELINE: base.name, BASELINE_ID: base.pk},
        )
        for number, case in enumerate(self.suite.cases.order_by("pk")):
            mine = Response.objects.get(prompt=case.prompt, system=other)
            beside = Response.objects.get(prompt=case.prompt, system=base)
            preference = prefers(number)
            factories.verdict(
                evaluator=judge,
                response=mine,
                share=(preference + 1) / 2,
                value={"preference": preference, BASELINE_RESPONSE: beside.pk},
                parser_version=PARSER_VERSION,
            )
        return judge

    def judge(self, criterion: str = "", share: float = 1.0) -> RunEvaluator:
        """Return a judge of single responses."""
        run = factories.run(suite=self.suite, status="finished", finished_at=NOON)
        judge = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name="Single", criterion=criterion)
        for response in Response.objects.order_by("pk"):
            factories.verdict(evaluator=judge, response=response, share=share, parser_version=PARSER_VERSION)
        return judge


def document(collected: Collected, part: str) -> list[str]:
    rows: list[Any] = [row for row in collected.document()[part] if row.get("kind") != "judge"]
    return [json.dumps(row, sort_keys=True) for row in rows]


def stored(rows: Any) -> list[str]:
    return [json.dumps(row, sort_keys=True) for row in rows]


def labels_seen_by(judge: RunEvaluator) -> list[str | None]:
    return [row.label for row in LabelReader().labels_of(judge)]


@pytest.mark.parametrize(
    ("files", "criterion", "expected"),
    [
        (("out/ann/state.json", "out/ben/state.json"), "", [("state", "ann, ben", 2, 4, 1)]),
        (("ann.jsonl", "ben.jsonl"), "", [("ann and 1 more", "ann, ben", 2, 4, 1)]),
        (("one.csv", "two.csv"), "tone", [("one and 1 more, tone", "ann, ben", 2, 4, 1)]),
        (("one.csv", "two.csv"), "", [("one", "ann", 2, 2, 2), ("two", "ben", 2, 2, 2)]),  # perhaps about two things
    ],
)
def test_labels_of_people_in_files_of_their_own_are_one_table(
    files: tuple[str, str], criterion: str, expected: list[tuple[str, str, int, int, int]]
) -> None:
    brought = Brought()
    for file, rater, labels in zip(files, ("ann", "ben"), (("good", "good"), ("good", "bad")), strict=True):
        brought.file = file
        for case, label in enumerate(labels):
            brought.label(case, "ada", rater, label, criterion)

    _, _, tables = brought.store()

    assert [(row.name, row.source, row.item_count, row.label_count, row.final_count) for row in tables] == expected


def test_what_one_person_says_twice_in_two_files_stays_apart() -> None:
    brought = Brought()
    for file in ("a/state.json", "b/state.json"):
        brought.file = file
        brought.label(0, "ada", "ann", "good", "tone")

    assert [(row.source, row.label_count) for row in brought.store()[2]] == [("ann", 1), ("ann", 1)]


def test_gold_preferences_are_found_by_a_judge_with_either_system_as_baseline() -> None:
    brought = Brought()
    choices = [Choice.A if number % 3 else Choice.B for number in range(CASES)]
    for number, choice in enumerate(choices):
        brought.prefer(number, "ada", "bob", choice)
    ada_better = ["1" if choice is Choice.A else "-1" for choice in choices]
    before, turned = brought.pair_judge("bob", lambda number: 1), brought.pair_judge("ada", lambda number: 1)

    _, _, [table] = brought.store()

    assert (table.is_blind, table.source, table.final_count, table.name) == (True, "gold.jsonl", CASES, "gold")
    assert labels_seen_by(before) == ada_better
    assert labels_seen_by(turned) == ["1" if label == "-1" else "-1" for label in ada_better]


def test_the_agreement_of_a_pair_judge_with_the_gold_of_a_benchmark_is_there_at_once() -> None:
    brought = Brought()
    for number in range(CASES):
        brought.prefer(number, "ada", "bob", Choice.A if number % 4 else Choice.TIE)
    judge = RunEvaluator.objects.select_related("run").get(pk=brought.pair_judge("bob", lambda number: 1).pk)
    brought.store()

    people = compared_with_people([judge], rows_of_judge([judge]), PeopleReader())

    assert len(people.compared) == CASES
    # The judge always prefers ada; the benchmark says so in 18 of 24 cases.
    assert sum(row.judge == row.other for row in people.compared) == 18
    assert people.audited.all()


def test_preferences_of_people_turn_with_their_pair_and_come_back_as_they_were() -> None:
    brought = Brought()
    brought.prefer(0, "ada", "bob", Choice.A, "x", strength=0.5, reason="clear")
    brought.prefer(0, "bob", "ada", Choice.B, "y", turn=None)
    brought.prefer(0, "bob", "ada", Choice.A, "z")
    brought.prefer(1, "ada", "bob", Choice.TIE, "x")
    judge = brought.pair_judge("bob", lambda number: 1)

    upload, collected, [table] = brought.store(is_blind=True)

    assert (table.item_count, table.label_count, table.source) == (2, 4, "x, y, z")
    assert [row.label for row in ImportedLabel.objects.order_by("pk")] == ["1", "1", "-1", "0"]
    assert labels_seen_by(judge) == ["1", "0"]
    assert stored(imported_person_preferences(upload)) == document(collected, "preferences")


def test_labels_that_are_not_blind_stand_in_their_table_and_enter_no_figure() -> None:
    brought = Brought()
    brought.prefer(0, "ada", "bob", Choice.A, "x")
    judge = brought.pair_judge("bob", lambda number: 1)

    brought.store()

    assert (FinalLabel.objects.get().is_blind, labels_seen_by(judge)) == (False, [])


def test_labels_of_responses_are_found_by_criterion_with_their_own_scale() -> None:
    brought = Brought("ratings.csv")
    scale: Scale = (0, 4)
    for number in range(CASES):
        for rater, label in (("x", "4"), ("y", "4"), ("z", "1")):
            brought.label(number, "ada", rater, label, "Coherence", scale=scale, reason="so")
            brought.label(number, "ada", rater, "0", "tone", scale=scale)
    judge, of_tone, other = brought.judge("coherence"), brought.judge("tone"), brought.judge()

    upload, collected, tables = brought.store(is_blind=True)

    assert [table.name for table in tables] == ["ratings, Coherence", "ratings, tone"]
    [row, *_] = LabelReader().labels_of(judge)
    assert (row.label, row.share, row.is_drawn, row.inclusion_probability) == ("4", 1.0, True, 1.0)
    assert [(label.value, label.share) for label in row.labels] == [(str(value), value / 4) for value in range(5)]
    assert set(labels_seen_by(of_tone)) == {"0"}
    assert labels_seen_by(other) == []  # two criteria: nobody knows which of them it judges by
    assert stored(imported_labels(upload)) == document(collected, "labels")


def test_a_judge_without_a_criterion_has_the_labels_of_the_only_one() -> None:
    brought = Brought("ratings.csv")
    brought.label(0, "ada", "", "good", "quality")
    judge, named = brought.judge(), brought.judge("brevity")

    _, _, [table] = brought.store()

    assert (table.is_blind, table.source) == (True, "ratings.csv")
    assert labels_seen_by(judge) == ["good"]
    assert labels_seen_by(named) == []


def test_a_second_import_changes_nothing_and_a_contradiction_stores_nothing() -> None:
    brought = Brought()
    brought.prefer(0, "ada", "bob", Choice.A)
    _, _, first = brought.store()

    _, _, again = brought.store()

    assert (again, FinalLabel.objects.count(), ImportedLabel.objects.count()) == (first, 1, 1)
    ids = [brought.ids[brought.numbers[0, name]] for name in SYSTEMS]
    brought.collector = Collector(Bundle({}), Findings())
    case = brought.collector.case(brought.at(0), CaseRecord("q", "Q?"))
    assert case is not None
    numbers = [brought.collector.response(brought.at(0), case, ResponseRecord(name, name)) for name in SYSTEMS]
    brought.ids = {number or 0: pk for number, pk in zip(numbers, ids, strict=True)}
    brought.numbers = {(0, name): number or 0 for name, number in zip(SYSTEMS, numbers, strict=True)}
    brought.prefer(0, "ada", "bob", Choice.B)
    with pytest.raises(ImportRefused, match=r"gold\.jsonl has another preference for this pair"):
        brought.store()
    assert LabelTable.objects.count() == 1


def test_an_audit_asks_nobody_about_what_the_benchmark_has_labelled(settings: Any) -> None:
    settings.REVIEW_AUDIT_MINIMUM = CASES
    brought = Brought()
    for number in range(CASES - 1):
        brought.prefer(number, "ada", "bob", Choice.A)
    judge = brought.pair_judge("bob", lambda number: 1)
    brought.store()

    opened = [open_items_for_run(run=judge.run, at=NOON) for _ in range(2)]

    assert opened == [1, 0]
    assert Referral.objects.filter(item=None).count() == CASES - 1
    assert Queue.objects.get(run=judge.run).total_count == 1


def test_undoing_an_import_takes_its_tables_and_final_labels() -> None:
    brought = Brought()
    brought.prefer(0, "ada", "bob", Choice.A)
    judge = brought.pair_judge("bob", lambda number: 1)
    upload, _, _ = brought.store()

    delete_imported_labels(upload, None)

    assert (LabelTable.objects.count(), FinalLabel.objects.count(), labels_seen_by(judge)) == (0, 0, [])
    assert Subject.objects.count() == 0


def test_labels_of_texts_alone_make_a_table_and_no_final_label() -> None:
    brought = Brought("doccano.jsonl")
    place = brought.at(0)
    brought.collector.label(LabelRecord(brought.case_numbers[0], "mona", "complaint", place=place))
    brought.collector.label(LabelRecord(brought.case_numbers[0], "ivar", "x" * 300, place=place))

    upload, collected, [table] = brought.store()

    assert (table.item_count, table.label_count, table.final_count) == (1, 2, 0)
    assert stored(imported_labels(upload)) == document(collected, "labels")


def test_a_preference_about_an_earlier_turn_is_not_about_the_conversation() -> None:
    brought = Brought()
    turns = [{"role": role, "parts": [{"text": "t"}]} for role in ("user", "assistant") * 2]
    Response.objects.update(messages=turns)
    brought.prefer(0, "ada", "bob", Choice.A, turn=1)
    brought.prefer(1, "ada", "bob", Choice.B, turn=2)
    judge = brought.pair_judge("bob", lambda number: 1)

    brought.store()

    assert labels_seen_by(judge) == ["-1"]
    assert sorted(Subject.objects.values_list("criterion", flat=True)) == ["", "turn 1", "turn 2"]


def test_systems_are_compared_by_their_stored_responses() -> None:
    brought = Brought()
    brought.prefer(0, "ada", "bob", Choice.A)
    brought.ids = {}

    _, _, [table] = brought.store()

    assert (table.label_count, table.final_count, System.objects.count()) == (1, 0, 2)


def test_a_golden_set_can_be_made_of_the_labels_of_a_file() -> None:
    brought = Brought("ratings.csv")
    for number in range(CASES):
        brought.label(number, "ada", "", "4" if number % 2 else "1", "quality", scale=(1, 4))
    judge = RunEvaluator.objects.select_related("run").get(pk=brought.judge("quality").pk)
    brought.store()

    material = golden_material(judge)

    assert (material.cases, material.counts, material.referred) == (CASES, {"1": 12, "4": 12}, 0)
    assert [label.value for label in material.scale] == ["1", "2", "3", "4"]


@pytest.fixture
def debate(settings: Any) -> Debate:
    settings.REVIEW_AUDIT_MINIMUM = 1
    return factories.debate(status=DebateStatus.AGREED, verdict=1, agreed_round=0)


def label(debate: Debate, *raters: tuple[str, str], is_blind: bool, file: str = "may.csv") -> None:
    rows = "".join(f"{debate.pk},{rater},{word}\n" for rater, word in raters)
    upload = DebateLabelUpload(f"item,rater,label\n{rows}".encode(), file, is_blind)
    import_labels(upload=upload, sets=[debate.debate_set], actor=None, at=NOON)


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
    assert found.label is None


def test_final_labels_go_with_the_deleted_labels_that_made_them(debate: Debate) -> None:
    label(debate, ("ada", "B"), ("bob", "A"), is_blind=True)
    label(debate, ("cy", "A"), is_blind=True, file="june.csv")
    before = labels_of_debates([debate.debate_set_id])[debate.pk]

    delete_labels(debate_set=debate.debate_set, file="june.csv", actor=None)

    assert (before.label, before.provenance) == ("1", "imported")
    assert not FinalLabel.objects.exists()  # ada and bob are equally many
    assert outside_labels([debate.pk]) == [(debate.pk, "ada", -1), (debate.pk, "bob", 1)]


def test_reports_of_debates_are_computed_anew_after_labels_are_deleted(debate: Debate) -> None:
    label(debate, ("ada", "B"), ("bob", "A"), is_blind=True)
    label(debate, ("cy", "A"), is_blind=True, file="june.csv")
    before = debates_version()

    delete_labels(debate_set=debate.debate_set, file="may.csv", actor=None)

    assert debates_version() != before


def turned(debate: Debate) -> Debate:
    """Return a debate of another set about the same two responses, the other way round."""
    owner = debate.debate_set
    return factories.debate(
        debate_set=factories.debate_set(system_a=owner.system_b, system_b=owner.system_a),
        case=debate.case,
        response_a=debate.response_b,
        response_b=debate.response_a,
        status=DebateStatus.AGREED,
        verdict=1,
        agreed_round=0,
    )


def stored_labels() -> list[tuple[str, bool, str, str]]:
    """Return label, blindness, provenance and source of each final label, pairs in the order of their subject."""
    rows = FinalLabel.objects.order_by("pk").values_list("label", "is_blind", "provenance", "source")
    return list(rows)


def better(debate: Debate, side: str) -> str:
    """Return the stored label that says A, or B, of a debate is better: its subject has its texts by hash."""
    is_first = debate.response_a.text_hash < debate.response_b.text_hash
    return "1" if is_first == (side == "A") else "-1"


def test_a_label_serves_equal_content_in_another_set_the_other_way_round(debate: Debate) -> None:
    other = turned(debate)
    label(debate, ("ada", "B"), is_blind=True)

    opened = open_items_for_debates(debate_set=other.debate_set, at=NOON)

    assert opened == 0
    assert reuse_of(other.debate_set.queue) == Reuse(asked=0, elsewhere=0, reused=1)
    found = labels_of_debates([other.debate_set_id])[other.pk]
    assert (found.label, found.share, found.provenance) == ("1", 1.0, "imported")
    name = f"{other.debate_set.system_a} better than {other.debate_set.system_b}, ties half"
    assert audited_systems(subject_of_debates(other.debate_set)) == [AuditedSystem(name, 1, 1, 1.0, 1.0, 1.0)]
    said = people_labels([other.pk])
    assert (said.final, said.drawn) == ({other.pk: 1}, frozenset({other.pk}))


def test_a_table_imported_twice_changes_nothing_and_a_changed_one_changes_the_final_label(debate: Debate) -> None:
    label(debate, ("ada", "A"), ("bob", "A"), ("cy", "B"), is_blind=True)
    first = FinalLabel.objects.get()
    before = stored_labels()

    label(debate, ("ada", "A"), ("bob", "A"), ("cy", "B"), is_blind=True)
    again = FinalLabel.objects.get()
    label(debate, ("bob", "B"), is_blind=True)

    assert before == [(better(debate, "A"), True, "imported", "ada, bob, cy")]
    assert (again.pk, again.decided_at) == (first.pk, first.decided_at)
    assert stored_labels() == [(better(debate, "B"), True, "imported", "ada, bob, cy")]


def test_a_tie_gives_no_label_and_the_next_routing_asks_people(debate: Debate) -> None:
    label(debate, ("ada", "A"), is_blind=True)
    before = open_items_for_debates(debate_set=debate.debate_set, at=NOON)

    label(debate, ("bob", "B"), is_blind=True)

    assert (before, stored_labels()) == (0, [])
    assert open_items_for_debates(debate_set=debate.debate_set, at=NOON) == 1


def test_labels_that_are_not_blind_stand_beside_the_blind_ones_of_the_same_pair(debate: Debate) -> None:
    label(debate, ("ada", "A"), is_blind=True)
    label(debate, ("bob", "B"), ("cy", "B"), is_blind=False)

    assert stored_labels() == [
        (better(debate, "A"), True, "imported", "ada"),
        (better(debate, "B"), False, "imported", "bob, cy"),
    ]
    found = labels_of_debates([debate.debate_set_id])[debate.pk]
    assert found.label == "1"


def test_a_rater_counts_once_for_equal_content_with_the_newest_answer(debate: Debate) -> None:
    other = turned(debate)
    label(debate, ("ada", "A"), ("bob", "B"), is_blind=True)

    label(other, ("bob", "B"), is_blind=True)  # B there is A here

    assert stored_labels() == [(better(debate, "A"), True, "imported", "ada, bob")]


def test_debates_under_another_criterion_are_another_pair(debate: Debate) -> None:
    owner = factories.debate_set(criterion="creativity")
    other = factories.debate(
        debate_set=owner, case=debate.case, response_a=debate.response_a, response_b=debate.response_b
    )

    label(debate, ("ada", "A"), is_blind=True)

    assert labels_of_debates([other.debate_set_id]) == {}


def test_what_people_decide_here_counts_before_imported_labels_of_debates(debate: Debate) -> None:
    open_items_for_debates(debate_set=debate.debate_set, at=NOON)
    label(debate, ("ada", "B"), is_blind=True)
    label(debate, ("bob", "B"), is_blind=False)
    item = ReviewItem.objects.get()

    adjudicate_item(item_id=item.pk, adjudicator=factories.user(), word=FinalWord("1", "Read it."), at=NOON)
    keep_final_label(item=item, label="0", provenance=Provenance.INFORMED, at=NOON)

    found = labels_of_debates([debate.debate_set_id])[debate.pk]
    assert (found.label, found.provenance) == ("1", "adjudication")
