"""Pages of the review room: queues, the item page, adjudication."""
