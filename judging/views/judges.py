"""Pages of judges, and of the endpoints and prompts that they use."""

from __future__ import annotations

import json
from datetime import datetime

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.forms import HiddenInput
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.entries import first_entries
from evalsite.base.actions.pages import action_page, show_refusal
from evalsite.base.formats import compare
from evalsite.base.http import PageRequest, form_view, get_view, page_of, post_view
from evalsite.base.types import JsonDict, Refused, whole_number
from judging.actions.judges import create, own_judges, saved_words
from judging.actions.prompts import JudgeTrialForm, NewPromptForm
from judging.actions.prompts import create as create_prompt
from judging.actions.runs import try_judge
from judging.forms.judges import JudgeForm
from judging.judges.judge_kinds import starting_points
from judging.judges.kinds.custom import NAME as CUSTOM
from judging.judges.registry import EDITABLE, KINDS, judge_kind
from judging.llm.endpoints import PRESETS
from judging.models import Judge, ModelEndpoint, Response, Suite
from judging.selectors import endpoints as selectors
from judging.selectors import judges as judge_uses
from judging.selectors.endpoints import config_of, key_is_set, target_of
from judging.selectors.judges import is_baseline, member_judges, needs_of
from judging.services.day_budgets import day_of, next_day, uses_of_day
from judging.services.endpoints import SHOWING
from judging.services.evaluator_tasks import words_of_needs
from judging.services.judges import (
    LIMITS,
    BadJudgeFile,
    PromptFile,
    PromptRefused,
    own_prompts,
    read_judge_file,
    read_prompts,
    with_uses,
)
from judging.services.runs.run_plans import preview_prompt
from judging.views.responses import ask_once

SUITES = 3  # whose responses a preview offers


@get_view("judging.view_judge")
def judge_list(request: PageRequest) -> HttpResponse:
    """List the judges that runs can use: those of language models before baselines, own prompts first."""
    judges = [(judge, judge_kind(judge.kind), is_baseline(judge)) for judge in selectors.list_judges()]
    judges.sort(key=lambda row: (not row[0].is_active, row[1].is_imported, row[2], row[0].kind != CUSTOM))
    return render(request, "judging/judge_list.html", {"judges": judges})


@action_page(create, form_view)
def judge_create(request: PageRequest) -> HttpResponse:
    """Add a judge of the kind named in the address, or show the form as an uploaded file fills it in."""
    first = first_entries(create, request.GET.dict())
    upload = request.FILES.get("file")
    if isinstance(upload, UploadedFile):
        try:
            first["yaml"] = read_judge_file(upload.read(LIMITS.max_bytes + 1), upload.name or "judge.yaml")
        except BadJudgeFile as problem:
            messages.error(request, str(problem))
            return redirect("judging:judge-create")
    if not (first["yaml"] or first["template"] or first["kind"]):
        return _choose_kind(request, first["endpoint"])
    form = create.form(None, first, request.POST if request.method == "POST" and upload is None else None)
    if first["yaml"] and first["yaml"].endpoint and not form.initial["endpoint"]:
        messages.warning(request, f"This site has no active endpoint {first['yaml'].endpoint!r}. Choose another.")
    try:
        if form.is_valid():
            saved = create.carry_out(ActionCall(None, form, request.user, timezone.now()))
            messages.success(request, saved_words(saved))
            is_tried = request.user.has_perm("judging.add_run") and "pair" not in needs_of(saved)
            return redirect("judging:judge-try", saved.pk) if is_tried else redirect(saved)
    except Refused as refusal:
        show_refusal(form, refusal)
    context = {"form": form, "previewed": _previewed(), **_prompts(None, form.kind.name)}
    return render(request, "judging/judge_create.html", context, status=400 if form.is_bound else 200)


def _choose_kind(request: PageRequest, endpoint: ModelEndpoint | None) -> HttpResponse:
    own = KINDS[CUSTOM]
    starts = [
        (start, words_of_needs(own.needs_with({**own.new_options(), **start.options})))
        for start in starting_points().values()
    ]
    kinds = [(each, words_of_needs(each.needs)) for each in KINDS.values() if each is not own]
    context = {"own": own, "starts": starts, "kinds": kinds, "endpoint_id": "" if endpoint is None else endpoint.pk}
    return render(request, "judging/judge_kinds.html", context)


def change_context(_request: PageRequest, judge: Judge) -> JsonDict:
    """Return what the page of a judge's changes shows beside the form."""
    return {"previewed": _previewed(), **_prompts(judge, judge.kind), **_context(judge)}


@get_view("judging.view_judge")
def judge_detail(request: PageRequest, judge_id: int) -> HttpResponse:
    """Show a judge: what it is, its versions with their figures, and the runs that used it."""
    judge = _judge(judge_id)
    page = page_of(request, judge_uses.runs_of(judge))
    kind = judge_kind(judge.kind)
    values = kind.complete_options(judge.options)
    shown = [option for option in kind.options if option.name not in kind.idle(values)]
    context = {"page_obj": page, "facts": [(option.title, option.word_for(values[option.name])) for option in shown]}
    return render(request, "judging/judge_detail.html", _context(judge) | context)


@get_view("judging.view_judge")
def judge_prompts(request: PageRequest, judge_id: int) -> HttpResponse:
    """Show what a judge sends, and where two versions of it differ: those of the address, else the newest two."""
    judge = _judge(judge_id)
    versions = judge_uses.prompt_versions(judge)
    keys = [version.prompt_hash for version in versions]
    chosen = [request.GET.get(name, "") for name in ("before", "after")]
    if not set(chosen) <= set(keys):
        chosen = [keys[min(1, len(keys) - 1)], keys[0]] if keys else []
    context: JsonDict = {"versions": versions, **_prompts(judge, judge.kind)}
    context["choices"] = list(zip(("before", "after"), ("Before", "After"), chosen, strict=False))
    if len(set(chosen)) > 1:
        before, after = (next(version for version in versions if version.prompt_hash == key) for key in chosen)
        context |= {"before": before, "after": after, "differences": _differences(before, after)}
    return render(request, "judging/judge_prompts.html", _context(judge) | context)


def _differences(before: judge_uses.PromptUse, after: judge_uses.PromptUse) -> list[JsonDict]:
    """Return every text that the two versions do not share, with the words marked where they can be compared."""
    names = dict.fromkeys([*before.texts, *after.texts])
    pairs = [(name, before.texts.get(name, ""), after.texts.get(name, "")) for name in names]
    return [
        {"name": name, "before": old, "after": new, "marked": compare(old, new)}
        for name, old, new in pairs
        if old != new
    ]


@action_page(try_judge, form_view)
def judge_try(request: PageRequest, judge_id: int) -> HttpResponse:
    """Try a judge on a response of a suite: the one the address names, else the judge's; a worker asks."""
    judge = get_object_or_404(own_judges(), pk=judge_id)
    suites = judge_uses.suites_to_try()
    key = whole_number(request.GET.get("suite", ""))
    suite = next((each for each in suites if each.pk == key), None) or judge_uses.suite_to_try(judge, suites)
    responses = judge_uses.responses_to_try(suite) if suite is not None else []
    context: JsonDict = {"suites": suites, "suite": suite, "can_try": judge.is_active and "pair" not in needs_of(judge)}
    if not (responses and context["can_try"]):
        return render(request, "judging/judge_try.html", _context(judge) | context)
    form = JudgeTrialForm(request.POST or None, judge=judge, responses=responses)
    run = ask_once(request, form)
    if run is not None:
        return redirect("judging:trial-detail", form.judged.pk, run.pk)
    context |= {"form": form, "trials": judge_uses.trials_of(judge)}
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "judging/judge_try.html", _context(judge) | context, status=status)


@post_view("judging.add_judge")
def judge_preview(request: PageRequest) -> HttpResponse:
    """Show what the judge of a form would send about a response; nothing is saved or asked."""
    kind = KINDS.get(request.GET.get("kind", ""))
    if kind is None or not kind.asks_model:
        raise Http404
    form = JudgeForm(request.POST, kind=kind.name)
    form.is_valid()  # reads what can be read: a preview is shown before all is entered
    key = whole_number(request.POST.get("preview_response", ""))
    response = Response.objects.filter(pk=key or 0).select_related("prompt__benchmark", "system").first()
    context: JsonDict = {"form": form, "response": response}
    if response is not None:
        context["preview"] = preview_prompt(kind=kind, options=form.options(), response=response)
    template = "judging/_judge_preview.html" if request.htmx else "judging/judge_preview.html"
    return render(request, template, context)


def _previewed() -> list[tuple[Suite, list[Response]]]:
    """Return the responses that a preview can be of: to the first cases of the newest suites."""
    return [(suite, judge_uses.responses_to_try(suite)) for suite in judge_uses.suites_to_try()[:SUITES]]


def _prompts(judge: Judge | None, kind: str) -> dict[str, object]:
    """Return what the judge sends now."""
    described = judge_kind(kind)
    options = judge.options if judge else {}
    texts = described.prompts_sent(options)
    return {
        "kind": described,
        "prompt": texts[0] if texts else None,
        "placeholders": sorted(texts[0].placeholders) if texts else [],
        "variables": described.variables.items(),
        "edited": bool(options.get("prompt_text")),
        "prompts": texts,
        "prompt_hash": described.prompt_hash(options),
    }


def _judge(judge_id: int) -> Judge:
    return get_object_or_404(Judge.objects.select_related("endpoint"), pk=judge_id)


def _context(judge: Judge) -> JsonDict:
    """Return what every page of a judge shows at its head."""
    return {
        "judge": judge,
        "kind": judge_kind(judge.kind),
        "is_baseline": is_baseline(judge),
        "is_used": judge.evaluators.exists(),
        "members": member_judges(judge),
    }


FEATURES = {
    "json_schema": "JSON schema",
    "json_object": "JSON object",
    "logprobs": "log-probabilities",
    "stream": "streaming",
    "stream_options": "usage of streams",
    "unstreamed": "replies without streaming",
    "temperature": "temperature",
    "top_p": "top p",
    "seed": "seed",
    "random_seed": "random_seed",
    "system_role": "system messages",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_completion_tokens",
}


@get_view("judging.view_modelendpoint")
def endpoint_list(request: PageRequest) -> HttpResponse:
    """List endpoints with their last day."""
    return render(request, "judging/endpoint_list.html", {"rows": selectors.list_endpoints(at=timezone.now())})


@get_view("judging.view_modelendpoint")
def day_budgets(request: PageRequest) -> HttpResponse:
    """Show what the day has cost, on the site and at each endpoint, beside what it may."""
    return render(request, "judging/day_budgets.html", budgets_context(request, None))


def budgets_context(_request: PageRequest, _subject: None) -> JsonDict:
    """Return what the page of the day's budgets shows."""
    at = timezone.now()
    return {"uses": uses_of_day(at=at), "day": day_of(at), "next_day": next_day(at)}


def budget_set(request: PageRequest, _report: object) -> HttpResponse:
    """Show the budgets again after one was set."""
    return redirect("judging:day-budgets")


def form_context(request: PageRequest, _subject: ModelEndpoint | None) -> JsonDict:
    """Return what the form of an endpoint shows beside its fields."""
    return {"preset": PRESETS.get(request.GET.get("preset", "")), "presets": PRESETS.values()}


@get_view("judging.view_modelendpoint")
def endpoint_detail(request: PageRequest, endpoint_id: int) -> HttpResponse:
    """Show an endpoint: what it accepts, its limiter, spending and errors."""
    endpoint = get_object_or_404(ModelEndpoint, pk=endpoint_id)
    config = config_of(endpoint)
    preset = PRESETS.get(endpoint.preset)
    context = {
        "endpoint": endpoint,
        "provider": preset.title if preset else "",
        "price": None if endpoint.is_baseline else target_of(endpoint).price,
        "key_is_set": key_is_set(endpoint),
        "least_tokens": config.output_limit(0),
        "read_seconds": config.read_seconds,
        "streams": config.is_streamed(config.capabilities),
        "extra": json.dumps(endpoint.extra, ensure_ascii=False),
        "headers": json.dumps(endpoint.headers, ensure_ascii=False),
        "limiter": selectors.limiter_state(endpoint),
        "days": selectors.spend_by_day(endpoint, at=timezone.now()),
        "errors": selectors.recent_errors(endpoint),
        "judges": [(judge, judge_kind(judge.kind)) for judge in endpoint.judges.order_by("name")],
        **_trial_context(endpoint),
    }
    return render(request, "judging/endpoint_detail.html", context)


def trial_fragment(request: PageRequest, endpoint: ModelEndpoint, _refusal: str) -> HttpResponse:
    """Return what the last test of an endpoint showed."""
    return render(request, "judging/_endpoint_trial.html", {"endpoint": endpoint, **_trial_context(endpoint)})


def tested(request: PageRequest, endpoint: ModelEndpoint) -> HttpResponse:
    """Go back to an endpoint and say whether it replied."""
    if endpoint.failed_test:
        messages.error(request, f"{endpoint}: {endpoint.failed_test}")
    else:
        messages.success(request, f"{endpoint} replied in {endpoint.last_test['seconds']:.2f} s.")
    return redirect(endpoint)


def _trial_context(endpoint: ModelEndpoint) -> dict[str, object]:
    """Return the last test and what is known of the endpoint, by how sure that is."""
    trial = endpoint.last_test
    accepted_by_name = {
        name: accepted for name, accepted in endpoint.capabilities.items() if accepted is not None and name in FEATURES
    }
    groups = [
        ("Verified by a reply", [name for name, accepted in accepted_by_name.items() if accepted and name in SHOWING]),
        (
            "Not refused, effect not verified",
            [name for name, accepted in accepted_by_name.items() if accepted and name not in SHOWING],
        ),
        ("Accepted without effect", [name for name in trial.get("ignored", []) if name not in accepted_by_name]),
        ("Refused and left out", [name for name, accepted in accepted_by_name.items() if not accepted]),
    ]
    return {
        "trial": trial,
        "tested_at": datetime.fromisoformat(trial["at"]) if trial.get("at") else None,
        "streaming": _streaming_words(endpoint),
        "features": [(title, [FEATURES.get(name, name) for name in names]) for title, names in groups if names],
    }


def _streaming_words(endpoint: ModelEndpoint) -> str:
    """Return what is known of streaming, which is only tested where replies are asked for as streams."""
    accepted = endpoint.capabilities.get("stream")
    if accepted:
        return "Streaming is verified: a reply has arrived as a stream."
    if accepted is False:
        return "Streaming was refused: replies are requested at once."
    if "stream" in endpoint.last_test.get("ignored", []):
        return "Streaming was not refused but had no effect: the reply arrived at once."
    if config_of(endpoint).is_streamed(config_of(endpoint).capabilities):
        return "Streaming is not verified yet: no reply was received since it was switched on."
    return "Streaming was not tested: replies are requested at once."


@get_view("judging.view_judge")
def prompt_list(request: PageRequest) -> HttpResponse:
    """List the prompts that judges send and models are asked with, by kind."""
    files = [(file, KINDS.get(file.kind)) for file in read_prompts(EDITABLE)]
    return render(request, "judging/prompt_list.html", {"files": files, "own": own_prompts()})


@form_view("judging.view_judge")
def prompt_detail(request: PageRequest, name: str) -> HttpResponse:
    """Show every version of a prompt with who uses it; store a new one."""
    file = next((prompt_file for prompt_file in read_prompts(EDITABLE) if prompt_file.name == name), None)
    if file is None:
        raise Http404
    if request.method == "POST" and not request.user.has_perm("judging.add_judge"):
        return HttpResponse(status=403)
    entered = {**request.POST.dict(), "name": name} if request.method == "POST" else None
    form = NewPromptForm(entered, initial={"name": name, "text": _start(request, file)})
    form.fields["name"].widget = HiddenInput()
    if request.method == "POST" and form.is_valid():
        try:
            version = create_prompt.carry_out(ActionCall(None, form, request.user, timezone.now()))
            messages.success(request, create.options["said"](version))
            return redirect(version)
        except PromptRefused as refusal:
            form.add_error("text", str(refusal))
    context = {"file": with_uses(file), "kind": KINDS.get(file.kind), "form": form}
    return render(request, "judging/prompt_detail.html", context, status=400 if form.is_bound and form.errors else 200)


def _start(request: PageRequest, file: PromptFile) -> str:
    """Return the text that a new version starts from: the one named in the address, else the first."""
    digest = request.GET.get("from", "")
    return next((text.text for text in file.texts if text.sha256 == digest), file.texts[0].text)
