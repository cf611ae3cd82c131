"""A small real language model on loopback, to see how real replies are read. Its verdicts mean nothing."""
