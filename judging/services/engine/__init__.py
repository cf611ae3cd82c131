"""One worker's way through a run's tasks, in steps that never wait.

What the worker holds is in `state`; `books`, `tasks`, `asking` and `hearing` each add what is done with it, and
`worker` puts the steps in order. The pool that sends, leases and storing are beside this package.
"""
