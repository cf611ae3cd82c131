"""Reads what judges said and what people say of the same responses."""
