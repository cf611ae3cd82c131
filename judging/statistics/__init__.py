"""Agreement, intervals, rankings and corrected estimates.

Pure, vectorised numpy. An undefined figure is `None` with the reason in words, never 0, 1 or NaN.
"""
