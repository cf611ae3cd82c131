"""Template tags that every app's pages share (`{% load ui %}`); a tag that only one app needs lives in that app."""
