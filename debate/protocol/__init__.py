"""The rules of a debate: agents, who reads what, consensus, and the reading of a statement's verdict.

Pure: no Django, network or clock; randomness only from a stored seed.
"""
