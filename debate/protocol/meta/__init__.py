"""How well judges and debates do against recorded human votes. No protocol of a debate."""
