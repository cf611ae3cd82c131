"""Pages of golden sets."""
