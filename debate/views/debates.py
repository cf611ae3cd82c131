"""The page of one debate, made for reading."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render

from debate.models import Debate, Statement
from debate.protocol.options import options_from_json
from debate.protocol.setups import DebateSetup
from debate.selectors.setups import debates_by_id, question_of, reference_of, setups_of
from debate.selectors.transcripts import calls_of, neighbours, view_of
from evalsite.base.differences import Differences, compare
from evalsite.base.http import PageRequest, get_view
from evalsite.base.json_types import JsonDict
from judging.states import ACTIVE


@get_view("debate.view_debateset")
def debate_detail(request: PageRequest, debate_id: int) -> HttpResponse:
    """Question, responses, criterion, verdicts and statements; `?diff=1` marks where the responses differ."""
    debate = _debate(debate_id)
    setup = setups_of([debate])[debate.pk]
    before, after = neighbours(debate)
    compared = request.GET.get("diff") == "1"
    differences = compare(debate.response_a.text, debate.response_b.text) if compared else None
    context = {
        **_transcript(debate),
        "question": question_of(debate.case),
        "reference": reference_of(debate.case),
        "criterion": setup.criterion,
        "options": options_from_json(debate.debate_set.setup),
        "sides": _sides(debate, differences),
        "images_note": _images_note(debate, setup),
        "compared": compared,
        "differences": differences is not None,
        "baselines": [agent.name for agent in debate.agents.all() if agent.endpoint and agent.endpoint.is_baseline],
        "before": before,
        "after": after,
    }
    return render(request, "debate/debate_detail.html", context)


@get_view("debate.view_debateset")
def debate_live(request: PageRequest, debate_id: int) -> HttpResponse:
    """The part of a debate's page that grows while it is held."""
    return render(request, "debate/_debate_transcript.html", _transcript(_debate(debate_id)))


@get_view("debate.view_debateset")
def statement_detail(request: PageRequest, statement_id: int) -> HttpResponse:
    """What an agent was sent for one statement, and what came back."""
    statement = get_object_or_404(
        Statement.objects.select_related("agent__debate__case", "agent__debate__debate_set"), pk=statement_id
    )
    agent = statement.agent
    context = {
        "statement": statement,
        "agent": agent,
        "agent_number": agent.number,
        "debate": agent.debate,
        "calls": calls_of(statement),
    }
    return render(request, "debate/statement_detail.html", context)


def _images_note(debate: Debate, setup: DebateSetup) -> str:
    """Return which agents are sent the images of a debate; empty where it has none."""
    if not setup.images.count:
        return ""
    blind = sorted({agent.name for agent in debate.agents.all()} - setup.images.seen_by)
    if not blind:
        return "The images of the question and of the responses are sent to the agents."
    if not setup.images.seen_by:
        return "The agents read texts; images are not sent to them."
    return f"The images are sent to the agents that see. These debate without them: {', '.join(blind)}."


def _debate(debate_id: int) -> Debate:
    debates = debates_by_id([debate_id])
    if not debates:
        raise Http404(f"There is no debate {debate_id}.")
    return debates[0]


def _transcript(debate: Debate) -> JsonDict:
    view = view_of(debate)
    run = debate.debate_set.run
    return {
        "debate": debate,
        "debate_set": debate.debate_set,
        "view": view,
        "transcript": view.transcript,
        "run_status": run.status if run else "",
        "is_moving": view.is_live and run is not None and run.status in ACTIVE,
    }


def _sides(debate: Debate, differences: Differences | None) -> list[JsonDict]:
    owner = debate.debate_set
    a, b = (differences.a, differences.b) if differences else ((), ())
    first = "A" if debate.response_order == 0 else "B"
    return [
        {"letter": "A", "system": owner.system_a, "response": debate.response_a, "first": first == "A", "pieces": a},
        {"letter": "B", "system": owner.system_b, "response": debate.response_b, "first": first == "B", "pieces": b},
    ]
