"""Judges: where they are used, their versions, and those that suit a run."""
