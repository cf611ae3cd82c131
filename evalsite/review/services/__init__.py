"""Writes of the review room: routing, claims, answers, settling and queues."""
