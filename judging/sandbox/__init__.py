"""Runs untrusted programs in bubblewrap with hard limits. Knows no Django; the only room that starts such programs."""
