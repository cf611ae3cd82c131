"""Results of a suite response by response, the named views, and referrals to people."""
