"""`certify JUDGE --annotators skilled`: hold the alternative annotator test and store its outcome."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.reports.management.judges import add_judge, trust_payload
from evalsite.reports.selectors.judges.certificates import certificate_state
from evalsite.reports.services.judges.calibration import NotHeld, certify, lacks_of, version_of_payload
from judging.statistics.coefficients.alternative_annotator import Annotators


class Command(JsonCommand):
    """Exit code 2 where the test cannot be held; a judge that does not pass gets a certificate that says so."""

    help = "Issue the certificate of one version of a judge from its audited verdicts, or show the one there is."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the judge and who its annotators are."""
        add_judge(parser)
        kinds = [kind.value for kind in Annotators]
        parser.add_argument("--annotators", choices=kinds, default="skilled", help="who they are: sets the margin")
        parser.add_argument("--show", action="store_true", help="issue nothing; say what holds now")

    def run(self, **options: Any) -> JsonDict:
        """Return the certificate."""
        payload = trust_payload(options)
        if not options["show"]:
            try:
                certify(payload, annotators=Annotators(options["annotators"]), actor=None, at=timezone.now())
            except NotHeld as refusal:
                raise BadInput(str(refusal)) from refusal
        version, lacks = version_of_payload(payload), lacks_of(payload)
        state = certificate_state(name=payload["name"], version=version, lacks=lacks)
        found = state.certificate
        return {
            "judge": payload["name"],
            "version": payload["version"]["key"],
            "state": state.words,
            "passed": found.passed if found is not None else None,
            "annotators": found.annotators if found is not None else None,
            "items": found.items if found is not None else None,
            "issued_at": found.issued_at.isoformat() if found is not None else None,
            "figures": found.figures if found is not None else None,
        }

    def summary(self, result: JsonDict) -> str:
        """Leave the figures to --json."""
        return super().summary({key: value for key, value in result.items() if key != "figures"})
