"""Tags of this room, for pages of the rooms below that show what is with people."""
