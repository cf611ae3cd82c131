"""Plans of runs: what is to be evaluated by whom, and whether that is possible.

Parts of a plan ask systems (which ones, how often), compare each response with that of a baseline system, or compute
the ESI (models with a prompt each, their systems, and the items).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from django.db.models import QuerySet

from evalsite.base.rows import batches
from evalsite.base.types import JsonDict, JsonObject, Refused
from judging.grading.grades import EsiOptions
from judging.judges.judge_kinds import IMPORTED_JUDGE, BadJudgeOption, JudgeKind
from judging.judges.kinds.esi_items import JUDGES, ReplyReading
from judging.judges.registry import judge_kind
from judging.judges.subjects import BadPrompt, JudgeSubject
from judging.models import (
    ASKING,
    Ask,
    Case,
    EsiItem,
    Judge,
    ModelEndpoint,
    Prompt,
    Response,
    Rubric,
    RubricItem,
    Run,
    RunEvaluator,
    RunTask,
    Suite,
    System,
)
from judging.models.runs import AGAINST
from judging.selectors.benchmarks import case_filters, check_selection, count_with_images
from judging.selectors.endpoints import budget_refusal, target_of
from judging.selectors.judges import endpoints_of, member_judges, needs_of
from judging.services.day_budgets import FROZEN, freeze_endpoints
from judging.services.esi_tasks import options_to_json
from judging.services.evaluator_tasks import subject_of, words_of_needs
from judging.services.systems import Worker, worker_of
from judging.specs.lunar_settings import FILE_TEMPLATES
from judging.specs.people_choices import AskedPeople
from judging.specs.selections import ALL_CASES, CaseSelection, SelectionRefused, draw_keys, selection_from_json

BATCH = 1000
INDEX_NAME = "ESI"


@dataclass(frozen=True, slots=True)
class EsiSetup:
    """What the plan of an ESI run says beside its judges. Without `workers`, stored responses are judged."""

    workers: Sequence[Worker] = ()
    options: EsiOptions = field(default_factory=EsiOptions)
    reading: ReplyReading = ReplyReading.CAREFUL
    input_problems: Sequence[JsonDict] = ()  # lines of the data set that hold no item, for the export
    files: Mapping[str, str] = field(default_factory=dict)  # templates of the exported files' names

    def to_json(self, systems: Sequence[System]) -> JsonDict:
        """Return what a run freezes of it; `systems` are those of the workers."""
        return {
            "esi": options_to_json(self.options),
            "reading": self.reading.value,
            "workers": {str(system.pk): worker.frozen() for system, worker in zip(systems, self.workers, strict=False)},
            "input_problems": list(self.input_problems),
            "files": {**FILE_TEMPLATES, **self.files},
        }


def default_judge_name(kind: str, endpoint: ModelEndpoint) -> str:
    """Return what the judge of this kind on an endpoint as shipped is called."""
    return f"{judge_kind(kind).title} ({endpoint.name})"[:120]


def default_judge(*, kind: str, endpoint: ModelEndpoint) -> Judge:
    """Return the judge of this kind on an endpoint as shipped; where there is none yet, one to be stored with a run."""
    name = default_judge_name(kind, endpoint)
    existing = Judge.objects.select_related("endpoint").filter(name=name, kind=kind).first()
    return existing or Judge(name=name, kind=kind, endpoint=endpoint, options=judge_kind(kind).new_options())


def write_items(index: RunEvaluator, *, systems: Sequence[System], responses: QuerySet[Response] | None) -> None:
    """Write the items of a run with their tasks, which belong to its index: one for each of the responses, or for each
    case and system where these are still to respond (None)."""
    items = EsiItem.objects.bulk_create(_items(index.run, systems, responses), batch_size=BATCH)
    tasks = (
        RunTask(run=index.run, evaluator=index, response_id=item.response_id, subject_id=item.pk) for item in items
    )
    RunTask.objects.bulk_create(tasks, batch_size=BATCH)


def _items(run: Run, systems: Sequence[System], responses: QuerySet[Response] | None) -> Iterator[EsiItem]:
    links = Case.objects.filter(links__suite=run.suite).order_by("links__position")
    cases = list(links.values_list("pk", "prompt_id"))
    if responses is None:
        pairs = [(system.pk, case_id) for system in systems for case_id, _ in cases]
        for position, (system_id, case_id) in enumerate(pairs):
            yield EsiItem(run=run, system_id=system_id, case_id=case_id, position=position)
        return
    by_prompt = {prompt_id: case_id for case_id, prompt_id in cases}
    keys = responses.values_list("system_id", "prompt_id", "pk")
    rows = sorted(keys, key=lambda row: row[0])  # stable: by case within
    for position, (system_id, prompt_id, pk) in enumerate(rows):
        yield EsiItem(run=run, system_id=system_id, case_id=by_prompt[prompt_id], response_id=pk, position=position)


CRITERION_LENGTH = 100  # characters of a run's evaluator's criterion


def compares(judge: Judge | None) -> bool:
    """Return whether a judge is shown a second response."""
    return judge is not None and "pair" in needs_of(judge)


def against(baseline: System) -> str:
    """Return the criterion of evaluators that compare with a system.

    It tells their verdicts, boards and questions from those of any other evaluator, and of any other baseline.
    """
    words = f"{AGAINST}{baseline.name}"
    if len(words) <= CRITERION_LENGTH:
        return words
    end = f"… ({baseline.pk})"
    return words[: CRITERION_LENGTH - len(end)] + end


def comparison_problem(
    *,
    judges: Sequence[Judge],
    baseline: System | None,
    systems: Sequence[System],
    asked: Collection[System],
    suite: Suite,
    selection: CaseSelection,
) -> str:
    """Return why these judges cannot compare the systems' responses with the baseline's; empty where they can.

    `asked` are those of the systems that the run asks.
    """
    names = ", ".join(judge.name for judge in judges)
    if not judges:
        return "" if baseline is None else f"No selected judge compares with {baseline}. Deselect the baseline."
    if baseline is None:
        return f"{names}: compares each response with that of a baseline system. Choose the baseline."
    if baseline in asked:
        return (
            f"{baseline} is the baseline, and this run asks it: its responses may come after those they are "
            "compared with. Ask it in a run before, then choose it as baseline here."
        )
    if not [system for system in systems if system != baseline]:
        return f"{baseline} is the baseline and is not compared with itself. Choose another system."
    stored = Response.objects.filter(
        prompt__cases__links__suite=suite,
        system=baseline,
        superseded_at__isnull=True,
        **case_filters(selection, prefix="prompt__cases__"),
    )
    return "" if stored.exists() else f"{baseline} has no responses to these cases. Import some, or ask it first."


MAX_ATTEMPTS = 100
ASK_BATCH = 1000

AskKey = tuple[int, int, int]  # system, case, attempt


@dataclass(frozen=True, slots=True)
class AskSetup:
    """The systems that a run asks for responses before they are judged, and how many each gives to a case."""

    systems: Sequence[System]
    attempts: int = 1

    @property
    def workers(self) -> list[Worker]:
        """How the systems are asked, in their order."""
        return [worker_of(system) for system in self.systems]

    def to_json(self) -> JsonDict:
        """Return what a run freezes of it."""
        systems = {str(system.pk): worker_of(system).frozen() for system in self.systems}
        return {ASKING: {"attempts": self.attempts, "systems": systems}}


def asked_cases(*, suite: Suite, selection: CaseSelection) -> QuerySet[Case]:
    """Return the cases of a suite that its systems are asked about, in their order."""
    return Case.objects.filter(links__suite=suite, **case_filters(selection)).order_by("links__position")


def count_asked_prompts(*, suite: Suite, selection: CaseSelection) -> int:
    """Return how many prompts these cases have; those that differ only in grading share one, and its responses."""
    return asked_cases(suite=suite, selection=selection).order_by().values("prompt").distinct().count()


def missing_asks(run: Run) -> Iterator[list[AskKey]]:
    """Yield the asks of a run that are not written yet, a transaction's worth at a time, attempt by attempt."""
    selection = selection_from_json(run.options.get("selection", {}))
    cases = asked_cases(suite=run.suite, selection=selection).values_list("prompt_id", "pk")
    by_prompt: dict[int, int] = {}
    for prompt_id, case_id in cases:
        by_prompt.setdefault(prompt_id, case_id)
    written = set(Ask.objects.filter(run=run).values_list("system_id", "case_id", "attempt"))
    keys = [
        (int(system), case_id, attempt)
        for attempt in range(run.options[ASKING]["attempts"])
        for case_id in by_prompt.values()
        for system in run.asked_systems
    ]
    yield from batches((key for key in keys if key not in written), ASK_BATCH)


def write_asks(ask_keys: Sequence[AskKey], run_id: int) -> None:
    """Write asks with their tasks; the run is locked, and what another worker has written is left alone."""
    cases = {case_id for _, case_id, _ in ask_keys}
    written = set(Ask.objects.filter(run_id=run_id, case__in=cases).values_list("system_id", "case_id", "attempt"))
    asks = Ask.objects.bulk_create(
        [
            Ask(run_id=run_id, system_id=system_id, case_id=case_id, attempt=attempt)
            for system_id, case_id, attempt in ask_keys
            if (system_id, case_id, attempt) not in written
        ]
    )
    RunTask.objects.bulk_create([RunTask(run_id=run_id, subject_id=ask.pk) for ask in asks])


class RunNotPossible(Refused):
    """The run cannot be made as asked; the message says what to change."""


@dataclass(frozen=True, slots=True)
class EvaluatorChoice:
    """A grader (no judge) or a judge, with the rubric that it judges by."""

    judge: Judge | None = None
    rubric: Rubric | None = None
    criterion: str = ""
    options: JsonDict = field(default_factory=dict)
    baseline: System | None = None  # whose responses the judge compares with; only of one that compares

    @property
    def name(self) -> str:
        if self.judge is None:
            return "rules"
        rubric_name = self.rubric.name if self.rubric else ""
        parts = [self.judge.name, rubric_name if self.baseline else self.criterion or rubric_name]
        end = f" · {against(self.baseline)}" if self.baseline else ""
        return " · ".join(part for part in parts if part)[: 160 - len(end)] + end


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run is to be. With `esi` it computes the ESI, by an accuracy and an integrity judge in this order."""

    suite: Suite
    evaluators: Sequence[EvaluatorChoice]
    systems: Sequence[System] = ()  # whose stored responses are evaluated; none where models of an ESI run respond
    name: str = ""
    first_attempts: int | None = None  # only attempts 0..n-1; None: all
    compat: bool = False
    budget: Decimal | None = None  # USD
    fresh: bool = False  # ask for every reply again, also where an earlier run has one
    selection: CaseSelection = ALL_CASES
    people: AskedPeople = AskedPeople.OPEN  # what goes to people when it ends
    audit_share: float | None = None  # of the cases that people check at random; None: the site's share
    esi: EsiSetup | None = None
    only: Sequence[int] | None = None  # keys of the responses of the systems that count; None: all
    without_images: bool = False  # judges that cannot see judge without images; else such a run is refused
    asks: AskSetup | None = None  # the systems that are asked first; their responses are evaluated with the stored ones
    baseline: System | None = None  # of the judges that compare

    def __post_init__(self) -> None:
        if self.baseline is not None:
            choices = [
                replace(choice, baseline=self.baseline) if compares(choice.judge) else choice
                for choice in self.evaluators
            ]
            object.__setattr__(self, "evaluators", choices)

    @property
    def options(self) -> JsonDict:
        """What the run freezes; the systems of models that respond have to be chosen before."""
        return {
            "first_attempts": self.first_attempts,
            "compat": self.compat,
            "fresh": self.fresh,
            **self.people.to_json(),
            "audit_share": self.audit_share,
            "selection": self.selection.to_json(),
            FROZEN: freeze_endpoints(self.endpoints),
            **({} if self.esi is None else self.esi.to_json(self.systems)),
            **({} if self.asks is None else self.asks.to_json()),
        }

    @property
    def workers(self) -> Sequence[Worker]:
        """The models that respond, where the responses are not stored already."""
        if self.asks is not None:
            return self.asks.workers
        return () if self.esi is None else self.esi.workers

    @property
    def all_systems(self) -> list[System]:
        """The systems whose responses are evaluated, stored or asked for."""
        return [*self.systems, *(self.asks.systems if self.asks is not None else ())]

    @property
    def ask_count(self) -> int:
        """How many responses its systems are asked for."""
        if self.asks is None:
            return 0
        prompts = count_asked_prompts(suite=self.suite, selection=self.selection)
        return prompts * len(self.asks.systems) * self.asks.attempts

    @property
    def endpoints(self) -> list[ModelEndpoint]:
        """Every endpoint that is asked, once."""
        endpoints = [worker.endpoint for worker in self.workers]
        endpoints += [endpoint for choice in self.evaluators if choice.judge for endpoint in endpoints_of(choice.judge)]
        return list({endpoint.pk: endpoint for endpoint in endpoints}.values())

    @property
    def responses(self) -> QuerySet[Response]:
        """What is stored to be evaluated; a number of cases has to be drawn before (see `with_drawn_cases`)."""
        return self._stored(self.systems)

    def _stored(self, systems: Sequence[System]) -> QuerySet[Response]:
        first, part = self.first_attempts, self.selection
        responses = responses_of(suite=self.suite, systems=systems, first_attempts=first, selection=part)
        return responses if self.only is None else responses.filter(pk__in=self.only)

    @property
    def blind(self) -> list[str]:
        """The judges that cannot see: their endpoints do not, or they judge an ESI run, which is about texts."""
        judges = [choice.judge for choice in self.evaluators if choice.judge and choice.judge.endpoint]
        return [judge.name for judge in judges if self.esi is not None or not judge.asked_endpoint.sees_images]

    @property
    def image_count(self) -> int:
        """How many of the responses have images, or their cases have; of models that respond, how many cases."""
        if self.workers:
            return Prompt.objects.filter(cases__links__suite=self.suite).exclude(images=[]).count()
        return count_with_images(self._stored([*self.systems, self.baseline] if self.baseline else self.systems))

    @property
    def response_count(self) -> int:
        """How many responses are to be evaluated, with those that models are still to give."""
        if self.esi is not None and self.workers:
            return len(self.workers) * self.suite.case_count
        return self.ask_count + self.responses.count()

    def count_for(self, choice: EvaluatorChoice) -> int:
        """Return how many responses an evaluator is to judge: a baseline is not compared with itself."""
        baseline_count = self.responses.filter(system=choice.baseline).count() if choice.baseline else 0
        return self.response_count - baseline_count

    def criterion_of(self, choice: EvaluatorChoice) -> str:
        """Return what an evaluator judges: that of an ESI run what its kind says, one that compares its baseline."""
        if choice.baseline is not None:
            return against(choice.baseline)
        return choice.judge.kind if self.esi and choice.judge else choice.criterion


def responses_of(
    *, suite: Suite, systems: Sequence[System], first_attempts: int | None, selection: CaseSelection = ALL_CASES
) -> QuerySet[Response]:
    """Return the current responses of these systems to the suite's cases, case by case."""
    responses = Response.objects.filter(
        prompt__cases__links__suite=suite,
        system__in=systems,
        superseded_at__isnull=True,
        **case_filters(selection, prefix="prompt__cases__"),
    ).order_by("prompt__cases__links__position", "system_id", "attempt", "pk")
    return responses if first_attempts is None else responses.filter(attempt__lt=first_attempts)


def with_drawn_cases(plan: RunPlan) -> RunPlan:
    """Return the plan with its number of cases drawn, from those that one of its systems has answered or is asked."""
    selection = plan.selection
    if selection.limit is None or selection.drawn:
        return plan
    cases = Case.objects.filter(
        links__suite=plan.suite,
        prompt__responses__system__in=plan.systems,
        prompt__responses__superseded_at__isnull=True,
        **case_filters(selection),
    )
    if plan.asks is not None:
        cases = asked_cases(suite=plan.suite, selection=selection)
    keys = cases.order_by("links__position").values_list("key", flat=True)
    drawn = draw_keys(keys, limit=selection.limit, seed=selection.seed)
    return replace(plan, selection=replace(selection, drawn=tuple(drawn)))


def check_plan(plan: RunPlan) -> None:
    """Pass where the run can be made.

    Raises:
        RunNotPossible: nothing to evaluate, nobody to do it, or a budget that cannot be kept.
    """
    _check_systems(plan)
    if not plan.evaluators:
        raise RunNotPossible("Choose at least one grader or judge.")
    judges = [choice.judge for choice in plan.evaluators if choice.judge]
    retired = [str(each) for judge in judges for each in (judge, *member_judges(judge)) if not each.is_active]
    if retired:
        raise RunNotPossible(f"{', '.join(retired)}: retired. Restore the judge on its page, or choose another.")
    elsewhere = [judge.name for judge in judges if judge.kind == IMPORTED_JUDGE]
    if elsewhere:
        raise RunNotPossible(f"{', '.join(elsewhere)}: imported, so it cannot be asked. Choose another judge.")
    if len({choice.name for choice in plan.evaluators}) < len(plan.evaluators):
        raise RunNotPossible("The same judge was chosen twice with the same rubric.")
    if plan.esi is None or not plan.workers:
        _check_responses(plan)
    _check_comparison(plan)
    _check_images(plan)
    _check_references(plan)
    if plan.budget is not None and (refusal := budget_refusal(map(target_of, plan.endpoints))):
        raise RunNotPossible(refusal)


def _check_comparison(plan: RunPlan) -> None:
    judges = [choice.judge for choice in plan.evaluators if choice.judge and compares(choice.judge)]
    problem = comparison_problem(
        judges=judges,
        baseline=plan.baseline,
        systems=plan.all_systems,
        asked=plan.asks.systems if plan.asks else (),
        suite=plan.suite,
        selection=plan.selection,
    )
    if problem:
        raise RunNotPossible(problem)


def _check_images(plan: RunPlan) -> None:
    """Refuse to judge without images what has some, unless that was chosen."""
    blind = [] if plan.without_images else plan.blind
    count = plan.image_count if blind else 0
    if count:
        raise RunNotPossible(
            f"{', '.join(blind)} cannot see images, and {count:,} of the responses have some, or their cases do. "
            "Choose judges whose endpoint has shown in its test that it sees, or choose “Judge without images”."
        )


def _check_references(plan: RunPlan) -> None:
    """Refuse judges that need a reference where no case has one: they would be asked nothing."""
    judges = [choice.judge for choice in plan.evaluators if choice.judge]
    needing = [judge.name for judge in judges if "reference" in needs_of(judge)]
    if not needing or plan.esi is not None or plan.only is not None:
        return  # an item of the ESI says itself what it lacks, and so does the trial of one response
    cases = Case.objects.filter(links__suite=plan.suite, **case_filters(plan.selection))
    if not cases.exclude(reference="").exists():
        raise RunNotPossible(
            f"{', '.join(needing)}: needs a reference for each case, and none of the selected cases has one. "
            "Import a suite with references, or choose another judge."
        )


def _check_systems(plan: RunPlan) -> None:
    if plan.esi is not None:
        _check_esi(plan)
    elif not plan.all_systems:
        raise RunNotPossible("Choose at least one system.")
    if plan.asks is not None:
        _check_asks(plan, plan.asks)


def _check_responses(plan: RunPlan) -> None:
    try:
        check_selection(suite=plan.suite, selection=plan.selection)
    except SelectionRefused as refusal:
        raise RunNotPossible(str(refusal)) from refusal
    if plan.asks is None and not plan.responses.exists():
        part = "" if plan.selection.is_all else f" ({plan.selection.words})"
        raise RunNotPossible(f"These systems have no responses to this suite{part}. Import some first.")


def _check_asks(plan: RunPlan, asks: AskSetup) -> None:
    if not 1 <= asks.attempts <= MAX_ATTEMPTS:
        raise RunNotPossible(f"A system can give 1 to {MAX_ATTEMPTS} responses to a case, not {asks.attempts:,}.")
    imported = [str(system) for system in asks.systems if not system.is_asked_here]
    if imported:
        raise RunNotPossible(f"{', '.join(imported)}: imported, so nobody can be asked. Choose its stored responses.")
    retired = [str(system) for system in asks.systems if not system.is_active]
    if retired:
        raise RunNotPossible(f"{', '.join(retired)}: retired. Restore the system on its page, or choose another.")
    both = [str(system) for system in asks.systems if system in plan.systems]
    if both:
        raise RunNotPossible(f"{', '.join(both)}: choose either its stored responses or asking it; asking reuses them.")
    if not plan.suite.case_count:
        raise RunNotPossible("The suite has no cases.")


def _check_esi(plan: RunPlan) -> None:
    if bool(plan.workers) == bool(plan.systems):
        raise RunNotPossible("Choose either systems or models to ask, or stored responses, not both.")
    if [choice.judge and choice.judge.kind for choice in plan.evaluators] != list(JUDGES):
        raise RunNotPossible("An ESI run needs one accuracy judge and one integrity judge.")
    if any(worker.endpoint.is_baseline for worker in plan.workers):
        raise RunNotPossible("A lexical baseline cannot give responses; choose a language model.")
    keys = [worker.key for worker in plan.workers]
    twice = next((worker.system_name for worker in plan.workers if keys.count(worker.key) > 1), "")
    if twice:
        raise RunNotPossible(f"{twice} was chosen twice; two endpoints may have the same model on the same server.")
    if not plan.suite.case_count:
        raise RunNotPossible("The suite has no cases.")


MOST_SHOWN = 20_000  # characters of a message


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """The messages about one response, or why there are none."""

    messages: Sequence[Mapping[str, str | int]] = ()  # role, text, and how many characters behind it are left_out
    characters: int = 0  # how long the messages are together
    problem: str = ""
    other_system: str = ""  # whose response is the second one
    asks_twice: bool = False  # once more with the responses swapped


def preview_prompt(
    *, kind: JudgeKind, options: JsonObject, response: Response, rubric: Rubric | None = None
) -> PromptPreview:
    """Return what a judge of this kind and options would send about a response. Nothing is asked or stored.

    The second response of a comparison is that of another system to the same case, and the rubric, where none is
    given, the newest one of the benchmark with a tree for the case, since runs choose both.
    """
    other = None
    if "pair" in kind.needs_with(options):
        others = Response.objects.filter(prompt=response.prompt_id, superseded_at__isnull=True)
        other = others.exclude(system=response.system_id).select_related("system").order_by("pk").first()
    try:
        subject = _subject(response, other, rubric)
        if refusal := kind.refusal(options):
            return PromptPreview(problem=refusal)
        missing = kind.missing_needs(subject, options)
        if missing:
            return PromptPreview(problem=f"This judge needs {' and '.join(words_of_needs(missing))} for the case.")
        requests = next(kind.build(options).converse(subject))
    except (BadPrompt, BadJudgeOption) as problem:
        return PromptPreview(problem=str(problem))
    return PromptPreview(
        messages=[
            {"role": message.role, "text": text[:MOST_SHOWN], "left_out": max(0, len(text) - MOST_SHOWN)}
            for message in requests[0].messages
            for text in (message.content,)
        ],
        characters=sum(len(message.content) for message in requests[0].messages),
        other_system=other.system.name if other is not None else "",
        asks_twice=len(requests) > 1 and other is not None,
    )


def _subject(response: Response, other: Response | None, rubric: Rubric | None) -> JudgeSubject:
    """Return what a judge is shown of a response: the newest revision of its case, and the tree of a rubric for it."""
    case = Case.objects.filter(prompt=response.prompt_id).order_by("-pk").first()
    benchmark = response.prompt.benchmark
    if case is None:
        return JudgeSubject(response.prompt.text, response.text, other_response=other.text if other else "")
    rubrics = {"rubric__benchmark": benchmark} if rubric is None else {"rubric": rubric}
    items = RubricItem.objects.filter(**rubrics, case_key__in=[case.key, ""])
    tree = items.order_by("-rubric_id", "-case_key").values_list("tree", flat=True).first()
    subject = subject_of(case=case, response=response, tree=tree, evaluator=RunEvaluator(), other=other)
    return replace(subject.without_images(), about=benchmark.description)
