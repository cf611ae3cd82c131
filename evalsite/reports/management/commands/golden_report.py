"""`golden_report SET [--compare A B]`: versions of judges against people on development, and on an opened test."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.reports import jobs
from evalsite.reports.services.golden.golden_comparisons import VersionComparison, compare_versions
from evalsite.reports.services.golden.golden_figures import GOLDEN
from evalsite.review.management.golden import set_of, version_of


class Command(JsonCommand):
    """Of the test it has figures only of versions that it was opened for."""

    help = "Print how versions of judges agree with people on a golden set, or how two of them differ."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the set and the two versions."""
        parser.add_argument("golden_set", help="name of the golden set")
        parser.add_argument(
            "--compare",
            nargs=2,
            metavar=("BEFORE", "AFTER"),
            help="two versions on development: the name of a judge (its newest version) or the beginning of a key",
        )

    def run(self, **options: Any) -> JsonDict:
        """Return the figures."""
        golden_set = set_of(options["golden_set"])
        if options["compare"]:
            before, after = (version_of(golden_set, given) for given in options["compare"])
            found = compare_versions(golden_set, before.evaluator, after.evaluator)
            return {"before": before.key, "after": after.key} | comparison_facts(found)
        content = jobs.require(GOLDEN, subject_id=golden_set.pk, options={}, at=timezone.now())
        return {"golden_set": golden_set.name} | content

    def summary(self, result: JsonDict) -> str:
        """Return a line for each version; the flips are left to --json."""
        if "flips" in result:
            return super().summary({key: value for key, value in result.items() if key != "flips"})
        lines = []
        for part in ("development", "test"):
            for row in result[part]:
                agreement, kappa = (row[name]["value"] for name in ("agreement", "kappa"))
                opened = f", opened {row['opened_before']} times before" if part == "test" else ""
                shown = [f"{value:.3f}" if value is not None else "too few" for value in (agreement, kappa)]
                lines.append(
                    f"{part}{opened}: {row['name']} ({row['key'][:12]}): agreement {shown[0]}, kappa {shown[1]}, "
                    f"{row['items']} responses, {row['unread']} unread"
                )
        return "\n".join(lines) or "No version has been run on this golden set yet."


def comparison_facts(found: VersionComparison) -> JsonDict:
    """Return a comparison as an object."""
    return {
        "responses": found.responses,
        "difference": asdict(found.difference),
        "paired": asdict(found.paired),
        "gains": found.gains,
        "losses": found.losses,
        "flips": [
            {
                "item": flip.before.golden_id,
                "response": flip.before.response_id,
                "case": flip.before.case_key,
                "people": flip.before.people,
                "before": flip.before.judge,
                "after": flip.after.judge,
            }
            for flip in found.flips
        ],
    }
