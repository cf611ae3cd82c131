"""Queries for pages and exports of this app. Selectors never write, and take a fixed number of queries."""
