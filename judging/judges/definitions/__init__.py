"""Judges shipped as files."""
