"""Figures that use people's labels: one recipe for each, with an interval that covers at small samples.

The unit is the case; attempts and further responses of a case are averaged first. Pure numpy, no randomness. A figure
that rests on too few cases is a `TooFew`, never a number. Agreement between people alone lies one level up.
"""
