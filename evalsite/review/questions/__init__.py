"""What people are asked and how they may answer: scales and the forms of answers. Pure."""
