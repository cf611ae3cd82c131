"""What pages, jobs and reports read of debates. Queries only; nothing here writes or decides an outcome."""
