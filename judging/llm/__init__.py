"""Chat completions over HTTP: client, retry decision, shared limiter, call pool, identity of calls and prices.

Knows no Django and no queue. What to ask and how to read a reply as a verdict belongs to `judging.judges`; storing
calls and resuming runs belongs to `judging.services`.
"""
