"""Tasks of runs: leases, results, recovery, and the states of a run."""
