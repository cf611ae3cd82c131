"""Reads of the review app: what waits for whom, what may be shown of an item, and the labels that reports use."""
