"""Processes of the site: the embedded broker, the worker, and the supervisor that starts and stops them together.

Knows no benchmark and no person; what the jobs do belongs to the apps that define them.
"""
