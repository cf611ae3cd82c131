"""Tables, sorting and pages of lists, which `{% load ui %}` brings along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.core.paginator import Page
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evalsite.base import formats
from evalsite.base.json_types import JsonDict

register = template.Library()


@register.inclusion_tag("_sort_header.html", takes_context=True)
def sort_header(
    context: Context, field: str, label: str, numeric: bool = False, descending_first: bool = False, hint: str = ""
) -> JsonDict:
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
