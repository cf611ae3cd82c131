"""Leaderboards, their charts, bundles and share links."""
