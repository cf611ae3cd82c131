"""The demo: a small benchmark of its own with answers, rubrics and people, loaded by the services that pages use.

Its data files were written for it and can be imported by hand too. Nothing here knows how things are stored.
"""
