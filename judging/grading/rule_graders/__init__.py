"""The rule graders: keywords, blanks, similarity, unit tests and custom rules. No model is asked."""
