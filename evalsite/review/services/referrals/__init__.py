"""What comes to people and why: referrals of runs and debates, audits, file queues, stale items."""
