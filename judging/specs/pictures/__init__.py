"""Images of cases and responses as uploads bring them: checked, found by the rows that name them, encoded again."""
