"""What several tests of the review app need."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def no_audit(settings: Any) -> None:
    """Nothing is drawn, so that only rules and people send."""
    settings.REVIEW_AUDIT_SHARE = 0
