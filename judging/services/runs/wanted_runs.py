"""A run that is asked for: what it would cost, what it would ask of people, and making it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.auth.models import User

from judging.models import Run
from judging.services.runs.estimates import RunEstimate, estimate_run
from judging.services.runs.new_runs import create_run
from judging.services.runs.people_costs import PeopleCost, people_cost_of_plan
from judging.services.runs.run_plans import RunPlan, check_plan


@dataclass(frozen=True, slots=True)
class WantedRun:
    """What forms and commands do with a plan."""

    plan: RunPlan

    def people_cost(self) -> PeopleCost | None:
        """Return what it would ask of people; None where it sends nothing to them."""
        return people_cost_of_plan(self.plan)

    def estimate(self, threads: int, at: datetime) -> RunEstimate:
        """Return what it would ask and cost.

        Raises:
            RunNotPossible: it cannot be made; the message says what to change.
        """
        check_plan(self.plan)
        estimate = estimate_run(plan=self.plan, threads=threads, at=at)
        blind = self.plan.blind
        return replace(estimate, blind=tuple(blind), unseen=self.plan.image_count if blind else 0)

    def create(self, actor: User | None, at: datetime) -> Run:
        """Make the run; see `create_run`."""
        return create_run(plan=self.plan, actor=actor, at=at)
