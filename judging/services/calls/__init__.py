"""Calls to models outside any one run: the ledger, pools by endpoint, conversations, pruning."""
