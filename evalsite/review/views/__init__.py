"""Pages of the review app: queues, the item page, adjudication."""
