"""Reads verdicts of judges and people's labels of the same responses."""
