"""Suites and cases from YAML and JSON lines."""
