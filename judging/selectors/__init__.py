"""What pages and exports of this app read. Selectors never write, and take a fixed number of queries."""
