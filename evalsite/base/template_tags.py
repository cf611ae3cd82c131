"""`{% load ui %}`: icons, badges, buttons, fields, figures, times, intervals, tables and safe Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import template
from django.contrib.auth.models import User
from django.core.paginator import Page
from django.db.models import Model
from django.forms import BaseForm, BoundField
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.template.context import Context
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime, now

from evalsite.base import formats, log_lines, page_parts
from evalsite.base.actions.declarations import NOUNS, Action
from evalsite.base.actions.reports import ReportColumn, ReportTable
from evalsite.base.formats import read_scale
from evalsite.base.rich_text import render_markdown
from evalsite.base.rows import Owned, is_owner
from evalsite.base.types import JsonDict

register = template.Library()
NOTE_PICTURES = {
    "warn": "exclamation-triangle-fill",
    "bad": "exclamation-octagon-fill",
    "info": "info-circle-fill",
    "ok": "check-circle-fill",
}


@register.inclusion_tag("_sort_header.html", takes_context=True)
def sort_header(
    context: Context, field: str, label: str, numeric: bool = False, descending_first: bool = False, hint: str = ""
) -> dict[str, str | bool]:
    """A column header that sorts on the server; the choice stays in the URL (`sort=-score`)."""
    current = _query(context).get("sort", "")
    return {
        "url": sort_url(context, field, descending_first),
        "label": label,
        "numeric": numeric,
        "hint": hint,
        "direction": formats.sort_direction(current, field),
    }


MATRICES = frozenset({"heat", "stance-strip"})


@register.simple_block_tag(takes_context=True)
def table(
    context: Context, content: SafeString, *columns: object, look: str = "", caption: str = "", **options: str
) -> SafeString:
    """A table of rows under these column titles; `look` is further classes of the table.

    On a phone each row is a card, unless the look is one of `MATRICES`, whose columns are compared with each other.

    Options: card (its name, where it is a card of its own), name (the id of its frame), empty (what stands instead
    where there is no row: a sentence, or an icon, a title and a sentence, as in "funnel|No items|Choose another
    filter."), empty_link (a button below that, as in "Start a run|judging:run-create").

    A title may be followed by words that say how its column looks, as in "Items|num|sort=items|desc": `num` and `tight`
    are classes, `sort` and `desc` make it sortable, `hidden` is for screen readers only, `bare` leaves the title out
    where cells are stacked on a phone, `label` is what stands there instead, and `hint` is shown on hover. Titles out
    of variables are taken as they are, captured ones are read like those in the template, unless they are `<th>`
    elements; a list gives a column to each, and an empty title none.
    """
    if "card" in options:
        card = options.pop("card")
        inside = table(context, content, *columns, look=look, caption=caption, **options)
        return format_html('<section class="card" aria-label="{}">{}</section>', card, inside)
    if "empty" in options and not content.strip():
        return _empty_state(context, options["empty"], options.get("empty_link", ""))
    if MATRICES.isdisjoint(look.split()):
        look = f"{look} cards".lstrip()
    titles = (title for column in columns for title in (column if isinstance(column, (list, tuple)) else [column]))
    heads = format_html_join("", "{}", ((_column_head(context, title),) for title in titles if title != ""))
    return format_html(
        '<div class="table-wrap"{}><table class="table{}">{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>',
        format_html(' id="{}"', options["name"]) if options.get("name") else "",
        f" {look}" if look else "",
        format_html("<caption>{}</caption>", caption) if caption else "",
        heads,
        content,
    )


def _empty_state(context: Context, empty: str, link: str) -> SafeString:
    icon, *words = empty.split("|")
    if not words:
        return format_html('<div class="card-body"><p class="muted mb-0">{}</p></div>', empty)
    title, text = words
    label, _, address = link.partition("|")
    state = {"icon": icon, "title": title, "text": text, "action_label": label, "role": context.get("role")}
    state["action_url"] = resolve_url(address) if address else ""
    return SafeString(render_to_string("_empty_state.html", state))


def _column_head(context: Context, column: object) -> SafeString:
    if isinstance(column, SafeString) and column.startswith("<th"):
        return column
    title, *words = column.split("|") if isinstance(column, SafeString) else [str(column)]
    if isinstance(column, SafeString):  # what it is split into is no longer called safe
        title = SafeString(title)
    looks = dict(word.partition("=")[::2] for word in words)
    if "sort" in looks:
        facts = sort_header(context, looks["sort"], title, "num" in looks, "desc" in looks, looks.get("hint", ""))
        return SafeString(render_to_string("_sort_header.html", facts))
    attributes = {
        "class": " ".join(name for name in ("num", "tight", "no-print") if name in looks),
        "title": looks.get("hint", ""),
    }
    return format_html(
        '<th scope="col"{}{}>{}</th>',
        format_html_join("", ' {}="{}"', ((name, value) for name, value in attributes.items() if value)),
        format_html(' data-label="{}"', looks.get("label", "")) if {"bare", "label"} & set(looks) else "",
        format_html('<span class="visually-hidden">{}</span>', title) if "hidden" in looks else title,
    )


@register.simple_tag(takes_context=True)
def sort_url(context: Context, field: str, descending_first: bool = False) -> str:
    """The present query string, sorted by `field`, from the first page."""
    query = _query(context).copy()
    query["sort"] = formats.sort_value(query.get("sort", ""), field, descending_first=descending_first)
    query.pop("page", None)
    return f"?{query.urlencode()}"


def _query(context: Context) -> Any:
    return page_request(context).GET


def page_request(context: Context) -> HttpRequest:
    """The request of the page that is rendered."""
    request = context["request"]
    if not isinstance(request, HttpRequest):
        raise TypeError("the request context processor is off")
    return request


@register.filter
def elided_pages(page: Page[Any]) -> list[int | str]:
    """Page numbers to offer: the first, the last and those around this one, `…` for what is left out."""
    return list(page.paginator.get_elided_page_range(page.number, on_each_side=2, on_ends=1))


@register.filter
def each(rows: Iterable[Any], name: str) -> list[Any]:
    """Return one field of each row, such as the titles of columns."""
    return [row[name] if isinstance(row, Mapping) else getattr(row, name) for row in rows]


# icons and badges


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """One picture of the sprite; decoration unless `label` says what it means."""
    sprite = static("vendor/icons.svg")
    if label:
        return format_html(
            '<svg class="icon" role="img" aria-label="{}"><use href="{}#{}"></use></svg>', label, sprite, name
        )
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', sprite, name)


@register.simple_block_tag
def note(content: str, tone: str, *, role: str = "", picture: str = "") -> SafeString:
    """What stands out of a page, in the tone warn, bad, info or ok; with a role, screen readers say it at once."""
    of_role = format_html(' role="{}"', role) if role else ""
    return format_html(
        '<div class="note" data-tone="{}"{}>{}{}</div>', tone, of_role, icon(picture or NOTE_PICTURES[tone]), content
    )


@register.simple_tag
def request_id() -> str:
    """The name of the request that is answered, as the log has it."""
    return log_lines.request_id()


@register.simple_tag
def stylesheet(path: str) -> SafeString:
    """A link to one of the site's stylesheets."""
    return format_html('<link rel="stylesheet" href="{}">', static(path))


@register.inclusion_tag("_status.html")
def status_badge(status: object, word: str = "", tone: str = "", why: str = "") -> JsonDict:
    """Icon, word and colour of a status; `word` and `tone` overrule, `why` is shown on hover and read aloud."""
    return {"look": formats.status_look(str(status or ""), word=word, tone=tone), "why": why}


# buttons and fields

_BUTTON_ATTRIBUTES = {
    "id": "id",
    "rel": "rel",
    "aria_label": "aria-label",
    "key": "data-key",
    "key_label": "data-key-label",
    "confirm": "data-confirm",
    "confirm_text": "data-confirm-text",
    "confirm_action": "data-confirm-action",
}


def _button(address: Any, arguments: tuple[object, ...], options: JsonDict) -> JsonDict:
    if "key" in options:
        options.setdefault("key_label", options["label"])
    if "confirm" in options:
        options.setdefault("confirm_action", options["label"])
    parts = [icon(options["icon"]) if options.get("icon") else "", options["label"]]
    attributes = ((html, options[name]) for name, html in _BUTTON_ATTRIBUTES.items() if options.get(name))
    return {
        **options,
        "url": f"{resolve_url(address, *arguments)}{options.get('query', '')}",
        "attributes": format_html_join("", ' {}="{}"', attributes),
        "face": format_html("{}{}", *(reversed(parts) if options.get("icon_last") else parts)),
    }


@register.inclusion_tag("_link_button.html")
def link_button(address: Any, *arguments: object, **options: Any) -> JsonDict:
    """A link that looks like a button, to an object's page, a path, or a named address with its arguments.

    Options: label, icon, icon_last, look (classes), query (of the address, with its question mark), key (of the
    keyboard), key_label (the label, unless given), shown_key, id, rel, aria_label.
    """
    return _button(address, arguments, options)


@register.inclusion_tag("_post_button.html")
def post_button(address: Any, *arguments: object, **options: Any) -> JsonDict:
    """A form that is one button, which posts to an address.

    Options: those of `link_button`; confirm, confirm_text and confirm_action (a question before it posts, and the word
    for yes, which is the label unless given); swaps (htmx posts it too); form_id; hidden_name and hidden_value of a
    field to send along.
    """
    return _button(address, arguments, options)


@register.inclusion_tag("_actions.html", takes_context=True)
def actions(context: Context, noun: str, row: Model) -> JsonDict:
    """The buttons of what this person can do to a row, where an action says itself what its button is."""
    person = page_request(context).user
    if not isinstance(person, User):
        return {"actions": []}
    named = (action for action in NOUNS[noun].actions.values() if _has_button(action, row))
    offered = [action for action in named if action.is_open_to(row, person)]
    return {"row": row, "actions": offered, "csrf_token": context.get("csrf_token")}


@register.filter
def is_changed_by(row: Owned, person: User) -> bool:
    """Whether somebody whose role lets them change such rows may change this one."""
    return is_owner(row, person)


def _has_button(action: Action[Any, Any], row: Model) -> bool:
    return "button" in action.options and action.options.get("is_offered", lambda _row: True)(row)


@register.inclusion_tag("_form_actions.html")
def form_actions(label: str, icon: str = "", cancel: Any = None, cancel_label: str = "Cancel") -> dict[str, str]:
    """The button that sends a form and, where `cancel` names an address, the link that leaves it."""
    cancel_url = resolve_url(cancel) if cancel else ""
    return {"label": label, "icon": icon, "cancel_url": cancel_url, "cancel_label": cancel_label}


@register.inclusion_tag("_fields.html")
def fields(form: BaseForm, names: str) -> dict[str, list[BoundField]]:
    """These fields of a form, by their names, in this order."""
    return {"fields": [form[name] for name in names.split()]}


# figures


def missing(reason: str = "") -> SafeString:
    """The dash that stands for no value, with its reason: never a zero."""
    return format_html(
        '<span class="missing" title="{0}">{1}<span class="visually-hidden">{0}</span></span>',
        reason or "no value",
        formats.MISSING,
    )


def _figure(value: Any) -> formats.Figure | None:
    if isinstance(value, str):
        try:
            value = Decimal(value)
        except ArithmeticError:
            return None
    return value if formats.is_figure(value) else None


@register.filter
def number(value: object, places: int = 0) -> str:
    """`1,234`; a dash for what is no number."""
    figure = _figure(value)
    return missing() if figure is None else formats.number(figure, int(places))


@register.filter
def percent(value: object, places: int = 1) -> str:
    """`83.2%` of a fraction; a dash for what is no number."""
    figure = _figure(value)
    return missing() if figure is None else formats.percent(figure, int(places))


@register.filter
def on_scale(value: object, scale: object) -> str:
    """`5.66` of a share on the scale of a judge, `56.6%` without one; a dash for what is no number."""
    figure = _figure(value)
    return missing() if figure is None else read_scale(scale).words(float(figure))


@register.filter
def shown(figure: Mapping[str, Any], end: str = "value") -> str:
    """One end of a report's figure on the scale that it carries: `4.91`, or `49.1%`."""
    return on_scale(figure.get(end), figure.get("scale"))


@register.filter
def money(value: object, currency: str = "USD") -> str:
    """`$12.30`; a dash where the price is not known."""
    figure = _figure(value)
    return missing("price not known") if figure is None else formats.money(figure, currency)


@register.filter
def p_words(value: object) -> str:
    """`p = .032` or `p < .001`; a dash for what is no number."""
    figure = _figure(value)
    return missing() if figure is None else formats.p_words(figure)


@register.filter
def duration(value: object) -> str:
    """`3 min 05 s` of seconds or a timedelta; a dash for what is neither."""
    seconds = value.total_seconds() if hasattr(value, "total_seconds") else _figure(value)
    return missing() if seconds is None else formats.duration(seconds)


@register.simple_tag
def figure(value: object, places: int = 0, style: str = "number", reason: str = "", scale: object = None) -> str:
    """A figure or, with the reason why it is missing, a dash. `style` is number, percent, money, duration, p or score.

    A score is a share on the scale of a judge: `5.66 of 10`; percent where `scale` says nothing else.
    """
    amount = _figure(value)
    if amount is None:
        return missing(reason)
    if style == "p":
        return formats.p_value(amount)
    if style == "score":
        return read_scale(scale).whole_words(float(amount))
    if style == "percent":
        return formats.percent(amount, places)
    if style == "money":
        return formats.money(amount)
    return formats.duration(amount) if style == "duration" else formats.number(amount, places)


# times


@register.simple_tag
def when(moment: datetime | None, never: str = "never") -> SafeString:
    """A time as distance from now, the full date on hover; the page keeps it fresh by itself."""
    if moment is None:
        return missing(never)
    local = localtime(moment)
    return format_html(
        '<time data-relative datetime="{}" title="{}">{}</time>',
        local.isoformat(),
        f"{local:%A}, {local.day} {local:%B %Y, %H:%M:%S %Z}",
        formats.relative_time(local, at=now()),
    )


# tables of reports


@register.simple_tag(takes_context=True)
def report_table(
    context: Context, declared: ReportTable[Any, Any], lines: Iterable[Any], look: str = "", is_sortable: bool = False
) -> SafeString:
    """Lines of a report under the columns that its table declares; sorted by `name` and by the names of columns."""
    first, *columns = declared.page_columns
    titles = [_title(first, "sort=name" if is_sortable else "")]
    titles += [_title(column, f"sort={column.key}|desc" if is_sortable else "") for column in columns]
    rows = format_html_join(
        "",
        "<tr>{}{}</tr>",
        (
            (
                format_html('<th scope="row">{}{}</th>', _linked(declared, first, line), _second_line(first, line)),
                format_html_join("", "{}", ((_page_cell(column, line),) for column in columns)),
            )
            for line in lines
        ),
    )
    return table(context, rows, *titles, look=look)


def _title(column: ReportColumn[Any], sorting: str) -> SafeString:
    words = (column.label, "num" if column.look else "", sorting, f"hint={column.hint}" if column.hint else "")
    return format_html("{}", "|".join(word for word in words if word))


def _linked(declared: ReportTable[Any, Any], column: ReportColumn[Any], line: Any) -> str:
    address = declared.link(line) if declared.link is not None else ""
    return format_html('<a href="{}">{}</a>', address, column.value(line)) if address else str(column.value(line))


def _page_cell(column: ReportColumn[Any], line: Any) -> SafeString:
    value, below = column.value(line), _second_line(column, line)
    if not column.look:
        return format_html("<td>{}{}</td>", value, below)
    places = {"percent": 1, "decimal": 2}.get(column.look, 0)
    shown = figure(value, places=places, style=column.look, reason=column.reason)
    return format_html('<td class="num">{}{}</td>', shown, below)


def _second_line(column: ReportColumn[Any], line: Any) -> SafeString:
    words = column.below(line) if column.below is not None else ""
    return format_html('<span class="cell-line">{}</span>', words) if words else SafeString("")


# drawings


@register.inclusion_tag("_interval.html")
def interval(
    value: object, low: object, high: object, axis_low: float = 0.0, axis_high: float = 1.0, **look: Any
) -> JsonDict:
    """An estimate with its interval on an axis that all rows share.

    Options: places (3), style (number, percent or score), scale (of a score), reason (why there is no interval, where
    it is known).
    """
    figures = [_figure(bound) for bound in (value, low, high)]
    point, start, end = (None if bound is None else float(bound) for bound in figures)
    if point is None or start is None or end is None:
        return {"shape": None, "reason": look.get("reason") or "There is no interval."}
    show: Callable[[float, int], str] = formats.percent if look.get("style") == "percent" else formats.number
    if look.get("style") == "score":
        show = read_scale(look.get("scale")).words
    places = int(look.get("places", 1 if look.get("style") in ("percent", "score") else 3))
    return {
        "shape": formats.interval_shape(point, start, end, axis=(float(axis_low), float(axis_high))),
        "says": f"{show(point, places)}, interval {show(start, places)} to {show(end, places)}",
    }


@register.simple_tag
def axis_ends(
    low: object, high: object, style: str = "number", places: int = 0, middle: str = "", scale: object = None
) -> SafeString:
    """The ends of the axis of a column of intervals, for the column's title."""
    between = format_html("<span>{}</span>", middle) if middle else ""
    first, last = (
        (on_scale(end, scale) if read_scale(scale).is_rating else figure(end, places, style)) for end in (low, high)
    )
    ends = (first, between, last)
    return format_html('<span class="axis-ends tabular"><span>{}</span>{}<span>{}</span></span>', *ends)


@register.inclusion_tag("_progress.html")
def progress(done: int, total: int, failed: int = 0, **facts: Any) -> JsonDict:
    """One bar: done, failed, waiting. Facts: rate (per minute), eta (seconds), unit (what is counted), label."""
    done_width, failed_width, percent = formats.progress_shape(done=done, failed=failed, total=total)
    return {
        "done_width": done_width,
        "failed_width": failed_width,
        "percent": percent,
        "done": done,
        "failed": failed,
        "waiting": max(0, total - done - failed),
        "total": total,
        **facts,
    }


# parts of pages


@register.simple_block_tag(takes_context=True)
def fragment(context: Context, content: SafeString, name: str, label: str, **options: Any) -> SafeString:
    """A section with its name as id, which an endpoint also returns by itself.

    Options: polls (while true, it asks for itself again), every (3 seconds), url (where to ask, this page unless
    given), look (classes, stack unless given).
    """
    attributes = {"id": name, "class": options.get("look", "stack"), "aria-label": label}
    if options.get("polls"):
        attributes |= {
            "hx-get": options.get("url") or page_request(context).get_full_path(),
            "hx-trigger": f"every {options.get('every', 3)}s",
            "hx-target": "this",
            "hx-swap": "outerHTML",
        }
    return format_html("<section{}>{}</section>", format_html_join("", ' {}="{}"', attributes.items()), content)


# text


@register.simple_tag
def fact(title: str, value: object, look: str = "") -> SafeString:
    """A title and its value, for a list of facts; `look` is classes of the value."""
    classes = format_html(' class="{}"', look) if look else ""
    return format_html("<dt>{}</dt><dd{}>{}</dd>", title, classes, value)


@register.simple_block_tag
def captured(content: SafeString) -> SafeString:
    """What stands inside, white space folded: `{% captured as name %}` keeps a block for several places of a page."""
    return SafeString(" ".join(content.split()))


@register.filter
def code_spans(text: str) -> SafeString:
    """Return a sentence with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one of them has no partner
        return format_html("{}", text)
    spans = [format_html("<code>{}</code>" if index % 2 else "{}", part) for index, part in enumerate(parts)]
    return format_html_join("", "{}", ((span,) for span in spans))


COLUMNS_NAMED = 4  # on a button


@register.filter
def answer_buttons(answers: Iterable[Sequence[str]], column_fields: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return what a button sends for each answer to a question about a file, and its words: Prompt for q, Score for a,
    b; Encoding: gbk. An answer is roles of columns as `role=column`, or options; `column_fields` are the roles in
    words."""
    labels, buttons = dict(column_fields), []
    for texts in answers:
        said: dict[str, list[str]] = {}
        for name, _, value in (text.partition("=") for text in texts):
            said.setdefault(name, []).append(value)
        words = [_answer_words(labels.get(name, name), values) for name, values in said.items()]
        buttons.append((json.dumps(list(texts), ensure_ascii=False), ", ".join(words)))
    return buttons


def _answer_words(name: str, values: list[str]) -> str:
    if name == "--renames":
        written, _, meant = values[0].partition("=")
        return f"{written} is {meant}" if written != meant else f"{written} is another"
    if name.startswith("--"):
        return f"{name[2:].capitalize()}: {values[0]}"
    more = len(values) - COLUMNS_NAMED
    return f"{name} for {', '.join(values[:COLUMNS_NAMED])}{f' and {more} more' if more > 0 else ''}"


@register.filter
def markdown(text: str | None) -> SafeString:
    """Safe HTML of Markdown written by a model or a person."""
    # The one place where HTML made from data is called safe: nh3 has just rebuilt it from an allow list.
    return SafeString(render_markdown(text or ""))


# parts that apps above a page's own fill in


@register.simple_tag(takes_context=True)
def parts(context: Context, slot: str, subject: object) -> SafeString:
    """What apps above show in a slot of this page."""
    return page_parts.render_parts(context, slot, subject)


@register.simple_tag(takes_context=True)
def row_parts(context: Context, slot: str, rows: Iterable[object]) -> dict[int, SafeString]:
    """What apps above show in the rows of a table, by key."""
    return page_parts.render_row_parts(context, slot, rows)


@register.filter
def of_key(values: Mapping[int, SafeString], key: int) -> SafeString | str:
    """The entry of a key, or nothing."""
    return values.get(key, "")
