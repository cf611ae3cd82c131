"""Markdown with formulas and coloured code, as safe HTML."""
