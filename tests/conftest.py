"""Fixtures that every room's tests may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["tests.fake_llm.fixture"]

REPOSITORY = Path(__file__).resolve().parent.parent
BACKEND_FREE = (  # pure code, HTTP against the fake server, the sandbox: one backend's pass is enough for these
    "architecture",
    "judging/specs",
    "judging/grading",
    "judging/judges",
    "judging/llm",
    "judging/sandbox",
    "debate/protocol",
    "evalsite/reports/statistics",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of rooms that know neither database nor broker."""
    folders = tuple(str(REPOSITORY / "tests" / name) + os.sep for name in BACKEND_FREE)
    for item in items:
        if str(item.path).startswith(folders):
            item.add_marker("backend_free")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of shared test data; skip where this checkout has none."""
    folder = Path(os.environ.get("EVALSITE_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"shared test data not found at {folder}; set EVALSITE_SHARED_DATA to use it")
    return folder
