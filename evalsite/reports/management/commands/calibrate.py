"""`calibrate JUDGE --error 10 [--tolerance 1] [--save]`: from which confidence on a judge decides alone."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import BadInput, JsonCommand, form_refusal
from evalsite.base.json_types import JsonDict
from evalsite.reports.forms import ThresholdForm
from evalsite.reports.management.judges import add_judge, trust_content
from evalsite.reports.selectors.judges.certificates import threshold_state
from evalsite.reports.services.judges.calibration import (
    CalibrationRefused,
    calibrate,
    save_calibration,
    version_of_content,
)
from evalsite.reports.services.report_content import ReportContent
from evalsite.review.services.thresholds import remove_threshold


class Command(JsonCommand):
    """Exit code 2 where --save is given and no threshold keeps the error rate."""

    help = "Choose the confidence threshold of one version of a judge from its audited verdicts."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the judge and what is wanted."""
        add_judge(parser)
        parser.add_argument(
            "--error", type=float, default=10.0, help="highest error rate of accepted verdicts, in percent"
        )
        parser.add_argument("--certainty", type=float, default=90.0, help="confidence level of the bound, in percent")
        parser.add_argument(
            "--tolerance",
            type=int,
            default=0,
            help="points of an ordered scale by which an accepted verdict may differ from the human label",
        )
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--save", action="store_true", help="save the threshold for the next runs of this version")
        act.add_argument("--remove", action="store_true", help="remove the saved threshold: the site's default applies")

    def run(self, **options: Any) -> JsonDict:
        """Return the threshold, what it promises and the curve behind it."""
        content = trust_content(options)
        if options["remove"]:
            return _remove(content)
        limits = {name: options[name] for name in ("error", "certainty", "tolerance")}
        form = ThresholdForm(limits, most_tolerance=content["most_tolerance"])
        if not form.is_valid():
            raise form_refusal(form)
        calibration = calibrate(content, alpha=form.alpha, delta=form.delta, tolerance=form.tolerance_points)
        if options["save"]:
            try:
                save_calibration(content, calibration, actor=None, at=timezone.now())
            except CalibrationRefused as refusal:
                raise BadInput(f"Not saved: {refusal}") from refusal
        chosen = calibration.decision.chosen
        return {
            "judge": content["name"],
            "version": content["version"]["key"],
            "threshold": chosen.threshold if chosen is not None else None,
            "reason": calibration.decision.reason,
            "tolerance": calibration.tolerance,
            "accepted": calibration.accepted,
            "bound": chosen.bound if chosen is not None else None,
            "labels_needed": calibration.decision.labels_needed,
            "annotations_per_thousand": calibration.annotations_per_thousand,
            "saved": options["save"],
            "default_threshold": settings.REVIEW_CONFIDENCE_THRESHOLD,
            "curve": [asdict(step) for step in calibration.steps],
        }

    def summary(self, result: JsonDict) -> str:
        """Leave the curve to --json."""
        return super().summary({key: value for key, value in result.items() if key != "curve"})


def _remove(content: ReportContent) -> JsonDict:
    """Let the next runs of the version use the site's default threshold again."""
    state = threshold_state(name=content["name"], version=version_of_content(content))
    if state.saved is not None:
        remove_threshold(saved=state.saved, actor=None)
    version_facts = {"judge": content["name"], "version": content["version"]["key"], "removed": state.saved is not None}
    return version_facts | {"default_threshold": settings.REVIEW_CONFIDENCE_THRESHOLD}
