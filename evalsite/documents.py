"""The help: which pages there are and whom each is for, and those pages that are Markdown files.

A page whose text alone matters is a Markdown file in the folder `help`, so that it can be read in the repository as
well as on the site. A page that shows what the site knows, such as the kinds of judges, is a template in
`templates/evalsite`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, starmap, takewhile
from pathlib import Path

import nh3
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

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


FOLDER = Path(__file__).resolve().parent / "help"
COVERAGE = FOLDER / "coverage.json"  # what tests/bench/bench_coverage.py measured
SHORT_CARDS = 4  # columns
_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)  # around what is generated
_OTHER_PAGE = re.compile(r"([a-z]+)\.md(#[\w-]+)?")  # a link to a file beside this one
_ONLY_CODE = re.compile(r"(`[^`]+`[, ]*)+")  # a cell of commands, each of which has a line of its own
_TAGS = {
    *("h2", "h3", "p", "ul", "ol", "li", "pre", "code", "strong", "em", "a", "br", "hr", "blockquote"),
    *("div", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {
    "h2": {"id"},
    "h3": {"id"},
    "a": {"href"},
    "div": {"class"},
    "table": {"class"},
    "th": {"scope"},
    "td": {"class"},
    "ol": {"start"},
}


@lru_cache
def read_document(slug: str) -> tuple[SafeString, tuple[tuple[str, str], ...]] | None:
    """Return the help page that is the file `slug`.md here, without its title: its HTML, and its sections by anchor.

    None where there is no such file.

    Headings get an `id` made of their words. A link to another file here leads to its page on the site. HTML in the
    file is shown as text, but for comments, which are left out.
    """
    path = FOLDER / f"{slug}.md"
    if not path.is_file():
        return None
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(_COMMENT.sub("", path.read_text(encoding="utf-8")))
    tokens = tokens[3:]  # without the title
    sections = [pair for pair in starmap(_name_heading, pairwise(tokens)) if pair]
    for index, (before, token) in enumerate(pairwise(tokens), 1):
        if token.type == "table_open":
            token.attrSet("class", _table_class(tokens[index:]))
        elif token.type == "th_open":
            token.attrSet("scope", "col")
        elif before.type == "tr_open" and token.type == "td_open":
            _name_row(tokens, token)
        elif before.type == "td_open" and _ONLY_CODE.fullmatch(token.content):
            before.attrSet("class", "commands")
    for link in (child for token in tokens for child in token.children or () if child.type == "link_open"):
        link.attrSet("href", _site_address(str(link.attrGet("href"))))
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table", '<div class="table-wrap"><table').replace("</table>", "</table></div>")
    clean = nh3.clean(html, tags=_TAGS, attributes=_ATTRIBUTES, link_rel="noreferrer")
    return (SafeString(clean), tuple(sections))


def _name_heading(token: Token, content: Token) -> tuple[str, str] | None:
    """Give a heading its `id`; return it with the heading's text where a section begins."""
    if token.type != "heading_open":
        return None
    text = content.content.replace("`", "")
    token.attrSet("id", slugify(text))
    return (slugify(text), text) if token.tag == "h2" else None


def _table_class(tokens: list[Token]) -> str:
    """Return how the table that begins here looks on a phone: as cards, short ones where it has many columns."""
    columns = sum(token.type == "th_open" for token in takewhile(lambda token: token.type != "thead_close", tokens))
    return "table cards cards-short" if columns > SHORT_CARDS else "table cards"


def _name_row(tokens: list[Token], first: Token) -> None:
    """Make the first cell of a row its header."""
    last = next(token for token in tokens[tokens.index(first) :] if token.type == "td_close")
    first.tag = last.tag = "th"
    first.attrSet("scope", "row")


def _site_address(address: str) -> str:
    match = _OTHER_PAGE.fullmatch(address)
    return reverse("help-topic", args=[match[1]]) + (match[2] or "") if match else address
