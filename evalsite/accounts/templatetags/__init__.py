"""Template tags that every room's pages share (`{% load ui %}`); a tag that only one room needs lives in that room."""
