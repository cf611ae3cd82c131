"""Runs as a whole: plans, estimates, and the worker that works them off."""
