"""Reports on annotators: agreement and habits."""
