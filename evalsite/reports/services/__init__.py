"""Computes reports and keeps them: every page shows a stored snapshot, every figure comes from `statistics`."""
