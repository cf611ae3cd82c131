"""Golden sets, their items and wordings that models propose: what can be done with them, and the reports on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter
from typing import TypeVar

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from evalsite.base.actions.declarations import CREATE, ActionCall, Noun, Reference, columns
from evalsite.base.actions.reports import (
    FigureColumn,
    PValueColumn,
    Report,
    ReportColumn,
    ReportTable,
    coefficient,
    plain_columns,
)
from evalsite.base.tables import facts_text
from evalsite.base.types import ByName, JsonDict
from evalsite.reports import jobs
from evalsite.reports.forms import GoldenComparisonForm, GoldenReportForm
from evalsite.reports.forms.golden import (
    DoubtForm,
    ExampleForm,
    GoldenItemFilterForm,
    GoldenLabelsForm,
    GoldenRunForm,
    GoldenSetForm,
    NoteRuleForm,
    OpenTestForm,
    RuleForm,
    VersionForm,
    WordingFilterForm,
    WordingForm,
    WordingLinesForm,
)
from evalsite.reports.services.judge_trust import GOLDEN, Flip, VersionComparison, compare_versions
from evalsite.reports.services.snapshots import ReportContent, estimate_of, stored_figure_column
from evalsite.review.actions.references import GOLDEN_SET
from evalsite.review.jobs import launch_proposal
from evalsite.review.models import GoldenItem, GoldenRule, GoldenSet, ProposalStatus, WordingProposal
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.routing import GoldenPart
from evalsite.review.selectors.golden import (
    GoldenMaterial,
    GoldenVersion,
    golden_answers,
    golden_material,
    golden_texts,
    golden_versions,
    listed_sets,
    part_counts,
    rare_labels,
    version_named,
    with_texts,
)
from evalsite.review.services.golden import (
    accept_wording,
    add_example,
    ask_for_wording,
    delete_rule,
    development_choices,
    doubt_label,
    golden_plan,
    make_golden_set,
    note_rule,
    open_test,
    run_on_development,
    suggested_reply,
    use_version,
    wording_question,
    work_on_proposal,
)
from judging.actions.judges import JUDGES
from judging.actions.progress import POLL_SECONDS, wait_for_run, workers_live
from judging.actions.references import ENDPOINT, JUDGE, RUBRIC
from judging.actions.run_reports import estimate_report
from judging.actions.runs import RUNS
from judging.jobs import launch_run
from judging.judges.wordings import wording_lines
from judging.models import Judge, ModelEndpoint, Rubric, Run
from judging.services.runs.estimates import RunEstimate, estimate_run
from judging.services.runs.run_plans import RunPlan, check_plan
from judging.statistics.estimators.judge_bias import Drift

SEES, CHANGES = "reports.view_snapshot", "review.change_queue"


def golden_facts(golden_set: GoldenSet) -> JsonDict:
    """Return what a golden set holds; of its test part nothing but its size."""
    counts = part_counts(golden_set)
    return {
        "golden_set": golden_set.name,
        "id": golden_set.pk,
        "suite": str(golden_set.suite),
        "criterion": golden_set.criterion,
        "seed": golden_set.seed,
        "with_referred": golden_set.with_referred,
        "parts": {
            row.part.value: {
                "cases": row.cases,
                "responses": row.responses,
                "without_label": row.doubted,
                "labels": ByName((label.value, n) for label, n in row.labels),
            }
            for row in counts
        },
        "rare_labels": rare_labels(counts),
        "versions": ByName(
            (version.key, version.evaluator.name) for version in golden_versions(golden_set, GoldenPart.DEVELOPMENT)
        ),
        "rules": list(golden_set.rules.order_by("pk").values_list("text", flat=True)),
    }


def _wait_for(started: Run | WordingProposal, bar: bool) -> None:
    """Wait until a run or a proposal has ended; where no worker takes it up, it is worked on here."""
    if isinstance(started, Run):
        wait_for_run(started.pk, bar=bar)
        return
    while workers_live("default") and started.status == ProposalStatus.WAITING:
        time.sleep(POLL_SECONDS)
        started.refresh_from_db()
    work_on_proposal(proposal_id=started.pk, at=timezone.now())


GOLDEN_SETS: Noun[GoldenSet] = Noun(
    name="golden",
    plural="golden-sets",
    help="Make golden sets, run judges on them, open their test, have wording proposed, list them, or show one.",
    reference=GOLDEN_SET,
    rows=lambda _person: GoldenSet.objects.select_related("suite__benchmark", "rubric"),
    view_permission=SEES,
    shown=golden_facts,
    listed=listed_sets,
    in_list=columns("name as golden_set", "id", "suite", "cases", "opened"),
    references={
        Judge: JUDGE,
        Rubric: RUBRIC,
        ModelEndpoint: ENDPOINT,
        GoldenRule: Reference("rule", ("text",)),
    },
    waits=_wait_for,
)


@GOLDEN_SETS.new(
    "count",
    permission=CHANGES,
    form=GoldenLabelsForm,
    is_dry=True,
    shown=columns(
        "cases", "counts as labels", "referred as left_out", "lacks", responses=lambda found: len(found.rows)
    ),
)
def count(act: ActionCall[None, GoldenLabelsForm]) -> GoldenMaterial:
    """Count the labelled responses of a suite that a golden set would hold."""
    return golden_material(act.data["question"], with_referred=act.data["with_referred"])


@GOLDEN_SETS.new(CREATE, permission=CHANGES, form=GoldenSetForm, said=lambda golden_set: f"{golden_set} is created.")
def create(act: ActionCall[None, GoldenSetForm]) -> GoldenSet:
    """Make a golden set: labelled responses of a suite, split by case into examples, development and test."""
    return make_golden_set(
        name=act.data["name"],
        seed=act.data["seed"],
        evaluator=act.data["question"],
        material=golden_material(act.data["question"], with_referred=act.data["with_referred"]),
        actor=act.actor,
        at=act.at,
    )


def _plan(act: ActionCall[GoldenSet, GoldenRunForm]) -> RunPlan:
    golden_set, data = act.subject, act.data
    chosen = development_choices(golden_set, list(data["judges"]), data["rubric"] or golden_set.rubric)
    plan = golden_plan(
        golden_set=golden_set,
        choices=chosen,
        part=GoldenPart.DEVELOPMENT,
        budget=data["budget"],
        fresh=data["fresh"],
    )
    check_plan(plan)
    return plan


runs = partial(GOLDEN_SETS.one, permission="judging.add_run")


@runs("estimate", form=GoldenRunForm, about="golden_set", is_dry=True, shown=estimate_report, lines=facts_text)
def estimate(act: ActionCall[GoldenSet, GoldenRunForm]) -> RunEstimate:
    """Say what a run of judges on development would cost, without starting it."""
    return estimate_run(plan=_plan(act), threads=settings.CALL_THREADS, at=act.at)


@runs("run", form=GoldenRunForm, about="golden_set", is_long=True, makes=RUNS)
def run(act: ActionCall[GoldenSet, GoldenRunForm]) -> Run:
    """Run judges on the development part of a golden set. What was changed of a judge since is another version."""
    started = run_on_development(golden_set=act.subject, plan=_plan(act), actor=act.actor, at=act.at)
    launch_run(run_id=started.pk, waiting=started.total)
    return started


@runs(
    "open",
    form=OpenTestForm,
    about="golden_set",
    is_long=True,
    makes=RUNS,
    said=lambda _run: "The test is opened, which is recorded.",
)
def open_for(act: ActionCall[GoldenSet, OpenTestForm]) -> Run:
    """Open the test part for one version of a judge that was chosen on development, which is recorded."""
    started = open_test(
        golden_set=act.subject,
        evaluator=act.data["version"],
        budget=act.data["budget"],
        actor=act.actor,
        at=act.at,
    )
    launch_run(run_id=started.pk, waiting=started.total)
    return started


@GOLDEN_SETS.one(
    "use",
    permission="judging.add_judge",
    form=VersionForm,
    about="golden_set",
    makes=JUDGES,
    said=lambda judge: f"{judge.name} is this version now; the next runs use it.",
)
def use(act: ActionCall[GoldenSet, VersionForm]) -> Judge:
    """Set the judge of a version to this version, so that the next runs use it."""
    return use_version(evaluator=act.data["version"], actor=act.actor)


@GOLDEN_SETS.one(
    "delete-rule",
    permission=CHANGES,
    form=RuleForm,
    about="golden_set",
    shown=lambda text: {"deleted": text},
    said=lambda _text: "The rule is deleted.",
)
def remove_rule(act: ActionCall[GoldenSet, RuleForm]) -> str:
    """Delete a rule that was noted from an item."""
    rule: GoldenRule = act.data["rule"]
    delete_rule(rule=rule, actor=act.actor)
    return rule.text


def _proposals(_person: object) -> QuerySet[WordingProposal]:
    return WordingProposal.objects.select_related("golden_set", "judge", "endpoint")


PROPOSALS: Noun[WordingProposal] = Noun(
    name="proposal",
    plural="proposals",
    help="Accept lines of proposed wordings, list proposals, or show one.",
    reference=Reference("proposal", ()),
    rows=_proposals,
    view_permission=SEES,
    shown=columns(
        *("pk as proposal", "golden_set.name as golden_set", "judge.name as judge", "status", "reason", "cost"),
        *("accepted",),
        changes=lambda row: [
            asdict(line)
            for line in (wording_lines(row.before, row.after) if row.after else ())
            if line.place is not None
        ],
    ),
    filter_form=WordingFilterForm,
    listed=lambda golden_set: _proposals(None).filter(**{"golden_set": golden_set} if golden_set else {}),
)


@PROPOSALS.one(
    "accept",
    permission="judging.add_judge",
    form=WordingLinesForm,
    about="proposal",
    makes=JUDGES,
    said=lambda judge: f"{judge.name} has the accepted lines. Run it on development to compare it.",
)
def accept(act: ActionCall[WordingProposal, WordingLinesForm]) -> Judge:
    """Give the judge its prompt with these lines of a proposal, which makes another version."""
    return accept_wording(proposal=act.subject, accepted=act.form.accepted, actor=act.actor, at=act.at)


@runs("estimate-wording", form=WordingForm, about="golden_set", is_dry=True, shown=dict)
def estimate_wording(act: ActionCall[GoldenSet, WordingForm]) -> JsonDict:
    """Say what a model would be told about the disagreements of a version, and the most that can cost."""
    question = wording_question(act.subject, act.data["version"])
    endpoint = act.data["endpoint"]
    facts = {"disagreements": question.disagreements, "rules": question.rules, "endpoint": endpoint.name}
    return facts | {"most_cost": question.most_cost(endpoint)}


@runs("propose", form=WordingForm, about="golden_set", is_long=True, makes=PROPOSALS)
def propose(act: ActionCall[GoldenSet, WordingForm]) -> WordingProposal:
    """Have a model read the disagreements of a version and propose wording; nothing of it is applied by itself."""
    proposal = ask_for_wording(
        golden_set=act.subject,
        evaluator=act.data["version"],
        endpoint=act.data["endpoint"],
        budget=act.data["budget"],
        actor=act.actor,
        at=act.at,
    )
    launch_proposal(proposal.pk)
    return proposal


def item_facts(item: GoldenItem) -> JsonDict:
    """Return what people said of an item."""
    (row,) = golden_texts(with_texts([item.pk]), [])
    return {
        "item": item.pk,
        "golden_set": item.golden_set.name,
        "part": item.part,
        "case": item.case_key,
        "response": item.response_id,
        "people": row.people,
        "reasons": [note.reason for note in row.reasons if note.reason],
    }


def _item_detail(item: GoldenItem) -> JsonDict:
    """Return what people and the newest run of each version said of an item."""
    part = GoldenPart(item.part)
    versions = golden_versions(item.golden_set, part)
    answers = golden_answers(item.golden_set, part, [version.evaluator for version in versions])
    said = [{answer.golden_id: answer for answer in answers[version.evaluator.pk]} for version in versions]
    (row,) = golden_texts(with_texts([item.pk]), said)
    judges = zip(versions, row.judges, strict=False)  # nobody is asked about an item without a label
    return item_facts(item) | {
        "judges": [
            {"version": version.key, "judge": version.evaluator.name, "label": words.label, "reason": words.reason}
            for version, words in judges
        ]
    }


def _items(_person: object) -> QuerySet[GoldenItem]:
    """Return the items that may be looked at: the test part stays shut."""
    rows = GoldenItem.objects.exclude(part=GoldenPart.TEST)
    return rows.select_related("golden_set", "subject__case", "response__prompt", "response__system")


def _listed_items(golden_set: GoldenSet | None, part: str, version: GoldenVersion | str) -> QuerySet[GoldenItem]:
    rows = _items(None)
    if golden_set:
        rows = rows.filter(golden_set=golden_set)
    if part:
        rows = rows.filter(part=part)
    if golden_set is not None and isinstance(version, GoldenVersion):
        answers = golden_answers(golden_set, GoldenPart.DEVELOPMENT, [version.evaluator])[version.evaluator.pk]
        rows = rows.filter(pk__in=[answer.golden_id for answer in answers if not answer.agrees])
    return rows


GOLDEN_ITEMS: Noun[GoldenItem] = Noun(
    name="golden_response",
    plural="golden-responses",
    help="Add responses of golden sets to the examples of judges, note rules, doubt labels,"
    " list responses, or show one.",
    reference=Reference("golden response", ()),
    rows=_items,
    view_permission=SEES,
    shown=item_facts,
    detail=_item_detail,
    filter_form=GoldenItemFilterForm,
    listed=_listed_items,
    references={Judge: JUDGE},
)


@GOLDEN_ITEMS.one(
    "add-example",
    permission="judging.add_judge",
    form=ExampleForm,
    makes=JUDGES,
    said=lambda judge: f"{judge.name} has another example, and its case left development.",
)
def add_to_examples(act: ActionCall[GoldenItem, ExampleForm]) -> Judge:
    """Put an item among the examples of a judge, which makes another version; its case leaves development."""
    item, judge = act.subject, act.data["judge"]
    reply = act.data["reply"] or suggested_reply(item, judge, " ".join(dict.fromkeys(item_facts(item)["reasons"])))
    return add_example(item=item, judge=judge, reply=reply, actor=act.actor, at=act.at)


@GOLDEN_ITEMS.one(
    "note-rule",
    permission=CHANGES,
    form=NoteRuleForm,
    shown=lambda rule: {"item": rule.item_id, "rule": rule.text},
    said=lambda _rule: "The rule is noted. It is told to a model that proposes wording.",
)
def note(act: ActionCall[GoldenItem, NoteRuleForm]) -> GoldenRule:
    """Note a rule from an item; a model that proposes wording is told it."""
    item = act.subject
    return note_rule(golden_set=item.golden_set, item=item, text=act.data["text"], actor=act.actor, at=act.at)


@GOLDEN_ITEMS.one(
    "doubt",
    permission="review.adjudicate",
    form=DoubtForm,
    needs_person=True,
    said=lambda _item: "The label is with the adjudicators. Until they decide, no figure counts it.",
)
def doubt(act: ActionCall[GoldenItem, DoubtForm]) -> GoldenItem:
    """Send the label of an item back to adjudication; until it is decided again, no figure counts the item."""
    doubt_label(item=act.subject, reason=act.data["reason"], actor=act.person, at=act.at)
    return act.subject


Line = TypeVar("Line")
KEY_SHOWN = 8


@dataclass(frozen=True, slots=True)
class GoldenShown:
    """The versions of judges on a golden set beside people."""

    golden_set: GoldenSet
    content: ReportContent


def _named(name: str, key: str) -> str:
    return f"{name} {key[:KEY_SHOWN]}"


def _version(row: ReportContent) -> str:
    return _named(row["name"], row["key"])


def _part(
    name: str, title: str, part: str, columns: tuple[ReportColumn[ReportContent], ...], *, by_label: bool = False
) -> ReportTable[GoldenShown, ReportContent]:
    def rows(shown: GoldenShown) -> Iterator[ReportContent]:
        for row in shown.content[part]:
            yield from ({**row, "recall": recall} for recall in row["recalls"]) if by_label else (row,)

    return ReportTable(
        name,
        title,
        (ReportColumn("version", _version), *columns),
        rows,
        basis=lambda shown: f"Golden set {shown.golden_set.name}.",
        same=lambda shown: {"golden_set": shown.golden_set.name},
    )


VERSION_COLUMNS: tuple[ReportColumn[ReportContent], ...] = (
    *plain_columns("items as responses"),
    stored_figure_column("agreement", lambda row: row["agreement"]),
    FigureColumn("kappa", lambda row: estimate_of(row["kappa"]), scale=coefficient),
    *plain_columns("unread", "cost", "seconds_mean"),
)
LABEL_COLUMNS: tuple[ReportColumn[ReportContent], ...] = (
    ReportColumn("figure", lambda row: row["recall"]["name"]),
    stored_figure_column("share", lambda row: row["recall"]),
)
DEVELOPMENT, TEST = "Versions on development", "Versions on the test part"
GOLDEN_REPORT = Report(
    "golden",
    "How versions of judges agree with people on a golden set; of its test only those that it was opened for.",
    permission="reports.view_snapshot",
    form_class=GoldenReportForm,
    read=lambda form, waits: golden_shown(form.cleaned_data["golden_set"], waits=waits),
    facts=lambda shown: {"golden_set": shown.golden_set.name, **shown.content},
    tables=(
        _part("development", DEVELOPMENT, "development", VERSION_COLUMNS),
        _part("development-labels", f"{DEVELOPMENT}, by label", "development", LABEL_COLUMNS, by_label=True),
        _part("test", TEST, "test", (*VERSION_COLUMNS, *plain_columns("opened_before"))),
        _part("test-labels", f"{TEST}, by label", "test", LABEL_COLUMNS, by_label=True),
    ),
    references={GoldenSet: GOLDEN_SET},
)


def golden_shown(golden_set: GoldenSet, *, waits: bool) -> GoldenShown:
    """Return the versions on a golden set. Raises: BeingComputed."""
    content = jobs.content_of(GOLDEN, subject_id=golden_set.pk, options={}, at=timezone.now(), waits=waits)
    return GoldenShown(golden_set, content)


@dataclass(frozen=True, slots=True)
class ComparedShown:
    """Two versions on the development part of a golden set."""

    golden_set: GoldenSet
    before: GoldenVersion
    after: GoldenVersion
    comparison: VersionComparison

    @classmethod
    def of(cls, golden_set: GoldenSet, before: GoldenVersion, after: GoldenVersion) -> ComparedShown:
        """Return how two versions differ."""
        return cls(golden_set, before, after, compare_versions(golden_set, before.evaluator, after.evaluator))

    @property
    def names(self) -> dict[str, str]:
        """What the two are called."""
        sides = {"before": self.before, "after": self.after}
        return {side: _named(version.evaluator.name, version.key) for side, version in sides.items()}

    @property
    def paired(self) -> Drift | None:
        """The test of one response to each case; None where there are too few."""
        return self.comparison.paired if isinstance(self.comparison.paired, Drift) else None

    def label(self, value: str | None) -> str:
        """Return a label in words."""
        texts = {label.value: label.text for label in labels_from_json(self.golden_set.labels)}
        return "unread" if value is None else texts.get(value, value)

    def lines(self) -> Iterator[tuple[ComparedShown, Flip]]:
        """Yield the responses on which the two differ."""
        return ((self, flip) for flip in self.comparison.flips)


def _compared(
    name: str,
    title: str,
    columns: tuple[ReportColumn[Line], ...],
    rows: Callable[[ComparedShown], Iterator[Line] | tuple[Line, ...]],
) -> ReportTable[ComparedShown, Line]:
    return ReportTable(
        name,
        title,
        columns,
        rows,
        basis=lambda shown: (
            f"Golden set {shown.golden_set.name}, {shown.names['before']} before and {shown.names['after']} after; "
            "McNemar mid-p over one response to each case."
        ),
        same=lambda shown: {
            "golden_set": shown.golden_set.name,
            **{f"{side}_version": name for side, name in shown.names.items()},
        },
    )


COMPARISON: ReportTable[ComparedShown, ComparedShown] = _compared(
    "comparison",
    "Change of agreement",
    (
        ReportColumn("responses", lambda shown: shown.comparison.responses),
        ReportColumn("flips", lambda shown: len(shown.comparison.flips)),
        *plain_columns("comparison.gains", "comparison.losses"),
        FigureColumn("difference", lambda shown: shown.comparison.difference),
        PValueColumn("p_value", lambda shown: shown.paired and shown.paired.p_value),
        ReportColumn("pairs", lambda shown: shown.paired and shown.paired.n),
    ),
    lambda shown: (shown,),
)
FLIPS: ReportTable[ComparedShown, tuple[ComparedShown, Flip]] = _compared(
    "flips",
    "Responses on which two versions differ",
    (
        ReportColumn("case", lambda line: line[1].before.case_key),
        ReportColumn("response", lambda line: line[1].before.response_id),
        ReportColumn("people", lambda line: line[0].label(line[1].before.people)),
        ReportColumn("before", lambda line: line[0].label(line[1].before.judge)),
        ReportColumn("after", lambda line: line[0].label(line[1].after.judge)),
        ReportColumn("agreement", lambda line: line[1].agreement),
    ),
    lambda shown: shown.lines(),
)


def _read_comparison(form: GoldenComparisonForm, _waits: bool) -> ComparedShown:
    golden_set = form.cleaned_data["golden_set"]
    before, after = (version_named(golden_set, form.cleaned_data[side]) for side in ("before", "after"))
    return ComparedShown.of(golden_set, before, after)


_flip_facts = columns(
    *("before.golden_id as item", "before.response_id as response", "before.case_key as case"),
    *("before.people as people", "before.judge as before", "after.judge as after"),
)
_comparison_facts = columns(
    *("before.key as before", "after.key as after", "comparison.responses as responses"),
    difference=lambda shown: asdict(shown.comparison.difference),
    paired=lambda shown: asdict(shown.comparison.paired),
    gains=attrgetter("comparison.gains"),
    losses=attrgetter("comparison.losses"),
    flips=lambda shown: list(map(_flip_facts, shown.comparison.flips)),
)


COMPARISON_REPORT = Report(
    "golden-comparison",
    "How two versions of judges differ on the development part of a golden set.",
    permission="reports.view_snapshot",
    form_class=GoldenComparisonForm,
    read=_read_comparison,
    facts=_comparison_facts,
    tables=(COMPARISON, FLIPS),
    references={GoldenSet: GOLDEN_SET},
)
