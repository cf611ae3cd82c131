"""Second factors: codes of an app, passkeys, recovery codes. Own code on fido2, since allauth.mfa would load all of
allauth at each start. Pages are in `evalsite/accounts/views`.
"""
