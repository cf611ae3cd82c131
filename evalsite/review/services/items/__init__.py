"""One item from its hand-out to its decision: claims, annotations, adjudication."""
