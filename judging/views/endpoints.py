"""Pages of endpoints and of the judges configured on them."""

from __future__ import annotations

import json
from datetime import datetime

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from evalsite.base.http import PageRequest, refusals_shown, whole_number
from judging.forms.endpoints import EndpointForm, JudgeForm
from judging.judges.registry import KINDS, judge_kind
from judging.llm.endpoints import EndpointKind
from judging.models import Judge, ModelEndpoint, PromptVersion
from judging.selectors import endpoints as selectors
from judging.selectors.targets import config_of, key_is_set, target_of
from judging.services.endpoint_trials import SHOWING, try_endpoint
from judging.services.endpoints import (
    EndpointNotValid,
    JudgeInUse,
    JudgeNotValid,
    delete_judge,
    forget_capabilities,
    save_endpoint,
    save_judge,
    set_judge_active,
)
from judging.services.evaluation.evaluator_tasks import NEEDS

FEATURES = {
    "json_schema": "JSON schema",
    "json_object": "JSON object",
    "logprobs": "log-probabilities",
    "temperature": "temperature",
    "top_p": "top p",
    "seed": "seed",
    "random_seed": "random_seed",
    "system_role": "system messages",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_completion_tokens",
}


@permission_required("judging.view_modelendpoint", raise_exception=True)
def endpoint_list(request: PageRequest) -> HttpResponse:
    """List endpoints with their last day."""
    return render(request, "judging/endpoint_list.html", {"rows": selectors.list_endpoints(at=timezone.now())})


@permission_required("judging.add_modelendpoint", raise_exception=True)
def endpoint_create(request: PageRequest) -> HttpResponse:
    """Add an endpoint."""
    return _edit_endpoint(request, None)


@permission_required("judging.change_modelendpoint", raise_exception=True)
def endpoint_update(request: PageRequest, endpoint_id: int) -> HttpResponse:
    """Change an endpoint; the built-in baselines stay as they are."""
    endpoint = get_object_or_404(ModelEndpoint, pk=endpoint_id, kind=EndpointKind.OPENAI)
    return _edit_endpoint(request, endpoint)


def _edit_endpoint(request: PageRequest, endpoint: ModelEndpoint | None) -> HttpResponse:
    form = EndpointForm(request.POST or None, instance=endpoint)
    if request.method == "POST" and form.is_valid():
        current = ModelEndpoint.objects.get(pk=endpoint.pk) if endpoint else None  # the form wrote into its instance
        try:
            saved = save_endpoint(endpoint=current, fields=form.endpoint_fields(), actor=request.user)
            return redirect(saved)
        except EndpointNotValid as error:
            form.add_error(None, str(error))
    status = 400 if form.is_bound and form.errors else 200
    context = {"form": form, "endpoint": endpoint, "name": form.initial.get("name", "")}
    return render(request, "judging/endpoint_form.html", context, status=status)


@permission_required("judging.view_modelendpoint", raise_exception=True)
def endpoint_detail(request: PageRequest, endpoint_id: int) -> HttpResponse:
    """Show an endpoint: what it accepts, its limiter, spending and errors."""
    endpoint = get_object_or_404(ModelEndpoint, pk=endpoint_id)
    context = {
        "endpoint": endpoint,
        "price": None if endpoint.is_baseline else target_of(endpoint).price,
        "key_is_set": key_is_set(endpoint),
        "least_tokens": config_of(endpoint).output_limit(0),
        "extra": json.dumps(endpoint.extra, ensure_ascii=False),
        "limiter": selectors.limiter_state(endpoint),
        "days": selectors.spend_by_day(endpoint, at=timezone.now()),
        "errors": selectors.recent_errors(endpoint),
        "judges": [(judge, KINDS.get(judge.kind)) for judge in endpoint.judges.order_by("name")],
        **_trial_context(endpoint),
    }
    return render(request, "judging/endpoint_detail.html", context)


@permission_required("judging.change_modelendpoint", raise_exception=True)
@require_POST
def endpoint_test(request: PageRequest, endpoint_id: int) -> HttpResponse:
    """Send one cheap call and show what came of it."""
    endpoint = get_object_or_404(ModelEndpoint, pk=endpoint_id, kind=EndpointKind.OPENAI)
    trial = try_endpoint(endpoint=endpoint, at=timezone.now())
    if not request.htmx:
        if trial.works:
            messages.success(request, f"{endpoint} replied in {trial.seconds:.2f} s.")
        else:
            messages.error(request, f"{endpoint}: {trial.problem}")
        return redirect(endpoint)
    return render(request, "judging/_endpoint_trial.html", {"endpoint": endpoint, **_trial_context(endpoint)})


@permission_required("judging.change_modelendpoint", raise_exception=True)
@require_POST
def endpoint_forget(request: PageRequest, endpoint_id: int) -> HttpResponse:
    """Forget what the endpoint refused, so that everything is tried again."""
    endpoint = get_object_or_404(ModelEndpoint, pk=endpoint_id, kind=EndpointKind.OPENAI)
    forget_capabilities(endpoint=endpoint, actor=request.user)
    messages.success(request, f"The known features of {endpoint} were reset. The next calls try all of them again.")
    return redirect(endpoint)


def _trial_context(endpoint: ModelEndpoint) -> dict[str, object]:
    """Return the last test and what is known of the endpoint, by how sure that is."""
    trial = endpoint.last_test
    known = {name: taken for name, taken in endpoint.capabilities.items() if taken is not None}
    groups = [
        ("Works", [name for name, taken in known.items() if taken and name in SHOWING]),
        ("Not refused", [name for name, taken in known.items() if taken and name not in SHOWING]),
        ("Accepted without effect", [name for name in trial.get("ignored", []) if name not in known]),
        ("Refused and left out", [name for name, taken in known.items() if not taken]),
    ]
    return {
        "trial": trial,
        "tested_at": datetime.fromisoformat(trial["at"]) if trial.get("at") else None,
        "features": [(title, [FEATURES.get(name, name) for name in names]) for title, names in groups if names],
    }


@permission_required("judging.view_judge", raise_exception=True)
def judge_list(request: PageRequest) -> HttpResponse:
    """List the judges that runs can use."""
    judges = [(judge, KINDS.get(judge.kind)) for judge in selectors.list_judges()]
    return render(request, "judging/judge_list.html", {"judges": judges})


@permission_required("judging.add_judge", raise_exception=True)
def judge_create(request: PageRequest) -> HttpResponse:
    """Add a judge of the kind named in the address."""
    kind = request.GET.get("kind", "")
    if kind not in KINDS:
        endpoint = whole_number(request.GET.get("endpoint", ""))
        kinds = [(one, [NEEDS[need] for need in sorted(one.needs)]) for one in KINDS.values()]
        context = {"kinds": kinds, "endpoint_id": "" if endpoint is None else endpoint}
        return render(request, "judging/judge_kinds.html", context)
    return _edit_judge(request, None, kind)


@permission_required("judging.view_judge", raise_exception=True)
def judge_detail(request: PageRequest, judge_id: int) -> HttpResponse:
    """Show a judge with the prompts it sends, and change its options."""
    judge = get_object_or_404(Judge.objects.select_related("endpoint"), pk=judge_id)
    if request.method == "POST" and not request.user.has_perm("judging.add_judge"):
        return HttpResponse(status=403)
    return _edit_judge(request, judge, judge.kind)


@permission_required("judging.add_judge", raise_exception=True)
@require_POST
def judge_control(request: PageRequest, judge_id: int, *, is_active: bool) -> HttpResponse:
    """Offer a judge for nothing new, whose verdicts stay, or offer a retired one again."""
    judge = get_object_or_404(Judge, pk=judge_id)
    set_judge_active(judge=judge, is_active=is_active, actor=request.user)
    messages.success(request, f"{judge} is {'restored.' if is_active else 'retired. Its verdicts are kept.'}")
    return redirect(judge)


@permission_required("judging.add_judge", raise_exception=True)
@require_POST
def judge_delete(request: PageRequest, judge_id: int) -> HttpResponse:
    """Delete a judge that no run used."""
    judge = get_object_or_404(Judge, pk=judge_id)
    with refusals_shown(request, JudgeInUse):
        delete_judge(judge=judge, actor=request.user)
        messages.success(request, f"{judge} is deleted.")
        return redirect("judging:judge-list")
    return redirect(judge)


def _edit_judge(request: PageRequest, judge: Judge | None, kind: str) -> HttpResponse:
    initial = {"endpoint": request.GET.get("endpoint", "")}
    version = PromptVersion.objects.filter(pk=whole_number(request.GET.get("prompt", "")) or 0).first()
    if version is not None:
        chosen = judge_kind(kind).prompts.get(version.name, {})
        initial |= {"option_prompt_text": version.text}
        initial |= {f"option_{name}": json.dumps(value) for name, value in chosen.items()}
    elif "copy" in request.GET and judge_kind(kind).asks_model:
        initial["option_prompt_text"] = judge_kind(kind).prompts_sent(judge.options if judge else {})[0].text
    form = JudgeForm(request.POST or None, kind=kind, judge=judge, initial=initial)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            saved = save_judge(
                judge=judge,
                name=data["name"],
                kind=kind,
                endpoint=data.get("endpoint"),
                options=form.options(),
                actor=request.user,
            )
            messages.success(request, f"{saved} is saved. Existing runs keep their settings.")
            return redirect(saved)
        except JudgeNotValid as error:
            form.add_error(None, str(error))
    context = {"form": form, "judge": judge, **_prompts(judge, kind)}
    context["is_used"] = judge is not None and judge.evaluators.exists()
    return render(request, "judging/judge_form.html", context, status=400 if form.is_bound and form.errors else 200)


def _prompts(judge: Judge | None, kind: str) -> dict[str, object]:
    """Return what the judge sends, with the versions that runs were started with."""
    described = judge_kind(kind)
    options = judge.options if judge else {}
    texts = described.prompts_sent(options)
    return {
        "kind": described,
        "prompt": texts[0] if texts else None,
        "placeholders": sorted(texts[0].placeholders) if texts else [],
        "edited": bool(options.get("prompt_text")),
        "prompts": texts,
        "prompt_hash": described.prompt_hash(options),
        "versions": selectors.prompt_versions(judge) if judge else [],
    }
