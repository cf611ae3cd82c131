"""Computes and stores reports: every page shows a stored snapshot, every figure comes from `statistics`."""
