"""What models are sent of a case. What judges ask about a response is no part of it."""
