"""Time-limited searches that find what `re` finds."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.grading.grades import BadSpecification, NotDecided
from judging.grading.rule_graders.regexes import LONGEST_PATTERN, Matcher, escape_extensions

# exponential, or of high degree, on a row of x; no single letter is required, which would let the search stop at once
CATASTROPHIC = [r"(x|x)*[yz]", r"(x|xx)+[yz]", r"(x|xx)+$y?(?!)", r"(.*)(.*)(.*)(.*)(.*)(.*)(.*)[yz]"]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"a{e<=1}", "ba{e<=1}"),  # fuzzy matching to the regex library
        (r"(?:cat){i}", "cat{i}"),
        (r"[[:alpha:]]", "x:]"),  # a POSIX class to the regex library
        (r"x{,}", "xx"),
        (r"x{,2}y", "xxxy"),
        (r"[]{a]+", "]{a"),
        (r"[^]x]{2}", "]]ab"),
        (r"\N{DIGIT ONE}{2}", "011"),
        (r"a&&[b&&c]", "a&&&"),
        (r"^b", "a\nb"),
        (r"a.b", "a\nb"),
        (r"b$", "b\n"),
        (r"(?i)STRASSE|ſ", "S"),
        (r"(?P<q>['\"])x(?P=q)", "'x'"),
        (r"(?<!a)b(?=c)", "ab bc"),
        (r"(?x) a # comment [ \n b", "ab"),
    ],
)
def test_search_finds_what_re_finds(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = re.search(pattern, text)

    assert Matcher().search(pattern, text) == (expected.span() if expected else None)


@given(
    st.text(alphabet="ab{}[]()|*+?^$.\\,0123:e<=-&~", max_size=12), st.text(alphabet="ab{}[],:e<=1-&~\n", max_size=12)
)
def test_search_agrees_with_re_on_any_pattern(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = re.search(pattern, text)
        except (re.error, OverflowError):
            with pytest.raises(BadSpecification):
                Matcher().search(pattern, text)
            return
    try:
        span = Matcher().search(pattern, text)
    except NotDecided:
        return
    assert span == (expected.span() if expected else None)


@pytest.mark.timeout(60)  # it ends long before; a runaway would not
@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_search_gives_up_in_time(pattern: str) -> None:
    with pytest.raises(NotDecided) as reason:
        Matcher(timeout_seconds=0.1).search(pattern, "x" * 300)

    assert reason.value.code == "limit.regex"


def test_search_is_not_tried_after_too_many_timeouts() -> None:
    matcher = Matcher(timeout_seconds=0.02, timeouts_allowed=1)
    with pytest.raises(NotDecided, match="took longer"):
        matcher.search(CATASTROPHIC[0], "x" * 60)

    with pytest.raises(NotDecided, match="not tried"):
        matcher.search("harmless", "harmless")


def test_search_refuses_what_re_refuses_and_what_is_too_long() -> None:
    with pytest.raises(BadSpecification) as fault:
        Matcher().search("(", "")
    with pytest.raises(NotDecided):
        Matcher().search("a" * (LONGEST_PATTERN + 1), "")

    assert fault.value.kind == "error"


def test_fullmatch_needs_the_whole_text() -> None:
    matcher = Matcher()

    assert (matcher.fullmatch(r"4\d", "42"), matcher.fullmatch(r"4\d", "42x")) == ((0, 2), None)


def test_escape_extensions_changes_only_what_differs() -> None:
    assert escape_extensions(r"a{2}b{e}[x[:y]\{[^]]") == r"a{2}b\{e}[x\[:y]\{[^]]"
