"""Examples of what can be done with golden sets and tables of labels, one for each declared action."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Model
from django.http import QueryDict
from django.utils import timezone

from debate.services.set_tables import DebateLabelUpload, import_labels
from evalsite.base.actions.entries import perform
from evalsite.base.types import JsonDict
from evalsite.reports.actions.judge_versions import make_anchors, set_threshold
from evalsite.reports.actions.results import results_shown
from evalsite.reports.models import StoredGate
from evalsite.reports.services.publications import create_share, save_view
from evalsite.reports.services.suite_boards import make_gate
from evalsite.review.models import AnchorSet, GoldenItem, GoldenRule, GoldenSet, ProposalStatus, WordingProposal
from evalsite.review.questions.scales import labels_to_json, level_scale
from evalsite.review.routing import GoldenPart
from evalsite.review.selectors.golden import golden_versions
from evalsite.review.services.golden import development_choices, golden_plan, note_rule, open_test, run_on_development
from evalsite.review.services.label_tables import LabelUpload, store_labels
from judging.judges.subjects import PARSER_VERSION
from judging.models import Judge, Run, RunEvaluator
from judging.models.runs import RunStatus
from judging.services.judges import ensure_baselines
from judging.services.runs.new_runs import plan_tasks
from tests import factories
from tests.debate import rows
from tests.debate.views.test_records import packed_records
from tests.evalsite.api.doors import Example
from tests.evalsite.golden import PLAIN, WARY, golden_set, grader, labelled_suite
from tests.evalsite.reports.audited import Audited, audited_judge
from tests.factories import NOON
from tests.judging.services.run_rows import judged_run

Make = Callable[[], Example]
NOWHERE = "http://127.0.0.1:9/v1"


def _new_set() -> Example:
    evaluator = labelled_suite(cases=50, people=0)
    entered = {"question": evaluator.run.suite.benchmark.slug, "name": "Desk", "seed": 3}
    return Example(
        entered=entered,
        shows={"golden_set": "Desk", "seed": 3, "with_referred": False, "rules": []},
        refused=entered,
        sentence="There is a golden set 'Desk' already. Choose another name.",
        spoil=lambda: golden_set(evaluator),
    )


def _counted() -> Example:
    evaluator = labelled_suite(cases=30, people=0)
    return Example(
        entered={"question": evaluator.pk},
        shows={"cases": 30, "responses": 30, "labels": {"right": 18, "wrong": 12}, "left_out": 0},
        refused={"question": "tone"},
        sentence=f"There is no criterion “tone”. There are: {evaluator.run.suite}: the response as a whole.",
    )


def _judged_set() -> tuple[GoldenSet, Judge]:
    """Return a golden set with one version of a judge, whose run on development brought nothing."""
    golden, judge = golden_set(labelled_suite(cases=50, people=0)), grader(NOWHERE)
    choices = development_choices(golden, [judge], None)
    plan = golden_plan(golden_set=golden, choices=choices, part=GoldenPart.DEVELOPMENT)
    run = run_on_development(golden_set=golden, plan=plan, actor=None, at=NOON)
    Run.objects.filter(pk=run.pk).update(status=RunStatus.FINISHED, finished_at=NOON)
    return golden, judge


def _ran(**shows: object) -> Make:
    def make() -> Example:
        golden, judge = golden_set(labelled_suite(cases=50, people=0)), grader(NOWHERE)
        return Example(
            golden,
            entered={"judges": [judge.name]},
            shows=shows,
            refused={"judges": []},
            sentence="Choose at least one judge.",
        )

    return make


def _opened() -> Example:
    golden, judge = _judged_set()
    version = golden_versions(golden, GoldenPart.DEVELOPMENT)[0]
    return Example(
        golden,
        entered={"version": judge.name},
        shows={"kind": "golden", "total": 20, "done": 0},
        refused={"version": judge.name},
        sentence="The test was opened for this version already; its figures are on the page of the set.",
        spoil=lambda: open_test(golden_set=golden, evaluator=version.evaluator, budget=None, actor=None, at=NOON),
        query=f"?version={version.evaluator.pk}",
    )


def _used() -> Example:
    golden, judge = _judged_set()
    Judge.objects.filter(pk=judge.pk).update(options=judge.options | {"prompt_text": WARY})
    return Example(golden, entered={"version": judge.name}, shows={"name": judge.name, "options": judge.options})


def _proposal() -> Example:
    golden, judge = _judged_set()
    version = golden_versions(golden, GoldenPart.DEVELOPMENT)[0]
    entered = {"version": judge.name, "endpoint": judge.asked_endpoint.name}
    return Example(
        golden,
        entered=entered,
        shows={"golden_set": "Desk", "judge": judge.name, "status": "waiting", "changes": []},
        refused=entered | {"budget": "1"},
        sentence=f"A budget needs a price, and the price of {judge.asked_endpoint.name} is unknown. Enter it on the "
        "page of the endpoint.",
        query=f"?version={version.evaluator.pk}",
    )


def _estimated_wording() -> Example:
    example = _proposal()
    return replace(example, shows={"rules": 0, "disagreements": 22, "most_cost": None}, sentence="")


def _accepted() -> Example:
    golden, judge = _judged_set()
    proposal = WordingProposal.objects.create(
        golden_set=golden,
        evaluator=golden_versions(golden, GoldenPart.DEVELOPMENT)[0].evaluator,
        judge=judge,
        endpoint=judge.asked_endpoint,
        asked_at=NOON,
        before=PLAIN,
        after=WARY,
        status=ProposalStatus.READY,
    )
    return Example(
        proposal,
        entered={"lines": ["0"]},
        shows={"name": judge.name, "options": judge.options | {"prompt_text": WARY}},
        refused={"lines": []},
        sentence="Accept at least one line.",
    )


def _item() -> GoldenItem:
    golden_set(labelled_suite(cases=50))
    return GoldenItem.objects.filter(part=GoldenPart.DEVELOPMENT).earliest("pk")


def _example() -> Example:
    item, judge = _item(), grader(NOWHERE)
    return Example(
        item,
        entered={"judge": judge.name},
        shows={"name": judge.name},
        refused={"judge": judge.name, "reply": "No label."},
        sentence="The judge could not read this reply: The last line does not end with the verdict.",
    )


def _noted() -> Example:
    item = _item()
    return Example(
        item,
        entered={"text": "Distrust  sly answers."},
        shows={"item": item.pk, "rule": "Distrust sly answers."},
        refused={"text": "x" * 501},
        sentence="A rule is a sentence of 1 to 500 characters.",
    )


def _deleted_rule() -> Example:
    item = _item()
    note_rule(golden_set=item.golden_set, item=item, text="Distrust sly answers.", actor=None, at=NOON)
    return Example(
        item.golden_set,
        entered={"rule": "Distrust sly answers."},
        shows={"deleted": "Distrust sly answers."},
        refused={},
        sentence="This field is required.",
        spoil=GoldenRule.objects.all().delete,
    )


def _doubted() -> Example:
    item = _item()
    return Example(
        item,
        entered={"reason": "It is half right."},
        shows={"item": item.pk, "people": ""},
        refused={"reason": " "},
        sentence="Give a reason for reopening this item.",
    )


LONG = "item,rater,label\n1,ada,yes\n1,bo,no\n"


def _file() -> Path:
    path = Path(tempfile.mkdtemp(dir=settings.DATA_DIR)) / "labels.csv"
    path.write_text(LONG)
    return path


def _labels(**shows: object) -> Make:
    def make() -> Example:
        path = _file()
        return Example(
            entered={"file": path, "name": "From elsewhere"},
            shows=shows,
            refused={"name": "From elsewhere"},
            sentence="This field is required.",
            hidden={"save": "1"},
        )

    return make


def _deleted_table() -> Example:
    upload = LabelUpload(LONG.encode(), "labels.csv")
    table = store_labels(name="From elsewhere", upload=upload, actor=None, at=NOON)
    return Example(table, shows={"labels": "From elsewhere", "deleted": True})


def _graded_suite() -> RunEvaluator:
    return factories.evaluator(run=factories.run(status="finished"), name="Strict", kind="judge", total=1, done=1)


def _saved_view() -> Example:
    suite = factories.suite()
    entered = {"suite": suite.pk, "query": "show=low&page=2"}
    return Example(
        entered=entered | {"name": "Worst"},
        shows={"suite": str(suite), "name": "Worst", "query": "show=low", "shared": False, "by": "researcher"},
        refused=entered | {"name": " "},
        sentence="Enter a name of at most 80 characters.",
        keys=(suite.pk,),
    )


def _deleted_view() -> Example:
    person = User.objects.get(username="researcher")
    view = save_view(suite=factories.suite(), name="Worst", query="", is_shared=True, actor=person, at=NOON)
    return Example(view, shows={"view": "Worst", "deleted": True})


def _shared() -> Example:
    suite = factories.suite()
    return Example(
        entered={"suite": suite.pk, "days": "7"},
        shows={"suite": str(suite), "query": "", "by": "researcher"},
        refused={"suite": suite.pk, "days": "8"},
        sentence="Select a valid choice. 8 is not one of the available choices.",
        query=f"?suite={suite.pk}",
    )


def _revoked() -> Example:
    person = User.objects.get(username="researcher")
    return Example(create_share(suite=factories.suite(), query="", days=7, actor=person, at=timezone.now()).row)


def _gate() -> Example:
    evaluator = _graded_suite()
    entered = {"suite": evaluator.run.suite.pk, "mode": "raw"}
    return Example(
        entered=entered | {"rule": "nobody=50%"},
        shows={"suite": str(evaluator.run.suite), "rule": "nobody=50%", "verdict": "too few to say", "exit_code": 4},
        refused=entered | {"rule": "oak"},
        sentence="“oak” is not SYSTEM=VALUE or SYSTEM=VALUE:lower, such as oak=0.8 or oak=80%:lower.",
    )


def _checked_gate() -> Example:
    return Example(_stored_gate(), shows={"verdict": "too few to say"})


def _deleted_gate() -> Example:
    return Example(_stored_gate(), shows={"gate": "gate nobody=50%", "deleted": True})


def _stored_gate() -> StoredGate:
    person, suite = User.objects.get(username="researcher"), _graded_suite().run.suite
    return make_gate(suite=suite, rule="nobody=50%", mode="raw", evaluator="", actor=person, at=NOON)


def _pinned() -> Example:
    suite = _graded_suite().run.suite
    return Example(
        suite,
        entered={"graders": ["Strict"]},
        shows={"suite": str(suite), "graders": ["Strict"]},
        refused={"graders": []},
        sentence="This field is required.",
    )


def _debate_labels() -> Example:
    debate = rows.debate()
    path = Path(tempfile.mkdtemp(dir=settings.DATA_DIR)) / "may.csv"
    path.write_text(f"item,rater,label\n{debate.pk},ada,A\n")
    return Example(
        entered={"file": path, "sets": [debate.debate_set_id]},
        shows={"new": 1, "changed": 0, "raters": ["ada"], "debates": 1},
        refused={"sets": [debate.debate_set_id]},
        sentence="This field is required.",
        keys=(debate.debate_set_id,),
    )


def _deleted_labels() -> Example:
    debate = rows.debate()
    upload = DebateLabelUpload(f"item,rater,label\n{debate.pk},ada,A\n".encode(), "may.csv", is_blind=True)
    import_labels(upload=upload, sets=[debate.debate_set], actor=None, at=NOON)
    return Example(
        debate.debate_set,
        entered={"file": "may.csv"},
        shows={"file": "may.csv", "labels": 1},
        refused={"file": "june.csv"},
        sentence="The set has no labels of a file 'june.csv'. There are: may.csv.",
    )


def _sent_results(**shows: object) -> Make:
    def make() -> Example:
        case = factories.case()
        suite = factories.suite(cases=[case])
        rules = factories.evaluator(run=factories.run(suite=suite, status="finished"), total=1, done=1)
        response = factories.response(prompt=case.prompt)
        rules.run.systems.add(response.system)
        factories.score(evaluator=rules, response=response, share=0.0)
        results_shown(suite, QueryDict("show=low"), waits=True)
        entered = {"suite": suite.pk, "query": "show=low"}
        return Example(entered=entered, shows=shows, query="?show=low", keys=(suite.pk,))

    return make


def _audited(entered: JsonDict, refused: JsonDict, sentence: str, **shows: object) -> Make:
    """Return an example on a judge whose verdicts people agree with in 39 of 40 audited cases."""

    def make() -> Example:
        people = [factories.user(name) for name in ("ada", "bob", "cy")]
        audited_judge([Audited(True, place > 0, 0.95) for place in range(40)], people=people)
        named = {"name": "Strict"}
        refused_entries = named | refused if sentence else {}
        return Example(None, named | entered, shows, refused_entries, sentence, query="?name=Strict")

    return make


def _removed_threshold() -> Example:
    example = _audited({}, {}, "", judge="Strict", removed=True)()
    perform(set_threshold, None, {"name": "Strict", "plan": 1}, actor=None, at=timezone.now())
    return example


def _asked_again() -> Example:
    run = judged_run(cases=20, url=NOWHERE)
    plan_tasks(run_id=run.pk, at=NOON)
    evaluator = run.evaluators.get()
    queue = factories.queue(run=run, labels=labels_to_json(level_scale([25, 50])))
    for task in run.tasks.all():
        verdict = factories.verdict(task=task, share=0.5, parser_version=PARSER_VERSION)
        item = {"arm": "audit", "status": "settled", "label": "50", "decided_at": NOON}
        factories.review_item(queue=queue, verdict=verdict, **item)
    Run.objects.filter(pk=run.pk).update(status=RunStatus.FINISHED, finished_at=NOON)
    named = {"name": evaluator.name}
    perform(make_anchors, None, named, actor=None, at=timezone.now())
    return Example(
        entered=named,
        shows={"kind": "anchor", "total": 20, "done": 0},
        refused=named,
        sentence="This version has no anchor set yet. Create one first.",
        spoil=AnchorSet.objects.all().delete,
        query=f"?{urlencode(named)}",
    )


def _scores(subject_of: Callable[[RunEvaluator], Model]) -> Make:
    sentence = "Select a valid choice. docx is not one of the available choices."

    def make() -> Example:
        return Example(
            subject_of(_graded_suite()), entered={"format": "jsonl"}, refused={"format": "docx"}, sentence=sentence
        )

    return make


def _data_set() -> Example:
    sentence = "Select a valid choice. mine is not one of the available choices."
    return Example(factories.queue(), entered={"licence": "mit"}, refused={"licence": "mine"}, sentence=sentence)


def _records() -> Example:
    path = Path(tempfile.mkdtemp(dir=settings.DATA_DIR)) / "records.zip"
    path.write_bytes(packed_records().getvalue())
    shows = {"file_name": "records.zip", "kind": "debates", "status": "checked"}
    return Example(entered={"file": path}, shows=shows, refused={}, sentence="This field is required.")


def _wished_debates(*, shows: JsonDict) -> Example:
    ensure_baselines()  # as the command does
    judges = [factories.endpoint(name=name, kind="lexical", model="criterion", base_url="") for name in ("x", "y")]
    wish = rows.wish("One?", "Two?", endpoints=judges)
    entered = {
        "suite": wish.suite.pk,
        "system_a": wish.system_a.name,
        "system_b": wish.system_b.name,
        "criterion": "helpfulness",
        "endpoints": ["x", "y"],
    }
    return Example(
        entered=entered,
        shows=shows,
        refused=entered | {"plan": "round-robin", "system_a": None, "system_b": None},
        sentence="Choose at least 3 systems.",
    )


EXAMPLES: dict[str, Make] = {
    "judge preview-threshold": _audited(
        {"plan": "1"}, {"name": "Lax"}, "There is no judge “Lax”. There are: Strict.", looks=1, looks_left=1
    ),
    "judge set-threshold": _audited(
        {"plan": "1"},
        {"error": 2},
        "40 audited cases; at least 194 are needed. No look was used.",
        judge="Strict",
        threshold=0.95,
    ),
    "judge remove-threshold": _removed_threshold,
    "judge certify": _audited(
        {"annotators": "crowd"},
        {"annotators": "nobody"},
        "Select a valid choice. nobody is not one of the available choices.",
        passed=True,
        annotators="crowd",
        items=40,
    ),
    "judge make-anchors": _audited({}, {}, "", judge="Strict", anchors=40),
    "judge ask-anchors": _asked_again,
    "run send-results": _sent_results(),
    "run count-results": _sent_results(annotations_at_most=2),
    "debate_set create": lambda: _wished_debates(shows={"criterion": "helpfulness", "method": "debate"}),
    "debate_set estimate": lambda: _wished_debates(shows={"debates": 2, "cost_at_most": "0.000000"}),
    "debate_set import-labels": _debate_labels,
    "debate_set delete-labels": _deleted_labels,
    "debate_set export": lambda: Example(
        entered={"sets": [rows.debate().debate_set_id], "table": "votes"},
        refused={"table": "votes"},
        sentence="This field is required.",
    ),
    "queue export-data-set": _data_set,
    "run export": _scores(lambda evaluator: evaluator.run),
    "board export-scores": _scores(lambda evaluator: evaluator.run.suite),
    "debate_set archive": lambda: Example(
        entered={"sets": [rows.debate().debate_set_id]}, refused={}, sentence="This field is required."
    ),
    "board export-pages": lambda: Example(
        _graded_suite().run.suite,
        refused={"rows": 0},
        sentence="Ensure this value is greater than or equal to 1.",
    ),
    "debate_set import": _records,
    "view create": _saved_view,
    "view delete": _deleted_view,
    "gate create": _gate,
    "gate check": _checked_gate,
    "gate delete": _deleted_gate,
    "share create": _shared,
    "share revoke": _revoked,
    "board pin": _pinned,
    "board unpin": lambda: Example(_graded_suite().run.suite, shows={"graders": []}),
    "labels create": _labels(table="from-elsewhere", label_count=2, final_count=0, is_blind=False),
    "labels check": _labels(items=1, labels=2, raters=["ada", "bo"], known_before=False),
    "labels delete": _deleted_table,
    "golden count": _counted,
    "golden create": _new_set,
    "golden estimate": _ran(tasks=22, cost=None),
    "golden run": _ran(kind="golden", total=22, done=0),
    "golden open": _opened,
    "golden use": _used,
    "golden delete-rule": _deleted_rule,
    "golden estimate-wording": _estimated_wording,
    "golden propose": _proposal,
    "proposal accept": _accepted,
    "golden_response add-example": _example,
    "golden_response note-rule": _noted,
    "golden_response doubt": _doubted,
}
