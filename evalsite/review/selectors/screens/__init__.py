"""Reads what the pages of queues and items show."""
