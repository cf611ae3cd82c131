"""What pages, jobs and reports read of debates. Queries only; nothing here writes or decides an outcome."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import Count, F, Max, Prefetch, Q, QuerySet

from debate.models import Agent, Debate, DebateSet, DebateSource, DebateStatus, Experiment, OutsideLabel, Statement
from debate.protocol.debate import replay
from debate.protocol.figures import JudgeConformity, all_figures, conformity, moved_toward, reading_differences
from debate.protocol.metaeval import DebateVotes, agent_names, debate_votes
from debate.protocol.setups import (
    Criterion,
    DebateImages,
    DebateOptions,
    DebateSetup,
    Method,
    Orders,
    StatementResult,
    criteria_in,
    options_from_json,
    perturbed,
)
from debate.protocol.transcripts import (
    RecordedCell,
    RecordedItem,
    RecordedTurn,
    ShownStatement,
    SingleScore,
    Transcript,
    shown_statements,
    transcript,
)
from debate.protocol.verdicts import POSITIONS, readable_statement, to_system_space
from evalsite.base.rows import grouped
from evalsite.base.types import JsonDict, JsonObject
from judging.llm.chat import ChatReply, ChatRequest, ReplyStatus, call_key
from judging.llm.endpoints import EndpointKind
from judging.models import Call, Case, ModelEndpoint, Response, Rubric, RubricItem, Run, RunTask
from judging.models.runs import ACTIVE
from judging.selectors.endpoints import config_of
from judging.services.ledger import repeated, reply_of
from judging.specs.types import image_specs

ITEMS_LOOKED_AT = 200  # trees of one rubric that its criteria are gathered from
RUBRICS_OFFERED = 100


def criterion_names(rubric: Rubric) -> list[str]:
    """Return the names of the criteria a rubric offers, in the order written; the first cases' trees speak for all."""
    names: dict[str, None] = {}
    for tree in rubric.items.order_by("position").values_list("tree", flat=True)[:ITEMS_LOOKED_AT]:
        names |= dict.fromkeys(criteria_in(tree))
    return list(names)


def criteria_on_offer() -> list[tuple[Rubric, list[str]]]:
    """Return the newest rubrics with the criteria of their first tree. Two queries."""
    rubrics = list(Rubric.objects.order_by("-created_at", "-pk")[:RUBRICS_OFFERED])
    names: dict[int, list[str]] = {}
    first = RubricItem.objects.filter(rubric__in=rubrics, position=0).values_list("rubric_id", "tree")
    for rubric_id, tree in first:
        names[rubric_id] = list(criteria_in(tree))
    return [(rubric, names[rubric.pk]) for rubric in rubrics if rubric.pk in names]


def criteria_by_case(*, rubric: Rubric | None, name: str, case_keys: Sequence[str]) -> dict[str, Criterion]:
    """Return the criterion called `name` for each case: with the levels of the case's tree, else the benchmark's.

    A case whose trees know no such criterion has the bare name. One query.
    """
    by_case: dict[str, Criterion] = {}
    if rubric is not None:
        items = RubricItem.objects.filter(rubric=rubric, case_key__in=[*set(case_keys), ""])
        by_case = {item.case_key: criteria[name] for item in items if name in (criteria := criteria_in(item.tree))}
    fallback = by_case.get("", Criterion(name))
    return {key: by_case.get(key, fallback) for key in case_keys}


@dataclass(slots=True)
class LabelSource:
    """The labels of a set that came with one file and that no later file replaced."""

    file: str
    raters: dict[str, int]  # how many labels each of them gave
    blind: int  # labels whose raters had seen neither the debates nor each other's labels
    at: datetime  # when the newest of them was stored

    @property
    def labels(self) -> int:
        return sum(self.raters.values())


def label_sources(debate_set: DebateSet) -> list[LabelSource]:
    """Return the files that labels of a set came with, the newest first. One query."""
    labels = OutsideLabel.objects.filter(debate__debate_set=debate_set).order_by("rater").values("source", "rater")
    sources: dict[str, LabelSource] = {}
    for row in labels.annotate(count=Count("pk"), blind=Count("pk", filter=Q(is_blind=True)), at=Max("created_at")):
        source = sources.setdefault(row["source"], LabelSource(row["source"], {}, 0, row["at"]))
        source.raters[row["rater"]] = row["count"]
        source.blind += row["blind"]
        source.at = max(source.at, row["at"])
    return sorted(sources.values(), key=lambda source: (-source.at.timestamp(), source.file))


def outside_labels(debate_ids: Sequence[int]) -> list[tuple[int, str, int]]:
    """Return (debate, rater, verdict in system space) of the blind labels of these debates. One query."""
    labels = OutsideLabel.objects.filter(debate__in=debate_ids, is_blind=True).order_by("debate_id", "rater")
    return list(labels.values_list("debate_id", "rater", "verdict"))


FINISHED = (DebateStatus.AGREED, DebateStatus.UNRESOLVED)
Stages = tuple[tuple[RecordedTurn, ...], ...]


def debates_report(sets: Iterable[DebateSet]) -> JsonDict:
    """Return every figure of finished debates, in the layout of `debate.protocol.figures.all_figures`.

    Imported sets are one cell each; a set held here is one cell per scenario, where the reading `recorded` is the
    verdict as counted and `strict` re-reads the text. `reading_differences` explains every statement on which the two
    differ. Five queries for each set, and their texts in memory.
    """
    cells = recorded_cells(sets)
    return {**all_figures(cells), "reading_differences": reading_differences(cells)}


def recorded_cells(sets: Iterable[DebateSet]) -> list[RecordedCell]:
    """Return the finished debates of these sets as cells; a key that repeats is marked with the set's id."""
    cells: dict[str, RecordedCell] = {}
    for debate_set in sets:
        for cell in _cells_of(debate_set):
            named = cell if cell.key not in cells else replace(cell, scenario=f"{cell.scenario} (set {debate_set.pk})")
            cells[named.key] = named
    return list(cells.values())


def _cells_of(debate_set: DebateSet) -> list[RecordedCell]:
    debates = list(
        debate_set.debates.filter(status__in=FINISHED)
        .select_related("case__prompt", "response_a", "response_b")
        .order_by("source_id", "pk")
    )
    stages = _stages(debate_set)
    by_scenario: dict[str, list[Debate]] = {}
    for debate in debates:
        if stages.get(debate.pk):
            by_scenario.setdefault(debate.scenario, []).append(debate)
    return [_cell(debate_set, scenario, group, stages) for scenario, group in sorted(by_scenario.items())]


def _cell(
    debate_set: DebateSet, scenario: str, debates: Sequence[Debate], stages: Mapping[int, Stages]
) -> RecordedCell:
    filed = debate_set.setup.get("recorded", {})
    items = tuple(_item(debate, stages[debate.pk]) for debate in debates)
    return RecordedCell(
        pair=filed.get("pair", f"{debate_set.system_a.name}_vs_{debate_set.system_b.name}"),
        criterion=filed.get("criterion", debate_set.criterion),
        scenario=filed.get("scenario", scenario),
        system_a=debate_set.system_a.name,
        system_b=debate_set.system_b.name,
        judges=agent_names(debate_set.setup["endpoints"]),
        items=items,
        singles=_singles(filed.get("singles", {}), items),
        criterion_key=debate_set.criterion if debate_set.rubric_id else "",
    )


def _item(debate: Debate, stages: Stages) -> RecordedItem:
    return RecordedItem(
        id=debate.pk if debate.source_id is None else debate.source_id,
        question=debate.case.prompt.text,
        response_a=debate.response_a.text,
        response_b=debate.response_b.text,
        response_order=debate.response_order,
        stages=stages,
    )


def _stages(debate_set: DebateSet) -> dict[int, Stages]:
    """Return the statements of each debate by round and agent. Two queries."""
    imported = debate_set.source == DebateSource.IMPORT
    names: dict[int, list[str]] = {}
    orders: dict[int, int] = {}
    agents = Agent.objects.filter(debate__debate_set=debate_set).order_by("debate_id", "number")
    for debate_id, name, order in agents.values_list("debate_id", "name", "debate__response_order"):
        names.setdefault(debate_id, []).append(name)
        orders[debate_id] = order
    judges = {debate_id: agent_names(agents) for debate_id, agents in names.items()}
    rounds: dict[int, dict[int, list[RecordedTurn]]] = {}
    statements = Statement.objects.filter(agent__debate__debate_set=debate_set).order_by("round", "agent__number")
    for debate_id, agent_number, number, text, verdict, recorded in statements.values_list(
        "agent__debate_id", "agent__number", "round", "text", "verdict", "recorded_verdict"
    ):
        score = json.loads(recorded or "null") if imported else _counted(verdict, orders[debate_id])
        turn = RecordedTurn(agent_number, judges[debate_id][agent_number - 1], text, score)
        rounds.setdefault(debate_id, {}).setdefault(number, []).append(turn)
    return {
        debate_id: tuple(tuple(by_round[number]) for number in sorted(by_round))
        for debate_id, by_round in rounds.items()
    }


def _counted(verdict: int | None, response_order: int) -> str | None:
    """Return a verdict in system space by position again, as a filed score would state it."""
    if verdict is None:
        return None
    return {1: str(1 + response_order), -1: str(2 - response_order), 0: "0"}[verdict]


def _singles(
    filed: Mapping[str, Sequence[JsonObject]], items: Sequence[RecordedItem]
) -> dict[str, tuple[SingleScore, ...]]:
    spoken = {(item.id, turn.judge): turn.text for item in items for turn in item.stages[0]}
    return {
        judge: tuple(
            SingleScore(row["id"], row["score"], row["text"] if "text" in row else spoken.get((row["id"], judge)))
            for row in rows
        )
        for judge, rows in filed.items()
    }


OUTCOMES = {"a": 1, "b": -1, "tie": 0}  # in an address
SET_SORTS = {"name": "name", "criterion": "criterion", "created": "created_at"}
DEBATE_SORTS = {"case": "case__key", "scenario": "scenario", "status": "status", "rounds": "round_count"}


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """How the debates of a set stand."""

    agreed: int = 0
    unresolved: int = 0
    failed: int = 0
    open: int = 0
    cancelled: int = 0
    verdicts: Counter[int | None] = field(default_factory=Counter)  # of the agreed ones, in system space

    @property
    def total(self) -> int:
        return self.agreed + self.unresolved + self.failed + self.open + self.cancelled

    @property
    def agreed_share(self) -> float | None:
        """The share of finished debates that ended in agreement."""
        finished = self.agreed + self.unresolved
        return self.agreed / finished if finished else None

    @property
    def a_better(self) -> int:
        return self.verdicts[1]

    @property
    def b_better(self) -> int:
        return self.verdicts[-1]

    @property
    def neither(self) -> int:
        return self.verdicts[0]


def list_sets(*, sort: str = "-created", source: str = "", method: str = "", words: str = "") -> QuerySet[DebateSet]:
    """Return sets of debates, newest first unless told otherwise."""
    debate_sets = DebateSet.objects.select_related("run", "system_a", "system_b", "rubric").defer("setup")
    if method in list(Method):
        debate_sets = debate_sets.filter(method=method)
    if source in DebateSource.values:
        debate_sets = debate_sets.filter(source=source)
    if words:
        debate_sets = debate_sets.filter(name__icontains=words)
    return debate_sets.order_by(*_order(sort, SET_SORTS, default="-created_at"), "-pk")


def sets_of_experiment(experiment: Experiment) -> list[DebateSet]:
    """Return the sets of an experiment in the order made. One query."""
    return list(experiment.sets.select_related("run", "system_a", "system_b").order_by("pk"))


def outcomes_of(set_ids: Sequence[int]) -> dict[int, OutcomeCounts]:
    """Return how the debates of these sets stand. One query."""
    rows = (
        Debate.objects.filter(debate_set_id__in=set_ids)
        .order_by()
        .values_list("debate_set_id", "status", "verdict")
        .annotate(count=Count("pk"))
    )
    by_set: dict[int, Counter[str]] = {}
    verdicts: dict[int, Counter[int | None]] = {}
    for set_id, status, verdict, count in rows:
        by_set.setdefault(set_id, Counter())[status] += count
        verdicts.setdefault(set_id, Counter())[verdict] += count
    return {set_id: _outcomes(by_set.get(set_id, Counter()), verdicts.get(set_id, Counter())) for set_id in set_ids}


def debates_in(
    debate_set: DebateSet, *, status: str = "", outcome: str = "", scenario: str = "", words: str = "", sort: str = ""
) -> QuerySet[Debate]:
    """Return a set's debates by case, unless told otherwise; `words` stand in the case's key or its question."""
    debates = debate_set.debates.select_related("case").only(
        "case__key", "scenario", "status", "verdict", "agreed_round", "round_count", "independent_verdict", "flags",
        "debate_set_id", "source_id", "response_order",
    )  # fmt: skip
    if status in DebateStatus.values:
        debates = debates.filter(status=status)
    if outcome in OUTCOMES:
        debates = debates.filter(verdict=OUTCOMES[outcome])
    if scenario:
        debates = debates.filter(scenario=scenario)
    if words:
        debates = debates.filter(Q(case__key__icontains=words) | Q(case__prompt__text__icontains=words))
    return debates.order_by(*_order(sort, DEBATE_SORTS, default="pk"), "pk")


def scenarios_of(debate_set: DebateSet) -> list[tuple[str, int]]:
    """Return the scenarios of a set with their number of debates."""
    rows = debate_set.debates.order_by("scenario").values_list("scenario").annotate(count=Count("pk"))
    return [(scenario, count) for scenario, count in rows if scenario]


def baselines_of(debate_set: DebateSet) -> list[str]:
    """Return the names of a set's agents that are no language models."""
    baselines = ModelEndpoint.objects.filter(kind=EndpointKind.LEXICAL, name__in=debate_set.setup.get("endpoints", []))
    return list(baselines.order_by("name").values_list("name", flat=True))


def progress_of(run: Run, *, at: datetime) -> tuple[float | None, float | None]:
    """Return how many debates of a run end in a minute, and the seconds left; None where it cannot be told yet."""
    ended = run.done + run.failed
    if run.started_at is None or not ended or run.status not in ACTIVE:
        return None, None
    per_second = ended / max((at - run.started_at).total_seconds(), 1.0)
    return 60 * per_second, run.waiting / per_second


def conformity_of(
    debate_set: DebateSet,
) -> tuple[tuple[JudgeConformity, ...], tuple[tuple[str, str, int], ...], int]:
    """Return who keeps its verdict and who gives way over the finished debates of a set, and how many these are.

    Moves are who moved, toward whom and how often, the most frequent first. Two queries, without any text.
    """
    all_votes = votes_of(debate_set)
    moves = moved_toward(all_votes)
    ordered = sorted(moves.items(), key=lambda row: (-row[1], row[0]))
    return conformity(all_votes), tuple((*move, times) for move, times in ordered), len(all_votes)


def votes_of(debate_set: DebateSet) -> list[DebateVotes]:
    """Return the votes of a set's finished debates, in the reading that their outcome follows."""
    finished = debate_set.debates.filter(status__in=FINISHED)
    orders = dict(finished.order_by("pk").values_list("pk", "response_order"))
    names: dict[int, list[str]] = {}
    agents = Agent.objects.filter(debate__debate_set=debate_set).order_by("debate_id", "number")
    for debate_id, name in agents.values_list("debate_id", "name"):
        names.setdefault(debate_id, []).append(name)
    rounds: dict[int, dict[int, list[int | None]]] = {}
    statements = Statement.objects.filter(agent__debate__debate_set=debate_set).order_by("round", "agent__number")
    for debate_id, number, verdict in statements.values_list("agent__debate_id", "round", "verdict"):
        rounds.setdefault(debate_id, {}).setdefault(number, []).append(verdict)
    return [
        debate_votes(
            item=debate_id,
            response_order=order,
            judges=agent_names(names[debate_id]),
            rounds=[rounds[debate_id][number] for number in sorted(rounds[debate_id])],
        )
        for debate_id, order in orders.items()
        if debate_id in rounds
    ]


def _outcomes(statuses: Counter[str], verdicts: Counter[int | None]) -> OutcomeCounts:
    return OutcomeCounts(
        agreed=statuses[DebateStatus.AGREED],
        unresolved=statuses[DebateStatus.UNRESOLVED],
        failed=statuses[DebateStatus.FAILED],
        open=statuses[DebateStatus.WAITING] + statuses[DebateStatus.RUNNING],
        cancelled=statuses[DebateStatus.CANCELLED],
        verdicts=verdicts,
    )


def _order(sort: str, allowed: dict[str, str], *, default: str) -> list[str | F]:
    field_name = allowed.get(sort.lstrip("-"))
    if field_name is None:
        return [default]
    return [f"-{field_name}" if sort.startswith("-") else field_name]


SEEN_BY = "images_seen_by"  # in the setup of a set with images: the endpoints that are sent them


def debates_by_id(debate_ids: Sequence[int]) -> list[Debate]:
    """Return debates with everything that `setups_of` reads. Two queries."""
    return list(
        Debate.objects.filter(pk__in=debate_ids)
        .select_related(
            "debate_set__rubric",
            "debate_set__run",
            "debate_set__system_a",
            "debate_set__system_b",
            "case__prompt",
            "response_a",
            "response_b",
        )
        .prefetch_related(Prefetch("agents", Agent.objects.select_related("endpoint").order_by("number")))
        .order_by("pk")
    )


def setups_of(debates: Sequence[Debate]) -> dict[int, DebateSetup]:
    """Return what the protocol asks in each debate, by its id. One query per set of debates."""
    by_set = grouped((debate.debate_set_id, debate) for debate in debates)
    setups: dict[int, DebateSetup] = {}
    for group in by_set.values():
        owner = group[0].debate_set
        criteria = criteria_by_case(
            rubric=owner.rubric, name=owner.criterion, case_keys=[debate.case.key for debate in group]
        )
        setups |= {debate.pk: setup_of(debate, criteria) for debate in group}
    return setups


def setup_of(debate: Debate, criteria: Mapping[str, Criterion]) -> DebateSetup:
    """Return what the protocol asks in one debate, whose related rows are loaded."""
    return setup_with(
        case=debate.case,
        responses=(debate.response_a.text, debate.response_b.text),
        orders=Orders(debate.response_order, tuple(agent.name for agent in debate.agents.all())),
        criterion=criteria[debate.case.key],
        options=replace(options_from_json(debate.debate_set.setup), seed=debate.seed),
        images=images_of(
            debate.case, debate.response_a, debate.response_b, seen_by=debate.debate_set.setup.get(SEEN_BY, ())
        ),
    )


def images_of(case: Case, response_a: Response, response_b: Response, *, seen_by: Iterable[str]) -> DebateImages:
    """Return the images that a debate is about, and which endpoints are sent them."""
    question, a, b = (image_specs(row.images) for row in (case.prompt, response_a, response_b))
    return DebateImages(question, a, b, frozenset(seen_by))


def setup_with(
    *,
    case: Case,
    responses: tuple[str, str],
    orders: Orders,
    criterion: Criterion,
    options: DebateOptions,
    images: DebateImages,
) -> DebateSetup:
    """Return what the protocol asks about two responses to a case, which is loaded with its prompt."""
    return DebateSetup(
        question=question_of(case),
        response_a=responses[0],
        response_b=responses[1],
        response_order=orders.response_order,
        agents=orders.agents,
        criterion=criterion_of(criterion, options),
        reference=reference_of(case),
        images=images,
        **{name: getattr(options, name) for name in {*DebateSetup.__slots__} & {*DebateOptions.__slots__}},
    )


def criterion_of(stored: Criterion, options: DebateOptions) -> Criterion:
    """Return the criterion as agents read it: perturbed where the set is to show what perturbation does."""
    named = replace(stored, name=options.shown_criterion or stored.name)
    return perturbed(named, options.perturbation_to_do, seed=options.perturbation_seed)


def question_of(case: Case) -> str:
    """Return what the systems were asked, with the context they were given beside it."""
    prompt = case.prompt
    if prompt.context.strip() and prompt.context_role != "reference":
        return f"{prompt.text}\n\nContext:\n{prompt.context}"
    return prompt.text


def reference_of(case: Case) -> str:
    """Return the reference answer; a context that serves as one stands in where there is none."""
    return case.reference or (case.prompt.context if case.prompt.context_role == "reference" else "")


UNFINISHED = (DebateStatus.WAITING, DebateStatus.RUNNING, DebateStatus.CANCELLED)  # their statements are not stored
HEARD = (ReplyStatus.FINISHED, ReplyStatus.TRUNCATED, ReplyStatus.REFUSED)


def transcript_of(debate: Debate) -> tuple[Transcript, list[str]]:
    """Return the transcript of a debate loaded by `debates_by_id`, and the agents whose reply is due."""
    if debate.status not in UNFINISHED:
        rows = Statement.objects.filter(agent__debate=debate).select_related("agent").order_by("round", "agent__number")
        imported = debate.debate_set.source == DebateSource.IMPORT
        return transcript([_said(row, debate, imported=imported) for row in rows], is_heard=_is_heard(debate)), []
    statements, requests = _replayed(setups_of([debate])[debate.pk], debate)
    waiting = list(dict.fromkeys(request.endpoint for request in requests))
    return transcript(shown_statements(statements), is_heard=_is_heard(debate)), waiting


def anonymous_transcript(debate: Debate, *, swapped: bool) -> Transcript:
    """Return a finished debate for somebody who may not know who spoke, with the sides as they see them. One query.

    Agents keep the numbers by which they address each other; `swapped` readers see system B as A.
    """
    first, second = ("B", "A") if swapped != bool(debate.response_order) else ("A", "B")
    rows = Statement.objects.filter(agent__debate=debate).order_by("round", "agent__number")
    statements = [
        ShownStatement(
            round=number,
            agent_number=agent_number,
            name=f"Agent {agent_number}",
            text=readable_statement(text, first=first, second=second),
            verdict=-verdict if swapped and verdict else verdict,
            status="",
        )
        for number, agent_number, text, verdict in rows.values_list("round", "agent__number", "text", "verdict")
    ]
    return transcript(statements, is_heard=_is_heard(debate))


def _is_heard(debate: Debate) -> bool:
    return debate.debate_set.method == Method.DEBATE


def calls_of(statement: Statement) -> list[Call]:
    """Return the calls that a statement rests on, in the order asked. One query."""
    call_ids = [*statement.call_ids, *statement.mirrored_call_ids]
    calls = Call.objects.select_related("endpoint", "prompt").in_bulk(call_ids)
    return [calls[pk] for pk in call_ids if pk in calls]


def neighbours(debate: Debate) -> tuple[int | None, int | None]:
    """Return the ids of the debates before and after this one in its set. Two queries."""
    others = Debate.objects.filter(debate_set_id=debate.debate_set_id)
    before = others.filter(pk__lt=debate.pk).order_by("-pk").values_list("pk", flat=True).first()
    after = others.filter(pk__gt=debate.pk).order_by("pk").values_list("pk", flat=True).first()
    return before, after


def _said(row: Statement, debate: Debate, *, imported: bool) -> ShownStatement:
    mirrored = POSITIONS.get(row.mirrored_position_verdict)
    return ShownStatement(
        round=row.round,
        agent_number=row.agent.number,
        name=row.agent.name,
        text=row.text,
        verdict=row.verdict,
        status=row.status,
        reasked=row.was_reasked,
        first_text=row.first_text,
        mirrored_text=row.mirrored_text,
        mirrored_verdict=to_system_space(mirrored, response_order=1 - debate.response_order),
        filed=_filed(row) if imported else "",
        error_kind=row.error_kind,
        statement_id=row.pk if row.call_ids else 0,
    )


def _filed(row: Statement) -> str:
    """Return the score as filed where it does not say what the text says."""
    score = json.loads(row.recorded_verdict or "null")
    if isinstance(score, str):
        return "" if score == row.position_verdict else f"“{score}”"
    return "nothing" if score is None else str(score)


def _replayed(setup: DebateSetup, debate: Debate) -> tuple[tuple[StatementResult, ...], tuple[ChatRequest, ...]]:
    """Return how far the ledger's replies carry a debate, and what it asks next. One query for each answered step."""
    configs = {
        endpoint.name: config_of(endpoint) for endpoint in ModelEndpoint.objects.filter(name__in=set(setup.agents))
    }
    run = debate.debate_set.run
    task = RunTask.objects.filter(run=run, subject_id=debate.pk).first()
    batches: list[tuple[ChatReply, ...]] = []
    while True:
        statements, waiting, _ = replay(setup, batches)
        if not waiting or any(request.endpoint not in configs for request in waiting):
            return statements, waiting
        requests = [repeated(request, task, run) if task and run else request for request in waiting]
        keys = [call_key(configs[request.endpoint], request) for request in requests]
        replies = _replies(keys)
        if len(replies) < len(set(keys)):
            return statements, waiting
        batches.append(tuple(replies[key] for key in keys))


def _replies(keys: Iterable[str]) -> dict[str, ChatReply]:
    """Return what was answered to these calls: the latest finished reply, else the latest."""
    replies: dict[str, ChatReply] = {}
    for call in Call.objects.filter(key__in=set(keys), status__in=HEARD).order_by("pk"):
        if call.key not in replies or call.status == ReplyStatus.FINISHED:
            replies[call.key] = reply_of(call)
    return replies
