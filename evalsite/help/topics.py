"""The help pages and whom each is for."""

from __future__ import annotations

from dataclasses import dataclass

from evalsite.accounts.roles import Role
from judging.specs.records.shapes import COMPANION, Shape
from judging.specs.records.tools import ALL


@dataclass(frozen=True, slots=True)
class Topic:
    """One help page; `slug` names its address, and its Markdown file beside this module or else its template."""

    slug: str
    title: str
    summary: str
    roles: tuple[Role, ...]


_ALL = tuple(Role)
_READ = (Role.VIEWER, Role.RESEARCHER, Role.ADMIN)
_REVIEW = (Role.ANNOTATOR, Role.RESEARCHER, Role.ADMIN)
_WORK = (Role.RESEARCHER, Role.ADMIN)

TOPICS = (
    Topic("start", "First steps", "From a file to a leaderboard, one step after the other.", _WORK),
    Topic("review", "Reviewing", "How to annotate, skip, flag and undo, and what you see when.", _REVIEW),
    Topic("keys", "Keys", "All keyboard shortcuts.", _ALL),
    Topic("terms", "Terms", "The terms of this site and their meanings.", _ALL),
    Topic("formats", "Files to import", "Suites, responses, rubrics and criteria, with an example of each.", _WORK),
    Topic("imports", "Bring your own", "What to export from which tool, and what comes over.", _WORK),
    Topic("runs", "Runs and judges", "Graders, judges, budgets, pausing and retrying.", _WORK),
    Topic("commands", "Commands", "What to do where: on which page, and by which command.", _WORK),
    Topic("client", "Scripts and notebooks", "The client for Python, data frames, and cases as tests.", _WORK),
    Topic("debates", "Debates", "Agents, rounds and outcomes.", _READ),
    Topic("figures", "What the figures mean", "Scores, intervals, kappa and alpha, and their limits.", _READ),
    Topic(
        "tools",
        "Beside other tools",
        "What Evalsite has and lacks beside eight other tools, feature by feature.",
        _READ,
    ),
    Topic("install", "Install", "From a bare server to the first verdict, line by line.", (Role.ADMIN,)),
    Topic("operations", "Running the site", "Processes, accounts, probes, backups and upgrades.", (Role.ADMIN,)),
    Topic("settings", "Settings", "The variables of the environment that the site reads.", (Role.ADMIN,)),
)


def shapes_by_tool() -> list[tuple[str, list[Shape]]]:
    """Return the shapes of files that are recognised, by tool, in the order of the alphabet."""
    shapes: dict[str, list[Shape]] = {}
    for shape in sorted(ALL, key=lambda shape: (shape.tool.casefold(), shape.label)):
        if shape.stage != COMPANION:
            shapes.setdefault(shape.tool, []).append(shape)
    return list(shapes.items())


def topics_for(role: Role | None) -> tuple[Topic, ...]:
    """Return the topics that concern a role; an annotator's for somebody without one."""
    return tuple(topic for topic in TOPICS if (role or Role.ANNOTATOR) in topic.roles)


def find_topic(slug: str) -> Topic | None:
    """Return the topic with this address."""
    return next((topic for topic in TOPICS if topic.slug == slug), None)
