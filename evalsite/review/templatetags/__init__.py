"""Tags of this app, for pages of the apps below that show what is with people."""
