"""No YAML, response or regular expression crashes a grader or takes more than its limit, on the way runs go."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from judging.grading.rubric_tree import ScoreStatus
from judging.models import RunEvaluator, RunTask, Score
from judging.selectors.benchmarks import scores_of
from judging.services.evaluator_tasks import NOT_RUN, GradingExecutor, JudgeOutcome
from judging.services.registries import FinishedTask
from judging.stored_content import storable
from judging.views.responses import pieces_of, score_page
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db

ENDS = pytest.mark.timeout(120)  # far above what the limits of all examples add up to
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
scalars = st.none() | st.booleans() | st.integers(-10, 10) | st.floats(allow_nan=True) | texts
patterns = st.sampled_from(
    ["(a+)+$", "(a|aa)+$", "(", "[z-a]", "(?P<x>a)(?P=y)", "a{1,99999}", "(.*a){25}", "\\", "(?i)(?#", "\x00"]
)
anything = st.recursive(
    scalars | patterns,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("content", "or", "and", "regex", "cond", "weight", "neg", "to_lower", "post_handler", "module"),
                    *("func", "template", "targets", "blank_str", "escape", "prefix", "substr_match", "tests", "lang"),
                    *("path", "metric", "references", "min_score", "max_score", "timeout", "only_longest"),
                ]
            )
            | texts,
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
criteria = st.sampled_from(["keywords", "blank_filling", "unit_test", "similarity", "customized"])
gradings = st.dictionaries(
    criteria | st.sampled_from(["max_score", "min_score", "other"]), anything, min_size=1, max_size=4
)
rules = st.fixed_dictionaries(
    {"content": patterns | texts | st.dictionaries(st.sampled_from(["or", "and", "content"]), anything, min_size=1)},
    optional={"weight": scalars, "regex": st.booleans(), "cond": texts | st.just("context[-1] == 'match'")},
)
searching = st.builds(
    lambda needle, cond: {"keywords": [{"content": {"content": needle, "regex": True, "cond": cond}}]},
    patterns | texts,
    st.sampled_from(["True", "9**9**9", "'a' * 10**9", "context[99]", "().__class__", "ans and (" * 50]),
)


def grade(grading: dict[str, Any], text: str) -> Score:
    """Return the score that a run stores of one response, and show it as its page does."""
    text = storable(text)  # as importers do: no database holds NUL or lone surrogates, nor JSON a NaN
    case = factories.case(grading=storable(grading), lang="python")
    answer = factories.response(prompt=case.prompt, text=text)
    evaluator: RunEvaluator = factories.evaluator(run=factories.run(suite=factories.suite(cases=[case])))
    task: RunTask = factories.task(evaluator=evaluator, response=answer)
    executor = GradingExecutor()

    prepared = executor.prepare(run=evaluator.run, tasks=[task])
    result = finish(prepared[0].conversation)
    executor.store(run=evaluator.run, finished=[FinishedTask(task, result)], at=NOON)

    stored = scores_of(answer).get()
    assert executor.failure(result) in ({""} if stored.value is not None else {stored.status, NOT_RUN})
    page = score_page(stored)
    shown = "".join(piece for piece, _ in pieces_of(text, page.spans))
    assert shown == text.replace("\r\n", "\n").replace("\r", "\n")
    return stored


def finish(conversation: Any) -> JudgeOutcome:
    try:
        next(conversation)
        while True:
            time.sleep(0.001)
            conversation.send(())
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@ENDS
@many
@given(gradings, texts)
@example({"keywords": [{"content": {"or": []}}]}, "")
@example({"blank_filling": {"template": "[blank]", "targets": ["x"]}}, "")
@example({"max_score": float("inf"), "keywords": ["a"]}, "a")
@example({"unit_test": {"lang": "cobol", "tests": ["x"]}}, "x")
@example({"similarity": [{"metric": "rouge9", "references": [None]}]}, "x")
def test_no_specification_or_response_crashes_a_run(grading: dict[str, Any], text: str) -> None:
    score = grade(grading, text)

    assert score.status in list(ScoreStatus)
    assert (score.value is None) == (score.status != ScoreStatus.COMPLETE)


@ENDS
@settings(many, max_examples=40)
@given(searching | st.builds(lambda rule: {"keywords": [rule]}, rules), st.sampled_from(["a" * 4000 + "!", "\r\r\n"]))
def test_no_pattern_or_condition_takes_more_than_its_limit(grading: dict[str, Any], text: str) -> None:
    score = grade(grading, text)

    assert score.status in list(ScoreStatus)
