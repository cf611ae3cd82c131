"""Judges: where they are used, their versions, the scales of their scores, and those that suit a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet

from evalsite.base.formats import SHARE, WINS, ScoreScale, rating
from evalsite.base.types import JsonDict, JsonObject
from judging.grading.rubric_tree import walk
from judging.judges import judge_kinds
from judging.judges.judge_kinds import JudgeVersion, kind_asked, members_of, version_of_options
from judging.judges.kinds import panel
from judging.judges.registry import COMPARING, KINDS, imported_grader, judge_kind
from judging.models import (
    UNREPORTED_KINDS,
    EvaluatorKind,
    Judge,
    ModelEndpoint,
    Response,
    Rubric,
    RubricItem,
    Run,
    RunEvaluator,
    RunKind,
    Suite,
    SuiteCase,
)
from judging.selectors.endpoints import active_judges
from judging.specs.types import NodeSpec
from judging.stored_content import tree_from_json

LEVEL_SHAPE = "levels"


def cost_of_calls(costs: Sequence[Decimal | None]) -> Decimal | None:
    """Return what the calls of one verdict cost; None without a call, and where the price of one is unknown."""
    known_costs = [cost for cost in costs if cost is not None]
    return sum(known_costs, Decimal(0)) if costs and len(known_costs) == len(costs) else None


def needs_of(judge: Judge) -> frozenset[str]:
    """Return what a judge cannot be asked without; see `JudgeKind`."""
    return judge_kind(judge.kind).needs_with(judge.options)


def is_baseline(judge: Judge) -> bool:
    """Return whether no language model is behind it: by its kind, or as a lexical baseline answers it or a member."""
    by_kind = judge.kind in KINDS and KINDS[judge.kind].is_baseline
    by_member = any(member.get("is_baseline") for member in members_of(judge.options))
    return by_kind or by_member or (judge.endpoint is not None and judge.endpoint.is_baseline)


def needs_rubric(judge: Judge) -> bool:
    """Return whether a judge cannot be asked without a rubric."""
    return bool(needs_of(judge) & {"rubric", "levels", "any_rubric"})


def uses_rubric(judge: Judge, rubric: Rubric) -> bool:
    """Return whether a judge needs a rubric of this shape."""
    if "any_rubric" in needs_of(judge):
        return True
    return needs_rubric(judge) and (rubric.shape == LEVEL_SHAPE) == ("levels" in needs_of(judge))


MAX_SUITES = 100  # that are offered
TRIED_CASES = 10  # of a suite
MAX_TRIALS = 10


@dataclass(frozen=True, slots=True)
class PromptUse:
    """One version of what a judge sent, and the runs that used it; `texts` by name, empty where they are lost."""

    prompt_hash: str
    runs: int
    texts: dict[str, str]
    is_current: bool


def runs_of(judge: Judge) -> QuerySet[RunEvaluator]:
    """Return a judge's part in each run that reports know of, newest first."""
    rows = RunEvaluator.objects.filter(judge=judge).exclude(run__kind__in=UNREPORTED_KINDS)
    return rows.select_related("run__suite__benchmark", "rubric").order_by("-run_id", "position")


def prompt_versions(judge: Judge) -> list[PromptUse]:
    """Return the versions of what a judge sends and its runs sent, the newest first. Two queries."""
    counted = runs_of(judge).order_by().values("options__prompt_hash")
    counted = counted.annotate(n=Count("run", distinct=True), newest=Max("pk"))
    uses = {row["newest"]: row["n"] for row in counted if row["options__prompt_hash"]}
    kind, now = judge_kind(judge.kind), judge_kind(judge.kind).prompt_hash(judge.options)
    versions = [
        PromptUse(
            prompt_hash=(key := str(evaluator.options["prompt_hash"])),
            runs=uses[evaluator.pk],
            texts=_texts(kind.name, evaluator.options.get("judge_options") or {}, key),
            is_current=key == now,
        )
        for evaluator in RunEvaluator.objects.filter(pk__in=uses).order_by("-pk")
    ]
    if now and not any(version.is_current for version in versions):
        versions.insert(0, PromptUse(now, 0, _texts(kind.name, judge.options, now), is_current=True))
    return versions


def _texts(kind: str, options: dict[str, object], prompt_hash: str) -> dict[str, str]:
    """Return the texts that a judge of these options sends today, if they are still those of the wanted hash."""
    described = judge_kind(kind)
    if described.prompt_hash(options) != prompt_hash:
        return {}
    return {prompt.name: prompt.text for prompt in described.prompts_sent(options)}


def suites_to_try() -> list[Suite]:
    """Return the newest suites with responses."""
    responses = Response.objects.filter(prompt__cases__links__suite=OuterRef("pk"), superseded_at__isnull=True)
    suites = Suite.objects.filter(Exists(responses)).select_related("benchmark")
    return list(suites.order_by("-created_at", "-pk")[:MAX_SUITES])


def suite_to_try(judge: Judge, suites: Sequence[Suite]) -> Suite | None:
    """Return the suite that a judge judged last, else the first with a rubric that the judge uses, else the first."""
    offered = {suite.pk: suite for suite in suites}
    judged = RunEvaluator.objects.filter(judge=judge, run__suite__in=offered).order_by("-run_id")
    last = judged.values_list("run__suite", flat=True).first()
    if last is not None:
        return offered[last]
    fitting = _with_rubric(judge, list(offered)) if needs_rubric(judge) else set()
    return next((suite for suite in suites if suite.pk in fitting), suites[0] if suites else None)


def _with_rubric(judge: Judge, suite_ids: Collection[int]) -> set[int]:
    """Return the suites that have a case with a tree in a rubric that a judge uses."""
    used = [rubric.pk for rubric in Rubric.objects.all() if uses_rubric(judge, rubric)]
    owned = Q(rubric__benchmark=OuterRef("suite__benchmark")) | Q(rubric__benchmark__isnull=True)
    trees = RubricItem.objects.filter(owned, Q(case_key=OuterRef("case__key")) | Q(case_key=""), rubric__in=used)
    links = SuiteCase.objects.filter(Exists(trees), suite__in=suite_ids)
    return set(links.values_list("suite", flat=True).distinct())


def responses_to_try(suite: Suite) -> list[Response]:
    """Return the responses to the first cases of a suite."""
    responses = Response.objects.filter(prompt=OuterRef("case__prompt"), superseded_at__isnull=True)
    first = SuiteCase.objects.filter(Exists(responses), suite=suite).order_by("position", "pk")
    positions = {key: index for index, key in enumerate(first.values_list("case__prompt", flat=True)[:TRIED_CASES])}
    rows = Response.objects.filter(prompt__in=positions, superseded_at__isnull=True).select_related("prompt", "system")
    return sorted(rows, key=lambda row: (positions[row.prompt_id], row.system.name, row.attempt))


def trials_of(judge: Judge) -> list[tuple[Run, int]]:
    """Return the newest trials of a judge, each with the response that it was tried on."""
    rows = RunEvaluator.objects.filter(judge=judge, run__kind=RunKind.SINGLE, run__tasks__isnull=False)
    newest = rows.select_related("run").order_by("-run_id").annotate(response=Max("run__tasks__response"))
    return [(row.run, row.response) for row in newest[:MAX_TRIALS]]


def versions_of(evaluators: Sequence[RunEvaluator]) -> dict[int, JudgeVersion]:
    """Return the version of each evaluator by its key, with one query for the hashes of all rubrics."""
    rubric_ids = {evaluator.rubric_id for evaluator in evaluators if evaluator.rubric_id is not None}
    hashes = dict(Rubric.objects.filter(pk__in=rubric_ids).values_list("pk", "content_hash")) if rubric_ids else {}
    return {
        evaluator.pk: version_of_options(
            evaluator.options, rubric_hash=hashes.get(evaluator.rubric_id or 0, ""), criterion=evaluator.criterion
        )
        for evaluator in evaluators
    }


MIN_MEMBERS = 2


class PanelRefused(ValueError):
    """These judges cannot be a panel; the message says what to change."""


def defined_members(entries: Sequence[JsonObject]) -> list[JsonDict]:
    """Return the members that entries name, each with what its judge is now. One query.

    Raises:
        PanelRefused: a judge that there is not or that is retired, too few, two that ask the same, or two scales.
    """
    names = [entry["judge"] for entry in entries]
    judges = {row.name: row for row in Judge.objects.filter(name__in=names).select_related("endpoint")}
    if len(names) < MIN_MEMBERS:
        raise PanelRefused(f"A panel has at least {MIN_MEMBERS} members. Name existing judges, one per line.")
    missing = next((name for name in names if name not in judges), None)
    if missing is not None:
        raise PanelRefused(f"There is no judge {missing!r}. Set it up first, or correct its name.")
    retired = next((name for name in names if not judges[name].is_active), None)
    if retired is not None:
        raise PanelRefused(f"{retired} is retired. Restore the judge on its page, or choose another.")
    _check_scale([judges[name] for name in names])
    return [
        {
            "judge": entry["judge"],
            "weight": entry["weight"],
            "id": judges[entry["judge"]].pk,
            "is_baseline": is_baseline(judges[entry["judge"]]),
            "judge_kind": judges[entry["judge"]].kind,
            "judge_options": dict(judges[entry["judge"]].options),
        }
        for entry in entries
    ]


def possible_members() -> QuerySet[Judge]:
    """Return the judges that may be members of a panel, by kind and name."""
    kinds = [kind.name for kind in KINDS.values() if not kind.asks_members and kind.name not in COMPARING]
    return Judge.objects.filter(is_active=True, kind__in=kinds).order_by("kind", "name")


def _check_scale(judges: Sequence[Judge]) -> None:
    first, *others = judges
    kind = judge_kind(first.kind)
    if kind.asks_members or first.kind in COMPARING:
        raise PanelRefused(f"{first} is a judge of the kind {kind.title}, which cannot be a member of a panel.")
    options = kind.complete_options(first.options)
    for other in others:
        if other.kind != first.kind:
            raise PanelRefused(
                f"{first} is of the kind {kind.title} and {other} of the kind {judge_kind(other.kind).title}. "
                "The members of a panel are of one kind, or their scores would be on different scales."
            )
        other_options = kind.complete_options(other.options)
        if any(other_options[name] != options[name] for name in kind.scale):
            raise PanelRefused(f"{first} and {other} have different labels or lowest and highest scores.")
    pair = next((judge for judge in judges if "pair" in needs_of(judge)), None)
    if pair is not None:
        raise PanelRefused(f"{pair} compares two responses, so it cannot be a member of a panel.")
    requests = [(judge.endpoint_id, kind.complete_options(judge.options), judge.name) for judge in judges]
    for index, (endpoint_id, judge_options, name) in enumerate(requests):
        same_as = next(
            (earlier[2] for earlier in requests[:index] if earlier[:2] == (endpoint_id, judge_options)), None
        )
        if same_as is not None:
            raise PanelRefused(f"{same_as} and {name} ask one endpoint the same, so their votes would always be equal.")


def member_ids(judge: Judge) -> list[int]:
    """Return the keys of a panel's members in their order; none of another judge's."""
    return [entry["id"] for entry in judge_kinds.members_of(judge.options) if "id" in entry]


def panels_with(judge: Judge) -> list[Judge]:
    """Return the panels that have a judge as a member, by name."""
    panels = Judge.objects.filter(kind=panel.NAME).order_by("name")
    return [each for each in panels if judge.pk in member_ids(each)]


def member_judges(judge: Judge) -> list[Judge]:
    """Return the judges that are a panel's members, in their order; none of another judge's. One query for a panel."""
    ids = member_ids(judge)
    rows = Judge.objects.select_related("endpoint").in_bulk(ids) if ids else {}
    return [rows[pk] for pk in ids]


def endpoints_of(judge: Judge) -> list[ModelEndpoint]:
    """Return every endpoint that a judge asks, once: its own, or those of a panel's members."""
    judges = [judge, *member_judges(judge)]
    return list(
        {
            asking_judge.endpoint.pk: asking_judge.endpoint
            for asking_judge in judges
            if asking_judge.endpoint is not None
        }.values()
    )


def suggest_judges(*, suite: Suite, rubric_ids: Collection[int] = ()) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return keys of the judges that last judged this suite, else its benchmark, and of their rubrics' newest versions.

    Where none has, it is the judge used last anywhere whose needs are met: by `rubric_ids`, which were just imported,
    or by the rubrics and references that there are. Nothing, where rules grade the suite and no rubric was imported.
    """
    new = list(Rubric.objects.filter(pk__in=rubric_ids))
    last = _last_evaluators(Q(suite=suite)) or _last_evaluators(Q(suite__benchmark=suite.benchmark))
    if last:
        shapes = {rubric.shape for rubric in new}
        slugs = {
            evaluator.rubric.slug
            for evaluator in last
            if evaluator.rubric is not None and evaluator.rubric.shape not in shapes
        }
        judges = [evaluator.judge for evaluator in last if evaluator.judge is not None]
        return _paired(judges, [*new, *(rubric for slug in sorted(slugs) if (rubric := _newest(slug)))])
    if not new and suite.cases.exclude(grading={}).exists():
        return ((), ())
    rubrics = new or list(Rubric.objects.filter(benchmark=suite.benchmark).order_by("-pk")[:1])
    has_references = suite.cases.exclude(reference="").exists()
    fitting = [judge for judge in _judges_by_use() if _fits(judge, rubrics, has_references, is_asked=bool(new))]
    return _paired(fitting[:1], rubrics)


def _last_evaluators(of: Q) -> list[RunEvaluator]:
    """Return the judges still in use of the newest run that had any."""
    chosen = RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE, judge__in=active_judges())
    runs = Run.objects.filter(of, kind=RunKind.GRADING, archived_at__isnull=True, evaluators__in=chosen)
    run = runs.order_by("-pk").first()
    return list(chosen.filter(run=run).select_related("judge", "rubric").order_by("position")) if run else []


def _newest(slug: str) -> Rubric | None:
    return Rubric.objects.filter(slug=slug).order_by("-version").first()


def _judges_by_use() -> list[Judge]:
    """Return the judges that may be asked about one response: models before baselines, the one used last first."""
    by_use = F("used").desc(nulls_last=True)
    judges = active_judges().exclude(kind__in=COMPARING).annotate(used=Max("evaluators__pk")).order_by(by_use, "pk")
    return sorted(judges, key=is_baseline)


def _fits(judge: Judge, rubrics: Collection[Rubric], has_references: bool, *, is_asked: bool) -> bool:
    """Return whether a judge's needs are met; where a rubric was just imported, it must be one that uses it."""
    if "reference" in needs_of(judge) and not has_references:
        return False
    if not needs_rubric(judge):
        return not is_asked
    return any(uses_rubric(judge, rubric) for rubric in rubrics)


def _paired(judges: Collection[Judge], rubrics: Collection[Rubric]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return judges with the rubrics that one of them uses; the form refuses others."""
    used = [rubric.pk for rubric in rubrics if any(uses_rubric(judge, rubric) for judge in judges)]
    return (tuple(dict.fromkeys(judge.pk for judge in judges)), tuple(dict.fromkeys(used)))


WITH_RUBRIC = "generic"  # the kind whose scale is that of its rubric


def score_scale_of(evaluator: RunEvaluator) -> ScoreScale:
    """Return the scale of an evaluator's scores: shares of rules, win rates where it compares, else the judge's own.

    One query for a judge by a rubric of the whole benchmark.
    """
    return score_scales_of([evaluator])[evaluator.pk]


def score_scales_of(evaluators: Collection[RunEvaluator]) -> dict[int, ScoreScale]:
    """Return the scale of each evaluator's scores, by its id; at most one query for all of them."""
    rubrics = {evaluator.rubric_id for evaluator in evaluators if _is_by_rubric(evaluator)}
    items = RubricItem.objects.filter(rubric__in=rubrics, rubric__scope="benchmark", case_key="")
    trees = {item.rubric_id: tree_from_json(item.tree) for item in items} if rubrics else {}
    return {evaluator.pk: _scale(evaluator, trees) for evaluator in evaluators}


def _scale(evaluator: RunEvaluator, trees: Mapping[int, NodeSpec]) -> ScoreScale:
    if evaluator.compared_with:
        return WINS
    if evaluator.kind == EvaluatorKind.INDEX:
        return rating(0, 100)
    grader = imported_grader(evaluator.options)
    if grader is not None:
        return grader.score_scale
    if not _has_judge(evaluator):
        return SHARE
    rubric = _whole_rubric(evaluator, trees) if _is_by_rubric(evaluator) else None
    return judge_kind(evaluator.options["judge_kind"]).score_scale(evaluator.options.get("judge_options") or {}, rubric)


def _has_judge(evaluator: RunEvaluator) -> bool:
    return evaluator.kind == EvaluatorKind.JUDGE and "judge_kind" in evaluator.options


def _is_by_rubric(evaluator: RunEvaluator) -> bool:
    """Whether the scale of a judge is that of its rubric, and not that of two responses compared."""
    return not evaluator.compared_with and _has_judge(evaluator) and kind_asked(evaluator.options) == WITH_RUBRIC


def _whole_rubric(evaluator: RunEvaluator, trees: Mapping[int, NodeSpec]) -> NodeSpec | None:
    """Return the tree by which all cases are judged, or the one criterion of it; None where each has its own."""
    tree = trees.get(evaluator.rubric_id or 0)
    if tree is None or not evaluator.criterion:
        return tree
    node = next((node for node in walk(tree) if node.key == evaluator.criterion), None)
    return None if node is None else NodeSpec("root", "group", aggregator={"type": "mean"}, children=(node,))


@dataclass(frozen=True, slots=True)
class BaselineResponses:
    """Current responses of baseline systems, by system and prompt, then by attempt."""

    rows: Mapping[tuple[int, int], Mapping[int, Response]] = field(default_factory=dict)

    def beside(self, system_id: int | None, response: Response) -> Response | None:
        """Return the system's response to the same prompt and attempt, or else its only one; None without a system."""
        attempts = self.rows.get((system_id or 0, response.prompt_id), {})
        return attempts.get(response.attempt) or (next(iter(attempts.values())) if len(attempts) == 1 else None)


def read_baselines(*, system_ids: Collection[int | None], prompt_ids: Iterable[int]) -> BaselineResponses:
    """Return the responses of these systems to these prompts with one query; none without systems."""
    if not any(system_ids):
        return BaselineResponses()
    by_attempt: dict[tuple[int, int], dict[int, Response]] = {}
    rows = Response.objects.filter(
        system_id__in=[pk for pk in system_ids if pk], prompt_id__in=set(prompt_ids), superseded_at__isnull=True
    ).order_by("attempt", "pk")
    for row in rows:
        by_attempt.setdefault((row.system_id, row.prompt_id), {})[row.attempt] = row
    return BaselineResponses(by_attempt)
