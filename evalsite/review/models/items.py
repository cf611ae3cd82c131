"""Queues, their items with addresses, assignments and annotations, the subjects they are about, and their labels."""

from __future__ import annotations

import base64
import hashlib
import hmac

from django.conf import settings
from django.db import models

from debate.models import Debate, DebateSet
from evalsite.base.rows import REPORTS, REVIEW, Owned, page_at
from evalsite.base.types import JsonDict, choices_of
from evalsite.review import states
from evalsite.review.questions.forms import SWAPPED
from evalsite.review.routing import PASS_MARK, UNFILLED_SHARE, ItemArm
from evalsite.review.states import AssignmentStatus, ItemStatus, LabelsOf, QueueMode, QueueStatus
from judging.models import Case, Response, RubricItem, Run, RunEvaluator, Upload
from judging.models.runs import RunStatus

LEFT_OUT = (ItemStatus.STALE, ItemStatus.EXCLUDED)  # of reports, counters and retests
SHARES = 1_000  # steps of a share of items

# Addresses of items tell neither which came first nor which repeats another: a number goes through a Feistel network of
# four rounds keyed with the site's secret, so that an address is found without a table and cannot be guessed.
HALF = 32  # bits of a number
MASK = 2**HALF - 1
ROUNDS = 4
ADDRESS_LENGTH = 13  # letters of base 32 that 64 bits take


def address_of(number: int) -> str:
    """Return the address of an item's number. Raises: ValueError for a number of more than 64 bits."""
    if not 0 <= number < 2 ** (2 * HALF):
        raise ValueError(f"{number} has no address")
    left, right = number >> HALF, number & MASK
    for round_number in range(ROUNDS):
        left, right = right, left ^ _mix(round_number, right)
    return base64.b32encode((left << HALF | right).to_bytes(8, "big")).decode().rstrip("=").lower()


def number_at(address: str) -> int:
    """Return the number behind an address. Raises: ValueError where none could be."""
    code = base64.b32decode(address.upper() + "===")
    left, right = int.from_bytes(code[:4], "big"), int.from_bytes(code[4:], "big")
    for round_number in reversed(range(ROUNDS)):
        left, right = right ^ _mix(round_number, left), left
    number = left << HALF | right
    if address_of(number) != address or number >= 2**63:
        raise ValueError(f"{address} is not an address")
    return number


def _mix(round_number: int, half: int) -> int:
    key = f"review item {round_number} {settings.SECRET_KEY}".encode()
    return int.from_bytes(hmac.digest(key, half.to_bytes(4, "big"), hashlib.sha256)[:4], "big")


class OrderPolicy(models.TextChoices):
    """In which order a queue hands its items out."""

    URGENT = "urgent", "Most uncertain first, then random"
    GIVEN = "given", "Order of the file"
    RANDOM = "random", "Random"
    DISPUTED = "disputed", "Most disputed first, then most uncertain"


class Team(Owned):
    """People who work together: the members of each queue that is given to them."""

    PAGE = "teams/"

    name = models.CharField(max_length=100, unique=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="teams")

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return page_at(REVIEW + self.PAGE)


class Queue(Owned):
    """A stream of items with its guidelines, label scale and quorum."""

    PAGE = "queues/<slug:slug>/"

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)  # what annotators see too: it tells of no system, judge or file
    guidelines = models.TextField(blank=True)  # Markdown
    question = models.CharField(max_length=300, blank=True)  # asked at every item; empty: the usual words
    guidelines_version = models.PositiveIntegerField(default=1)  # counted up by each change of the guidelines
    mode = models.CharField(max_length=20, choices=choices_of(QueueMode), default=QueueMode.BLIND)
    labels = models.JSONField()  # [{"value": "1", "text": "A is better"}, ...], in order
    form = models.JSONField(default=dict, blank=True)  # questions that its owner wrote, never changed; {}: one label
    quorum = models.PositiveSmallIntegerField(default=2)
    overlap = models.FloatField(default=1.0)  # share of its items that ask so many people; the others ask one
    status = models.CharField(max_length=20, choices=choices_of(QueueStatus), default=QueueStatus.OPEN)
    run = models.OneToOneField(Run, null=True, on_delete=models.SET_NULL, related_name="queue")
    debate_set = models.OneToOneField(DebateSet, null=True, on_delete=models.SET_NULL, related_name="queue")
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="queues"
    )  # none: every annotator
    team = models.ForeignKey(  # whose people are its members
        Team, null=True, blank=True, on_delete=models.SET_NULL, related_name="queues"
    )
    open_count = models.PositiveIntegerField(default=0)
    total_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    routed_at = models.DateTimeField(null=True)  # end of the last routing of its run or debate set
    audit_strata = models.JSONField(default=list, blank=True)  # last prompt of each stratum that its run drew from
    source_file = models.CharField(max_length=200, blank=True)  # name of the file that its items came from
    order = models.CharField(max_length=20, choices=OrderPolicy, default=OrderPolicy.URGENT)
    retest_share = models.FloatField(default=0.05)  # of a person's own items that come back to them later
    gold_count = models.PositiveIntegerField(default=0)  # items whose answers are known
    gold_mark = models.FloatField(default=PASS_MARK)  # share of gold items that a person has to answer right
    training_count = models.PositiveIntegerField(default=0)  # items that everybody answers before their first one
    training_mark = models.FloatField(default=PASS_MARK)  # share of them to answer right; 0: everybody goes on
    shows_agreement = models.BooleanField(default=False)  # people may see how far they agree with the rest
    views = models.JSONField(default=dict, blank=True)  # filters that were saved, by name, as addresses say them
    unfilled_share = models.FloatField(default=UNFILLED_SHARE)  # of items with a model's answers, asked without them

    class Meta:
        permissions = [("adjudicate", "Can adjudicate items on which annotators disagree")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return page_at(REVIEW + self.PAGE, self.slug)

    def quorum_of(self, shuffle: int) -> int:
        """How many people an item with this stored random number asks."""
        return self.quorum if shuffle % SHARES < self.overlap * SHARES else 1

    @property
    def is_filled(self) -> bool:
        """Whether no job has still to add the items of its run or its debates for the first time."""
        if self.routed_at is not None or not (self.run_id or self.debate_set_id):
            return True
        return self.run is not None and self.run.status == RunStatus.CANCELLED

    @property
    def origin(self) -> str:
        """Name of the run, the debates or the file that its items come from, for owners only; "" if it is its own."""
        about = self.run or self.debate_set
        origin = self.source_file if about is None else about.name
        return "" if origin == self.name else origin


class Quota(models.Model):
    """How much of a queue one person is to do, and until when; a queue without one for them sets no limit."""

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="quotas")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="quotas")
    items = models.PositiveIntegerField(null=True)  # that they are handed at most, copies not counted
    until = models.DateField(null=True)  # the last day on which they are handed any

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["queue", "person"], name="quota_once")]

    def __str__(self) -> str:
        return f"quota of {self.items} until {self.until}"


class PastGuidelines(models.Model):
    """Guidelines of a queue that were replaced; those that hold stand in the queue itself."""

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="past_guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    replaced_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        verbose_name_plural = "past guidelines"
        constraints = [models.UniqueConstraint(fields=["queue", "version"], name="guidelines_version_once")]

    def __str__(self) -> str:
        return f"version {self.version}"


class GuidelinesReading(models.Model):
    """That somebody confirmed that they have read a version of a queue's guidelines; only the last one is kept."""

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="guidelines_readings")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="guidelines_readings")
    version = models.PositiveIntegerField()
    read_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["queue", "person"], name="guidelines_reading_once")]

    def __str__(self) -> str:
        return f"reading of version {self.version}"


class AuditPlan(models.Model):
    """How many verdicts of a run, or debates of a set, people check at random; without one the site's share holds."""

    run = models.OneToOneField(Run, null=True, on_delete=models.CASCADE, related_name="audit_plan")
    debate_set = models.OneToOneField(DebateSet, null=True, on_delete=models.CASCADE, related_name="audit_plan")
    size = models.PositiveIntegerField()
    chosen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="audit_plans"
    )  # None: by a command
    chosen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(run__isnull=False, debate_set=None) | models.Q(run=None, debate_set__isnull=False),
                name="audit_plan_for_one_thing",
            )
        ]

    def __str__(self) -> str:
        return f"audit of {self.size}"


class Material(models.Model):
    """One to six responses to a question that came in a file, to be reviewed without any run or debate."""

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="materials")
    key = models.CharField(max_length=200)
    question = models.TextField()
    context = models.TextField(blank=True)
    reference = models.TextField(blank=True)
    criterion_text = models.TextField(blank=True)  # what the criterion means, in words
    response_a = models.TextField()
    response_b = models.TextField(blank=True)
    is_pair = models.BooleanField()
    system_a = models.CharField(max_length=200, blank=True)
    system_b = models.CharField(max_length=200, blank=True)
    more = models.JSONField(default=list)  # responses C to F: [[text, system], ...]
    turns = models.JSONField(default=dict)  # question, response_a to response_f of chats, in the stored form
    images = models.JSONField(default=dict)  # of the same, the images that they show: ImageSpec of each `Picture`
    details = models.JSONField(default=dict)  # columns that nothing reads: shown to leads, never to annotators

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "key"], name="material_once")]

    def __str__(self) -> str:
        return self.key

    @property
    def responses(self) -> list[tuple[str, str]]:
        """The text and the system of each response, in the order of the file."""
        second = [(self.response_b, self.system_b)] if self.is_pair or self.more else []
        return [(self.response_a, self.system_a), *second, *((text, system) for text, system in self.more)]


class Subject(models.Model):
    """What people are asked about: one response, or two, to a question under a criterion. Equal content is one subject.

    A label belongs to it, whichever judge, run, suite version or file leads there.
    """

    key = models.CharField(max_length=64, unique=True)  # review.selectors.subjects.subject_key
    content_key = models.CharField(max_length=64, blank=True)  # of labels that name no rubric: stored_content
    is_pair = models.BooleanField()  # labels of a pair say which response is better, in the order of their hashes
    criterion = models.CharField(max_length=200, blank=True)
    case = models.ForeignKey(Case, null=True, on_delete=models.CASCADE, related_name="+")  # its reference is shown
    rubric_item = models.ForeignKey(RubricItem, null=True, on_delete=models.CASCADE, related_name="+")
    judge = models.CharField(max_length=20, blank=True)  # kind that rates without a rubric, whose parts people rate
    labels = models.JSONField()  # the scale, as in Queue
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["content_key"], condition=~models.Q(content_key=""), name="subject_by_content")]

    def __str__(self) -> str:
        return f"subject {self.key[:12]}"


class ReviewItem(models.Model):
    """One subject in one queue. It hangs on no verdict, score or debate: whatever becomes of those, this stays."""

    PAGE = "items/<item:item_id>/"

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="items")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="items")
    response_a = models.ForeignKey(Response, null=True, on_delete=models.PROTECT, related_name="+")
    response_b = models.ForeignKey(Response, null=True, on_delete=models.PROTECT, related_name="+")  # pairs only
    material = models.ForeignKey(Material, null=True, on_delete=models.CASCADE, related_name="review_items")
    is_turned = models.BooleanField(default=False)  # a pair whose A comes second in its subject
    retest_of = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="retests")
    only_for = models.ForeignKey(  # the one person whom a test-retest asks again
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="retests"
    )
    reason = models.CharField(max_length=40)  # a code of review.routing
    reason_text = models.CharField(max_length=300)  # the same in words
    arm = models.CharField(max_length=20, choices=choices_of(ItemArm), default=ItemArm.ROUTED)
    inclusion_probability = models.FloatField(null=True)  # audit arm only
    priority = models.IntegerField(default=0)  # higher comes first
    precedence = models.SmallIntegerField(default=0)  # the same, by a lead, before what the order of the queue says
    shuffle = models.BigIntegerField()  # stored random number: order among equals, and the seed of the blind sides
    quorum = models.PositiveSmallIntegerField()
    answer_count = models.PositiveSmallIntegerField(default=0)
    dispute = models.PositiveSmallIntegerField(default=0)  # how far its answers differ so far, in thousandths
    status = models.CharField(max_length=20, choices=choices_of(ItemStatus), default=ItemStatus.OPEN)
    criterion = models.CharField(max_length=100, blank=True)
    scenario = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=40, blank=True)
    content_hash = models.CharField(max_length=64)  # of everything shown; a change makes the item stale
    label = models.CharField(max_length=20, blank=True)  # the final label, once decided
    created_at = models.DateTimeField()
    sent_by = models.ForeignKey(  # who asked for it by hand, so that they can take it back; None: the rules alone
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="sent_items"
    )
    decided_at = models.DateTimeField(null=True)
    reopened_at = models.DateTimeField(null=True)  # sent to adjudication whatever its annotations say, until decided
    excluded_because = models.CharField(max_length=300, blank=True)  # only while it is excluded

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(response_a__isnull=False, material=None)
                | models.Q(response_a=None, response_b=None, material__isnull=False),
                name="item_shows_responses_or_material",
            ),
            models.CheckConstraint(
                condition=models.Q(retest_of=None, only_for=None)
                | models.Q(retest_of__isnull=False, only_for__isnull=False),
                name="item_retest_for_one_person",
            ),
            models.UniqueConstraint(
                fields=["queue", "subject"], condition=models.Q(retest_of=None), name="item_subject_once"
            ),
            models.UniqueConstraint(fields=["retest_of", "only_for"], name="item_retest_once"),
        ]
        indexes = [
            models.Index(fields=["queue", "status", "-precedence", "-priority", "shuffle", "id"], name="item_next"),
            models.Index(fields=["queue", "status", "-precedence", "shuffle", "id"], name="item_random"),
            models.Index(fields=["queue", "status", "-precedence", "id"], name="item_given"),
            models.Index(
                fields=["queue", "status", "-precedence", "-dispute", "-priority", "shuffle", "id"],
                name="item_disputed",
            ),
            models.Index(fields=["queue", "criterion", "scenario"], name="item_filter"),
            models.Index(fields=["queue", "reason"], name="item_reason"),
            models.Index(fields=["queue", "scenario"], name="item_scenario"),
        ]

    def __str__(self) -> str:
        return f"item {self.pk}"

    @property
    def is_open(self) -> bool:
        return self.status == ItemStatus.OPEN

    def get_absolute_url(self) -> str:
        return page_at(REVIEW + self.PAGE, address_of(self.pk))

    @property
    def address(self) -> str:
        """What stands for the item on pages of annotators: its number would tell which one repeats another."""
        return address_of(self.pk)


class Prefill(models.Model):
    """What a model answers to an item: filled in for annotators where their queue's mode says so."""

    item = models.OneToOneField(ReviewItem, on_delete=models.CASCADE, related_name="prefill")
    answers = models.JSONField()  # by question, in system space: `AnswerForm.answers`
    source = models.CharField(max_length=200)  # the judge, or the column of the queue's file

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"prefill {self.pk}"


class Referral(models.Model):
    """Why a subject is with people: a rule of a run or debate set sent it, or its audit drew it. There may be many."""

    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="referrals")
    item = models.ForeignKey(  # None: nothing was opened, since the subject had its label
        ReviewItem, null=True, on_delete=models.SET_NULL, related_name="referrals"
    )
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="referrals", db_index=False)
    debate_set = models.ForeignKey(DebateSet, null=True, on_delete=models.CASCADE, related_name="referrals")
    evaluator = models.ForeignKey(  # whose finding it was; None: the audit's, or a debate's
        RunEvaluator, null=True, on_delete=models.SET_NULL, related_name="referrals"
    )
    response = models.ForeignKey(Response, null=True, on_delete=models.PROTECT, related_name="referrals")
    debate = models.ForeignKey(Debate, null=True, on_delete=models.SET_NULL, related_name="referrals")
    arm = models.CharField(max_length=20, choices=choices_of(ItemArm))
    reason = models.CharField(max_length=40)  # a code of review.routing
    inclusion_probability = models.FloatField(null=True)  # audit arm only
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["run", "arm", "inclusion_probability"], name="referral_by_arm")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(run__isnull=False, debate_set=None, response__isnull=False)
                | models.Q(run=None, debate_set__isnull=False, response=None),
                name="referral_of_run_or_debates",
            ),
            models.CheckConstraint(
                condition=models.Q(arm=ItemArm.AUDIT, inclusion_probability__isnull=False)
                | models.Q(arm=ItemArm.ROUTED, inclusion_probability=None),
                name="referral_audit_has_chance",
            ),
            models.UniqueConstraint(
                fields=["run", "response", "subject", "evaluator"],
                condition=models.Q(evaluator__isnull=False),
                name="referral_finding_once",
            ),
            models.UniqueConstraint(
                fields=["run", "response", "subject", "arm"],
                condition=models.Q(run__isnull=False, evaluator=None),
                name="referral_response_once",
            ),
            models.UniqueConstraint(fields=["debate", "subject", "arm"], name="referral_debate_once"),
        ]

    def __str__(self) -> str:
        return f"referral {self.pk}"


class Assignment(models.Model):
    """A person's claim on an item. The token fences off whoever lost the claim."""

    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, related_name="assignments")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="assignments")  # the item's, for counting
    item_open = models.BooleanField(default=True)  # the item's status is open, for counting
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="assignments")
    token = models.UUIDField(unique=True)
    status = models.CharField(max_length=20, choices=choices_of(AssignmentStatus), default=AssignmentStatus.LEASED)
    swapped = models.BooleanField(default=False)  # this person sees B on the left
    shown_order = models.CharField(max_length=6, blank=True)  # of three responses or more, as this person sees them
    claimed_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField(null=True)  # the page's last sign of life
    active_seconds = models.FloatField(default=0)  # at work on the item, idle time left out
    skip_reason = models.CharField(max_length=300, blank=True)
    flag = models.CharField(max_length=300, blank=True)
    comments = models.JSONField(default=list)  # between the person and the leads: [[by a lead, text, time], ...]
    seen_before = models.BooleanField(default=False)  # the person had looked at the item as its owner: not blind
    prefilled = models.JSONField(default=dict)  # what a model answers, as it stood when the item was handed out
    prefilled_by = models.CharField(max_length=200, blank=True)  # the judge or the column; "": no model answers it
    shows_prefilled = models.BooleanField(default=False)  # the form began with it; else the item was drawn to be blind
    acted_at = models.DateTimeField(null=True)  # when it was answered or skipped: the last act is the one undone
    draft = models.JSONField(default=dict)
    draft_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "annotator"], name="assignment_once")]
        indexes = [
            models.Index(fields=["item", "status", "expires_at"], name="assignment_live"),
            models.Index(fields=["annotator", "queue", "item_open", "status"], name="assignment_mine"),
            models.Index(fields=["queue", "annotator", "status"], name="assignment_progress"),
            models.Index(fields=["queue", "annotator", "-acted_at"], name="assignment_last_act"),
            models.Index(fields=["queue", "item_open", "status", "expires_at"], name="assignment_queue"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk}"

    @property
    def order(self) -> str:
        """The letters of the item's responses as this person sees them; "" as the item has them."""
        return SWAPPED if self.swapped else self.shown_order


class Look(models.Model):
    """That somebody saw what annotators of an item must not: as an owner, or in adjudication."""

    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, related_name="looks")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="looks")  # the item's, for handing out
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="looks")
    looked_at = models.DateTimeField()
    saw_verdicts = models.BooleanField(default=True)  # of machines too, not other people's answers alone

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "person"], name="look_once")]
        indexes = [models.Index(fields=["queue", "person"], name="look_mine")]

    def __str__(self) -> str:
        return f"look {self.pk}"


class Annotation(models.Model):
    """One annotator's blind answer to one item, with an optional revision after the reveal.

    Who cannot judge the item says why: that is an annotation without a label, and takes no slot.
    """

    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, related_name="annotations")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="annotations")  # the item's, for reports
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="annotations")
    slot = models.PositiveSmallIntegerField(null=True)  # 0 to quorum - 1: two labels can never take the same one
    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="annotation")
    label = models.CharField(max_length=20, blank=True)  # one of the subject's labels, in system space
    cannot_judge = models.CharField(max_length=300, blank=True)  # why they cannot judge it, in place of a label
    parts = models.JSONField(default=dict)  # of the criterion's form: key -> value; the label is what they come to
    note = models.TextField(blank=True)
    seconds = models.FloatField(null=True)  # from claim to answer
    active_seconds = models.FloatField(null=True)  # the same without idle time; None where nobody measured it
    created_at = models.DateTimeField()
    left_out_at = models.DateTimeField(null=True)  # the label counts nowhere since, and takes no slot
    seen_before = models.BooleanField(default=False)  # the person had looked at the item as its owner: not blind
    mode = models.CharField(
        max_length=20, choices=choices_of(QueueMode), default=QueueMode.BLIND
    )  # the queue's, when it was given; blind where nothing was filled in
    guidelines_version = models.PositiveIntegerField(default=1)  # the queue's, when it was given
    asked_hash = models.CharField(max_length=64, blank=True)  # of form, guidelines and what was shown, when given
    source_file = models.CharField(max_length=200, blank=True)  # the file that it was imported from, if it was
    edited_at = models.DateTimeField(null=True)  # last change of the blind answer while the item was open
    revealed_at = models.DateTimeField(null=True)  # when the verdicts were shown; fixes the blind answer
    revised_label = models.CharField(max_length=20, blank=True)
    revised_parts = models.JSONField(default=dict)
    revision_note = models.TextField(blank=True)
    revised_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "annotator"], name="annotation_once"),
            models.UniqueConstraint(fields=["item", "slot"], name="annotation_slot_once"),
            models.CheckConstraint(
                condition=(models.Q(slot__isnull=False, left_out_at=None, cannot_judge="") & ~models.Q(label=""))
                | (models.Q(slot=None, left_out_at__isnull=False, cannot_judge="") & ~models.Q(label=""))
                | (models.Q(slot=None, label="", revised_label="") & ~models.Q(cannot_judge="")),
                name="annotation_label_or_cannot_judge",
            ),
        ]
        indexes = [
            models.Index(fields=["annotator", "created_at"], name="annotation_mine"),
            models.Index(fields=["queue", "created_at"], name="annotation_queue"),
        ]

    def __str__(self) -> str:
        return f"annotation {self.pk}"

    @property
    def fixed_because(self) -> str:
        """Why its author cannot take it back any more; "" while they can."""
        if self.left_out_at is not None:
            return states.LABEL_LEFT_OUT
        return "" if self.revealed_at is None else states.SEEN

    @property
    def final_label(self) -> str:
        return self.revised_label or self.label

    @property
    def final_parts(self) -> JsonDict:
        parts: JsonDict = self.revised_parts if self.revised_label else self.parts
        return parts


LABEL_LIMIT = 200  # characters of a label that came from elsewhere


class Provenance(models.TextChoices):
    """How a final label came about. Only blind ones enter figures about judges."""

    MAJORITY = "majority", "Blind majority"
    ADJUDICATION = "adjudication", "Blind adjudication"
    INFORMED = "informed", "Informed: given after seeing machine verdicts"
    IMPORTED = "imported", "Imported"


class Adjudication(models.Model):
    """The final human word on an item that people disagree about."""

    item = models.OneToOneField(ReviewItem, on_delete=models.CASCADE, related_name="adjudication")
    adjudicator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications")
    label = models.CharField(max_length=20)
    parts = models.JSONField(default=dict)  # as in Annotation
    adopted = models.ForeignKey(Annotation, null=True, on_delete=models.SET_NULL)
    reason = models.TextField()
    errors = models.JSONField(default=list)  # values of ErrorKind
    created_at = models.DateTimeField()
    is_blind = models.BooleanField(default=True)  # nobody had shown the adjudicator a machine verdict before
    revealed_at = models.DateTimeField(null=True)  # when the verdicts were shown; fixes the label
    revised_label = models.CharField(max_length=20, blank=True)  # beside the label, never in its place
    revised_parts = models.JSONField(default=dict)
    revision_note = models.TextField(blank=True)
    revised_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"adjudication {self.pk}"


class FinalLabel(models.Model):
    """The final human label of a subject, and how it came about; pairs in the order of the subject."""

    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="final_labels")
    item = models.ForeignKey(  # on which people decided; None: imported
        ReviewItem, null=True, on_delete=models.CASCADE, related_name="final_labels"
    )
    provenance = models.CharField(max_length=20, choices=Provenance)
    is_blind = models.BooleanField()
    label = models.CharField(max_length=LABEL_LIMIT)
    share = models.FloatField(null=True)  # the label on the scale from 0 to 1; pairs: 1, 0.5, 0; None: a name
    parts = models.JSONField(default=dict)  # as in Annotation, where people decided on each
    source = models.CharField(max_length=200, blank=True)  # imported: from whom
    table = models.ForeignKey(  # imported with it, and gone with it; None: of labels of debates, which it follows
        "LabelTable", null=True, on_delete=models.CASCADE, related_name="final_labels"
    )
    decided_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "is_blind"], name="final_label_once"),
            models.UniqueConstraint(
                fields=["subject", "source", "is_blind"],
                condition=models.Q(item=None),
                name="final_label_imported_once",
            ),
            models.CheckConstraint(
                condition=models.Q(provenance__in=["majority", "adjudication"], is_blind=True)
                | models.Q(provenance="informed", is_blind=False)
                | models.Q(provenance="imported"),
                name="final_label_blind_by_provenance",
            ),
        ]

    def __str__(self) -> str:
        return f"final label {self.pk}"


class LabelTable(models.Model):
    """Labels that people gave elsewhere, kept for the same reports as a queue's answers."""

    PAGE = "labels/<slug:slug>/"

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    labels = models.JSONField()  # the declared scale, as in Queue
    source_file = models.CharField(max_length=200)
    item_count = models.PositiveIntegerField()
    label_count = models.PositiveIntegerField()
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="label_tables"
    )
    created_at = models.DateTimeField()
    digest = models.CharField(max_length=64, blank=True)  # of the file and everything said of it; equal: nothing new
    evaluator = models.ForeignKey(  # whose responses the labels are about, under its criterion; None: agreement only
        RunEvaluator, null=True, on_delete=models.SET_NULL, related_name="label_tables"
    )
    source = models.CharField(max_length=200, blank=True)  # from whom
    is_blind = models.BooleanField(default=False)  # as the importer says: nobody had seen machine verdicts
    final_count = models.PositiveIntegerField(default=0)  # final labels that came with it
    upload = models.ForeignKey(  # whose labels it holds; None: of a file of labels alone
        Upload, null=True, on_delete=models.SET_NULL, related_name="label_tables"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["digest"], condition=~models.Q(digest=""), name="label_table_once")
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return page_at(REPORTS + self.PAGE, self.slug)


class LabelledItem(models.Model):
    """One row of a label table: what was labelled, with the columns that are no labels."""

    table = models.ForeignKey(LabelTable, on_delete=models.CASCADE, related_name="items")
    key = models.CharField(max_length=600)
    criterion = models.CharField(max_length=200, blank=True)
    scenario = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=20, blank=True)
    details = models.JSONField(default=dict)
    about = models.JSONField(default=dict)  # of an upload: case, system and attempt, or those of two responses
    response = models.ForeignKey(Response, null=True, on_delete=models.SET_NULL, related_name="+")
    response_b = models.ForeignKey(Response, null=True, on_delete=models.SET_NULL, related_name="+")  # pairs only

    class Meta:
        constraints = [models.UniqueConstraint(fields=["table", "key"], name="labelled_item_once")]

    def __str__(self) -> str:
        return self.key


class ImportedLabel(models.Model):
    """What one rater, who need not have an account, said of one item; without a name, what the file itself says."""

    table = models.ForeignKey(LabelTable, on_delete=models.CASCADE, related_name="imported_labels")
    item = models.ForeignKey(LabelledItem, on_delete=models.CASCADE, related_name="imported_labels")
    rater = models.CharField(max_length=150, blank=True)
    label = models.CharField(max_length=LABEL_LIMIT)
    given_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    details = models.JSONField(default=dict)
    position = models.PositiveIntegerField(default=0)  # its place among the labels of an upload

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "rater", "position"], name="imported_label_once")]
        indexes = [models.Index(fields=["table", "item"], name="imported_label_table")]

    def __str__(self) -> str:
        return f"{self.rater}: {self.label}"


class GoldAnswer(models.Model):
    """The answers to an item that are known. People are handed copies of it unawares (`ReviewItem.retest_of`)."""

    item = models.OneToOneField(ReviewItem, on_delete=models.CASCADE, related_name="gold")
    label = models.CharField(max_length=20)  # in the order of the item, as an annotation has it
    parts = models.JSONField(default=dict)  # the same of a form's questions
    explanation = models.TextField(blank=True)  # for leads, and for people who have answered it in training
    tolerance = models.FloatField(default=0)  # by which a number or a value of a scale may differ
    is_training = models.BooleanField(default=False)  # shown before the first item, and never handed out unawares
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"gold answer {self.pk}"


class TrainingAnswer(models.Model):
    """What somebody answered to a training item. It is no annotation: no figure, export or board ever reads it."""

    gold = models.ForeignKey(GoldAnswer, on_delete=models.CASCADE, related_name="training_answers")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="training_answers")
    label = models.CharField(max_length=20)
    parts = models.JSONField(default=dict)
    by_question = models.JSONField()  # by question, whether it is right
    answered_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["gold", "person"], name="training_answer_once")]

    def __str__(self) -> str:
        return f"training answer {self.pk}"

    @property
    def is_right(self) -> bool:
        """Whether each question with a known answer is right."""
        return all(self.by_question.values())


class PausedPerson(models.Model):
    """That somebody is handed no more items of a queue, and what became of their labels there."""

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="paused_people")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="pauses")
    right = models.PositiveIntegerField()  # gold items, when they were paused
    answered = models.PositiveIntegerField()
    paused_at = models.DateTimeField()
    in_training = models.BooleanField(default=False)  # they did not pass the training round, so there are no labels
    labels = models.CharField(max_length=20, choices=choices_of(LabelsOf), default=LabelsOf.UNDECIDED)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    resolved_at = models.DateTimeField(null=True)
    resumed_at = models.DateTimeField(null=True)  # gold items answered before it count no more

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["queue", "person"], condition=models.Q(resumed_at=None), name="person_paused_once"
            )
        ]

    def __str__(self) -> str:
        return f"pause {self.pk}"
