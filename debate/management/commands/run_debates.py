"""`run_debates`: hold debates between judges over the responses of two systems."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db.models import Count, Q
from django.utils.timezone import now

from debate.jobs import launch_debates, launch_robustness, launch_round_robin
from debate.models import DebateSet, Experiment
from debate.protocol.options import SAMPLING_TEMPERATURE, DebateOptions, samples_for, temperature_for
from debate.protocol.orders import OrderScheme
from debate.protocol.setups import Method, RoundMode, Visibility
from debate.selectors import criterion_names, sets_of_experiment
from debate.services.estimates import estimate_all
from debate.services.set_plans import DebatesRefused, DebateWish, people_cost_of, robustness_wishes, round_robin_wishes
from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from judging.actions.references import ENDPOINT, RUBRIC, SUITE, SYSTEM
from judging.actions.run_reports import audit_report
from judging.management import choices
from judging.management.people_arguments import add_people, check_cost, people_of
from judging.management.run_progress import wait_for_run
from judging.models import Rubric, System
from judging.services.baselines import ensure_baselines


class Command(JsonCommand):
    """Store a set of debates, wake the workers, and with --wait report the outcomes."""

    help = "Run debates about the responses of two systems to a suite under one criterion of a rubric."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--suite", required=True, help="id of a suite, slug of a benchmark (newest) or slug@number")
        parser.add_argument("--system-a", default="", help="name of the system called A")
        parser.add_argument("--system-b", default="", help="name of the system called B")
        parser.add_argument(
            "--round-robin", default="", metavar="NAMES", help="all pairs of these systems, separated by commas"
        )
        parser.add_argument("--robustness", action="store_true", help="the original criterion and five perturbed ones")
        parser.add_argument(
            "--variant-seed", type=int, default=0, help="robustness: random seed of the perturbed texts"
        )
        parser.add_argument(
            "--given", action="store_true", help="robustness: use perturbed texts of the rubric if it has any"
        )
        parser.add_argument("--rubric", required=True, help="slug of a rubric (its newest version), slug@version or id")
        parser.add_argument("--criterion", default="", help="name of a criterion; required if the rubric has several")
        parser.add_argument(
            "--endpoints",
            required=True,
            help="endpoint names, separated by commas: 2 to 5 for debates, 1 for a single judge",
        )
        _add_protocol(parser)
        choices.add_selection(parser)
        parser.add_argument(
            "--seed", type=int, default=0, help="random seed of the orders, and of the cases that --limit draws"
        )
        parser.add_argument("--max-tokens", type=int, default=512, help="maximum tokens of one statement")
        parser.add_argument("--budget", default="", help="maximum spend in US dollars")
        parser.add_argument("--fresh", action="store_true", help="do not reuse replies of earlier runs")
        parser.add_argument(
            "--without-images",
            action="store_true",
            help="let agents whose endpoint cannot see debate without images; the debates say so",
        )
        add_people(parser)
        parser.add_argument(
            "--estimate", action="store_true", help="print calls, cost and annotations without starting"
        )
        parser.add_argument("--name", default="")
        parser.add_argument("--wait", action="store_true", help="wait until the debates have finished")

    def run(self, **options: Any) -> JsonDict:
        ensure_baselines()
        try:
            people_cost = people_cost_of(_wishes(options))
            if people_cost is not None:
                self.stderr.write(people_cost.words)
            if options["estimate"]:
                return _estimated(options) | audit_report(people_cost)
            check_cost(people_cost, options)
            sets, experiment = _launch(options)
        except (DebatesRefused, ValueError) as refusal:
            raise BadInput(str(refusal)) from refusal
        for debate_set in sets:
            if options["wait"] and debate_set.run_id is not None:
                wait_for_run(debate_set.run_id, bar=not options["as_json"])
        if experiment is None:
            return _report(sets[0].pk)
        return {
            "experiment": experiment.pk,
            "name": experiment.name,
            "options": experiment.options,
            "sets": [_report(debate_set.pk) for debate_set in sets],
        }

    def summary(self, result: JsonDict) -> str:
        if "run" not in result and "sets" not in result:
            return super().summary(result)
        if "sets" in result:
            lines = [f"{result['name']}: experiment {result['experiment']}", *map(self.summary, result["sets"])]
            return "\n".join(lines)
        outcomes = ", ".join(f"{count} {name}" for name, count in result["outcomes"].items() if count)
        return f"{result['name']}: run {result['run']} is {result['status']}; {outcomes}."


def _add_protocol(parser: CommandParser) -> None:
    """Add how the agents are asked."""
    parser.add_argument(
        "--method",
        choices=[method.value for method in Method],
        help="default: debate; several models that discuss, then the most frequent answer: debate with --rounds 2, "
        "and in its report the rule majority",
    )
    parser.add_argument(
        "--samples",
        type=int,
        help="times each judge is asked by a method without discussion; default: 3 for self-consistency, 2 for "
        "multi-judge",
    )
    parser.add_argument("--temperature", type=float, help=f"default: 0, for self-consistency {SAMPLING_TEMPERATURE}")
    parser.add_argument("--rounds", type=int, default=2, help="maximum number of discussion rounds")
    parser.add_argument("--mode", choices=[mode.value for mode in RoundMode], default=RoundMode.SIMULTANEOUS.value)
    parser.add_argument(
        "--visibility", choices=[choice.value for choice in Visibility], default=Visibility.PREVIOUS.value
    )
    parser.add_argument(
        "--agent-order", choices=[scheme.value for scheme in OrderScheme], default=OrderScheme.PERMUTATIONS.value
    )
    parser.add_argument("--both-orders", action="store_true", help="ask for independent votes in both orders")
    parser.add_argument("--stop-on-stability", action="store_true", help="stop after a round without changes")


def _estimated(options: JsonDict) -> JsonDict:
    """Return what the debates would take, at least and at most."""
    wishes = _wishes(options)
    if options["robustness"]:
        wishes = robustness_wishes(_wish(options), seed=options["variant_seed"], use_given=options["given"])
    estimate = estimate_all(wishes, threads=settings.CALL_THREADS, at=now())
    return {
        "debates": estimate.debates,
        "calls_at_least": estimate.calls_least,
        "calls_at_most": estimate.calls_most,
        "calls_already_made": estimate.made,
        "cost_at_least": None if estimate.cost_least is None else str(estimate.cost_least),
        "cost_at_most": None if estimate.cost_most is None else str(estimate.cost_most),
        "unpriced": list(estimate.unpriced),
        "seconds_at_least": estimate.seconds_least,
        "seconds_at_most": estimate.seconds_most,
    }


def _launch(options: JsonDict) -> tuple[list[DebateSet], Experiment | None]:
    """Store what was asked for and wake the workers; return the sets, and the experiment where they form one."""
    if options["round_robin"]:
        systems = _in_turn(options)
        options |= {"system_a": str(systems[0]), "system_b": str(systems[-1])}
        experiment = launch_round_robin(wish=_wish(options), systems=systems, actor=None, at=now())
    elif options["robustness"]:
        seed, entered = options["variant_seed"], options["given"]
        experiment = launch_robustness(wish=_wish(options), seed=seed, use_given=entered, actor=None, at=now())
    else:
        return [launch_debates(wish=_wish(options), actor=None, at=now())], None
    return sets_of_experiment(experiment), experiment


def _wishes(options: JsonDict) -> list[DebateWish]:
    """Return the sets of debates that people may be asked about: none of a perturbed criterion."""
    if options["robustness"]:
        return []
    if not options["round_robin"]:
        return [_wish(options)]
    systems = _in_turn(options)
    wish = _wish(options | {"system_a": str(systems[0]), "system_b": str(systems[-1])})
    return round_robin_wishes(wish, systems)


def _in_turn(options: JsonDict) -> list[System]:
    """Return the systems that a round robin names.

    Raises:
        BadInput: it names none.
    """
    systems = [SYSTEM.named(name) for name in choices.names(options["round_robin"])]
    if not systems:
        raise BadInput("--round-robin names no system. Give the names of at least three, separated by commas.")
    return systems


def _wish(options: JsonDict) -> DebateWish:
    rubric = RUBRIC.named(options["rubric"])
    if options["robustness"] and options["method"]:
        raise BadInput("--robustness asks each judge once, without discussion; leave out --method.")
    method = Method(options["method"] or Method.DEBATE)
    suite = SUITE.named(options["suite"])
    return DebateWish(
        suite=suite,
        system_a=SYSTEM.named(options["system_a"]),
        system_b=SYSTEM.named(options["system_b"]),
        rubric=rubric,
        criterion=options["criterion"] or _only_criterion(rubric),
        endpoints=[ENDPOINT.named(name) for name in _agent_names(options["endpoints"])],
        options=DebateOptions(
            max_rounds=options["rounds"],
            mode=RoundMode(options["mode"]),
            visibility=Visibility(options["visibility"]),
            agent_order=OrderScheme(options["agent_order"]),
            independent_both_orders=options["both_orders"],
            stop_on_stability=options["stop_on_stability"],
            seed=options["seed"],
            max_tokens=options["max_tokens"],
            temperature=temperature_for(method, options["temperature"]),
            method=method,
            samples=samples_for(method, options["samples"]),
        ),
        budget=choices.dollars_of(options["budget"]),
        name=options["name"],
        fresh=options["fresh"],
        people=people_of(options),
        without_images=options["without_images"],
        selection=choices.selection_of(options, suite=suite),
    )


def _only_criterion(rubric: Rubric) -> str:
    names = criterion_names(rubric)
    if len(names) != 1:
        raise BadInput(f"{rubric} has {len(names)} criteria; choose one with --criterion: {', '.join(names)}.")
    return names[0]


def _agent_names(text: str) -> list[str]:
    """Return the names in a list separated by commas; one endpoint can be several agents."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _report(set_id: int) -> JsonDict:
    debate_set = DebateSet.objects.select_related("run").get(pk=set_id)
    run = debate_set.run
    if run is None:
        raise BadInput("The set has no run.")
    counts = debate_set.debates.aggregate(
        agreed=Count("pk", filter=Q(status="agreed")),
        unresolved=Count("pk", filter=Q(status="unresolved")),
        failed=Count("pk", filter=Q(status="failed")),
        cancelled=Count("pk", filter=Q(status="cancelled")),
        waiting=Count("pk", filter=Q(status__in=("waiting", "running"))),
        a_better=Count("pk", filter=Q(verdict=1)),
        b_better=Count("pk", filter=Q(verdict=-1)),
        neither=Count("pk", filter=Q(verdict=0)),
    )
    return {
        "set": debate_set.pk,
        "run": run.pk,
        "name": debate_set.name,
        "method": debate_set.method,
        "status": run.status,
        "status_reason": run.status_reason,
        "debates": run.total,
        "outcomes": counts,
        "calls_made": run.calls_made,
        "calls_reused": run.calls_reused,
        "spent": str(run.spent),
    }
