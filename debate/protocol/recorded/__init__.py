"""Reads debates that other programs recorded. Nothing here is run."""
