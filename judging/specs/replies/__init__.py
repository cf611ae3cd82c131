"""Responses from files, by row or by document."""
