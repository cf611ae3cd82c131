"""The shapes of tools, one module a family. A new shape: its module, a line here, a folder in the tests' corpus."""

from __future__ import annotations

from judging.specs.records.shapes import Shape
from judging.specs.records.tools.logs import (
    deepeval,
    frames,
    helm,
    inspect_logs,
    langfuse,
    langsmith,
    lm_eval,
    openai_logs,
    promptfoo,
    traces,
    unread,
)
from judging.specs.records.tools.people import (
    argilla,
    crowd,
    doccano,
    judge_bench,
    label_studio,
    mqm,
    own_exports,
    potato,
    prodigy,
)
from judging.specs.records.tools.sets import (
    alpaca_eval,
    arena,
    document_sets,
    mt_bench,
    pair_sets,
    rating_sets,
    rubric_sets,
)

MODULES = (
    *(deepeval, frames, helm, inspect_logs, langfuse, langsmith, lm_eval, openai_logs, promptfoo, traces, unread),
    *(argilla, crowd, doccano, judge_bench, label_studio, mqm, own_exports, potato, prodigy),
    *(alpaca_eval, arena, document_sets, mt_bench, pair_sets, rating_sets, rubric_sets),
)
_FOUND = [found for module in MODULES for found in vars(module).values()]
ALL: tuple[Shape, ...] = tuple(
    shape for found in _FOUND for shape in (found if isinstance(found, tuple) else (found,)) if isinstance(shape, Shape)
)
