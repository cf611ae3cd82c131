"""Deterministic scoring of one response, and aggregation of scores.

Pure: dataclasses in, dataclasses out, no Django, clock, network or unseeded randomness. Programs run through a runner
that is passed in (`judging.sandbox` provides one); replies of language models are read in `judging.judges`.
"""
