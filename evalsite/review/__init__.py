"""Top layer: the review queue, annotations by people, adjudication, and routing of what machines cannot decide."""
