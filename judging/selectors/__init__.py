"""What pages and exports of this room read. Selectors never write, and take a fixed number of queries."""
