"""A fake OpenAI-compatible server over real HTTP, for tests and benchmarks.

`server.py` is the program, `behaviour.py` how it meets a request, `replies.py` what it answers, `options.py` what it
may be told and what it counts; `fixture.py` starts it as a subprocess. Nothing here is imported by the site.
"""
