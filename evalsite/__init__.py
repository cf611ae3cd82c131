"""The site: settings, addresses and the top layer (review and reports) over `judging` and `debate`."""
