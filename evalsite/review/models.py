"""Tables of the review queue: items, claims, annotations and adjudications."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from debate.models import Debate, DebateSet
from evalsite.base.choices import choices_of
from evalsite.base.json_types import JsonDict
from evalsite.review.addresses import address_of
from evalsite.review.blinding import QueueMode
from evalsite.review.routing import ItemArm, wrong_in_words
from evalsite.review.sampling import GoldenPart
from evalsite.review.states import AssignmentStatus, ItemStatus, QueueStatus
from judging.models import (
    Case,
    Judge,
    ModelEndpoint,
    Response,
    Rubric,
    RubricItem,
    Run,
    RunEvaluator,
    Suite,
    Verdict,
)

LEFT_OUT = (ItemStatus.STALE, ItemStatus.EXCLUDED)  # of reports, counters and retests


class Provenance(models.TextChoices):
    """How a final label came about. Only blind ones enter figures about judges."""

    MAJORITY = "majority", "Blind majority"
    ADJUDICATION = "adjudication", "Blind adjudication"
    INFORMED = "informed", "Informed: given after seeing machine verdicts"
    IMPORTED = "imported", "Imported"


class OrderPolicy(models.TextChoices):
    """In which order a queue hands its items out."""

    URGENT = "urgent", "Most uncertain first, then random"
    GIVEN = "given", "Order of the file"
    RANDOM = "random", "Random"


class Queue(models.Model):
    """A stream of items with its guidelines, label scale and quorum."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)  # what annotators see too: it tells of no system, judge or file
    guidelines = models.TextField(blank=True)  # Markdown
    question = models.CharField(max_length=300, blank=True)  # asked at every item; empty: the usual words
    guidelines_version = models.PositiveIntegerField(default=1)  # counted up by each change of the guidelines
    mode = models.CharField(max_length=20, choices=choices_of(QueueMode), default=QueueMode.BLIND)
    labels = models.JSONField()  # [{"value": "1", "text": "A is better"}, ...], in order
    quorum = models.PositiveSmallIntegerField(default=2)
    status = models.CharField(max_length=20, choices=choices_of(QueueStatus), default=QueueStatus.OPEN)
    run = models.OneToOneField(Run, null=True, on_delete=models.SET_NULL, related_name="queue")
    debate_set = models.OneToOneField(DebateSet, null=True, on_delete=models.SET_NULL, related_name="queue")
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="queues"
    )  # none: every annotator
    open_count = models.PositiveIntegerField(default=0)
    total_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    routed_at = models.DateTimeField(null=True)  # end of the last routing of its run or debate set
    audit_strata = models.JSONField(default=list, blank=True)  # last prompt of each stratum that its run drew from
    source_file = models.CharField(max_length=200, blank=True)  # name of the file that its items came from
    order = models.CharField(max_length=20, choices=OrderPolicy, default=OrderPolicy.URGENT)
    retest_share = models.FloatField(default=0.05)  # of a person's own items that come back to them later
    shows_agreement = models.BooleanField(default=False)  # people may see how far they agree with the rest

    class Meta:
        permissions = [("adjudicate", "Can adjudicate items on which annotators disagree")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("review:queue-detail", args=[self.slug])

    @property
    def origin(self) -> str:
        """Name of the run, the debates or the file that its items come from, for owners only; "" if it is its own."""
        about = self.run or self.debate_set
        origin = self.source_file if about is None else about.name
        return "" if origin == self.name else origin


class Material(models.Model):
    """One or two answers to a question that came in a file, to be reviewed without any run or debate."""

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

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "key"], name="material_once")]

    def __str__(self) -> str:
        return self.key


class Subject(models.Model):
    """What people are asked about: one response, or two, to a question under a criterion. Equal content is one subject.

    A label belongs to it, whichever judge, run, suite version or file leads there.
    """

    key = models.CharField(max_length=64, unique=True)  # review.selectors.subjects.subject_key
    is_pair = models.BooleanField()  # labels of a pair say which response is better, in the order of their hashes
    criterion = models.CharField(max_length=100, blank=True)
    case = models.ForeignKey(Case, null=True, on_delete=models.PROTECT, related_name="+")  # its reference is shown
    rubric_item = models.ForeignKey(RubricItem, null=True, on_delete=models.PROTECT, related_name="+")
    judge = models.CharField(max_length=20, blank=True)  # kind that rates without a rubric, whose parts people rate
    labels = models.JSONField()  # the scale, as in Queue
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"subject {self.key[:12]}"


class ReviewItem(models.Model):
    """One subject in one queue. It hangs on no verdict, score or debate: whatever becomes of those, this stays."""

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
    shuffle = models.BigIntegerField()  # stored random number: order among equals, and the seed of the blind sides
    quorum = models.PositiveSmallIntegerField()
    answer_count = models.PositiveSmallIntegerField(default=0)
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
            models.Index(fields=["queue", "status", "-priority", "shuffle", "id"], name="item_next"),
            models.Index(fields=["queue", "status", "shuffle", "id"], name="item_random"),
            models.Index(fields=["queue", "status", "id"], name="item_given"),
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
        return reverse("review:item-detail", args=[self.pk])

    @property
    def address(self) -> str:
        """What stands for the item on pages of annotators: its number would tell which one repeats another."""
        return address_of(self.pk)


class Referral(models.Model):
    """Why a subject is with people: a rule of a run or debate set sent it, or its audit drew it. There may be many."""

    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="referrals")
    item = models.ForeignKey(  # None: nothing was opened, since the subject had its label
        ReviewItem, null=True, on_delete=models.SET_NULL, related_name="referrals"
    )
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="referrals")
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


class Assignment(models.Model):
    """A person's claim on an item. The token fences off whoever lost the claim."""

    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, related_name="assignments")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="assignments")  # the item's, for counting
    item_open = models.BooleanField(default=True)  # the item's status is open, for counting
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="assignments")
    token = models.UUIDField(unique=True)
    status = models.CharField(max_length=20, choices=choices_of(AssignmentStatus), default=AssignmentStatus.LEASED)
    swapped = models.BooleanField(default=False)  # this person sees B on the left
    claimed_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    beat_at = models.DateTimeField(null=True)  # the page's last sign of life
    active_seconds = models.FloatField(default=0)  # at work on the item, idle time left out
    skip_reason = models.CharField(max_length=300, blank=True)
    flag = models.CharField(max_length=300, blank=True)
    seen_before = models.BooleanField(default=False)  # the person had looked at the item as its owner: not blind
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
    seen_before = models.BooleanField(default=False)  # the person had looked at the item as its owner: not blind
    mode = models.CharField(
        max_length=20, choices=choices_of(QueueMode), default=QueueMode.BLIND
    )  # the queue's, when it was given
    guidelines_version = models.PositiveIntegerField(default=1)  # the queue's, when it was given
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
                condition=(models.Q(slot__isnull=False, cannot_judge="") & ~models.Q(label=""))
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
    def final_label(self) -> str:
        return self.revised_label or self.label

    @property
    def final_parts(self) -> JsonDict:
        parts: JsonDict = self.revised_parts if self.revised_label else self.parts
        return parts


class Adjudication(models.Model):
    """The final human word on an item that people split on."""

    item = models.OneToOneField(ReviewItem, on_delete=models.CASCADE, related_name="adjudication")
    adjudicator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications")
    label = models.CharField(max_length=20)
    parts = models.JSONField(default=dict)  # as in Annotation
    adopted = models.ForeignKey(Annotation, null=True, on_delete=models.SET_NULL)
    reason = models.TextField()
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
    label = models.CharField(max_length=20)
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


class NoticeKind(models.TextChoices):
    """What the site tells people about."""

    ASSIGNED = "assigned", "Assigned to you"
    SPLIT = "split", "Needs adjudication"
    DONE = "done", "Queue complete"
    FLAGGED = "flagged", "Item flagged"
    STUCK = "stuck", "No annotator left"
    RUN_ENDED = "run_ended", "Run ended"
    RUN_PAUSED = "run_paused", "Run paused"


class Notice(models.Model):
    """Something one person should know about a page. One unread notice per person, kind and page at most."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=20, choices=NoticeKind)
    name = models.CharField(max_length=200)  # of the queue or run
    address = models.CharField(max_length=200)  # of its page
    detail = models.CharField(max_length=300, blank=True)  # what a notice of a run adds: its counts, or why it paused
    count = models.PositiveIntegerField(default=1)  # how often it happened while unread
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "kind", "address"], condition=models.Q(read_at=None), name="notice_unread_once"
            )
        ]
        indexes = [models.Index(fields=["person", "-created_at"], name="notice_mine")]

    def __str__(self) -> str:
        return f"notice {self.pk}"


class MailChoice(models.Model):
    """A person who wants notices by e-mail as well."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="mail_choice")

    def __str__(self) -> str:
        return f"mail to {self.person}"


class LabelTable(models.Model):
    """Labels that people gave elsewhere, kept for the same reports as a queue's answers."""

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

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["digest"], condition=~models.Q(digest=""), name="label_table_once")
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("reports:labels-detail", args=[self.slug])


class LabelledItem(models.Model):
    """One row of a label table: what was labelled, with the columns that are no labels."""

    table = models.ForeignKey(LabelTable, on_delete=models.CASCADE, related_name="items")
    key = models.CharField(max_length=200)
    criterion = models.CharField(max_length=100, blank=True)
    scenario = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=20, blank=True)
    details = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["table", "key"], name="labelled_item_once")]

    def __str__(self) -> str:
        return self.key


class ImportedLabel(models.Model):
    """What one rater, who need not have an account, said of one item."""

    table = models.ForeignKey(LabelTable, on_delete=models.CASCADE, related_name="imported_labels")
    item = models.ForeignKey(LabelledItem, on_delete=models.CASCADE, related_name="imported_labels")
    rater = models.CharField(max_length=150)
    label = models.CharField(max_length=20)
    given_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "rater"], name="imported_label_once")]
        indexes = [models.Index(fields=["table", "item"], name="imported_label_table")]

    def __str__(self) -> str:
        return f"{self.rater}: {self.label}"


class EvaluatorThreshold(models.Model):
    """From which confidence on one version of a judge decides alone, chosen on its audited verdicts."""

    version_key = models.CharField(max_length=64, unique=True)  # judging.judges.versions
    version = models.JSONField()  # the same in parts, to say later what changed
    evaluator_name = models.CharField(max_length=160)
    threshold = models.FloatField()
    alpha = models.FloatField()  # error rate tolerated among accepted verdicts
    delta = models.FloatField()  # chance tolerated that the error rate is higher
    tolerance = models.PositiveSmallIntegerField(default=0)  # points of the scale by which a right verdict may differ
    accepted = models.FloatField()  # share of the audited verdicts at or above the threshold
    bound = models.FloatField()  # the error rate among these is at most this, with certainty 1 - delta
    cases = models.PositiveIntegerField()  # audited cases that it was chosen on
    saved_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    threshold__gte=0, threshold__lte=1, alpha__gt=0, alpha__lt=1, delta__gt=0, delta__lt=1
                )
                & models.Q(bound__lte=models.F("alpha")),
                name="threshold_keeps_its_promise",
            )
        ]
        indexes = [models.Index(fields=["evaluator_name", "-saved_at"], name="threshold_name")]

    def __str__(self) -> str:
        return f"{self.evaluator_name} from {self.threshold:g}"

    @property
    def certainty(self) -> float:
        return 1 - self.delta

    @property
    def wrong(self) -> str:
        return wrong_in_words(self.tolerance)


class Certificate(models.Model):
    """The outcome of the alternative annotator test for one version of a judge."""

    version_key = models.CharField(max_length=64, unique=True)
    version = models.JSONField()
    evaluator_name = models.CharField(max_length=160)
    annotators = models.CharField(max_length=20)  # experts | skilled | crowd: sets the margin
    passed = models.BooleanField()
    items = models.PositiveIntegerField()  # audited responses with a final blind label that the judge read
    figures = models.JSONField()  # winning rate, people, sensitivity, specificity, kappa, as issued
    issued_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    issued_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["evaluator_name", "-issued_at"], name="certificate_name")]

    def __str__(self) -> str:
        return f"certificate of {self.evaluator_name}"


class AnchorSet(models.Model):
    """Labelled responses that one version of a judge is asked about again from time to time."""

    version_key = models.CharField(max_length=64)
    version = models.JSONField()
    evaluator_name = models.CharField(max_length=160)
    evaluator = models.ForeignKey(  # whose judge, rubric and options are asked again
        RunEvaluator, null=True, on_delete=models.SET_NULL, related_name="anchor_sets"
    )
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["evaluator_name", "-made_at"], name="anchor_set_name")]

    def __str__(self) -> str:
        return f"anchors of {self.evaluator_name}, {self.made_at:%d %b %Y}"


class Anchor(models.Model):
    """One response of an anchor set: people's label and what the judge said when the set was made."""

    anchor_set = models.ForeignKey(AnchorSet, on_delete=models.CASCADE, related_name="anchors", db_index=False)
    verdict = models.ForeignKey(
        Verdict, null=True, on_delete=models.SET_NULL, related_name="+"
    )  # the one compared with
    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="+")
    label = models.CharField(max_length=20)
    judge_label = models.CharField(max_length=20, blank=True)  # empty: it gave no usable verdict
    scale = models.JSONField()  # the labels, as in Queue

    class Meta:
        constraints = [models.UniqueConstraint(fields=["anchor_set", "response"], name="anchor_once")]

    def __str__(self) -> str:
        return f"anchor {self.pk}"


class AnchorRound(models.Model):
    """A run that asked the anchors again."""

    anchor_set = models.ForeignKey(AnchorSet, on_delete=models.CASCADE, related_name="rounds")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="anchor_round")

    def __str__(self) -> str:
        return f"round {self.pk}"


class GoldenSet(models.Model):
    """Responses of a suite with final blind labels under one criterion, split by case, to align judges with."""

    name = models.CharField(max_length=120, unique=True)
    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="golden_sets")
    rubric = models.ForeignKey(Rubric, null=True, on_delete=models.PROTECT, related_name="golden_sets")
    criterion = models.CharField(max_length=100, blank=True)
    labels = models.JSONField()  # the commonest scale of its items, as in Queue
    seed = models.BigIntegerField()  # of the split
    with_referred = models.BooleanField(default=False)  # also what a rule sent to people because of a verdict
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("reports:golden-detail", args=[self.pk])


class GoldenItem(models.Model):
    """One labelled response of a golden set. Its label is the subject's: what people change later counts here too."""

    golden_set = models.ForeignKey(GoldenSet, on_delete=models.CASCADE, related_name="items", db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="golden_items")
    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="golden_items")
    case_key = models.CharField(max_length=200)
    part = models.CharField(max_length=20, choices=choices_of(GoldenPart))
    moved_at = models.DateTimeField(null=True)  # when its case left development to be an example

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["golden_set", "subject"], name="golden_item_once")]
        indexes = [
            models.Index(fields=["golden_set", "part", "id"], name="golden_part"),
            models.Index(fields=["golden_set", "case_key"], name="golden_case"),
        ]

    def __str__(self) -> str:
        return f"golden item {self.pk}"


class GoldenRun(models.Model):
    """A run of judges on the responses of one part of a golden set. One on the test part is an opening of the test."""

    golden_set = models.ForeignKey(GoldenSet, on_delete=models.PROTECT, related_name="runs")
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="golden_run")
    part = models.CharField(max_length=20, choices=choices_of(GoldenPart))
    version_key = models.CharField(max_length=64, blank=True)  # test: of the one version that it was opened for
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    started_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"golden run {self.pk}"


class GoldenRule(models.Model):
    """A rule for the rubric or the prompt that somebody noted from a disagreement."""

    golden_set = models.ForeignKey(GoldenSet, on_delete=models.CASCADE, related_name="rules")
    item = models.ForeignKey(GoldenItem, null=True, on_delete=models.SET_NULL, related_name="rules")
    text = models.CharField(max_length=500)
    written_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    written_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.text


class ProposalStatus(models.TextChoices):
    """Where a proposal of wording is."""

    WAITING = "waiting", "Waiting for the model"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"
    ACCEPTED = "accepted", "Accepted"


class WordingProposal(models.Model):
    """A judge's prompt as a model would word it after reading disagreements. Nobody but a person applies it."""

    golden_set = models.ForeignKey(GoldenSet, on_delete=models.CASCADE, related_name="proposals")
    evaluator = models.ForeignKey(RunEvaluator, on_delete=models.PROTECT, related_name="+")  # who disagreed
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="+")  # whose prompt it would change
    endpoint = models.ForeignKey(ModelEndpoint, on_delete=models.PROTECT, related_name="+")  # that proposes
    budget = models.DecimalField(max_digits=14, decimal_places=6, null=True)  # USD
    before = models.TextField()  # the prompt of that time
    after = models.TextField(blank=True)  # as proposed
    status = models.CharField(max_length=20, choices=ProposalStatus, default=ProposalStatus.WAITING)
    reason = models.CharField(max_length=500, blank=True)  # why it failed
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)  # USD; None: unknown
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    accepted = models.JSONField(default=list)  # places of the accepted changes
    accepted_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"proposal {self.pk}"
