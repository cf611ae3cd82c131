"""Writes of the review app: routing, claims, answers, settling and queues."""
