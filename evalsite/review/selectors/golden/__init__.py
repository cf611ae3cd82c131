"""Golden sets: what is labelled, how a set stands, and where versions of judges and people differ."""
