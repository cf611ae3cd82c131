"""Figures as the JSON that snapshots store."""

from __future__ import annotations

from dataclasses import asdict

from evalsite.base.json_types import JsonDict
from judging.statistics.estimates import Estimate

ReportContent = JsonDict


def figure(estimate: Estimate) -> ReportContent:
    """Return a figure with its interval, or None with the reason."""
    return asdict(estimate)
