"""Golden sets: versions of judges beside people, and beside each other."""
