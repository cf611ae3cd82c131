"""What a task does: rules grade, judges are asked, verdicts become scores."""
