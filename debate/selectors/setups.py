"""Debates as the protocol needs them: what is asked of whom, out of stored rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from django.db.models import Prefetch

from debate.models import Agent, Debate
from debate.protocol.debate_images import DebateImages
from debate.protocol.options import DebateOptions, options_from_json
from debate.protocol.orders import Orders
from debate.protocol.setups import Criterion, DebateSetup
from debate.protocol.variants import perturbed
from debate.selectors.criteria import criteria_by_case
from judging.models import Case, Response
from judging.specs.types import image_specs

SEEN_BY = "images_seen_by"  # in the setup of a set with images: the endpoints that are sent them


def debates_by_id(debate_ids: Sequence[int]) -> list[Debate]:
    """Return debates with everything that `setups_of` reads. Two queries."""
    return list(
        Debate.objects.filter(pk__in=debate_ids)
        .select_related(
            "debate_set__rubric",
            "debate_set__run",
            "debate_set__system_a",
            "debate_set__system_b",
            "case__prompt",
            "response_a",
            "response_b",
        )
        .prefetch_related(Prefetch("agents", Agent.objects.select_related("endpoint").order_by("number")))
        .order_by("pk")
    )


def setups_of(debates: Sequence[Debate]) -> dict[int, DebateSetup]:
    """Return what the protocol asks in each debate, by its id. One query per set of debates."""
    by_set: dict[int, list[Debate]] = {}
    for debate in debates:
        by_set.setdefault(debate.debate_set_id, []).append(debate)
    setups: dict[int, DebateSetup] = {}
    for group in by_set.values():
        owner = group[0].debate_set
        criteria = criteria_by_case(
            rubric=owner.rubric, name=owner.criterion, case_keys=[debate.case.key for debate in group]
        )
        setups |= {debate.pk: setup_of(debate, criteria) for debate in group}
    return setups


def setup_of(debate: Debate, criteria: Mapping[str, Criterion]) -> DebateSetup:
    """Return what the protocol asks in one debate, whose related rows are loaded."""
    return setup_with(
        case=debate.case,
        responses=(debate.response_a.text, debate.response_b.text),
        orders=Orders(debate.response_order, tuple(agent.name for agent in debate.agents.all())),
        criterion=criteria[debate.case.key],
        options=replace(options_from_json(debate.debate_set.setup), seed=debate.seed),
        images=images_of(
            debate.case, debate.response_a, debate.response_b, seen_by=debate.debate_set.setup.get(SEEN_BY, ())
        ),
    )


def images_of(case: Case, response_a: Response, response_b: Response, *, seen_by: Iterable[str]) -> DebateImages:
    """Return the images that a debate is about, and which endpoints are sent them."""
    question, a, b = (image_specs(row.images) for row in (case.prompt, response_a, response_b))
    return DebateImages(question, a, b, frozenset(seen_by))


def setup_with(
    *,
    case: Case,
    responses: tuple[str, str],
    orders: Orders,
    criterion: Criterion,
    options: DebateOptions,
    images: DebateImages,
) -> DebateSetup:
    """Return what the protocol asks about two responses to a case, which is loaded with its prompt."""
    return DebateSetup(
        question=question_of(case),
        response_a=responses[0],
        response_b=responses[1],
        response_order=orders.response_order,
        agents=orders.agents,
        criterion=criterion_of(criterion, options),
        reference=reference_of(case),
        max_rounds=options.max_rounds,
        mode=options.mode,
        visibility=options.visibility,
        stop=options.stop,
        independent_both_orders=options.independent_both_orders,
        refusal_as_tie=options.refusal_as_tie,
        seed=options.seed,
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        llm_seed=options.llm_seed,
        method=options.method,
        samples=options.samples,
        images=images,
    )


def criterion_of(stored: Criterion, options: DebateOptions) -> Criterion:
    """Return the criterion as agents read it: perturbed where the set is to show what perturbation does."""
    named = replace(stored, name=options.shown_criterion or stored.name)
    return perturbed(named, options.perturbation_to_do, seed=options.perturbation_seed)


def question_of(case: Case) -> str:
    """Return what the systems were asked, with the context they were given beside it."""
    prompt = case.prompt
    if prompt.context.strip() and prompt.context_role != "reference":
        return f"{prompt.text}\n\nContext:\n{prompt.context}"
    return prompt.text


def reference_of(case: Case) -> str:
    """Return the reference answer; a context that serves as one stands in where there is none."""
    return case.reference or (case.prompt.context if case.prompt.context_role == "reference" else "")
