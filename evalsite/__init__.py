"""The site: settings, addresses and the top storey (review and reports) over `judging` and `debate`."""
