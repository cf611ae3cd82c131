"""What reports read of the apps below: plain tuples and arrays, never a hundred thousand model instances."""
