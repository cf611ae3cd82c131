"""Files read into parts: containers, encodings, CSV, workbooks, JSON, Parquet and Arrow."""
