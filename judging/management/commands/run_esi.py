"""`run_esi --suite ID|SLUG or --input FILE.jsonl, --worker ENDPOINT:PROMPT ..., --accuracy ..., --integrity ...`."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from django.utils.timezone import now

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.http import whole_number
from judging.exports import write_esi_files
from judging.grading.esi import BadEsiOption, EsiOptions, keyword_list
from judging.jobs import launch_run
from judging.judges.answer_prompts import OWN, SHIPPED, ResponseSettings, shipped_asking
from judging.judges.kinds.accuracy import STRICTNESS, strictness_of
from judging.judges.kinds.esi_items import ReplyReading
from judging.management.run_progress import wait_for_run
from judging.management.run_reports import audit_report, audit_words
from judging.models import Judge, ModelEndpoint, PromptVersion, Suite, System
from judging.services.evaluation.esi_options import ORIGINAL, options_from_json
from judging.services.file_imports.suites import store_suite
from judging.services.runs.esi_plans import ChosenJudge, EsiPlan, Worker, create_esi_run, default_judge
from judging.services.runs.people_costs import people_cost_of_esi_plan
from judging.services.runs.run_plans import RunNotPossible
from judging.specs.replies.esi_lines import EsiLines, read_esi_lines


class Command(JsonCommand):
    """Answer, judge and score a data set by the ESI."""

    help = "Let models answer a data set with prompt versions, judge accuracy and integrity, and compute the index."
    needs_broker = True

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add what to run, who takes part and how it is scored."""
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--suite", default="", help="id of a suite, or slug of a benchmark (its newest suite)")
        source.add_argument("--input", default="", help="JSON Lines with instruction, question and answer")
        parser.add_argument("--dataset", default="", help="name of the data set in --input; default: the file's")
        parser.add_argument("--worker", action="append", default=[], help="ENDPOINT=PROMPT, e.g. qwen=COT; repeat")
        parser.add_argument("--system", action="append", default=[], help="judge this system's answers as they are")
        parser.add_argument("--accuracy", required=True, help="an accuracy judge, or an endpoint for the shipped one")
        parser.add_argument("--integrity", required=True, help="an integrity judge, or an endpoint for the shipped one")
        parser.add_argument("--strictness", choices=STRICTNESS, help="default: by the data set's name, as the original")
        parser.add_argument("--original", action="store_true", help="read and score as the original program does")
        parser.add_argument(
            "--weights", default="", help="five numbers: accuracy,integrity,efficiency,safety,alignment"
        )
        parser.add_argument("--fresh", action="store_true", help="reuse no reply of earlier runs")
        parser.add_argument("--token-budget", type=int)
        parser.add_argument("--irrelevant-share", type=float)
        parser.add_argument("--max-length-ratio", type=float)
        parser.add_argument("--length-penalty", type=float)
        parser.add_argument("--unsafe-keywords", help="comma-separated")
        parser.add_argument("--budget", default="", help="USD; the run pauses before it would be exceeded")
        parser.add_argument("--name", default="")
        parser.add_argument("--no-wait", action="store_true", help="only queue the run")
        parser.add_argument("--output", default="", help="folder for the original's three files for each system")

    def run(self, **options: Any) -> dict[str, Any]:
        """Make the run, wait for it, write its files."""
        try:
            with transaction.atomic():
                plan = _plan(options)
                asked = people_cost_of_esi_plan(plan)
                self.stderr.write(audit_words(asked))
                run = create_esi_run(plan=plan, actor=None, at=now())
                launch_run(run_id=run.pk, waiting=run.total)
        except (RunNotPossible, BadEsiOption) as error:
            raise BadInput(str(error)) from error
        if not options["no_wait"]:
            run = wait_for_run(run.pk, bar=not options["as_json"])
        written: list[str] = []
        if options["output"]:
            folder = Path(options["output"])
            folder.mkdir(parents=True, exist_ok=True)
            written = [str(path) for path in write_esi_files(run=run, folder=folder)]
        return {
            "run": run.pk,
            "status": run.status,
            "reason": run.status_reason,
            "items": run.total,
            "done": run.done,
            "failed": run.failed,
            "calls_made": run.calls_made,
            "calls_reused": run.calls_reused,
            "files": written,
            **audit_report(asked),
        }


def _plan(options: dict[str, Any]) -> EsiPlan:
    lines = _lines(options) if options["input"] else None
    suite = _stored(lines) if lines else _suite(options["suite"])
    strictness = options["strictness"] or strictness_of(suite.name)
    return EsiPlan(
        suite=suite,
        accuracy=ChosenJudge(_judge("accuracy", options["accuracy"]), {"strictness": strictness}),
        integrity=ChosenJudge(_judge("integrity", options["integrity"])),
        workers=[_worker(text) for text in options["worker"]],
        systems=[_system(name) for name in options["system"]],
        options=_esi_options(options),
        reading=ReplyReading.ORIGINAL if options["original"] else ReplyReading.CAREFUL,
        fresh=options["fresh"],
        name=options["name"],
        budget=_money(options["budget"]),
        input_problems=[
            {"line": one.line, "status": one.status, "reason": one.reason} for one in (lines.problems if lines else ())
        ],
    )


def _lines(options: dict[str, Any]) -> EsiLines:
    path = Path(options["input"])
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"Cannot read {path.name}: {error}") from error
    lines = read_esi_lines(text, name=options["dataset"] or path.stem)
    if not lines.suite.cases:
        raise BadInput(f"{path.name} holds no item with an instruction and a question.")
    return lines


def _stored(lines: EsiLines) -> Suite:
    from django.utils.text import slugify

    slug = slugify(lines.suite.name)[:80] or "esi"
    return store_suite(spec=lines.suite, benchmark_slug=slug, actor=None, at=now()).suite


def _suite(given: str) -> Suite:
    key = whole_number(given)
    found = Suite.objects.filter(pk=key) if key is not None else Suite.objects.filter(benchmark__slug=given)
    suite = found.order_by("-number").first()
    if suite is None:
        raise BadInput(f"There is no suite {given!r}. Give its id, or the slug of its benchmark.")
    return suite


def _judge(kind: str, given: str) -> Judge:
    judge = Judge.objects.select_related("endpoint").filter(name=given, kind=kind).first()
    if judge is not None:
        return judge
    endpoint = ModelEndpoint.objects.filter(name=given, is_active=True).first()
    if endpoint is None:
        raise BadInput(f"There is neither an {kind} judge nor an endpoint {given!r}.")
    return default_judge(kind=kind, endpoint=endpoint)


def _worker(text: str) -> Worker:
    name, _, prompt = text.partition("=")
    endpoint = ModelEndpoint.objects.filter(name=name, is_active=True).first()
    if endpoint is None:
        raise BadInput(f"There is no endpoint {name!r}.")
    if prompt in SHIPPED:
        return Worker(endpoint, shipped_asking(prompt))
    own = PromptVersion.objects.filter(name=OWN, label=prompt, is_active=True).first()
    if own is None:
        raise BadInput(f"There is no prompt version {prompt!r}; write ENDPOINT={'|'.join(SHIPPED)} or one of your own.")
    return Worker(endpoint, ResponseSettings(own.label, own.text))


def _system(name: str) -> System:
    system = System.objects.filter(name=name).first()
    if system is None:
        raise BadInput(f"There is no system {name!r}.")
    return system


def _esi_options(options: dict[str, Any]) -> EsiOptions:
    names = ("token_budget", "irrelevant_share", "max_length_ratio", "length_penalty")
    given: dict[str, Any] = {name: options[name] for name in names if options[name] is not None}
    if options["weights"]:
        given["weights"] = _weights(options["weights"])
    if options["unsafe_keywords"] is not None:
        given["unsafe_keywords"] = keyword_list(options["unsafe_keywords"])
    return options_from_json({**(ORIGINAL if options["original"] else {}), **given})


def _weights(text: str) -> dict[str, float]:
    from judging.grading.esi import SUB_SCORES

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(SUB_SCORES):
        raise BadInput(f"Give {len(SUB_SCORES)} weights, separated by commas: {', '.join(SUB_SCORES)}.")
    return dict(zip(SUB_SCORES, numbers, strict=True))


def _money(text: str) -> Decimal | None:
    try:
        amount = Decimal(text) if text else None
    except InvalidOperation:
        amount = Decimal("NaN")
    if amount is not None and not (amount.is_finite() and amount > 0):
        raise BadInput("Give the budget as a number of dollars.")
    return amount
