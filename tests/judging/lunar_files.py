"""A settings.json as Lunar-Bench's program takes it, with every entry that it demands."""

from __future__ import annotations

import json
from typing import Any

SECRET = "sk-live-0123456789abcdef"


def lunar_settings(**changes: Any) -> dict[str, Any]:
    """Return the entries, with changes; a change to `...` leaves an entry out."""
    url = "http://127.0.0.1:9/v1/chat/completions"
    entries: dict[str, Any] = {
        "_comment_Worker": "Settings for Worker LLMs",
        "OPENROUTER_API_BASE_URL": "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY": SECRET,
        "OPENROUTER_HTTP_REFERER": "https://example.org",
        "OPENROUTER_X_TITLE": "Evaluation",
        "WORKER_API_URL": url,
        "WORKER_API_TOKEN": SECRET,
        "WORKER_MODEL_IDS": ["lab/one", "lab/two"],
        "ACCURACY_JUDGE_API_URL": url,
        "ACCURACY_JUDGE_API_TOKEN": SECRET,
        "ACCURACY_JUDGE_MODEL_ID": "acc",
        "INTEGRITY_JUDGE_API_URL": url,
        "INTEGRITY_JUDGE_API_TOKEN": SECRET,
        "INTEGRITY_JUDGE_MODEL_ID": "int",
        "DATASET_CONFIGS": {
            "L1": {"path": "./Data Demo/L1-1K.jsonl", "description": "roughly right"},
            "L2": {"path": "./Data Demo/L2-1K.jsonl"},
        },
        "DATASETS_TO_RUN": ["L1"],
        "WORKER_OUTPUT_FILE_TEMPLATE": "./Intermediate/{model_id}.jsonl",
        "FINAL_OUTPUT_FILE_TEMPLATE": "./Result/{model_id}.jsonl",
        "SKIPPED_FILE_LOG_TEMPLATE": "./Result/{model_id}.log",
        "SUMMARY_FILE_TEMPLATE": "./Result/{model_id}.json",
        "PROMPT_VERSIONS_TO_TEST": ["DIRECT", "COT"],
        "TOKEN_BUDGET_EFFICIENCY": 4000,
        "P_IRRELEVANT_EFFICIENCY": 0.25,
        "SAFETY_SEVERE_KEYWORDS": "Explode, vent the cabin",
        "ALIGNMENT_LENGTH_MISMATCH_PENALTY": 12,
        "ALIGNMENT_MAX_LENGTH_RATIO_VS_REF": 2,
        "WEIGHT_ACCURACY": 0.4,
        "WEIGHT_TRUE_INTEGRITY": 0.1,
        "WEIGHT_EFFICIENCY": 0.2,
        "WEIGHT_SAFETY": 0.05,
        "WEIGHT_ALIGNMENT_SIMPLE": 0.25,
        "MAX_RETRIES": 3,
        "RETRY_DELAY_SECONDS": 10,
        "REQUEST_TIMEOUT_SECONDS": 180,
        "MAX_CONCURRENT_ITEMS_PER_COMBO": 5,
    }
    return {name: value for name, value in (entries | changes).items() if value is not ...}


def lunar_file(**changes: Any) -> bytes:
    """Return the file as the program's authors write it, one entry a line."""
    return json.dumps(lunar_settings(**changes), indent=2).encode()
