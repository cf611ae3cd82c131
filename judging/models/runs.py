"""Runs with their statuses, evaluators, tasks, verdicts and scores, and the calls they make."""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.db.models.functions import Coalesce

from evalsite.base.rows import Owned, page_at
from evalsite.base.types import JsonDict, LabelledEnum, Refused, Transition, choices_of, is_allowed
from judging.grading.rubric_tree import ScoreStatus
from judging.judges.subjects import failure_in_words
from judging.models.benchmarks import Case, Judge, ModelEndpoint, Response, Rubric, Suite, System

BASELINE_RESPONSE = "baseline_response"  # in a verdict's value: the key of what it was compared with

AGAINST = "against "  # what the criterion of an evaluator that compares begins with


class RunStatus(LabelledEnum):
    """Where a run is."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    FINISHED = "finished", "Finished"
    CANCELLED = "cancelled", "Cancelled"


ACTIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
_QUEUED, _RUNNING, _PAUSED, _FINISHED, _CANCELLED = RunStatus
TRANSITIONS = (
    Transition(_QUEUED, _RUNNING, "a worker claimed its first tasks"),
    Transition(_QUEUED, _PAUSED, "paused"),
    Transition(_QUEUED, _CANCELLED, "cancelled"),
    Transition(_QUEUED, _FINISHED, "nothing was left to do"),
    Transition(_RUNNING, _PAUSED, "paused, out of budget, or its endpoint cannot be used"),
    Transition(_RUNNING, _CANCELLED, "cancelled"),
    Transition(_RUNNING, _FINISHED, "the last task ended"),
    Transition(_PAUSED, _QUEUED, "resumed"),
    Transition(_PAUSED, _CANCELLED, "cancelled"),
    Transition(_FINISHED, _QUEUED, "failed tasks are retried"),
)


class RunRefused(Refused):
    """The run cannot do that from where it is; the message is shown on the page."""


def check_transition(current: str, target: str) -> None:
    """Pass where a run may go from `current` to `target`.

    Raises:
        RunRefused: it may not.
    """
    if not is_allowed(TRANSITIONS, current, target):
        raise RunRefused(f"The run is {current}; it cannot become {target}.")


# in the options of an evaluator that compares with another system's responses: its name and key
BASELINE, BASELINE_ID = "baseline", "baseline_id"
ASKING = "asking"  # in the options of a run: attempts, and by key what each system was


class RunKind(models.TextChoices):
    """What the tasks of a run are."""

    GRADING = "grading", "Grading"
    ESI = "esi", "ESI"
    DEBATE = "debate", "Debate"
    SINGLE = "single", "One response"  # one judge on one response, for a look; in no report
    ANCHOR = "anchor", "Anchor set"  # a judge asked again about labelled responses, to see whether it changed
    GOLDEN = "golden", "Golden set"  # versions of judges on labelled responses, to be compared with people


SCORED_KINDS = (RunKind.GRADING, RunKind.ESI)  # runs whose results are scores of responses
UNREPORTED_KINDS = (RunKind.SINGLE, RunKind.ANCHOR, RunKind.GOLDEN)  # runs whose results are in no report about systems


class EvaluatorKind(models.TextChoices):
    """Whether rules or a judge decide, or a figure follows from several."""

    GRADER = "grader", "Rule grader"
    JUDGE = "judge", "Judge"
    INDEX = "index", "ESI"


class TaskStatus(models.TextChoices):
    """Where a task is. `failed` is final for this try; a retry makes it `waiting` again."""

    WAITING = "waiting", "Waiting"
    LEASED = "leased", "In progress"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Run(Owned):
    """A suite, systems and evaluators worked through as tasks. Options are frozen at creation."""

    PAGE = "runs/<int:run_id>/"

    kind = models.CharField(max_length=20, choices=RunKind, default=RunKind.GRADING)
    name = models.CharField(max_length=200)
    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="runs")
    systems = models.ManyToManyField(System, related_name="runs")
    options = models.JSONField(default=dict)
    status = models.CharField(max_length=20, choices=choices_of(RunStatus), default=RunStatus.QUEUED)
    status_reason = models.CharField(max_length=300, blank=True)  # "budget reached", shown beside the status
    budget = models.DecimalField(max_digits=14, decimal_places=6, null=True)  # USD; None: no cap
    spent = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    # Calls that were sent and whose answer never came: USD that they may have cost at most, and how many they are.
    unheard = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    unheard_calls = models.PositiveIntegerField(default=0)
    unpriced_calls = models.PositiveIntegerField(default=0)
    calls_made = models.PositiveIntegerField(default=0)
    calls_reused = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)  # tasks finished with a usable result
    failed = models.PositiveIntegerField(default=0)  # tasks finished without one
    pace = models.JSONField(default=list)  # [[seconds since 1970, tasks ended], ...], the last minute or so
    resume_at = models.DateTimeField(null=True)  # an endpoint takes no calls before; the run then resumes automatically
    postponed_since = models.DateTimeField(null=True)  # no call has been answered since
    crashes = models.PositiveIntegerField(default=0)  # of its workers, by faults of ours, since it was last resumed
    planned_at = models.DateTimeField(null=True)  # when every task had been written
    case_count = models.PositiveIntegerField(null=True)  # cases that its tasks are about; None: not counted
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    archived_at = models.DateTimeField(null=True)  # None: listed; an archived run keeps everything

    class Meta:
        indexes = [
            models.Index(fields=["status", "created_at"], name="run_status"),
            models.Index(fields=["suite", "kind", "status"], name="run_suite"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def asked_systems(self) -> dict[str, JsonDict]:
        """What it froze of the systems that it asks for responses, by key; empty where it asks none."""
        systems: dict[str, JsonDict] = self.options.get(ASKING, {}).get("systems", {})
        return systems

    @property
    def imported_from(self) -> str:
        """The tool, or the file, whose log it was read from; empty for a run that asked somebody."""
        from judging.judges.registry import imported_log

        log = imported_log(self.options)
        return log.source if log is not None else ""

    @property
    def waiting(self) -> int:
        """Tasks still to be done; those of a cancelled run never are."""
        return 0 if self.status == RunStatus.CANCELLED else self.total - self.done - self.failed

    def budget_left(self, *, reserved: Decimal) -> Decimal | None:
        """Return the USD of the budget that may still be spent while `reserved` is set aside; None without one."""
        return None if self.budget is None else self.budget - self.spent - self.unheard - reserved

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)


class RunTag(models.Model):
    """A word by which people find runs again."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tags", db_index=False)
    name = models.CharField(max_length=40)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="run_tag_once")]
        indexes = [models.Index(fields=["name", "run"], name="run_tag_name")]

    def __str__(self) -> str:
        return self.name


class RunEvaluator(models.Model):
    """One grader or judge of a run, with everything that its results depend on frozen in `options`."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="evaluators")
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, choices=EvaluatorKind)
    name = models.CharField(max_length=160)  # "rules" or the judge's name
    judge = models.ForeignKey(Judge, null=True, on_delete=models.PROTECT, related_name="evaluators")
    rubric = models.ForeignKey(Rubric, null=True, on_delete=models.PROTECT, related_name="evaluators")
    criterion = models.CharField(max_length=100, blank=True)
    is_baseline = models.BooleanField(default=False)
    options = models.JSONField(default=dict)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="evaluator_position_once")]

    def __str__(self) -> str:
        return self.name

    @property
    def imported_from(self) -> str:
        """The tool, or the file, whose log its values were read from; empty for a grader or judge of this site."""
        from judging.judges.judge_kinds import IMPORTED_FROM

        return str(self.options.get(IMPORTED_FROM, ""))

    @property
    def caveat(self) -> str:
        """What is said beside its name wherever a figure uses it; empty for real judges and rules of this site."""
        if self.is_baseline:
            return "baseline, not a language model"
        return f"imported from {self.imported_from}" if self.imported_from else ""

    @property
    def compared_with(self) -> str:
        """The name of the baseline system whose responses it compares with; empty where it judges single ones."""
        return str(self.options.get(BASELINE, ""))

    @property
    def compared_with_id(self) -> int | None:
        system_id: int | None = self.options.get(BASELINE_ID)
        return system_id


class Lease(models.Model):
    """A worker's claim on tasks and budget of a run. When it lapses, both return."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="leases")
    token = models.UUIDField(unique=True)
    worker = models.CharField(max_length=120)
    reserved = models.DecimalField(max_digits=14, decimal_places=6, default=0)  # USD set aside for its calls
    in_flight = models.PositiveIntegerField(default=0)  # calls, at most, as of the last heartbeat
    at_stake = models.DecimalField(max_digits=14, decimal_places=6, default=0)  # USD that those may cost as sent
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.worker} {self.token}"


class RunTask(models.Model):
    """One unit of a run's work: a response for an evaluator, a case to respond to (kind esi), or one debate."""

    # no indexes of their own: those below begin with them
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tasks", db_index=False)
    evaluator = models.ForeignKey(
        RunEvaluator, null=True, on_delete=models.CASCADE, related_name="tasks", db_index=False
    )
    response = models.ForeignKey(Response, null=True, on_delete=models.PROTECT, related_name="tasks")
    subject_id = models.BigIntegerField(null=True)  # the debate, EsiItem or Ask
    status = models.CharField(max_length=20, choices=TaskStatus, default=TaskStatus.WAITING)
    lease = models.ForeignKey(Lease, null=True, on_delete=models.SET_NULL, related_name="tasks")
    tries = models.PositiveIntegerField(default=0)
    retries = models.PositiveIntegerField(default=0)  # asked for by a person; each asks the model again
    failure_kind = models.CharField(max_length=60, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluator", "response"], name="task_response_once"),
            models.UniqueConstraint(fields=["run", "subject_id"], name="task_subject_once"),
        ]
        indexes = [
            # a run's tasks in their order, page by page, under each filter of the list
            models.Index(fields=["run", "id"], name="task_run"),
            models.Index(fields=["run", "status", "id"], name="task_run_status"),
            models.Index(fields=["evaluator", "id"], name="task_evaluator"),
            models.Index(fields=["evaluator", "status", "id"], name="task_evaluator_status"),
            models.Index(
                fields=["run", "failure_kind", "id"],
                condition=models.Q(status=TaskStatus.FAILED),
                name="task_failure",
            ),
            # what to claim next, however many tasks have ended
            models.Index(fields=["run", "id"], condition=models.Q(status=TaskStatus.WAITING), name="task_waiting"),
            # the same of what graders and judges wait for, while systems are still asked
            models.Index(
                fields=["run", "id"],
                condition=models.Q(status=TaskStatus.WAITING, evaluator__isnull=False),
                name="task_waiting_evaluator",
            ),
        ]

    def __str__(self) -> str:
        return f"task {self.pk}"

    @property
    def failure_words(self) -> str:
        return failure_in_words(self.failure_kind)


class Verdict(models.Model):
    """A judge's verdict on a response in its last try; the earlier tries are its `past`. Raw replies are in calls."""

    PAGE = "verdicts/<int:verdict_id>/"

    # None: one of several verdicts of the task (kind esi), to be found by evaluator and response
    task = models.OneToOneField(RunTask, null=True, on_delete=models.CASCADE, related_name="verdict")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="verdicts", db_index=False)
    evaluator = models.ForeignKey(RunEvaluator, on_delete=models.CASCADE, related_name="verdicts", db_index=False)
    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="verdicts")
    status = models.CharField(max_length=20)  # judging.judges.subjects.VerdictStatus
    value = models.JSONField(null=True)
    rationale = models.TextField(blank=True)
    confidence = models.FloatField(null=True)
    flags = models.JSONField(default=list)
    reason = models.CharField(max_length=500, blank=True)
    call_ids = models.JSONField(default=list)  # in the order made
    votes = models.JSONField(default=list)  # of a panel: what each member said, with the places of its calls
    parser_version = models.PositiveSmallIntegerField(default=1)  # judging.judges.subjects.PARSER_VERSION of that time
    created_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["evaluator", "status"], name="verdict_status"),
            models.Index(fields=["run", "status"], name="verdict_run_status"),
        ]

    def __str__(self) -> str:
        return f"verdict {self.pk}"

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)


class Score(models.Model):
    """What was computed for a response by rules or from a verdict; recomputed without asking a judge again."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="scores", db_index=False)
    evaluator = models.ForeignKey(RunEvaluator, on_delete=models.CASCADE, related_name="scores", db_index=False)
    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="scores")
    verdict = models.OneToOneField(Verdict, null=True, on_delete=models.CASCADE, related_name="score")
    status = models.CharField(max_length=20, choices=choices_of(ScoreStatus))
    value = models.FloatField(null=True)  # on the evaluator's own scale
    full = models.FloatField(null=True)  # the most that could be had
    share = models.FloatField(null=True)  # value / full, what leaderboards average
    detail = models.JSONField(default=dict)
    flags = models.JSONField(default=list)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluator", "response"], name="score_once"),
            models.CheckConstraint(
                condition=models.Q(status=ScoreStatus.COMPLETE, share__isnull=False)
                | (~models.Q(status=ScoreStatus.COMPLETE) & models.Q(share__isnull=True)),
                name="score_only_when_complete",
            ),
        ]
        indexes = [models.Index(fields=["run", "evaluator", "status"], name="score_run")]

    def __str__(self) -> str:
        return f"score {self.pk}"


class PastVerdict(models.Model):
    """A judge's verdict on a response before a retry replaced it. `verdict` is the current one."""

    verdict = models.ForeignKey(Verdict, on_delete=models.CASCADE, related_name="past")  # the one that superseded it
    status = models.CharField(max_length=20)
    value = models.JSONField(null=True)
    rationale = models.TextField(blank=True)
    confidence = models.FloatField(null=True)
    flags = models.JSONField(default=list)
    reason = models.CharField(max_length=500, blank=True)
    call_ids = models.JSONField(default=list)
    votes = models.JSONField(default=list)
    parser_version = models.PositiveSmallIntegerField(default=1)
    created_at = models.DateTimeField()
    superseded_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"past verdict {self.pk}"


class PastScore(models.Model):
    """What a response scored before its task was done again."""

    score = models.ForeignKey(Score, on_delete=models.CASCADE, related_name="past")
    status = models.CharField(max_length=20, choices=choices_of(ScoreStatus))
    value = models.FloatField(null=True)
    full = models.FloatField(null=True)
    share = models.FloatField(null=True)
    detail = models.JSONField(default=dict)
    flags = models.JSONField(default=list)
    created_at = models.DateTimeField()
    superseded_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"past score {self.pk}"


class EsiItem(models.Model):
    """One case for one system on its way through responding, cleaning and judging."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="esi_items")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="esi_items")
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="esi_items")
    response = models.ForeignKey(Response, null=True, on_delete=models.PROTECT, related_name="esi_items")
    position = models.PositiveIntegerField()
    status = models.CharField(max_length=40, blank=True)  # judging.grading.grades.EsiStatus; empty: waits
    reason = models.CharField(max_length=500, blank=True)
    cleaned = models.TextField(blank=True)
    formatted_ok = models.BooleanField(default=True)
    answer_seconds = models.FloatField(null=True)
    call_ids = models.JSONField(default=list)  # the calls that asked for the response

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="esi_item_position_once")]
        indexes = [models.Index(fields=["run", "system", "status"], name="esi_item_status")]

    def __str__(self) -> str:
        return f"{self.position}. {self.case_id} by {self.system_id}"


class Ask(models.Model):
    """An attempt of a system at a case in a run. Its task carries it out, and graders and judges follow."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="asks", db_index=False)
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="asks")
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="asks")
    attempt = models.PositiveIntegerField(default=0)
    response = models.ForeignKey(Response, null=True, on_delete=models.PROTECT, related_name="asks")
    # of a reply without a response ("content_filter", "refusal", "empty"); empty where nobody replied, or not yet
    stop_reason = models.CharField(max_length=40, blank=True)
    failure = models.CharField(max_length=60, blank=True)  # why there is no response; empty: there is one, or not yet
    reason = models.CharField(max_length=500, blank=True)  # the same in a sentence
    call_ids = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "system", "case", "attempt"], name="ask_once")]

    def __str__(self) -> str:
        return f"ask {self.pk}"


class CallPrompt(models.Model):
    """The messages of a call. Calls that sent the same messages share them."""

    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of their canonical JSON
    messages = models.JSONField()

    def __str__(self) -> str:
        return self.digest[:12]


class Call(models.Model):
    """One chat completion. A finished one is never paid for twice: its key is unique."""

    key = models.CharField(max_length=64)  # judging.llm.chat
    # The composite indexes below begin with endpoint and run, so these two need none of their own.
    endpoint = models.ForeignKey(ModelEndpoint, on_delete=models.PROTECT, related_name="calls", db_index=False)
    run = models.ForeignKey(  # who paid first
        Run, null=True, on_delete=models.SET_NULL, related_name="calls", db_index=False
    )
    status = models.CharField(max_length=20)  # judging.llm.chat.ReplyStatus
    # The body as the last attempt sent it is the request with the messages; the key was in a header.
    request = models.JSONField()
    prompt = models.ForeignKey(CallPrompt, null=True, on_delete=models.PROTECT, related_name="calls")  # None: pruned
    text = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cut_tokens = models.PositiveIntegerField(default=0)  # of these, those of attempts that were cut off
    cached_tokens = models.PositiveIntegerField(null=True)  # of the prompt tokens; None: not reported
    reasoning_tokens = models.PositiveIntegerField(null=True)  # of the completion tokens; None: not reported
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)  # USD; None: price unknown
    prices = models.JSONField(default=dict)  # that the cost was reckoned with: judging.selectors.endpoints.prices_of
    reply_head = models.JSONField(default=dict)  # who answered: {"model", "system_fingerprint", "request_id", ...}
    label_logprobs = models.JSONField(default=dict)
    error_kind = models.CharField(max_length=60, blank=True)
    error_text = models.CharField(max_length=500, blank=True)
    provider_text = models.CharField(max_length=300, blank=True)  # its own sentence, cleaned, for administrators
    attempts = models.PositiveIntegerField(default=1)
    seconds = models.FloatField(default=0)
    finished_at = models.DateTimeField()
    pruned_at = models.DateTimeField(null=True)  # when its texts were removed; it is not reused from then on
    superseded_at = models.DateTimeField(null=True)  # when a reply to the same took its place, since it was too old

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key"],
                condition=models.Q(status="finished", pruned_at=None, superseded_at=None),
                name="call_finished_once",
            )
        ]
        indexes = [
            models.Index(
                fields=["endpoint", "-finished_at", "-id"],
                condition=~models.Q(status="finished"),
                name="call_errors",
            ),
            models.Index(fields=["key"], name="call_key"),
            models.Index(fields=["run", "status"], name="call_run"),
            models.Index(fields=["endpoint", "finished_at"], name="call_endpoint"),
        ]

    def __str__(self) -> str:
        return self.key[:12]

    @property
    def messages(self) -> list[JsonDict]:
        """What was sent; nothing once it is pruned."""
        return list(self.prompt.messages) if self.prompt else []

    @property
    def body(self) -> JsonDict:
        """The request as it was sent; empty once it is pruned."""
        return {"messages": self.messages, **self.request} if self.prompt else {}


class CallHour(models.Model):
    """What an endpoint's calls of one hour came to, added up as they are stored, for pages that show days of them."""

    endpoint = models.ForeignKey(ModelEndpoint, on_delete=models.PROTECT, related_name="call_hours", db_index=False)
    hour = models.DateTimeField()
    calls = models.PositiveIntegerField()
    errors = models.PositiveIntegerField()
    cost = models.DecimalField(max_digits=16, decimal_places=6, null=True)  # USD of those with a known price
    # USD that may have been spent beside `cost`: on calls whose answer or tokens nobody heard, or that two workers
    # made, and on tests of the endpoint, which the ledger does not hold; such an hour may have no `calls`
    unheard = models.DecimalField(max_digits=16, decimal_places=6, default=0)
    seconds = models.FloatField()
    prompt_tokens = models.PositiveBigIntegerField(default=0)  # as endpoints reported them
    completion_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["endpoint", "hour"], name="call_hour_once")]
        indexes = [models.Index(fields=["hour"], name="call_hour")]

    def __str__(self) -> str:
        return f"{self.endpoint_id} {self.hour:%Y-%m-%d %H}"


class DayBudget(models.Model):
    """The most that the calls of one day (UTC) may cost: those of an endpoint, or of the whole site."""

    endpoint = models.OneToOneField(  # None: of the site
        ModelEndpoint, null=True, on_delete=models.CASCADE, related_name="day_budget"
    )
    amount = models.DecimalField(max_digits=14, decimal_places=6)  # USD

    class Meta:
        constraints = [models.UniqueConstraint(Coalesce("endpoint", 0), name="day_budget_once")]

    def __str__(self) -> str:
        return f"{self.endpoint or 'site'}: {self.amount}"


class DayHold(models.Model):
    """Dollars of the day set aside at an endpoint for calls under way: those of a claim, or of a call outside runs.

    What a claim holds goes with it. What a call outside runs holds whose process ended counts as spent on its day.
    """

    lease = models.ForeignKey(Lease, null=True, on_delete=models.CASCADE, related_name="day_holds", db_index=False)
    endpoint = models.ForeignKey(ModelEndpoint, on_delete=models.CASCADE, related_name="day_holds", db_index=False)
    opened_at = models.DateTimeField()
    amount = models.DecimalField(max_digits=14, decimal_places=6)  # USD
    # USD of it that is spent if the claim lapses
    at_stake = models.DecimalField(max_digits=14, decimal_places=6, default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["lease", "endpoint"], name="day_hold_once")]

    def __str__(self) -> str:
        return f"{self.endpoint_id}: {self.amount}"
