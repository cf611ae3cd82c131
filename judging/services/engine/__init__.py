"""One worker's way through a run's tasks, in steps that never wait.

What the worker holds is in `state`; `result_store`, `tasks` and `call_requests` each add what is done with it, and
`call_engine` handles replies and puts the steps in order. The pool that sends, leases and storing are beside this
package.
"""
