"""Golden sets: made, run on, learned from, and opened."""
