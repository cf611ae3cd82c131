"""Runs untrusted programs in bubblewrap with hard limits. Knows no Django; the only package that starts such programs."""
