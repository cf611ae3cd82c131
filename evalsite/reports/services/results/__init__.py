"""The scores of a suite response by response: packed, filtered and put in order, and read with their texts."""
