"""Agreement of annotators: coefficients, their intervals and the rows they are computed from."""
