"""Rubrics from tables, nested documents and lists."""
