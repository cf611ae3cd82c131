"""Top layer: leaderboards, agreement, judge quality and exports. Reads; owns no tables but caches and share links."""
