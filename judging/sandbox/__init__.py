"""Runs untrusted programs in bubblewrap with hard limits; nothing else starts such programs. Knows no Django."""
