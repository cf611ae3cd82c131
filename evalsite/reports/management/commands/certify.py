"""`certify JUDGE --annotators skilled`: run the alternative annotator test and store its outcome."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.reports.management.judges import add_judge, trust_content
from evalsite.reports.selectors.judges.certificates import certificate_state
from evalsite.reports.services.judges.calibration import CertificateRefused, certify, lacks_of, version_of_content
from judging.statistics.coefficients.alternative_annotator import Annotators


class Command(JsonCommand):
    """Exit code 2 where the test cannot be run; a judge that does not pass gets a certificate that says so."""

    help = "Issue the certificate of one version of a judge from its audited verdicts, or show the current one."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the judge and who its annotators are."""
        add_judge(parser)
        kinds = [kind.value for kind in Annotators]
        parser.add_argument(
            "--annotators", choices=kinds, default="skilled", help="kind of annotators, which sets the margin"
        )
        parser.add_argument("--show", action="store_true", help="show the current state without issuing anything")

    def run(self, **options: Any) -> JsonDict:
        """Return the certificate."""
        content = trust_content(options)
        if not options["show"]:
            try:
                certify(content, annotators=Annotators(options["annotators"]), actor=None, at=timezone.now())
            except CertificateRefused as refusal:
                raise BadInput(str(refusal)) from refusal
        version, lacks = version_of_content(content), lacks_of(content)
        state = certificate_state(name=content["name"], version=version, lacks=lacks)
        certificate = state.certificate
        return {
            "judge": content["name"],
            "version": content["version"]["key"],
            "state": state.words,
            "passed": certificate.passed if certificate is not None else None,
            "annotators": certificate.annotators if certificate is not None else None,
            "items": certificate.items if certificate is not None else None,
            "issued_at": certificate.issued_at.isoformat() if certificate is not None else None,
            "figures": certificate.figures if certificate is not None else None,
        }

    def summary(self, result: JsonDict) -> str:
        """Leave the figures to --json."""
        return super().summary({key: value for key, value in result.items() if key != "figures"})
