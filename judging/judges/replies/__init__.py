"""Judges' replies: the forms that they may have, and how they are taken apart."""
