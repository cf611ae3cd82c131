"""How people get an account: by invitation, and the first admin of a new site."""
