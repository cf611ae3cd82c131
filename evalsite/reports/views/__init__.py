"""Pages of reports: they show snapshots, and poll while one is being computed."""
