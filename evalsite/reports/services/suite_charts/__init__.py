"""Charts of one grader's scores of a suite: what they are drawn from, how they are drawn, and their tables."""
