"""What can be done with endpoints, and with what their calls may cost in a day."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from django import forms
from django.db.models import QuerySet

from evalsite.base.actions.declarations import CHANGE, CREATE, ActionCall, NoInput, Noun, PageData, Reference
from evalsite.base.types import JsonDict, JsonObject
from judging.forms.endpoints import EndpointForm
from judging.forms.new_runs import DayBudgetForm
from judging.llm.endpoints import PRESETS, EndpointKind
from judging.models import DayBudget, ModelEndpoint
from judging.services.day_budgets import DayUse, day_of, next_day, plain_dollars, set_day_budget, uses_of_day
from judging.services.endpoints import PRICES, forget_capabilities, save_endpoint, try_endpoint

FACTS = (
    *("id", "name", "kind", "preset", "base_url", "model", "key_variable", "max_concurrency", "requests_per_minute"),
    *("tokens_per_minute", "reasoning", "stream", "is_active"),
)
SETTINGS = (
    *("key_header", "query", "headers", "extra", "read_timeout", "min_output_tokens", "reuse_days", "proxy"),
    *("proxy_login_variable", "stated_images", "sees_images", "capabilities"),
)


def endpoint_facts(endpoint: ModelEndpoint) -> JsonDict:
    """Return what an endpoint is and costs. Of keys there are only the names of variables."""
    prices = {name: getattr(endpoint, name) for name in PRICES}
    facts = {name: getattr(endpoint, name) for name in FACTS}
    return facts | {name: None if price is None else plain_dollars(price) for name, price in prices.items()}


ENDPOINTS: Noun[ModelEndpoint] = Noun(
    name="endpoint",
    plural="endpoints",
    help="Add, change, test endpoints, limit what a day of calls may cost, list them, or show one.",
    reference=Reference("endpoint"),
    rows=lambda _person: ModelEndpoint.objects.all(),
    view_permission="judging.view_modelendpoint",
    shown=endpoint_facts,
    detail=lambda endpoint: endpoint_facts(endpoint) | {name: getattr(endpoint, name) for name in SETTINGS},
)


def _own(_person: object) -> QuerySet[ModelEndpoint]:
    """Return what is called: the built-in baselines stay as they are."""
    return ModelEndpoint.objects.filter(kind=EndpointKind.OPENAI)


change = partial(ENDPOINTS.one, permission="judging.change_modelendpoint", rows=_own)


def _new_form(_subject: None, first: JsonObject, data: PageData | None) -> EndpointForm:
    preset = PRESETS.get(first["preset"] or "")
    return EndpointForm(data, initial=preset.first_values() if preset else None)


@ENDPOINTS.new(
    CREATE,
    permission="judging.add_modelendpoint",
    form=EndpointForm,
    makes_form=_new_form,
    first_fields={
        "preset": forms.ChoiceField(
            choices=[("", "None"), *((preset.name, preset.title) for preset in PRESETS.values())],
            required=False,
            help_text="Fills in what this provider is known to take.",
        )
    },
)
def create(act: ActionCall[None, EndpointForm]) -> ModelEndpoint:
    """Add an OpenAI-compatible endpoint. Keys are named by their environment variable and never given."""
    return save_endpoint(endpoint=None, fields=act.form.endpoint_fields(), actor=act.actor)


def _form(endpoint: ModelEndpoint, _first: JsonObject, data: PageData | None) -> EndpointForm:
    return EndpointForm(data, instance=ModelEndpoint.objects.get(pk=endpoint.pk))  # the form writes into its instance


@change(CHANGE, form=EndpointForm, makes_form=_form)
def update(act: ActionCall[ModelEndpoint, EndpointForm]) -> ModelEndpoint:
    """Change an endpoint. One that is not active is offered for no new judge and run."""
    return save_endpoint(endpoint=act.subject, fields=act.form.endpoint_fields(), actor=act.actor)


@change("test", calls_models=True, shown=lambda endpoint: endpoint.last_test)
def test(act: ActionCall[ModelEndpoint, NoInput]) -> ModelEndpoint:
    """Send two inexpensive calls: whether it works, which features it accepts, and whether it sees images."""
    try_endpoint(endpoint=act.subject, at=act.at, actor=act.actor)
    return act.subject


@change(
    "forget",
    said=lambda endpoint: f"The known features of {endpoint} were reset. The next calls try all of them again.",
)
def forget(act: ActionCall[ModelEndpoint, NoInput]) -> ModelEndpoint:
    """Forget which features an endpoint accepts and refuses, so that the next calls try all of them again."""
    forget_capabilities(endpoint=act.subject, actor=act.actor)
    return act.subject


def _uses(endpoint: ModelEndpoint | None, at: datetime) -> list[DayUse]:
    return [use for use in uses_of_day(at=at) if endpoint is None or use.endpoint == endpoint]


def _day_report(uses: list[DayUse], at: datetime) -> JsonDict:
    return {"day": f"{day_of(at)}", "ends_at": next_day(at).isoformat(), "budgets": [_use_facts(use) for use in uses]}


def _use_facts(use: DayUse) -> dict[str, str | None]:
    amounts = {"budget": use.amount, "spent": use.spent, "in_flight": use.reserved, "left": use.left}
    texts = {name: None if amount is None else plain_dollars(amount) for name, amount in amounts.items()}
    return {"endpoint": use.endpoint.name if use.endpoint else None, **texts}


class EndpointChoiceForm(forms.Form):
    """One endpoint, or all of them."""

    endpoint = forms.ModelChoiceField(ModelEndpoint.objects.all(), required=False, help_text="Default: all.")


@ENDPOINTS.new("budgets", permission="judging.view_modelendpoint", form=EndpointChoiceForm, is_dry=True, shown=dict)
def budgets(act: ActionCall[None, EndpointChoiceForm]) -> JsonDict:
    """Show what today (UTC) has cost, on the site and at each endpoint, and the budgets of the day."""
    return _day_report(_uses(act.data["endpoint"], act.at), act.at)


def _budget_words(report: JsonDict) -> str:
    changed = report["budgets"][0]
    amount = "none" if changed["budget"] is None else f"{changed['budget']} USD"
    return f"Budget of {changed['endpoint'] or 'the site'} for a day: {amount}."


def _budget_form(_subject: None, first: JsonObject, data: PageData | None) -> DayBudgetForm:
    budget = DayBudget.objects.filter(endpoint=first["endpoint"]).first()
    return DayBudgetForm(data, initial={"amount": None if budget is None else plain_dollars(budget.amount)})


@ENDPOINTS.new(
    "set-budget",
    permission="judging.change_modelendpoint",
    form=DayBudgetForm,
    makes_form=_budget_form,
    first_fields={"endpoint": DayBudgetForm.base_fields["endpoint"]},
    shown=dict,
    said=_budget_words,
)
def set_budget(act: ActionCall[None, DayBudgetForm]) -> JsonDict:
    """Set what the calls of one day (UTC) may cost, on the site or at an endpoint; an empty amount removes it."""
    endpoint = act.data["endpoint"]
    set_day_budget(endpoint=endpoint, amount=act.data["amount"], actor=act.actor, at=act.at)
    return _day_report(_uses(endpoint, act.at), act.at)
