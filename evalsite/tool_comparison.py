"""What Evalsite does beside five other tools, feature by feature, as the help shows it; also what it lacks.

What is said of the others is what a search of their public documentation showed on `CHECKED`, in stored copies of its
pages; nothing of it was run. Where the search showed nothing, the cell says so in place of a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from evalsite.base.choices import LabelledEnum

CHECKED = date(2026, 11, 25)


class Support(LabelledEnum):
    """Whether a tool has a feature; the last one says only that a search of its documentation did not show it."""

    YES = "yes", "Yes"
    PARTLY = "partly", "Partly"
    NO = "no", "No"
    NOT_FOUND = "not_found", "Not found"

    @property
    def status(self) -> str:
        """The status whose icon and colour its badge has."""
        return {"yes": "ok", "partly": "open", "no": "excluded"}.get(self.value, "")


@dataclass(frozen=True, slots=True)
class Tool:
    """One of the other tools and where it is documented."""

    name: str
    documentation: str


@dataclass(frozen=True, slots=True)
class FeatureClaim:
    """What is known of a feature in a tool; of this one also the page and the command that have it."""

    support: Support
    text: str = ""
    page: str = ""  # name of an address
    command: str = ""


@dataclass(frozen=True, slots=True)
class ComparedFeature:
    """A feature in this tool and in the others, in the order of `TOOLS`."""

    name: str
    here: FeatureClaim
    others: tuple[FeatureClaim, ...]


TOOLS = (
    Tool("promptfoo", "https://www.promptfoo.dev/docs/"),
    Tool("Inspect", "https://inspect.aisi.org.uk/"),
    Tool("DeepEval", "https://deepeval.com/docs/"),
    Tool("Langfuse", "https://langfuse.com/docs"),
    Tool("MLflow", "https://mlflow.org/docs/latest/genai/"),
)

_UNKNOWN = FeatureClaim(Support.NOT_FOUND)


def _yes(text: str, page: str = "", command: str = "") -> FeatureClaim:
    return FeatureClaim(Support.YES, text, page, command)


def _partly(text: str, page: str = "", command: str = "") -> FeatureClaim:
    return FeatureClaim(Support.PARTLY, text, page, command)


def _no(text: str = "") -> FeatureClaim:
    return FeatureClaim(Support.NO, text)


FEATURES = (
    ComparedFeature(
        "Grading by rules",
        _yes("Keywords, patterns, similarity, tests of submitted programs", "judging:run-list", "run_suite"),
        (
            _yes("Deterministic assertions"),
            _yes("Built-in and own scorers"),
            _yes("Own metrics in Python"),
            _yes("Evaluators in Python or TypeScript"),
            _yes("Scorers in Python"),
        ),
    ),
    ComparedFeature(
        "A judge by an own prompt",
        _yes("Template, examples, form of the reply; kept as a file", "judging:judge-list", "add_judge"),
        (
            _yes("llm-rubric"),
            _yes("model_graded_qa with a template"),
            _yes("G-Eval, decision trees"),
            _yes("LLM-as-a-judge evaluators"),
            _yes("make_judge, also in the browser"),
        ),
    ),
    ComparedFeature(
        "Several judges, one verdict",
        _yes("The most frequent verdict of several judges on a pair", "debate:set-list", "run_debates"),
        (_UNKNOWN, _yes("Majority vote of a list of models"), _UNKNOWN, _UNKNOWN, _UNKNOWN),
    ),
    ComparedFeature(
        "Debates between judges",
        _yes("Rounds, outcomes, conformity effect, and baselines beside them", "reports:debate-report", "run_debates"),
        (_UNKNOWN,) * 5,
    ),
    ComparedFeature(
        "Comparison of two responses",
        _partly(
            "In random or both orders, with a report on position bias; not yet by an own prompt",
            "reports:debate-report",
            "run_debates",
        ),
        (
            _yes("select-best"),
            _UNKNOWN,
            _yes("Arena G-Eval: blinded, in random order"),
            _UNKNOWN,
            _UNKNOWN,
        ),
    ),
    ComparedFeature(
        "Queues for annotators",
        _yes("Items assigned, skipped, flagged, with drafts and keys", "review:queue-list", "create_queue"),
        (
            _partly("Ratings and comments in its viewer, no queue found"),
            _UNKNOWN,
            _partly("In Confident AI, a separate service"),
            _yes("Annotation queues with assigned users"),
            _partly("Feedback in the browser; labelling sessions as documented for Databricks"),
        ),
    ),
    ComparedFeature(
        "Several blind annotators, adjudication",
        _yes("Quorum, hidden verdicts, a final label with its reason", "review:queue-list", "adjudicate_item"),
        (_UNKNOWN,) * 5,
    ),
    ComparedFeature(
        "Agreement of judges with people",
        _yes("Kappa, alternative annotator test, drift", "reports:judge-list", "certify"),
        (
            _UNKNOWN,
            _partly("An extension by others calibrates graders"),
            _UNKNOWN,
            _yes("Cohen's kappa and F1 of two scores"),
            _partly("Judges are set beside feedback when they are aligned"),
        ),
    ),
    ComparedFeature(
        "Fitting a judge to labels",
        _partly(
            "Examples, rules and proposed wording from disagreements; a person accepts each change",
            "reports:golden-list",
            "golden_wording",
        ),
        (_UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN, _yes("Optimisers rewrite the judge's instructions")),
    ),
    ComparedFeature(
        "Uncertainty of scores",
        _yes("Intervals, and means corrected by an audit of people", "reports:leaderboard-list", "report leaderboard"),
        (_UNKNOWN, _yes("Standard errors, clustered ones too"), _UNKNOWN, _UNKNOWN, _UNKNOWN),
    ),
    ComparedFeature(
        "Continuing an interrupted run",
        _yes("No finished call is repeated; budgets in dollars", "judging:run-list", "control_run"),
        (_partly("Replies are cached"), _yes("eval-retry, eval-set"), _UNKNOWN, _UNKNOWN, _UNKNOWN),
    ),
    ComparedFeature(
        "Agents with tools",
        _no("Their recorded conversations can be judged; nothing here runs an agent"),
        (
            _yes("Tests agents"),
            _yes("Agents, tools, sandboxes"),
            _yes("Metrics for agents and their steps"),
            _partly("Traces of agents"),
            _partly("Traces of agents are evaluated"),
        ),
    ),
    ComparedFeature(
        "Red teaming",
        _no("Only injection against judges is probed, by probe_injection"),
        (
            _yes("Generates and runs attacks"),
            _partly("Extensions by others"),
            _partly("DeepTeam, a separate package"),
            _UNKNOWN,
            _UNKNOWN,
        ),
    ),
    ComparedFeature(
        "Traces of applications in use",
        _no("Responses are imported or asked for here"),
        (
            _UNKNOWN,
            _no("Logs of evaluations"),
            _partly("With Confident AI"),
            _yes("Its main use"),
            _yes("Tracing"),
        ),
    ),
    ComparedFeature(
        "Library for own code",
        _no("Commands with --json in place of a library"),
        (_yes("Node.js"), _yes("Python"), _yes("Python"), _yes("Python, JavaScript"), _yes("Python")),
    ),
    ComparedFeature(
        "Hosted by its makers",
        _no("You host it yourself"),
        (
            _partly("Sharing and cloud features"),
            _UNKNOWN,
            _yes("Confident AI"),
            _yes("Cloud"),
            _yes("Databricks"),
        ),
    ),
)
