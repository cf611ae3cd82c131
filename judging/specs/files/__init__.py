"""Files and folders as uploaded: archives, text, YAML, JSON lines, and findings by place."""
