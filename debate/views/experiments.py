"""Sets that were made together: all pairs of several systems, or one criterion in six conditions."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render

from debate.models import Experiment
from debate.selectors import sets
from evalsite.base.http import PageRequest, get_view
from judging.states import ACTIVE


@get_view("debate.view_debateset")
def experiment_detail(request: PageRequest, experiment_id: int) -> HttpResponse:
    """The sets of an experiment with how each stands, and the way to what they show together."""
    experiment = get_object_or_404(Experiment, pk=experiment_id)
    members = sets.sets_of_experiment(experiment)
    outcomes = sets.outcomes_of([member.pk for member in members])
    context = {
        "experiment": experiment,
        "rows": [(member, outcomes[member.pk]) for member in members],
        "is_active": any(member.run is not None and member.run.status in ACTIVE for member in members),
    }
    return render(request, "debate/experiment_detail.html", context)
