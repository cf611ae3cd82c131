"""Pages of this app that are no declared action's own."""
