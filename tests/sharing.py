"""How the processes of one run of the suite share its tests out: a file is one piece of work, with what it sets up.

pytest-xdist's own `xdist_group` marks are not used: with pytest 9.2 they are ignored without a word.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

LONGEST_FLOW = "tests/flows/test_every_page.py"  # with a site of its own, beside the other flows
WHOLE_FOLDERS = ("tests/flows/",)  # one site for all of them
BY_IDENTITY = "tests/judging/sandbox/test_attacks.py"  # all attacks under one identity are one fixture
TEST_BY_TEST = ("tests/judging/services/test_kill.py",)  # long, and nothing is shared


class Sharing(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """Hands out pieces of work in the order in which the tests were collected."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        """Return the name of the piece of work that a test belongs to."""
        path = nodeid.partition("::")[0]
        if path in TEST_BY_TEST:
            return nodeid
        if path == LONGEST_FLOW:
            return path
        if path == BY_IDENTITY:
            return f"{path} {'ordinary user' in nodeid}"
        return next((folder for folder in WHOLE_FOLDERS if path.startswith(folder)), path)
