"""What the pages of results and cases show, read by response."""
