"""Outside formats (YAML, XLSX, CSV, JSON, JSONL) read into frozen dataclasses.

Pure: bytes in, dataclasses and problems out. Files come in a `Bundle`; nothing here opens a path. Every problem
names file and line, cell or key, quotes the offending text and says what to write instead. Storing what was read
belongs to `judging.services`.
"""
