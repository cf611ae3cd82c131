"""Pages of responses, and of one score with how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django_htmx.http import HttpResponseClientRefresh

from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.pages import action_page, show_refusal
from evalsite.base.formats import ScoreScale
from evalsite.base.http import PageRequest, form_view, get_view, page_of
from evalsite.base.types import JsonDict, JsonObject, Refused, objects
from judging.actions.prompts import TrialForm
from judging.actions.runs import try_judge
from judging.judges.kinds import custom_templates
from judging.judges.subjects import STATUS_WORDS, flag_in_words
from judging.models import Call, Response, Run, RunEvaluator, Score, System, Verdict
from judging.models.runs import BASELINE_RESPONSE
from judging.sandbox.languages import LANGUAGES
from judging.sandbox.runner import available_languages, sandbox_status
from judging.selectors import benchmarks
from judging.selectors import runs as selectors
from judging.selectors.benchmarks import cases_with_handlers, handler_sources
from judging.selectors.judges import cost_of_calls, score_scale_of
from judging.selectors.runs import read_verdict
from judging.specs.rubrics.outlines import Outline, outline_of_data


@get_view("judging.view_benchmark")
def response_detail(request: PageRequest, response_id: int) -> HttpResponse:
    """One response with everything that graders and judges made of it."""
    response = get_object_or_404(
        Response.objects.select_related("prompt__benchmark", "system__endpoint", "call"), pk=response_id
    )
    pages = [score_page(score) for score in benchmarks.scores_of(response)[:50]]
    newest = list({page.by: page for page in reversed(pages)}.values())[::-1]
    marked = next((page for page in pages if page.spans), None)
    verdicts = list(benchmarks.verdicts_of(response)[:100])
    judged_by = [page.score.evaluator for page in pages] + [verdict.evaluator for verdict in verdicts]
    case, previous_id, next_id = benchmarks.around(response)
    context = {
        "response": response,
        "benchmark": response.prompt.benchmark,
        "case": case,
        "previous_id": previous_id,
        "next_id": next_id,
        "asked_with": benchmarks.asked_with(response.system) if response.call_id else [],
        "attempts": benchmarks.attempts_of(response),
        "pieces": pieces_of(response.text, marked.spans if marked else ()),
        "marked": marked,
        "scores": newest,
        "older": [page for page in pages if page not in newest],
        "verdicts": verdicts,
        "has_baseline": any(evaluator.is_baseline for evaluator in judged_by),
        "formatted": marked is None or request.GET.get("view") == "formatted",
    }
    return render(request, "judging/response_detail.html", context)


@dataclass(frozen=True, slots=True)
class ShownSystem:
    """A system as the parts of its page know it."""

    system: System
    request: PageRequest


@get_view("judging.view_benchmark")
def system_detail(request: PageRequest, system_id: int) -> HttpResponse:
    """One system and its responses."""
    system = get_object_or_404(System.objects.select_related("endpoint"), pk=system_id)
    rows = benchmarks.system_responses(system)
    slug, query = request.GET.get("benchmark", ""), request.GET.get("q", "").strip()
    totals = benchmarks.system_totals(system)
    if slug:
        rows = rows.filter(prompt__benchmark__slug=slug)
    if query:
        rows = rows.filter(prompt__key__icontains=query)
    count = (
        rows.aggregate(n=Count("pk"))["n"]
        if slug or query
        else sum(responses_there for _, _, responses_there in totals)
    )
    context = {
        "system": system,
        "page_obj": page_of(request, rows, count=count),
        "totals": totals,
        "slug": slug,
        "query": query,
        "asked_with": benchmarks.asked_with(system),
        "is_unused": system.is_asked_here and not count and not system.runs.exists(),
    }
    return render(request, "judging/system_detail.html", context | {"shown": ShownSystem(system, request)})


@get_view("judging.view_benchmark")
def system_list(request: PageRequest) -> HttpResponse:
    """List systems: those that can be asked, or all of them; all unless asked otherwise where none can be."""
    shown, query = request.GET.get("show", ""), request.GET.get("q", "").strip()
    everything = shown == "all" or (shown != "here" and not benchmarks.list_systems(askable=True).exists())
    rows = benchmarks.list_systems(askable=not everything, search=query)
    context = {"page_obj": page_of(request, rows), "everything": everything, "query": query}
    return render(request, "judging/system_list.html", context)


ORDER_WORDS = {
    custom_templates.FIRST: "With this response as A the judge said",
    custom_templates.SECOND: "With this response as B the judge said",
}


@get_view("judging.view_run")
def verdict_detail(request: PageRequest, verdict_id: int) -> HttpResponse:
    """Show a verdict with the exact messages sent and the raw replies."""
    verdict = read_verdict(verdict_id)
    if verdict is None:
        raise Http404("There is no such verdict.")
    return render(request, "judging/verdict_detail.html", reading_of(verdict))


@dataclass(frozen=True, slots=True)
class ShownVote:
    """The vote of a member of a panel, as the page shows it."""

    judge: str
    status: str
    share: float | None  # of a full score
    says: str
    rationale: str
    flags: list[str]


def votes_of(verdict: Verdict) -> list[ShownVote]:
    """Return the votes of a panel's members in their order; none of another judge's."""
    score: Score | None = getattr(verdict, "score", None)
    shares = (score.detail.get("votes") or {}) if score is not None else {}
    return [
        ShownVote(
            vote["judge"],
            vote["status"],
            shares.get(vote["judge"]),
            vote["reason"] or STATUS_WORDS.get(vote["status"], ""),
            vote["rationale"],
            [flag_in_words(flag) for flag in vote["flags"]],
        )
        for vote in verdict.votes
    ]


def reading_of(verdict: Verdict) -> JsonDict:
    """Return what pages show of a verdict: its calls, how it was read, what it scored."""
    past = list(verdict.past.order_by("-pk"))
    call_ids = verdict.call_ids + [pk for earlier in past for pk in earlier.call_ids]
    calls_by_id = Call.objects.select_related("endpoint", "prompt").in_bulk(call_ids)
    calls = [calls_by_id[pk] for pk in verdict.call_ids if pk in calls_by_id]
    score: Score | None = getattr(verdict, "score", None)
    value = dict(verdict.value) if isinstance(verdict.value, dict) else {}
    other_id = value.pop(BASELINE_RESPONSE, None)
    return {
        "verdict": verdict,
        "score": score_page(score) if score else None,
        "score_flags": [flag_in_words(flag) for flag in score.flags] if score else [],
        "says": STATUS_WORDS.get(verdict.status, ""),
        "flags": [flag_in_words(flag) for flag in verdict.flags],
        "votes": votes_of(verdict),
        "value": outline_of_data("", {ORDER_WORDS.get(name, name): said for name, said in value.items()}).children,
        "other": Response.objects.filter(pk=other_id).first() if other_id else None,
        "calls": calls,
        "earlier_tries": [
            {
                "verdict": earlier,
                "calls": [calls_by_id[pk] for pk in earlier.call_ids if pk in calls_by_id],
                "says": STATUS_WORDS.get(earlier.status, ""),
            }
            for earlier in past
        ],
        "cost": cost_of_calls([call.cost for call in calls]),
        "seconds": sum(call.seconds for call in calls),
        "paid_before": sum(call.run_id != verdict.run_id for call in calls),
    }


EARLIER = 10  # trials listed beside the form


@action_page(try_judge, form_view)
def response_try(request: PageRequest, response_id: int) -> HttpResponse:
    """Show the form that tries a judge on a response, and leave the asking to a worker."""
    response = _response(response_id)
    form = TrialForm(
        request.POST or None,
        response=response,
        initial={name: request.GET.get(name, "") for name in ("judge", "rubric")},
    )
    run = ask_once(request, form)
    if run is not None:
        return redirect("judging:trial-detail", response_id, run.pk)
    context = {"response": response, "form": form, "earlier": selectors.list_trials(response=response)[:EARLIER]}
    return render(request, "judging/response_try.html", context, status=400 if form.is_bound and form.errors else 200)


def ask_once(request: PageRequest, form: TrialForm) -> Run | None:
    """Let a worker ask the judge of a form; None where the form is not valid or says why it cannot be asked."""
    try:
        if form.is_valid():
            run: Run = try_judge.carry_out(ActionCall(None, form, request.user, timezone.now()))
            return run
    except Refused as refusal:
        show_refusal(form, refusal)
    return None


@get_view("judging.add_run")
def trial_detail(request: PageRequest, response_id: int, run_id: int) -> HttpResponse:
    """Show a trial, live; for htmx the fragment that asks again until the trial has ended."""
    response, run = _trial(response_id, run_id)
    context = _context(response, run)
    if request.htmx:
        return render(request, "judging/_trial.html", context)
    evaluator = run.evaluators.get()
    chosen = {"judge": evaluator.judge_id, "rubric": evaluator.rubric_id}
    form = TrialForm(response=response, initial=chosen)
    context |= {"form": form, "earlier": selectors.list_trials(response=response)[:EARLIER]}
    return render(request, "judging/response_try.html", context)


def cancelled_trial(request: PageRequest, run: Run, refusal: str) -> HttpResponse:
    """Return a trial after it was cancelled, or with why it was not."""
    response = _response(run.tasks.values_list("response", flat=True)[0] or 0)
    return render(request, "judging/_trial.html", _context(response, run) | {"refusal": refusal})


def _response(response_id: int) -> Response:
    return get_object_or_404(Response.objects.select_related("prompt__benchmark", "system"), pk=response_id)


def _trial(response_id: int, run_id: int) -> tuple[Response, Run]:
    response = _response(response_id)
    run = selectors.read_trial(response=response, run_id=run_id)
    if run is None:
        raise Http404("There is no such trial.")
    return response, run


def _context(response: Response, run: Run) -> JsonDict:
    verdict = selectors.verdict_of_run(run)
    progress = selectors.read_progress(run=run, at=timezone.now())
    context: JsonDict = {"response": response, "run": run, "progress": progress}
    return context | (reading_of(verdict) if verdict is not None else {})


CRITERIA_NAMES: Mapping[str, str] = {
    "keywords": "Keywords",
    "blank_filling": "Blank filling",
    "unit_test": "Unit tests",
    "similarity": "Similarity",
    "customized": "Custom metric",
}


ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")
_SHOWN: Mapping[str, tuple[str, ...]] = {  # a list that has a table of its own -> what that table says
    "rules": ("rules", "status"),
    "blanks": ("blanks", "texts", "match_rate", "lowest_rate"),
    "tests": ("tests", "language"),
    "metrics": ("metrics",),
}


@dataclass(frozen=True, slots=True)
class Span:
    """A matched stretch of the response; `costs` says that the match takes points away."""

    start: int
    end: int
    rule: int
    costs: bool
    what: str = "Rule"


@dataclass(frozen=True, slots=True)
class RuleRow:
    """What one rule of a criterion found."""

    number: int
    status: str
    says: str
    points: Any
    costs: bool  # a match takes points away


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A similarity metric: raw, and mapped from `low`..`high` to 0..1."""

    name: str
    raw: Any
    low: Any
    high: Any
    mapped: Any
    others: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class CriterionPage:
    """One criterion with what it got and why."""

    name: str
    got: Any
    total: Any
    status: str
    rules: tuple[RuleRow, ...]
    outline: tuple[Outline, ...]
    notes: tuple[str, ...]
    blanks: tuple[JsonObject, ...] = ()
    tests: tuple[JsonObject, ...] = ()
    metrics: tuple[MetricRow, ...] = ()
    match_rate: Any = None  # share of a blank's template found in the response
    lowest_rate: Any = None


@dataclass(frozen=True, slots=True)
class ScorePage:
    """A score with its criteria; `spans` mark the response's text."""

    score: Score
    criteria: tuple[CriterionPage, ...]
    outline: tuple[Outline, ...]  # details that are not criteria
    notes: tuple[str, ...]
    spans: tuple[Span, ...]

    @property
    def scale(self) -> ScoreScale:
        """The scale that the score is shown on."""
        return score_scale_of(self.score.evaluator)

    @property
    def by(self) -> tuple[str, str]:
        """Who scored what: of several scores by the same, the newest counts."""
        return self.score.evaluator.name, self.score.evaluator.criterion

    @property
    def flags(self) -> list[str]:
        """The score's flags, each once."""
        return list(dict.fromkeys(map(flag_in_words, self.score.flags)))


def score_page(score: Score) -> ScorePage:
    """Return what is shown of a score."""
    detail = score.detail if isinstance(score.detail, dict) else {}
    entries = detail.get("criteria")
    criteria = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    rest = {key: value for key, value in detail.items() if key not in ("criteria", "notes", "fault", "exact")}
    return ScorePage(
        score=score,
        criteria=tuple(_criterion(entry) for entry in criteria),
        outline=outline_of_data("", rest).children,
        notes=_notes(detail.get("notes"))
        + (() if criteria and _notes(detail.get("notes")) else _fault(detail.get("fault"))),
        spans=tuple(span for entry in criteria for span in _spans(entry.get("detail"))),
    )


def _criterion(entry: JsonObject) -> CriterionPage:
    name = str(entry.get("name", ""))
    detail = entry.get("detail")
    fields = detail if isinstance(detail, dict) else {}
    rules = tuple(_rule(number, rule) for number, rule in enumerate(objects(fields.get("rules")), 1))
    blanks, tests = _numbered(fields.get("blanks")), _numbered(fields.get("tests"))
    metrics = tuple(_metric(entry) for entry in objects(fields.get("metrics")))
    hidden = {"spans", *(name for names, shown in _SHOWN.items() if fields.get(names) for name in shown)}
    rest = {key: value for key, value in fields.items() if key not in hidden}
    return CriterionPage(
        name=CRITERIA_NAMES.get(name, name),
        got=entry.get("got"),
        total=entry.get("total"),
        status=str(entry.get("status", "")),
        rules=rules,
        outline=outline_of_data("", rest).children,
        notes=_notes(entry.get("notes")) + _fault(entry.get("fault")),
        blanks=blanks,
        tests=tests,
        metrics=metrics,
        match_rate=fields.get("match_rate"),
        lowest_rate=fields.get("lowest_rate"),
    )


def _numbered(entries: object) -> tuple[JsonObject, ...]:
    return tuple({**entry, "number": number} for number, entry in enumerate(objects(entries), 1))


def _metric(entry: JsonObject) -> MetricRow:
    name = str(entry.get("metric", ""))
    others = tuple(
        (other, entry[other]) for other in ROUGE if other != name and isinstance(entry.get(other), int | float)
    )
    return MetricRow(
        name, entry.get(name), entry.get("min_score"), entry.get("max_score"), entry.get("normalized_score"), others
    )


def _rule(number: int, rule: JsonObject) -> RuleRow:
    status = str(rule.get("status", ""))
    return RuleRow(number, status, _says(rule.get("tree"), 0), rule.get("points"), bool(rule.get("neg")))


def _says(tree: object, depth: int) -> str:
    """Return a keyword tree in one line: `"a" or ("b" and /c/)`."""
    if not isinstance(tree, dict) or depth > 10:
        return "…"
    condition = f" if {tree['cond']}" if tree.get("cond") else ""
    children = objects(tree.get("children"))
    if children or tree.get("kind") in ("or", "and"):
        inner = f" {tree.get('kind')} ".join(_says(child, depth + 1) for child in children)
        return (f"({inner})" if depth else inner) + condition
    quote = "/" if tree.get("kind") == "regex" else "“"
    return f"{quote}{tree.get('needle', '')}{'/' if quote == '/' else '”'}{condition}"


def _spans(detail: object) -> list[Span]:
    if not isinstance(detail, dict):
        return []
    spans = [
        Span(entry["start"], entry["end"], int(entry.get("rule", 0)) + 1, bool(entry.get("neg")))
        for entry in objects(detail.get("spans"))
        if isinstance(entry.get("start"), int) and isinstance(entry.get("end"), int)
    ]
    for number, blank in enumerate(objects(detail.get("blanks")), 1):
        match blank.get("span"):
            case [int(start), int(end)]:
                spans.append(Span(start, end, number, not blank.get("matched"), "Blank"))
    return spans


def pieces_of(text: str, spans: Sequence[Span]) -> list[tuple[str, Span | None]]:
    """Return the text cut at the spans, each piece with its span if any; of spans that overlap the first is marked.

    Places count in the text with its line ends as `\\n`, as graders see it.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    pieces: list[tuple[str, Span | None]] = []
    end = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.start < end or span.end <= span.start or span.end > len(text):
            continue
        if span.start > end:
            pieces.append((text[end : span.start], None))
        pieces.append((text[span.start : span.end], span))
        end = span.end
    return [*pieces, (text[end:], None)] if end < len(text) else pieces


def _notes(value: object) -> tuple[str, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(str(entry.get("text", "")) if isinstance(entry, dict) else str(entry) for entry in entries)


def _fault(value: object) -> tuple[str, ...]:
    return (f"{value.get('kind', 'Error')}: {value.get('message', '')}",) if isinstance(value, dict) else ()


@get_view("judging.change_run")
def run_rescoring(request: PageRequest, evaluator_id: int) -> HttpResponse:
    """Show how far the scores of an evaluator are recomputed; once they are, the page is loaded again."""
    evaluator = get_object_or_404(RunEvaluator, pk=evaluator_id)
    if "rescoring" not in evaluator.options:
        return HttpResponseClientRefresh()
    return render(request, "judging/_rescore_progress.html", {"evaluator": evaluator})


@get_view("judging.change_modelendpoint")
def language_list(request: PageRequest) -> HttpResponse:
    """Show the sandbox, its languages, and the functions that run only in it."""
    statuses = available_languages()
    page = page_of(request, cases_with_handlers(), per_page=25)
    context = {
        "sandbox": sandbox_status(),
        "rows": [(language, statuses[language.name]) for language in LANGUAGES],
        "ready": sum(status.version is not None for status in statuses.values()),
        "handlers": handler_sources(list(page.object_list)),
        "page_obj": page,
    }
    return render(request, "judging/language_list.html", context)
