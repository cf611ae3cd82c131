from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django import forms
from django.core.paginator import Paginator
from django.template import RequestContext, Template
from django.test import RequestFactory
from django.urls import NoReverseMatch, reverse
from django.utils.safestring import SafeString

from evalsite.base import template_tags
from evalsite.base.formats import STATUSES
from evalsite.navigation import ENTRIES

ROOT = Path(__file__).resolve().parents[4]


def rendered(source: str, *, path: str = "/runs/", **context: object) -> str:
    """What the template gives, white space folded."""
    request = RequestFactory().get(path)
    html = Template("{% load ui %}" + source).render(RequestContext(request, context))
    return " ".join(html.split())


def test_figure_shows_a_missing_value_as_a_dash_with_its_reason() -> None:
    assert rendered("{% figure value reason=why %}", value=None, why="not <scored>") == (
        '<span class="missing" title="not &lt;scored&gt;">–'
        '<span class="visually-hidden">not &lt;scored&gt;</span></span>'
    )


def test_figure_shows_zero_as_zero() -> None:
    assert rendered('{% figure 0 places=1 style="percent" %}') == "0.0%"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ v|number:1 }}", "1,234.5"),
        ("{{ v|money }}", "$1,234.50"),
        ("{{ v|duration }}", "20 min 34 s"),
        ("{{ v|percent:0 }}", "123,450%"),
    ],
)
def test_filters_write_a_figure(source: str, expected: str) -> None:
    assert rendered(source, v=1234.5) == expected


@pytest.mark.parametrize("source", ["{{ v|number }}", "{{ v|money }}", "{{ v|duration }}", "{{ v|percent }}"])
@pytest.mark.parametrize("value", [None, "", "n/a", float("nan")])
def test_filters_show_a_dash_for_what_is_no_figure(source: str, value: object) -> None:
    assert 'class="missing"' in rendered(source, v=value)


def test_duration_reads_a_timedelta() -> None:
    assert template_tags.duration(timedelta(minutes=3, seconds=5)) == "3 min 05 s"


def test_icon_is_silent_unless_it_has_a_label() -> None:
    assert 'aria-hidden="true"' in template_tags.icon("house")
    assert 'role="img" aria-label="&quot;Home&quot;"' in template_tags.icon("house", '"Home"')


def test_status_badge_says_icon_word_and_reason() -> None:
    html = rendered('{% status_badge "failed" why="three timeouts" %}')

    assert 'data-tone="bad"' in html
    assert "#x-circle-fill" in html
    assert '</svg>Failed<span class="visually-hidden">: three timeouts</span>' in html


def test_when_carries_the_full_date() -> None:
    html = template_tags.when(datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC))

    assert 'datetime="2020-01-0' in html
    assert ">2 Jan 2020</time>" in html


def test_when_says_never_for_no_time() -> None:
    assert 'title="never"' in template_tags.when(None)


def test_interval_draws_by_attributes_only() -> None:
    html = rendered("{% interval 0.5 0.25 0.75 %}")

    # Axis 0..1 over 160 units: 0.25 -> 40, 0.75 -> 120, 0.5 -> 80.
    assert '<rect class="span" x="40.0" y="4" width="80.0" height="8" rx="2">' in html
    assert '<circle class="point" cx="80.0" cy="8" r="3.5">' in html
    assert 'aria-label="0.500, interval 0.250 to 0.750"' in html
    assert "style=" not in html


def test_interval_without_bounds_is_a_dash() -> None:
    assert "There is no interval." in rendered("{% interval 0.5 None None %}")
    assert "One item has no interval." in rendered("{% interval 0.5 None None reason='One item has no interval.' %}")


def test_progress_counts_what_waits() -> None:
    html = rendered("{% progress done=812 total=1240 failed=12 %}")

    assert "812 of 1,240" in html
    assert "416 waiting" in html  # 1240 - 812 - 12
    assert 'aria-valuenow="66"' in html  # (812 + 12) / 1240 = 66.45%


def test_pagination_keeps_the_query_string() -> None:
    page = Paginator(range(100), 10).get_page(2)

    html = rendered('{% include "_pagination.html" %}', path="/runs/?status=done&page=2", page_obj=page)

    assert 'href="?status=done&amp;page=3"' in html
    assert "11–20 of 100" in html


def test_markdown_returns_cleaned_html_and_accepts_none() -> None:
    assert template_tags.markdown("<script>x</script>") == SafeString("<p>&lt;script&gt;x&lt;/script&gt;</p>\n")
    assert template_tags.markdown(None) == ""


def test_problems_table_escapes_what_the_file_says() -> None:
    problem = {"severity": "error", "file": "a.yaml", "place": "line 3", "message": "No.", "offending": "<b>"}

    html = rendered('{% include "_problems_table.html" %}', problems=[problem])

    assert "<code>&lt;b&gt;</code>" in html
    assert "1 problem<" in html


def test_the_sprite_holds_the_icons_that_are_named_and_no_others() -> None:
    sprite = re.findall(r'<symbol id="([\w-]+)"', (ROOT / "static/vendor/icons.svg").read_text())
    named = {look.icon for look in STATUSES.values()}
    named |= {entry[2] for entry in ENTRIES}
    for template in (ROOT / "templates").rglob("*.html"):
        text = template.read_text()
        named |= set(re.findall(r'{%\s*icon (?:icon\|default:)?"([\w-]+)"', text))
        named |= set(re.findall(r'\b(?:icon="|empty=")([\w-]+)["|]', text))
    named |= set(re.findall(r'"([\w-]+-fill)"', (ROOT / "static/js/toasts.js").read_text()))

    assert sorted(sprite) == sorted(named)


def test_templates_and_scripts_carry_nothing_the_policy_forbids() -> None:
    forbidden = re.compile(
        r'\sstyle="|\son[a-z]+="|<style|<script(?![^>]*\ssrc=)|javascript:|https?://[^"]*\.(?:js|css)'
    )
    tags = re.compile(r"{%.*?%}")  # their arguments are no HTML attributes
    offending = {
        template.relative_to(ROOT).as_posix(): found.group()
        for template in (ROOT / "templates").rglob("*.html")
        if (found := forbidden.search(tags.sub("", template.read_text())))
    }

    assert offending == {}


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("`weight` must be a <number>.", "<code>weight</code> must be a &lt;number&gt;."),
        ("did you mean `a` or `<b>`?", "did you mean <code>a</code> or <code>&lt;b&gt;</code>?"),
        ("a lone ` mark", "a lone ` mark"),
        ("", ""),
    ],
)
def test_code_spans_shows_what_stands_between_backticks_as_code(text: str, html: str) -> None:
    assert template_tags.code_spans(text) == html


def test_captured_keeps_what_stands_inside_for_later() -> None:
    assert rendered(
        "{% captured as name %} <b>a</b>\n  &amp; b {% endcaptured %}[{{ name }}|{{ name|striptags }}]"
    ) == ("[<b>a</b> &amp; b|a &amp; b]")


def test_link_button_leads_to_a_named_address() -> None:
    html = rendered('{% link_button "judging:run-create" label="New run" icon="plus-lg" query="?a=1&b=2" key="n" %}')

    assert html == (
        f'<a class="btn btn-secondary" href="{reverse("judging:run-create")}?a=1&amp;b=2" data-key="n" '
        f'data-key-label="New run">{template_tags.icon("plus-lg")}New run</a>'
    )


def test_link_button_refuses_an_address_that_is_not_there() -> None:
    with pytest.raises(NoReverseMatch):
        rendered('{% link_button "judging:nowhere" label="Nowhere" %}')


def test_post_button_asks_before_it_posts() -> None:
    html = rendered(
        '{% post_button "judging:judge-delete" pk label="Delete" look="btn-danger" confirm=ask swaps=True %}',
        pk=7,
        ask='Delete "a"?',
    )

    url = reverse("judging:judge-delete", args=(7,))
    assert html.startswith(f'<form method="post" action="{url}" hx-post="{url}">')
    assert 'data-confirm="Delete &quot;a&quot;?" data-confirm-action="Delete">Delete</button>' in html


@pytest.mark.parametrize(("cancel", "link"), [("/runs/", 'href="/runs/">Cancel</a>'), ("", "")])
def test_form_actions_offers_a_way_back_where_there_is_one(cancel: str, link: str) -> None:
    html = rendered('{% form_actions "Save" cancel=cancel %}', cancel=cancel)

    assert '<button class="btn btn-primary" type="submit">Save</button>' in html
    assert ("Cancel" in html, link in html) == (bool(cancel), True)


def test_fragment_asks_for_itself_while_it_polls() -> None:
    source = '{% fragment "arena" "Ranking" polls=polls %}{{ name }}{% endfragment %}'

    assert rendered(source, path="/arena/?a=1&b=2", polls=True, name="<b>") == (
        '<section id="arena" class="stack" aria-label="Ranking" hx-get="/arena/?a=1&amp;b=2" '
        'hx-trigger="every 3s" hx-target="this" hx-swap="outerHTML">&lt;b&gt;</section>'
    )
    assert rendered(source, polls=False, name="") == '<section id="arena" class="stack" aria-label="Ranking"></section>'


def test_fields_gives_the_named_fields_in_their_order() -> None:
    class RunForm(forms.Form):
        name = forms.CharField()
        limit = forms.IntegerField()
        seed = forms.IntegerField()

    html = rendered('{% fields form "seed name" %}', form=RunForm())

    assert re.findall(r'<input type="\w+" name="(\w+)"', html) == ["seed", "name"]


def test_pagination_leads_nowhere_at_its_ends() -> None:
    page = Paginator(range(25), 10).page(3)

    html = rendered('{% include "_pagination.html" %}', page_obj=page)

    assert 'rel="prev" href="?page=2"' in html
    assert 'rel="next"' not in html
    assert html.count('class="page-item disabled"') == 1


def test_fact_escapes_its_value() -> None:
    assert rendered('{% fact "Hash" value|upper look="mono" %}', value="<a>") == (
        '<dt>Hash</dt><dd class="mono">&lt;A&gt;</dd>'
    )


def test_answer_buttons_say_what_each_answer_does_and_name_few_columns() -> None:
    many = tuple(f"score=c{n}" for n in range(6))
    answers = (("prompt=q", "response=a"), many, ("--encoding=gbk",), ("--renames=a=A",), ("--renames=a=a",))

    buttons = template_tags.answer_buttons(
        answers, [("prompt", "Prompt"), ("response", "Response"), ("score", "Score")]
    )

    assert buttons == [
        ('["prompt=q", "response=a"]', "Prompt for q, Response for a"),
        (json.dumps(many), "Score for c0, c1, c2, c3 and 2 more"),
        ('["--encoding=gbk"]', "Encoding: gbk"),
        ('["--renames=a=A"]', "a is A"),
        ('["--renames=a=a"]', "a is another"),
    ]
