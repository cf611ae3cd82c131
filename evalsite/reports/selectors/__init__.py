"""What reports read of the rooms below: plain tuples and arrays, never a hundred thousand model instances."""
