"""Hints about suites that can be read but hardly mean what they say."""
