"""Tables of what judges have earned: thresholds, certificates and anchor sets."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from evalsite.review.routing import wrong_in_words
from judging.models import Response, Run, RunEvaluator, Verdict


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
