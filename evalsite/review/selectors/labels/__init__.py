"""Reads what people decided: subjects, final labels, audits and where labels came from."""
