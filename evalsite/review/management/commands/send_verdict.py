"""`send_verdict`: send the question behind one verdict to people."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.review.services.referrals import researcher_referrals
from evalsite.review.states import ReviewRefused
from judging.models import Verdict


class Command(JsonCommand):
    """Do to a verdict what its page's button does, in a researcher's name."""

    help = "Send the response and criterion of one verdict to review, unless they are in review already."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--verdict", type=int, required=True, help="id of the verdict")
        parser.add_argument("--by", required=True, metavar="NAME", help="user name of the researcher who sends it")

    def run(self, **options: Any) -> JsonDict:
        related = ("run__suite", "evaluator__rubric", "response__system")
        verdict = Verdict.objects.select_related(*related).filter(pk=options["verdict"]).first()
        if verdict is None:
            raise BadInput(f"There is no verdict {options['verdict']}.")
        sender = User.objects.filter(username=options["by"], is_active=True).first()
        if sender is None or not sender.has_perm("review.change_queue"):
            raise BadInput(f"{options['by']!r} is not an active person who can send verdicts to review.")
        try:
            sent = researcher_referrals.send_verdict(verdict=verdict, actor=sender, at=timezone.now())
        except ReviewRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        return {"verdict": verdict.pk, "queue": sent.queue.slug, "items": sent.count}
