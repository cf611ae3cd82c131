"""Thresholds, certificates, anchors and golden sets: what judges are checked with; and notices."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from evalsite.base.rows import REPORTS, page_at
from evalsite.base.types import choices_of
from evalsite.review.models.items import Subject
from evalsite.review.routing import MOST_LOOKS, GoldenPart, promise_in_words
from judging.models import Judge, ModelEndpoint, Response, Rubric, Run, RunEvaluator, Suite, Verdict


class ThresholdPlan(models.Model):
    """How often one version of a judge may be tested against one target, fixed by the first test."""

    version_key = models.CharField(max_length=64)
    evaluator_name = models.CharField(max_length=160)
    alpha = models.FloatField()  # error rate tolerated among accepted verdicts
    tolerance = models.PositiveSmallIntegerField()  # points of the scale by which a right verdict may differ
    delta = models.FloatField()  # chance tolerated that any of the looks accepts what it must not
    looks = models.PositiveSmallIntegerField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["version_key", "alpha", "tolerance"], name="threshold_plan_once"),
            models.CheckConstraint(
                condition=models.Q(looks__gte=1, looks__lte=MOST_LOOKS), name="threshold_plan_has_few_looks"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.looks} looks at {self.evaluator_name}"


class ThresholdLook(models.Model):
    """One test of a version against its target, whether a threshold passed or not. Never deleted."""

    plan = models.ForeignKey(ThresholdPlan, on_delete=models.PROTECT, related_name="taken", db_index=False)
    number = models.PositiveSmallIntegerField()  # 1, 2, ...
    labels_hash = models.CharField(max_length=64)  # of the audited verdicts and labels that it was taken on
    cases = models.PositiveIntegerField()  # audited ones among them
    threshold = models.FloatField(null=True)  # None: none passed
    outcome = models.CharField(max_length=300)  # as the page said it
    looked_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    looked_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["plan", "number"], name="threshold_look_once"),
            models.CheckConstraint(
                condition=models.Q(number__gte=1, number__lte=MOST_LOOKS), name="threshold_look_is_planned"
            ),
        ]

    def __str__(self) -> str:
        return f"look {self.number}"


class EvaluatorThreshold(models.Model):
    """From which confidence on one version of a judge decides alone, chosen on its audited verdicts."""

    version_key = models.CharField(max_length=64, unique=True)  # judging.judges.judge_kinds
    version = models.JSONField()  # the same in parts, to say later what changed
    evaluator_name = models.CharField(max_length=160)
    threshold = models.FloatField()
    alpha = models.FloatField()  # error rate tolerated among accepted verdicts
    delta = models.FloatField()  # chance tolerated that the error rate is higher
    tolerance = models.PositiveSmallIntegerField(default=0)  # points of the scale by which a right verdict may differ
    accepted = models.FloatField()  # share of the audited verdicts at or above the threshold
    bound = models.FloatField()  # the error rate among these is at most this, with certainty 1 - delta
    cases = models.PositiveIntegerField()  # audited cases that it was chosen on
    look = models.OneToOneField(  # that chose it; None: saved before looks were counted
        ThresholdLook, null=True, on_delete=models.PROTECT, related_name="saved"
    )
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
    def promise(self) -> str:
        """What it accepts, and how often that is wrong at most."""
        return (
            self.look.outcome
            if self.look
            else promise_in_words(self.accepted, self.bound, delta=self.delta, tolerance=self.tolerance)
        )


class Certificate(models.Model):
    """The outcome of the alternative annotator test for one version of a judge."""

    version_key = models.CharField(max_length=64, unique=True)
    version = models.JSONField()
    evaluator_name = models.CharField(max_length=160)
    annotators = models.CharField(max_length=20)  # experts | skilled | crowd: sets the margin
    passed = models.BooleanField()
    items = models.PositiveIntegerField()  # audited responses with a final blind label that the judge read
    figures = models.JSONField()  # winning rate, people, sensitivity, specificity, kappa, as issued
    lapsed_at = models.DateTimeField(null=True)  # when it was announced that the judge runs as another version
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

    PAGE = "golden/<int:set_id>/"

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
        return page_at(REPORTS + self.PAGE, self.pk)


class GoldenItem(models.Model):
    """One labelled response of a golden set. Its label is the subject's: what people change later counts here too."""

    PAGE = "golden/<int:set_id>/items/<int:item_id>/"

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

    def get_absolute_url(self) -> str:
        return page_at(REPORTS + self.PAGE, self.golden_set_id, self.pk)


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

    PAGE = "golden/wordings/<int:proposal_id>/"

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

    def get_absolute_url(self) -> str:
        return page_at(REPORTS + self.PAGE, self.pk)


class NoticeKind(models.TextChoices):
    """What the site tells people about."""

    ASSIGNED = "assigned", "Assigned to you"
    NEEDS_ADJUDICATION = "split", "Needs adjudication"
    DONE = "done", "Queue complete"
    FLAGGED = "flagged", "Item flagged"
    COMMENTED = "commented", "New comment"
    PERSON_PAUSED = "person_paused", "Annotator paused"
    NOT_QUALIFIED = "not_qualified", "Training not passed"
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
