"""Results of a suite response by response, and what is kept or asked of them."""
