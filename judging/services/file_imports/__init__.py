"""Uploads from their reading to the stored suite, rubric or responses."""
