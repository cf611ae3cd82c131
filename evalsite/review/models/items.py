"""Tables of what people are asked: subjects, items and why each was sent."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from debate.models import Debate, DebateSet
from evalsite.base.choices import choices_of
from evalsite.review.addresses import address_of
from evalsite.review.models.queues import Queue
from evalsite.review.routing import ItemArm
from evalsite.review.states import ItemStatus
from judging.models import Case, Response, RubricItem, Run, RunEvaluator


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
