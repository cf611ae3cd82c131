"""What several tests of the review room need."""

from __future__ import annotations

import pytest

from evalsite.review import sampling
from evalsite.review.services import opening


@pytest.fixture
def no_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn, so that only rules and people send."""
    monkeypatch.setattr(
        opening, "draw_audit", lambda keys, *, seed, share: sampling.draw_audit(keys, seed=seed, share=0, minimum=0)
    )
