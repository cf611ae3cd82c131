"""Pages of this app: sets of debates, single debates, recorded ones on their way in. For researchers and admins."""
