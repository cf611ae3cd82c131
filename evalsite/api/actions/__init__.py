"""What can be done with things of the API."""
