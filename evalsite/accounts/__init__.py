"""Roles (annotator, researcher, admin) as groups over the stock user, sign-in and the audit log."""
