"""Leaderboards: figures by system, their slices, breakdowns and charts."""
