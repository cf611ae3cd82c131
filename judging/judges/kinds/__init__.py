"""The kinds of judges, one module each: what is asked, and how a reply becomes a verdict."""
