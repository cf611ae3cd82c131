"""LLM judges: one file per judge, each with the messages it sends and the reading of the reply.

Pure: no network and no database; a judge is a generator that yields chat requests and receives replies. Prompt texts
live in `prompts/`. Computing a score from verdicts belongs to `judging.grading`.
"""
