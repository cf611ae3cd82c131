"""Tables of the bottom layer. Thin: fields, constraints and names; reading is in selectors, writing in services."""

from judging.models.benchmarks import Benchmark, Case, Prompt, Suite, SuiteCase
from judging.models.budgets import DayBudget, DayHold
from judging.models.calls import Call, CallHour, CallPrompt
from judging.models.endpoints import Judge, ModelEndpoint
from judging.models.esi import Ask, EsiItem
from judging.models.imports import (
    IN_WORK,
    BatchCase,
    BatchPicture,
    BatchResponse,
    BatchRubricItem,
    ImportBatch,
    ImportStatus,
    Upload,
    UploadPart,
)
from judging.models.pictures import Picture
from judging.models.prompts import PromptVersion
from judging.models.responses import Response, System
from judging.models.rubrics import Rubric, RubricItem
from judging.models.runs import (
    ASKING,
    BASELINE,
    BASELINE_ID,
    SCORED_KINDS,
    UNREPORTED_KINDS,
    EvaluatorKind,
    Lease,
    PastScore,
    PastVerdict,
    Run,
    RunEvaluator,
    RunKind,
    RunTag,
    RunTask,
    Score,
    TaskStatus,
    Verdict,
)

__all__ = [
    "ASKING",
    "BASELINE",
    "BASELINE_ID",
    "Ask",
    "BatchCase",
    "BatchPicture",
    "BatchResponse",
    "BatchRubricItem",
    "Benchmark",
    "Call",
    "CallHour",
    "CallPrompt",
    "Case",
    "DayBudget",
    "DayHold",
    "EsiItem",
    "EvaluatorKind",
    "IN_WORK",
    "ImportBatch",
    "ImportStatus",
    "Judge",
    "Lease",
    "ModelEndpoint",
    "PastScore",
    "PastVerdict",
    "Picture",
    "Prompt",
    "PromptVersion",
    "Response",
    "Rubric",
    "RubricItem",
    "Run",
    "RunEvaluator",
    "RunTag",
    "RunKind",
    "RunTask",
    "SCORED_KINDS",
    "UNREPORTED_KINDS",
    "Score",
    "Suite",
    "SuiteCase",
    "System",
    "TaskStatus",
    "Upload",
    "UploadPart",
    "Verdict",
]
