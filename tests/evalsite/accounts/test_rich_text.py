from __future__ import annotations

import pytest

from evalsite.accounts.rich_text import render_markdown


def test_render_markdown_keeps_structure_and_lowers_headings() -> None:
    assert render_markdown("# Title\n\nA **bold** word\n\n- one\n") == (
        "<h4>Title</h4>\n<p>A <strong>bold</strong> word</p>\n<ul>\n<li>one</li>\n</ul>\n"
    )


def test_render_markdown_shows_html_as_text() -> None:
    assert render_markdown('<img src=x onerror="alert(1)"><b hx-get="/x">b</b>') == (
        '<p>&lt;img src=x onerror="alert(1)"&gt;&lt;b hx-get="/x"&gt;b&lt;/b&gt;</p>\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "[x](data:text/html,hi)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
        "<script>alert(1)</script>",
    ],
)
def test_render_markdown_never_lets_a_script_through(text: str) -> None:
    html = render_markdown(text)

    assert "<script" not in html
    assert "href" not in html


def test_render_markdown_marks_links_as_foreign() -> None:
    assert render_markdown("[x](https://example.org)") == (
        '<p><a href="https://example.org" rel="noopener noreferrer nofollow">x</a></p>\n'
    )


def test_render_markdown_names_images_and_fetches_none() -> None:
    assert render_markdown("![a <b> chart](https://example.org/t.png)") == "<p>[image: a &lt;b&gt; chart]</p>\n"


def test_render_markdown_keeps_latex_letter_by_letter() -> None:
    assert render_markdown(r"so \(a_1 * b_2 * c < d\) holds") == (
        '<p>so <span class="math">\\(a_1 * b_2 * c &lt; d\\)</span> holds</p>\n'
    )


def test_render_markdown_leaves_an_unclosed_formula_as_text() -> None:
    assert render_markdown("costs $$ and $ 5") == "<p>costs $$ and $ 5</p>\n"


def test_render_markdown_lets_code_carry_its_language_and_no_other_class() -> None:
    assert render_markdown("```python\nx = 1\n```") == '<pre><code class="language-python">x = 1\n</code></pre>\n'
    assert render_markdown('```a"b\nx\n```') == "<pre><code>x\n</code></pre>\n"


def test_render_markdown_drops_inline_styles_of_tables() -> None:
    assert "style" not in render_markdown("|a|b|\n|--:|:-:|\n|1|2|\n")
