"""Populations of known truth, stored as rows, and how often the figures of the pages' own reports hold that truth.

Each module stores one kind of site and reads one kind of report. What does not vary between two boards of a cell
(cases, systems, responses, the draw of the audit) is stored once; scores, verdicts and labels are replaced.
"""
